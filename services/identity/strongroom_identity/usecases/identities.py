"""Machine identities of an organization."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.access.roles import ORGANIZATION_ROLES
from strongroom_common.access.rules import Rule
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.kernel.errors import Forbidden, NotFound
from strongroom_identity.domain.errors import IdentityNotFound
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.roles import rules_together
from strongroom_identity.store import identities, memberships, organizations
from strongroom_identity.usecases import roles
from strongroom_identity.usecases.context import IdentityContext


@dataclass(frozen=True)
class NewIdentity:
    """What a caller wants."""

    organization_id: str
    name: str
    role: str
    has_delete_protection: bool
    metadata: Sequence[tuple[str, str]]


async def create(context: IdentityContext, caller: Caller, origin: Origin, wish: NewIdentity) -> Identity:
    """Make an identity in the caller's organization, with a role that the caller may give."""
    if wish.organization_id.lower() != str(caller.organization_id):
        raise Forbidden("You are not a member of this organization")
    caller.require("create", "identity")
    identity = Identity.new(
        caller.organization_id,
        wish.name,
        context.clock.now(),
        has_delete_protection=wish.has_delete_protection,
        metadata=wish.metadata,
    )
    async with context.database.begin(origin) as work:
        given = await roles.get_all(work, [wish.role], caller.organization_id)
        roles.verify_grantable(caller.rules, given)
        await identities.add(work, identity)
        membership = Membership.new(
            "identity",
            identity.id,
            [MembershipRole.of(role) for role in given],
            identity.created_at,
            organization_id=identity.organization_id,
        )
        await memberships.add(work, membership)
        metadata = {"identityId": str(identity.id), "name": identity.name, "role": wish.role}
        work.record(audit_record(origin, context.clock, "create-identity", metadata))
        await work.commit()
    return identity


async def get_own_organization(context: IdentityContext, caller: Caller) -> Organization:
    """Return the organization that the caller's token is for."""
    organization = await organizations.find(context.database, caller.organization_id)
    if organization is None:
        raise NotFound("There is no such organization")
    return organization


async def get_visible(context: IdentityContext, caller: Caller, identity_id: UUID, *actions: str) -> Identity:
    """Return an identity of the organization to a caller with these rights on identities."""
    return (await _get_known(context, caller, identity_id, actions)).identity


async def get_changeable(context: IdentityContext, caller: Caller, identity_id: UUID, *actions: str) -> Identity:
    """Return an identity to a caller who may change how it logs in: who can log in as it has all that it has.

    Raises `BeyondOwnRights` for one that may do more than the caller, `Forbidden` for an instance admin.
    """
    known = await _get_known(context, caller, identity_id, actions)
    if known.identity.is_instance_admin and not caller.access.is_instance_admin:
        raise Forbidden("Only an instance admin may change an instance admin")
    rules = rules_together(known.roles, ORGANIZATION_ROLES)
    roles.verify_within(caller.rules, [Rule.of_wire(rule) for rule in rules])
    return known.identity


async def _get_known(
    context: IdentityContext, caller: Caller, identity_id: UUID, actions: Sequence[str]
) -> identities.KnownIdentity:
    for action in actions:
        caller.require(action, "identity")
    known = await identities.find_member(context.database, caller.organization_id, identity_id)
    if known is None:
        raise IdentityNotFound
    return known
