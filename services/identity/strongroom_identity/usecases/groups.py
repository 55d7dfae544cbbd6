"""Groups: made, changed, deleted; who is in them, and where they are."""

from dataclasses import dataclass, replace
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.access.roles import ORGANIZATION_ROLES, PROJECT_ROLES
from strongroom_common.access.rules import Rule, Ruleset
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict, Forbidden, NotFound
from strongroom_identity.domain.errors import IdentityNotFound
from strongroom_identity.domain.groups import Group, GroupIdentity, GroupProject, GroupUser
from strongroom_identity.domain.memberships import Membership, MembershipRole, SubjectKind
from strongroom_identity.domain.roles import rules_together
from strongroom_identity.store import groups, memberships, project_members
from strongroom_identity.store.groups import Filter
from strongroom_identity.store.pages import Page
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import roles
from strongroom_identity.usecases.context import IdentityContext

MOST_LISTED = 20_000

_TAKEN = {
    groups.NAME_TAKEN: Conflict("Another group of this organization has this name: choose a different one"),
    groups.SLUG_TAKEN: Conflict("Another group of this organization has this slug: choose a different one"),
}


class GroupNotFound(NotFound):
    """No such group in the caller's organization."""

    def __init__(self) -> None:
        super().__init__("There is no such group")


class NotInGroup(NotFound):
    """Somebody is not in the group that he should leave."""

    def __init__(self) -> None:
        super().__init__("There is no such member in this group")


@dataclass(frozen=True)
class GroupChange:
    """What a caller wants to be otherwise; None leaves it as it is."""

    name: str | None = None
    slug: str | None = None
    role: str | None = None


async def create(
    context: IdentityContext, caller: Caller, origin: Origin, name: str, slug: str | None, role: str
) -> Group:
    """Make a group with a role in the organization that the caller may give. Raises `Conflict` for a taken name."""
    caller.require("create", "groups")
    group = Group.new(caller.organization_id, name, slug, context.clock.now())
    with refusing(_TAKEN):
        async with context.database.begin(origin) as work:
            given = await _given(work, caller, role)
            await groups.add(work, group)
            membership = Membership.new(
                "group", group.id, [given], group.created_at, organization_id=group.organization_id
            )
            await memberships.add(work, membership)
            group = replace(group, membership_id=membership.id, role=given)
            work.record(audit_record(origin, context.clock, "create-group", {**_metadata(group), "role": role}))
            await work.commit()
    return group


async def change(context: IdentityContext, caller: Caller, origin: Origin, group_id: UUID, wish: GroupChange) -> Group:
    """Change a group that has no more than the caller; raises `GroupNotFound`, and as `create`."""
    caller.require("edit", "groups")
    changed = AccessChanged(organization_id=caller.organization_id)
    with refusing(_TAKEN):
        async with context.database.begin(origin) as work:
            group = await _lock(work, caller, group_id)
            now = context.clock.now()
            group = replace(group, name=wish.name or group.name, slug=wish.slug or group.slug, updated_at=now)
            await groups.save(work, group)
            metadata = _metadata(group)
            if wish.role is not None and group.membership_id is not None:
                role = await _given(work, caller, wish.role)
                await project_members.drop_roles(work, group.membership_id)
                membership = Membership.new("group", group.id, [role], now, organization_id=group.organization_id)
                await memberships.add_roles(work, replace(membership, id=group.membership_id))
                group = replace(group, role=role)
                work.send(changed)
                metadata["role"] = wish.role
            work.record(audit_record(origin, context.clock, "update-group", metadata))
            await work.commit()
    context.doorkeeper.hear_access_changed(changed)
    return group


async def delete(context: IdentityContext, caller: Caller, origin: Origin, group_id: UUID) -> Group:
    """Delete a group that has no more than the caller; its members lose at once what they had through it."""
    caller.require("delete", "groups")
    changed = AccessChanged(organization_id=caller.organization_id)
    async with context.database.begin(origin) as work:
        group = await _lock(work, caller, group_id)
        await groups.delete(work, group_id)
        work.send(changed)
        work.record(audit_record(origin, context.clock, "delete-group", _metadata(group)))
        await work.commit()
    context.doorkeeper.hear_access_changed(changed)
    return group


async def list_all(context: IdentityContext, caller: Caller, limit: int, offset: int) -> list[Group]:
    """List the organization's groups."""
    caller.require("read", "groups")
    return await groups.list_all(context.database, caller.organization_id, limit, offset)


async def get(context: IdentityContext, caller: Caller, group_id: UUID) -> Group:
    """Return a group; raises `GroupNotFound`."""
    caller.require("read", "groups")
    return await _find(context, caller, group_id)


async def get_named(context: IdentityContext, caller: Caller, id_or_name: str) -> Group:
    """Return the organization's group with this id, or else this name; for who has seen that this is allowed."""
    try:
        group = await groups.find(context.database, caller.organization_id, UUID(id_or_name))
    except ValueError:
        group = None
    group = group or await groups.find_by_name(context.database, caller.organization_id, id_or_name)
    if group is None:
        raise GroupNotFound
    return group


async def list_users(
    context: IdentityContext, caller: Caller, group_id: UUID, page: Page, username: str | None, which: Filter | None
) -> tuple[list[GroupUser], int]:
    """List the organization's users, seen from the group."""
    group = await get(context, caller, group_id)
    return await groups.list_users(context.database, group, page, username, which)


async def list_identities(
    context: IdentityContext, caller: Caller, group_id: UUID, page: Page, which: Filter | None
) -> tuple[list[GroupIdentity], int]:
    """List the organization's identities, seen from the group."""
    group = await get(context, caller, group_id)
    return await groups.list_identities(context.database, group, page, which)


async def list_projects(
    context: IdentityContext,
    caller: Caller,
    group_id: UUID,
    page: Page,
    which: Filter | None,
    *,
    is_descending: bool,
) -> tuple[list[GroupProject], int]:
    """List the projects that the group is in, and those of the caller that it could be put into."""
    group = await get(context, caller, group_id)
    viewer = None if _may_see_all_projects(caller) else caller.access.subject_id
    return await groups.list_projects(context.database, group, page, viewer, which, is_descending=is_descending)


async def add_user(
    context: IdentityContext, caller: Caller, origin: Origin, group_id: UUID, username: str
) -> GroupUser:
    """Put a user of the organization into a group that has no more than the caller.

    Raises `NotFound`, `Conflict` for who is there already, `BeyondOwnRights`.
    """
    caller.require("add-members", "groups")
    user = await _user(context, await _find(context, caller, group_id), username)
    await _add(context, caller, origin, group_id, "user", user)
    return user


async def add_identity(
    context: IdentityContext, caller: Caller, origin: Origin, group_id: UUID, identity_id: UUID
) -> GroupIdentity:
    """Put an identity of the organization into a group, as `add_user` does."""
    caller.require("add-identities", "groups")
    identity = await _identity(context, await _find(context, caller, group_id), identity_id)
    await _add(context, caller, origin, group_id, "identity", identity)
    return identity


async def remove_user(
    context: IdentityContext, caller: Caller, origin: Origin, group_id: UUID, username: str
) -> GroupUser:
    """Take a user out of a group; what he had through it ends at once. Raises `NotInGroup`, `BeyondOwnRights`."""
    caller.require("remove-members", "groups")
    user = await _user(context, await _find(context, caller, group_id), username)
    await _remove(context, caller, origin, group_id, "user", user)
    return user


async def remove_identity(
    context: IdentityContext, caller: Caller, origin: Origin, group_id: UUID, identity_id: UUID
) -> GroupIdentity:
    """Take an identity out of a group, as `remove_user` does."""
    caller.require("remove-identities", "groups")
    identity = await _identity(context, await _find(context, caller, group_id), identity_id)
    await _remove(context, caller, origin, group_id, "identity", identity)
    return identity


async def _add(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    group_id: UUID,
    kind: SubjectKind,
    member: GroupUser | GroupIdentity,
) -> None:
    changed = AccessChanged(organization_id=caller.organization_id, subject_ids=[member.id])
    already = Conflict("The group has this member already")
    with refusing({groups.ALREADY_IN_GROUP: already}):
        async with context.database.begin(origin) as work:
            group = await _lock(work, caller, group_id)
            await _verify_within_projects(context, work, caller, group)
            await groups.add_member(work, group, member.membership_id, context.clock.now())
            work.send(changed)
            metadata = {**_metadata(group), f"{kind}Id": str(member.id)}
            work.record(audit_record(origin, context.clock, f"add-{kind}-to-group", metadata))
            await work.commit()
    context.doorkeeper.hear_access_changed(changed)


async def _remove(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    group_id: UUID,
    kind: SubjectKind,
    member: GroupUser | GroupIdentity,
) -> None:
    changed = AccessChanged(organization_id=caller.organization_id, subject_ids=[member.id])
    async with context.database.begin(origin) as work:
        group = await _lock(work, caller, group_id)
        if not await groups.remove_member(work, group, member.membership_id):
            raise NotInGroup
        work.send(changed)
        metadata = {**_metadata(group), f"{kind}Id": str(member.id)}
        work.record(audit_record(origin, context.clock, f"remove-{kind}-from-group", metadata))
        await work.commit()
    context.doorkeeper.hear_access_changed(changed)


async def _verify_within_projects(context: IdentityContext, work: UnitOfWork, caller: Caller, group: Group) -> None:
    # Who comes into the group gets what it has in projects too. Who may go into all projects may give that.
    if _may_see_all_projects(caller):
        return
    for project_id, held in await groups.list_held_in_projects(work, group.id):
        try:
            rules = (await context.doorkeeper.standing(caller, project_id)).rules
        except Forbidden:
            rules = Ruleset([])
        roles.verify_within(rules, [Rule.of_wire(rule) for rule in rules_together(held, PROJECT_ROLES)])


def _may_see_all_projects(caller: Caller) -> bool:
    return caller.rules.may("access-all-projects", "organization-admin-console")


async def _given(work: UnitOfWork, caller: Caller, slug: str) -> MembershipRole:
    given = await roles.get_all(work, [slug], caller.organization_id)
    roles.verify_grantable(caller.rules, given)
    return MembershipRole.of(given[0])


async def _find(context: IdentityContext, caller: Caller, group_id: UUID) -> Group:
    group = await groups.find(context.database, caller.organization_id, group_id)
    if group is None:
        raise GroupNotFound
    return group


async def _lock(work: UnitOfWork, caller: Caller, group_id: UUID) -> Group:
    group = await groups.lock(work, caller.organization_id, group_id)
    if group is None:
        raise GroupNotFound
    held = await groups.list_held(work, group)
    roles.verify_within(caller.rules, [Rule.of_wire(rule) for rule in rules_together(held, ORGANIZATION_ROLES)])
    return group


async def _user(context: IdentityContext, group: Group, username: str) -> GroupUser:
    user = await groups.find_user(context.database, group, username)
    if user is None:
        raise NotFound("There is no such user in the organization")
    return user


async def _identity(context: IdentityContext, group: Group, identity_id: UUID) -> GroupIdentity:
    identity = await groups.find_identity(context.database, group, identity_id)
    if identity is None:
        raise IdentityNotFound
    return identity


def _metadata(group: Group) -> dict[str, str]:
    return {"groupId": str(group.id), "name": group.name, "slug": group.slug}
