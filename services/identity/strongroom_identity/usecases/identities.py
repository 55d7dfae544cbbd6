"""Machine identities of an organization."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from strongroom_common.access.callers import Caller, Standing
from strongroom_common.access.roles import ORGANIZATION_ROLES, PROJECT_ROLES
from strongroom_common.access.rules import Rule
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged, IdentityDeleted, TokensRevoked
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict, Forbidden, NotFound
from strongroom_identity.domain.errors import IdentityNotFound
from strongroom_identity.domain.identities import (
    Identity,
    IdentityFilter,
    IdentityMembership,
    IdentityOrder,
    Metadata,
)
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.roles import rules_together
from strongroom_identity.store import identities, identity_memberships, lockouts, memberships, organizations, tokens
from strongroom_identity.store.identity_memberships import ProjectMembership
from strongroom_identity.store.pages import Page
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


@dataclass(frozen=True)
class NewProjectIdentity:
    """What a caller wants."""

    name: str
    has_delete_protection: bool
    metadata: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class IdentityChanges:
    """What a caller wants; None leaves things as they are. Metadata is replaced as a whole."""

    name: str | None = None
    role: str | None = None
    has_delete_protection: bool | None = None
    metadata: Sequence[tuple[str, str]] | None = None


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


async def get_membership(context: IdentityContext, caller: Caller, identity_id: UUID) -> IdentityMembership:
    """Return an identity of the organization as a member of it."""
    caller.require("read", "identity")
    found = await identities.find_membership(context.database, caller.organization_id, identity_id, context.clock.now())
    if found is None:
        raise IdentityNotFound
    verify_of_organization(found.identity)
    return found


async def search(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    wanted: IdentityFilter,
    *,
    order: IdentityOrder = "name",
    is_descending: bool = False,
    limit: int,
    offset: int,
) -> tuple[list[IdentityMembership], int]:
    """List the organization's identities that fit, one page of them, and how many fit."""
    caller.require("read", "identity")
    found = await identities.search(
        context.database,
        caller.organization_id,
        wanted,
        order,
        is_descending=is_descending,
        limit=limit,
        offset=offset,
        now=context.clock.now(),
    )
    await context.trail.note(audit_record(origin, context.clock, "search-identities", {"totalCount": found[1]}))
    return found


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: IdentityChanges
) -> Identity:
    """Change an identity of the organization. Raises `BeyondOwnRights` for one, or with a role, above the caller."""
    identity = await get_changeable(context, caller, identity_id, "edit")
    verify_of_organization(identity)
    async with context.database.begin(origin) as work:
        await _change(work, context, identity, wish)
        if wish.role is not None:
            given = await roles.get_all(work, [wish.role], caller.organization_id)
            roles.verify_grantable(caller.rules, given)
            await identity_memberships.replace_organization_role(
                work, caller.organization_id, identity.id, MembershipRole.of(given[0]), context.clock.now()
            )
        # Metadata is a fact that conditions of rules look at.
        heard = AccessChanged(organization_id=caller.organization_id, subject_ids=[identity.id])
        work.send(heard)
        metadata = {"identityId": str(identity.id), "name": identity.name}
        if wish.role is not None:
            metadata["role"] = wish.role
        work.record(audit_record(origin, context.clock, "update-identity", metadata))
        await work.commit()
    context.doorkeeper.hear_access_changed(heard)
    return await _get_whole(context, identity.id)


async def delete(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID) -> Identity:
    """Delete an identity, and with it its logins, tokens and memberships; of a guest only the membership.

    Raises `Conflict` for a protected one.
    """
    identity = await get_changeable(context, caller, identity_id, "delete")
    verify_of_organization(identity)
    whole = await _get_whole(context, identity.id)
    if identity.organization_id != caller.organization_id:
        await _dismiss_guest(context, origin, caller.organization_id, identity)
    else:
        await _delete(context, origin, identity)
    return whole


async def list_projects(
    context: IdentityContext, caller: Caller, identity_id: UUID
) -> tuple[Identity, list[ProjectMembership]]:
    """Return an identity and its memberships in projects of the organization."""
    identity = await get_visible(context, caller, identity_id, "read")
    found = await identity_memberships.list_projects(context.database, caller.organization_id, identity.id)
    return await _get_whole(context, identity.id), found


# --- identities that a project owns -----------------------------------------------------------------------------------


async def create_in_project(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, wish: NewProjectIdentity
) -> Identity:
    """Make an identity that belongs to one project, without rights there yet."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("create", "identity")
    now = context.clock.now()
    identity = Identity.new(
        caller.organization_id,
        wish.name,
        now,
        project_id=project_id,
        has_delete_protection=wish.has_delete_protection,
        metadata=wish.metadata,
    )
    membership = Membership.new(
        "identity",
        identity.id,
        [MembershipRole.of(PROJECT_ROLES["no-access"])],
        now,
        organization_id=identity.organization_id,
        project_id=project_id,
    )
    origin = origin.in_project(project_id)
    async with context.database.begin(origin) as work:
        await identities.add(work, identity)
        await memberships.add(work, membership)
        metadata = {"identityId": str(identity.id), "name": identity.name}
        work.record(audit_record(origin, context.clock, "create-identity", metadata))
        await work.commit()
    return identity


async def get_in_project(context: IdentityContext, caller: Caller, project_id: UUID, identity_id: UUID) -> Identity:
    """Return an identity that the project owns."""
    identity = await get_visible(context, caller, identity_id, "read", project_id=project_id)
    return await _get_whole(context, identity.id)


async def list_in_project(
    context: IdentityContext, caller: Caller, project_id: UUID, page: Page
) -> tuple[list[Identity], int]:
    """List the identities that the project owns, and how many there are."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("read", "identity")
    found, total = await identities.list_of_project(context.database, project_id, page)
    return [one for one in found if standing.may("read", "identity", _resource(one.id))], total


async def change_in_project(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    identity_id: UUID,
    wish: IdentityChanges,
) -> Identity:
    """Change an identity that the project owns."""
    identity = await get_changeable(context, caller, identity_id, "edit", project_id=project_id)
    origin = origin.in_project(project_id)
    heard = AccessChanged(organization_id=caller.organization_id, subject_ids=[identity.id])
    async with context.database.begin(origin) as work:
        await _change(work, context, identity, wish)
        work.send(heard)
        metadata = {"identityId": str(identity.id), "name": identity.name}
        work.record(audit_record(origin, context.clock, "update-identity", metadata))
        await work.commit()
    context.doorkeeper.hear_access_changed(heard)
    return await _get_whole(context, identity.id)


async def delete_in_project(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, identity_id: UUID
) -> Identity:
    """Delete an identity that the project owns. Raises `Conflict` for a protected one."""
    identity = await get_changeable(context, caller, identity_id, "delete", project_id=project_id)
    whole = await _get_whole(context, identity.id)
    await _delete(context, origin.in_project(project_id), identity)
    return whole


# --- who may ----------------------------------------------------------------------------------------------------------


async def get_visible(
    context: IdentityContext, caller: Caller, identity_id: UUID, *actions: str, project_id: UUID | None = None
) -> Identity:
    """Return an identity of the organization, or of one of its projects, to a caller with these rights on it there.

    With `project_id` only one that this project owns.
    """
    known, _ = await _get_known(context, caller, identity_id, actions, project_id)
    return known.identity


async def get_changeable(
    context: IdentityContext, caller: Caller, identity_id: UUID, *actions: str, project_id: UUID | None = None
) -> Identity:
    """Return an identity to a caller who may change how it logs in: who can log in as it has all that it has.

    Raises `BeyondOwnRights` for one that may do more than the caller, `Forbidden` for an instance admin.
    """
    known, standing = await _get_known(context, caller, identity_id, actions, project_id)
    if known.identity.is_instance_admin and not caller.access.is_instance_admin:
        raise Forbidden("Only an instance admin may change an instance admin")
    predefined = ORGANIZATION_ROLES if standing is None else PROJECT_ROLES
    wanted = [Rule.of_wire(rule) for rule in rules_together(known.roles, predefined)]
    roles.verify_within(caller.rules if standing is None else standing.rules, wanted)
    return known.identity


def verify_owned(caller: Caller, identity: Identity) -> None:
    """Raise `Forbidden` for a guest: how an identity logs in is the business of the organization that owns it."""
    if identity.organization_id != caller.organization_id:
        raise Forbidden("This identity belongs to another organization: only that one may change how it logs in")


def verify_of_organization(identity: Identity) -> None:
    """Raise `Conflict` for an identity that a project owns: it has routes of its own."""
    if identity.project_id is not None:
        raise Conflict("This identity belongs to a project: manage it there")


async def _get_known(
    context: IdentityContext, caller: Caller, identity_id: UUID, actions: Sequence[str], project_id: UUID | None
) -> tuple[identities.KnownIdentity, Standing | None]:
    """The identity, and for one that a project owns the caller's standing in that project, which then decides."""
    known = await identities.find_known(context.database, caller.organization_id, identity_id)
    owner = project_id or (known.identity.project_id if known is not None else None)
    if owner is None:
        for action in actions:
            caller.require(action, "identity")
        if known is None:
            raise IdentityNotFound
        return known, None
    standing = await context.doorkeeper.standing(caller, owner)
    for action in actions:
        standing.require(action, "identity", _resource(identity_id))
    if known is None or known.identity.project_id != owner:
        raise IdentityNotFound
    return known, standing


async def _change(work: UnitOfWork, context: IdentityContext, identity: Identity, wish: IdentityChanges) -> None:
    locked = await identities.lock(work, identity.id)
    if locked is None:
        raise IdentityNotFound
    changed = replace(
        locked,
        name=locked.name if wish.name is None else wish.name,
        has_delete_protection=(
            locked.has_delete_protection if wish.has_delete_protection is None else wish.has_delete_protection
        ),
        metadata=tuple(Metadata.new(key, value) for key, value in wish.metadata or ()),
        updated_at=context.clock.now(),
    )
    await identities.save(work, changed, with_metadata=wish.metadata is not None)


async def _delete(context: IdentityContext, origin: Origin, identity: Identity) -> None:
    dead = TokensRevoked(subject_ids=[identity.id])
    gone = AccessChanged(organization_id=identity.organization_id, subject_ids=[identity.id])
    async with context.database.begin(origin) as work:
        locked = await identities.lock(work, identity.id)
        if locked is None:
            raise IdentityNotFound
        if locked.has_delete_protection:
            raise Conflict("This identity is protected against deletion: switch the protection off first")
        await lockouts.drop_of_subject(work, identity.id)
        await identities.remove(work, identity.id)
        work.send(IdentityDeleted(id=identity.id, organization_id=identity.organization_id))
        work.send(dead)
        work.send(gone)
        metadata = {"identityId": str(identity.id), "name": identity.name}
        work.record(audit_record(origin, context.clock, "delete-identity", metadata))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)
    context.doorkeeper.hear_access_changed(gone)


async def _dismiss_guest(context: IdentityContext, origin: Origin, organization_id: UUID, identity: Identity) -> None:
    gone = AccessChanged(organization_id=organization_id, subject_ids=[identity.id])
    async with context.database.begin(origin) as work:
        dead = await tokens.drop_of_scope(work, identity.id, organization_id)
        await identity_memberships.remove_from_organization(work, organization_id, identity.id)
        revoked = TokensRevoked(token_ids=dead)
        work.send(revoked)
        work.send(gone)
        metadata = {"identityId": str(identity.id), "name": identity.name}
        work.record(audit_record(origin, context.clock, "delete-identity", metadata))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(revoked)
    context.doorkeeper.hear_access_changed(gone)


async def _get_whole(context: IdentityContext, identity_id: UUID) -> Identity:
    identity = await identities.find_whole(context.database, identity_id)
    if identity is None:
        raise IdentityNotFound
    return identity


def _resource(identity_id: UUID) -> dict[str, str]:
    return {"identityId": str(identity_id)}
