"""Who belongs to a project."""

from collections.abc import Sequence
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.kernel.errors import Conflict
from strongroom_identity.domain.errors import IdentityNotFound
from strongroom_identity.domain.memberships import Membership, MembershipRole, RoleEntry
from strongroom_identity.store import identities, memberships
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import roles
from strongroom_identity.usecases.context import IdentityContext


async def add_identity(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    identity_id: UUID,
    wanted: Sequence[RoleEntry],
) -> Membership:
    """Make an identity of the organization a member of a project, with roles that the caller may give there.

    Raises `Conflict` when it is one already, `RoleNotFound`, `BeyondOwnRights`.
    """
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("create", "identity", {"identityId": str(identity_id)})
    if await identities.find_member(context.database, caller.organization_id, identity_id) is None:
        raise IdentityNotFound
    origin = origin.in_project(project_id)
    already = Conflict("The identity is a member of this project already")
    with refusing({memberships.ALREADY_IN_PROJECT: already}):
        async with context.database.begin(origin) as work:
            given = await roles.get_all(
                work,
                [entry.slug for entry in wanted],
                caller.organization_id,
                project_id=project_id,
                project_type=standing.project.type,
            )
            roles.verify_grantable(standing.rules, given)
            membership = Membership.new(
                "identity",
                identity_id,
                [MembershipRole.of(role, entry.temporary) for role, entry in zip(given, wanted, strict=True)],
                context.clock.now(),
                organization_id=caller.organization_id,
                project_id=project_id,
            )
            await memberships.add(work, membership)
            work.send(
                AccessChanged(organization_id=caller.organization_id, project_id=project_id, subject_ids=[identity_id])
            )
            metadata = {"identityId": str(identity_id), "roles": [entry.slug for entry in wanted]}
            work.record(audit_record(origin, context.clock, "create-identity-project-membership", metadata))
            await work.commit()
    return membership
