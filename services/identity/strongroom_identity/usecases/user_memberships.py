"""Users as members of projects."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from strongroom_common.access.callers import Caller, Standing
from strongroom_common.access.roles import ORGANIZATION_ROLES
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.kernel.errors import NotFound
from strongroom_identity.domain.errors import MembershipNotFound
from strongroom_identity.domain.memberships import Membership, MembershipRole, RoleEntry
from strongroom_identity.store import memberships as stored
from strongroom_identity.store import project_members
from strongroom_identity.store.pages import Page
from strongroom_identity.store.project_members import KnownUser, ProjectMember
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import memberships
from strongroom_identity.usecases.context import IdentityContext

MOST_LISTED = 20_000
NO_ACCESS = "no-access"


@dataclass(frozen=True)
class Names:
    """Whom a caller means: mailboxes and user names, each in its one spelling."""

    emails: Sequence[str] = ()
    usernames: Sequence[str] = ()


async def add(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    names: Names,
    wanted: Sequence[RoleEntry],
) -> list[ProjectMember]:
    """Make users members of a project, all of them or none; whom the organization does not know yet joins it as well.

    For that one right more is needed: to make members of the organization. Raises `NotFound` for an unknown user,
    `Conflict` for one who is a member already, `RoleNotFound`, `BeyondOwnRights`.
    """
    standing = await memberships.standing_to(context, caller, project_id, "create", "user")
    users = await _find_all(context, caller, names)
    strangers = [user for user in users if not user.is_in_organization]
    if strangers:
        caller.require("create", "member")
    origin = origin.in_project(project_id)
    changed = AccessChanged(organization_id=caller.organization_id, subject_ids=[user.id for user in users])
    with refusing(memberships.ALREADY):
        async with context.database.begin(origin) as work:
            for user in strangers:
                role = MembershipRole.of(ORGANIZATION_ROLES[NO_ACCESS])
                now = context.clock.now()
                membership = Membership.new("user", user.id, [role], now, organization_id=caller.organization_id)
                await stored.add(work, membership)
                metadata = {"userId": str(user.id), "role": NO_ACCESS}
                work.record(audit_record(origin, context.clock, "create-organization-membership", metadata))
            ids = [user.id for user in users]
            await memberships.add_within(context, work, standing, origin, "user", ids, wanted)
            work.send(changed)
            await work.commit()
    context.doorkeeper.hear_access_changed(changed)
    added = [await project_members.find(context.database, "user", project_id, user.id) for user in users]
    return [member for member in added if member is not None]


async def remove(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, names: Names
) -> list[ProjectMember]:
    """End the memberships of users, all of them or none; raises as `memberships.remove_all`."""
    await memberships.standing_to(context, caller, project_id, "delete", "user")
    users = await _find_all(context, caller, names)
    ids = [user.id for user in users]
    return await memberships.remove_all(context, caller, origin, project_id, "user", ids)


async def list_all(
    context: IdentityContext, caller: Caller, project_id: UUID, page: Page, roles: Sequence[str] | None = None
) -> list[ProjectMember]:
    """List the users who are members themselves, by name; those with one of the roles, where some are named."""
    await memberships.standing_to(context, caller, project_id, "read", "user")
    found, _ = await project_members.list_all(context.database, "user", project_id, page, roles=roles)
    return found


async def list_with_groups(
    context: IdentityContext, caller: Caller, project_id: UUID, page: Page, roles: Sequence[str] | None
) -> list[ProjectMember]:
    """List the users as `list_all` does, and behind them those who are in the project through a group only."""
    own = await list_all(context, caller, project_id, page, roles)
    seen = {member.membership.subject_id for member in own}
    through = await project_members.list_users_through_groups(context.database, project_id, roles, page.limit)
    return [*own, *(member for member in through if UUID(member.subject["id"]) not in seen)]


async def get(context: IdentityContext, caller: Caller, project_id: UUID, membership_id: UUID) -> ProjectMember:
    """Return a user's membership by its id; raises `MembershipNotFound`."""
    return await memberships.get_by_id(context, caller, "user", membership_id, project_id)


async def get_by_username(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, username: str
) -> ProjectMember:
    """Return the membership of the user with this name; raises `MembershipNotFound`."""
    await memberships.standing_to(context, caller, project_id, "read", "user")
    users = await project_members.find_users(context.database, caller.organization_id, [], [username])
    member = await project_members.find(context.database, "user", project_id, users[0].id) if users else None
    if member is None:
        raise MembershipNotFound
    metadata = {"userId": str(member.membership.user_id)}
    event = "get-user-project-membership"
    await context.trail.note(audit_record(origin, context.clock, event, metadata, project_id=project_id))
    return member


async def get_own(context: IdentityContext, caller: Caller, project_id: UUID) -> tuple[Standing, list[Membership]]:
    """Return what the caller may do in the project, and through which memberships: its own and those of its groups."""
    standing = await context.doorkeeper.standing(caller, project_id)
    access = caller.access
    own = await project_members.list_own(context.database, project_id, access.kind, access.subject_id)
    return standing, own


async def _find_all(context: IdentityContext, caller: Caller, names: Names) -> list[KnownUser]:
    users = await project_members.find_users(context.database, caller.organization_id, names.emails, names.usernames)
    known = {user.email for user in users} | {user.username for user in users}
    if not known.issuperset([*names.emails, *names.usernames]):
        raise NotFound("There is no such user: somebody without an account is invited to the organization first")
    return users
