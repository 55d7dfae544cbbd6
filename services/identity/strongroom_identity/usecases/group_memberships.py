"""Groups as members of projects."""

from collections.abc import Sequence
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.contracts.envelopes import Origin
from strongroom_identity.domain.errors import MembershipNotFound
from strongroom_identity.domain.memberships import RoleEntry
from strongroom_identity.store import project_members
from strongroom_identity.store.pages import Page
from strongroom_identity.store.project_members import ProjectMember
from strongroom_identity.usecases import groups, memberships
from strongroom_identity.usecases.context import IdentityContext


async def add(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    group: str,
    wanted: Sequence[RoleEntry],
) -> ProjectMember:
    """Make a group, by its id or name, a member of a project; raises as `memberships.add_all`, and `GroupNotFound`."""
    standing = await memberships.standing_to(context, caller, project_id, "create", "group")
    found = await groups.get_named(context, caller, group)
    await memberships.add_all(context, standing, origin, "group", [found.id], wanted)
    return await _get(context, project_id, found.id)


async def change(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    group: str,
    wanted: Sequence[RoleEntry],
) -> ProjectMember:
    """Give a group other roles in place of those it has; raises as `memberships.change`, and `GroupNotFound`."""
    await memberships.standing_to(context, caller, project_id, "edit", "group")
    found = await groups.get_named(context, caller, group)
    await memberships.change(context, caller, origin, project_id, "group", found.id, wanted)
    return await _get(context, project_id, found.id)


async def remove(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, group: str
) -> ProjectMember:
    """End a group's membership; raises as `memberships.remove_all`, and `GroupNotFound`."""
    await memberships.standing_to(context, caller, project_id, "delete", "group")
    found = await groups.get_named(context, caller, group)
    (removed,) = await memberships.remove_all(context, caller, origin, project_id, "group", [found.id])
    return removed


async def get(context: IdentityContext, caller: Caller, project_id: UUID, group: str) -> ProjectMember:
    """Return a group's membership; raises `GroupNotFound`, `MembershipNotFound`."""
    await memberships.standing_to(context, caller, project_id, "read", "group")
    found = await groups.get_named(context, caller, group)
    return await _get(context, project_id, found.id)


async def list_all(
    context: IdentityContext, caller: Caller, project_id: UUID, page: Page
) -> tuple[list[ProjectMember], int]:
    """List the groups of a project by name, and say how many there are in all."""
    await memberships.standing_to(context, caller, project_id, "read", "group")
    return await project_members.list_all(context.database, "group", project_id, page)


async def _get(context: IdentityContext, project_id: UUID, group_id: UUID) -> ProjectMember:
    member = await project_members.find(context.database, "group", project_id, group_id)
    if member is None:
        raise MembershipNotFound
    return member
