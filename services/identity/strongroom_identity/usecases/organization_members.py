"""The users of an organization: looked at, changed, removed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.access.roles import ORGANIZATION_ROLES
from strongroom_common.access.rules import Rule
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.errors import MembershipNotFound, OrganizationNotFound
from strongroom_identity.domain.memberships import MembershipRole
from strongroom_identity.domain.organizations import Member, ProjectMembership
from strongroom_identity.domain.roles import rules_together
from strongroom_identity.store import organization_members, organizations
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases import roles
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.organizations import verify_own


@dataclass(frozen=True)
class MemberChanges:
    """What a caller wants; None leaves a thing as it is."""

    role: str | None = None
    is_active: bool | None = None
    metadata: Sequence[tuple[str, str]] | None = None


async def list_all(context: IdentityContext, caller: Caller, organization_id: UUID, page: Page) -> list[Member]:
    """List the organization's users."""
    verify_own(caller, organization_id)
    caller.require("read", "member")
    return await organization_members.list_all(context.database, organization_id, page)


async def get(context: IdentityContext, caller: Caller, organization_id: UUID, membership_id: UUID) -> Member:
    """Return one of the organization's users; raises `MembershipNotFound`."""
    verify_own(caller, organization_id)
    caller.require("read", "member")
    member = await organization_members.find(context.database, organization_id, membership_id)
    if member is None:
        raise MembershipNotFound
    return member


async def get_own(context: IdentityContext, caller: Caller, organization_id: UUID) -> Member:
    """Return what the calling user is in the organization."""
    verify_own(caller, organization_id)
    member = await organization_members.find_of_user(context.database, organization_id, caller.access.subject_id)
    if member is None:
        raise MembershipNotFound
    return member


async def list_project_memberships(
    context: IdentityContext, caller: Caller, organization_id: UUID, membership_id: UUID, page: Page
) -> tuple[Member, list[ProjectMembership]]:
    """List in which of the organization's projects a user is a member himself."""
    member = await get(context, caller, organization_id, membership_id)
    return member, await organization_members.list_project_memberships(context.database, member, page)


async def change(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    organization_id: UUID,
    membership_id: UUID,
    changes: MemberChanges,
) -> Member:
    """Change a user's role, or whether he may come in at all; who may not, has no living session here from now on.

    Raises `MembershipNotFound`, `RoleNotFound`, `BeyondOwnRights`, and `Conflict` for the last admin.
    """
    verify_own(caller, organization_id)
    caller.require("edit", "member")
    heard: list[AccessChanged] = []
    async with context.database.begin(origin) as work:
        (member,) = await _lock(work, caller, organization_id, [membership_id])
        now = context.clock.now()
        if changes.role is not None:
            given = await roles.get_all(work, [changes.role], organization_id)
            roles.verify_grantable(caller.rules, given)
            role = MembershipRole.of(given[0])
            await organization_members.replace_role(work, member, role, now)
            member_after = replace(member, role=role.role)
        else:
            member_after = member
        if changes.is_active is not None:
            member_after = replace(member_after, is_active=changes.is_active)
        if member.is_working_admin and not member_after.is_working_admin:
            await verify_not_last_admin(work, organization_id, [member])
        metadata = member.metadata
        if changes.metadata is not None:
            metadata = [{"id": str(new_id()), "key": key, "value": value} for key, value in changes.metadata]
        columns = {"is_active": member_after.is_active, "metadata": metadata, "updated_at": now}
        await organization_members.save(work, membership_id, columns)
        if changes.role is not None or member_after.is_active != member.is_active:
            touched = [organization_id]
            if member.is_active and not member_after.is_active:
                touched += await _shut_out_below(work, organization_id, member.user_id)
            heard = [AccessChanged(organization_id=one, subject_ids=[member.user_id]) for one in touched]
            for message in heard:
                work.send(message)
        audited = {"membershipId": str(membership_id), "userId": str(member.user_id)}
        if changes.role is not None:
            audited["role"] = changes.role
        if changes.is_active is not None:
            audited["isActive"] = str(changes.is_active).lower()
        work.record(audit_record(origin, context.clock, "update-organization-membership", audited))
        await work.commit()
    for message in heard:
        context.doorkeeper.hear_access_changed(message)
    found = await organization_members.find(context.database, organization_id, membership_id)
    if found is None:
        raise MembershipNotFound
    return found


async def remove(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID, membership_ids: Sequence[UUID]
) -> list[Member]:
    """Remove users from the organization, its sub-organizations and all their projects: all of them or none.

    Raises `MembershipNotFound`, `BeyondOwnRights`, and `Conflict` where no admin would remain.
    """
    verify_own(caller, organization_id)
    caller.require("delete", "member")
    heard: list[AccessChanged] = []
    async with context.database.begin(origin) as work:
        members = await _lock(work, caller, organization_id, membership_ids)
        tree = await organizations.list_tree(work, organization_id)
        users = [member.user_id for member in members]
        for one in tree:
            await organizations.lock(work, one)
            admins = await organization_members.list_working_admins(work, one, users)
            if admins:
                await verify_not_last_admin(work, one, admins)
        await organizations.remove_users(work, tree, users)
        for one in tree:
            heard.append(AccessChanged(organization_id=one, subject_ids=users))
            work.send(heard[-1])
        for member in members:
            metadata = {"membershipId": str(member.id), "userId": str(member.user_id), "email": member.email}
            work.record(audit_record(origin, context.clock, "delete-organization-membership", metadata))
        await work.commit()
    for message in heard:
        context.doorkeeper.hear_access_changed(message)
    return members


async def _shut_out_below(work: UnitOfWork, organization_id: UUID, user_id: UUID) -> list[UUID]:
    """Deactivate a user in the sub-organizations as well; to let him in there again is for their own admins to say."""
    below = [one for one in await organizations.list_tree(work, organization_id) if one != organization_id]
    for one in below:
        await organizations.lock(work, one)
        admins = await organization_members.list_working_admins(work, one, [user_id])
        if admins:
            await verify_not_last_admin(work, one, admins)
    await organization_members.deactivate(work, below, user_id)
    return below


async def verify_not_last_admin(work: UnitOfWork, organization_id: UUID, members: Sequence[Member]) -> None:
    """Raise `Conflict` when without these users no working admin remains. The organization's row must be locked."""
    if not await organization_members.has_other_admins(work, organization_id, [member.id for member in members]):
        raise Conflict("An organization needs an admin: make somebody else one first")


async def _lock(
    work: UnitOfWork, caller: Caller, organization_id: UUID, membership_ids: Sequence[UUID]
) -> list[Member]:
    # Two admins who remove each other at the same moment wait for each other at the organization's row.
    if await organizations.lock(work, organization_id) is None:
        raise OrganizationNotFound
    members = await organization_members.lock_all(work, organization_id, membership_ids)
    if {member.id for member in members} != set(membership_ids):
        raise MembershipNotFound
    for member in members:
        # Whoever may do more than the caller is not the caller's to change.
        held = rules_together(member.held, ORGANIZATION_ROLES)
        roles.verify_within(caller.rules, [Rule.of_wire(rule) for rule in held])
    return members
