"""Who belongs to a project, with which roles: users, identities and groups alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from strongroom_common.access.callers import Caller, Standing
from strongroom_common.access.roles import PROJECT_ROLES
from strongroom_common.access.rules import Rule
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict
from strongroom_identity.domain.errors import IdentityNotFound, MembershipNotFound
from strongroom_identity.domain.memberships import MemberKind, Membership, MembershipRole, RoleEntry
from strongroom_identity.domain.roles import Role, rules_together
from strongroom_identity.store import auth_configurations, identities, lockouts, memberships, project_members
from strongroom_identity.store.pages import Page
from strongroom_identity.store.project_members import ProjectMember
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import roles
from strongroom_identity.usecases.context import IdentityContext

SUBJECTS: Mapping[MemberKind, str] = {"user": "member", "identity": "identity", "group": "groups"}
"""What rules call each kind of member."""

ALREADY = {
    memberships.ALREADY_IN_PROJECT: Conflict("The identity is a member of this project already"),
    memberships.USER_ALREADY_IN_PROJECT: Conflict("The user is a member of this project already"),
    memberships.GROUP_ALREADY_IN_PROJECT: Conflict("The group is a member of this project already"),
}


@dataclass(frozen=True)
class IdentityMember:
    """An identity in a project, with how it may log in and in which ways it is locked out right now."""

    member: ProjectMember
    auth_methods: Sequence[str]
    locked_methods: Sequence[str]


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
    standing = await standing_to(context, caller, project_id, "create", "identity", identity_id)
    if await identities.find_member(context.database, caller.organization_id, identity_id) is None:
        raise IdentityNotFound
    (membership,) = await add_all(context, standing, origin, "identity", [identity_id], wanted)
    return membership


async def add_all(
    context: IdentityContext,
    standing: Standing,
    origin: Origin,
    kind: MemberKind,
    subject_ids: Sequence[UUID],
    wanted: Sequence[RoleEntry],
) -> list[Membership]:
    """Make some of the organization's members of the project, all of them or none; for who has seen that he may.

    Raises `Conflict` when one is a member already, `RoleNotFound`, `BeyondOwnRights`.
    """
    origin = origin.in_project(standing.project.project_id)
    with refusing(ALREADY):
        async with context.database.begin(origin) as work:
            added = await add_within(context, work, standing, origin, kind, subject_ids, wanted)
            changed = _tell(work, standing, kind, subject_ids)
            await work.commit()
    context.doorkeeper.hear_access_changed(changed)
    return added


async def add_within(
    context: IdentityContext,
    work: UnitOfWork,
    standing: Standing,
    origin: Origin,
    kind: MemberKind,
    subject_ids: Sequence[UUID],
    wanted: Sequence[RoleEntry],
) -> list[Membership]:
    """Do the part of `add_all` that belongs into somebody's transaction."""
    given = await _given(work, standing, wanted)
    added = []
    for subject_id in subject_ids:
        membership = Membership.new(
            kind,
            subject_id,
            [MembershipRole.of(role, entry.temporary) for role, entry in zip(given, wanted, strict=True)],
            context.clock.now(),
            organization_id=standing.caller.organization_id,
            project_id=standing.project.project_id,
        )
        await memberships.add(work, membership)
        metadata = {f"{kind}Id": str(subject_id), "roles": [entry.slug for entry in wanted]}
        work.record(audit_record(origin, context.clock, f"create-{kind}-project-membership", metadata))
        added.append(membership)
    return added


async def change(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    kind: MemberKind,
    subject_id: UUID,
    wanted: Sequence[RoleEntry],
) -> Membership:
    """Give a member other roles in place of all that it has.

    The caller must hold both: who could take rights away from his betters could also clear his own way. Raises
    `MembershipNotFound`, `RoleNotFound`, `BeyondOwnRights`.
    """
    standing = await standing_to(context, caller, project_id, "edit", kind, subject_id)
    origin = origin.in_project(project_id)
    async with context.database.begin(origin) as work:
        (membership,) = await _lock(work, standing, kind, [subject_id])
        given = await _given(work, standing, wanted)
        membership = replace(
            membership,
            roles=tuple(MembershipRole.of(role, entry.temporary) for role, entry in zip(given, wanted, strict=True)),
            updated_at=context.clock.now(),
        )
        await project_members.drop_roles(work, membership.id)
        await memberships.add_roles(work, membership)
        await project_members.touch(work, membership)
        changed = _tell(work, standing, kind, [subject_id])
        metadata = {f"{kind}Id": str(subject_id), "roles": [entry.slug for entry in wanted]}
        work.record(audit_record(origin, context.clock, f"update-{kind}-project-membership", metadata))
        await work.commit()
    context.doorkeeper.hear_access_changed(changed)
    return membership


async def remove_all(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    kind: MemberKind,
    subject_ids: Sequence[UUID],
) -> list[ProjectMember]:
    """End memberships, all of them or none; raises `MembershipNotFound`, `BeyondOwnRights` for a stronger member."""
    standing = await standing_to(context, caller, project_id, "delete", kind)
    for subject_id in subject_ids:
        await standing_to(context, caller, project_id, "delete", kind, subject_id)
    removed = [await project_members.find(context.database, kind, project_id, one) for one in subject_ids]
    origin = origin.in_project(project_id)
    async with context.database.begin(origin) as work:
        locked = await _lock(work, standing, kind, subject_ids)
        await project_members.delete_all(work, [membership.id for membership in locked])
        changed = _tell(work, standing, kind, subject_ids)
        for subject_id in subject_ids:
            metadata = {f"{kind}Id": str(subject_id)}
            work.record(audit_record(origin, context.clock, f"delete-{kind}-project-membership", metadata))
        await work.commit()
    context.doorkeeper.hear_access_changed(changed)
    return [member for member in removed if member is not None]


async def get(
    context: IdentityContext, caller: Caller, project_id: UUID, kind: MemberKind, subject_id: UUID
) -> ProjectMember:
    """Return somebody's membership in a project; raises `MembershipNotFound`."""
    await standing_to(context, caller, project_id, "read", kind, subject_id)
    member = await project_members.find(context.database, kind, project_id, subject_id)
    if member is None:
        raise MembershipNotFound
    return member


async def get_by_id(
    context: IdentityContext, caller: Caller, kind: MemberKind, membership_id: UUID, project_id: UUID | None = None
) -> ProjectMember:
    """Return a membership of the project, or of any project where none is named; raises `MembershipNotFound`.

    Where the caller is not in that project, the membership does not exist for him.
    """
    if project_id is not None:
        await standing_to(context, caller, project_id, "read", kind)
    member = await project_members.find_by_id(context.database, kind, membership_id, caller.organization_id)
    if member is None or member.membership.project_id is None:
        raise MembershipNotFound
    if project_id is not None and member.membership.project_id != project_id:
        raise MembershipNotFound
    await standing_to(context, caller, member.membership.project_id, "read", kind, member.membership.subject_id)
    return member


async def list_identities(
    context: IdentityContext, caller: Caller, project_id: UUID, page: Page, *, is_descending: bool
) -> tuple[list[IdentityMember], int]:
    """List the identities of a project that the caller may see, and say how many there are in all."""
    standing = await standing_to(context, caller, project_id, "read", "identity")
    only = None
    if any(rule.conditions for rule in standing.rules.about("read", "identity")):
        # A rule about single identities hides them from the list as well.
        everyone = await project_members.list_identity_ids(context.database, project_id)
        only = [one for one in everyone if standing.may("read", "identity", {"identityId": str(one)})]
    found, many = await project_members.list_all(
        context.database, "identity", project_id, page, is_descending=is_descending, only=only
    )
    return await with_logins(context, found), many


async def with_logins(context: IdentityContext, members: Sequence[ProjectMember]) -> list[IdentityMember]:
    """Add how the identities may log in."""
    ids = [member.membership.subject_id for member in members]
    methods = await auth_configurations.list_methods(context.database, ids)
    locked = await lockouts.list_locked_kinds(context.database, ids, context.clock.now())
    return [
        IdentityMember(member, methods.get(one, ()), locked.get(one, ()))
        for member, one in zip(members, ids, strict=True)
    ]


async def standing_to(
    context: IdentityContext,
    caller: Caller,
    project_id: UUID,
    action: str,
    kind: MemberKind,
    subject_id: UUID | None = None,
) -> Standing:
    """Return the caller's standing in the project, where it may do this with members of this kind, or with this one."""
    standing = await context.doorkeeper.standing(caller, project_id)
    resource = {"identityId": str(subject_id)} if kind == "identity" and subject_id is not None else None
    standing.require(action, SUBJECTS[kind], resource)
    return standing


async def _given(work: UnitOfWork, standing: Standing, wanted: Sequence[RoleEntry]) -> Sequence[Role]:
    given = await roles.get_all(
        work,
        [entry.slug for entry in wanted],
        standing.caller.organization_id,
        project_id=standing.project.project_id,
        project_type=standing.project.type,
    )
    roles.verify_grantable(standing.rules, given)
    return given


async def _lock(
    work: UnitOfWork, standing: Standing, kind: MemberKind, subject_ids: Sequence[UUID]
) -> list[Membership]:
    locked = await project_members.lock_all(work, kind, standing.project.project_id, subject_ids)
    if len(locked) != len(set(subject_ids)):
        raise MembershipNotFound
    held = await project_members.list_held(work, [membership.id for membership in locked])
    # One by one: what forbids something to one of them is no limit to what another one has.
    for its in held.values():
        roles.verify_within(standing.rules, [Rule.of_wire(rule) for rule in rules_together(its, PROJECT_ROLES)])
    return locked


def _tell(work: UnitOfWork, standing: Standing, kind: MemberKind, subject_ids: Sequence[UUID]) -> AccessChanged:
    # Whoever is in a group is touched by what happens to the group: then everyone is asked about anew.
    changed = AccessChanged(
        organization_id=standing.caller.organization_id,
        project_id=standing.project.project_id,
        subject_ids=None if kind == "group" else list(subject_ids),
    )
    work.send(changed)
    return changed
