"""Organizations: how one begins, changes and ends."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.access.roles import ORGANIZATION_ROLES
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import (
    AccessChanged,
    IdentityDeleted,
    OrganizationDeleted,
    ProjectDeleted,
    TokensRevoked,
)
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import Conflict, Forbidden
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.errors import OrganizationNotFound, SessionOver
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.memberships import ACCEPTED, Membership, MembershipRole, SubjectKind
from strongroom_identity.domain.organizations import Organization, OwnOrganization
from strongroom_identity.domain.projects import Project
from strongroom_identity.domain.users import User
from strongroom_identity.store import identities, invitations, memberships, organizations, projects
from strongroom_identity.store import sessions as session_rows
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import roles, sessions
from strongroom_identity.usecases.context import IdentityContext

MOST_NAMED = 1000
"""How many subjects one message names."""

_RIGHTS: Mapping[str, tuple[str, str]] = {
    "auth_enforced": ("edit", "sso"),
    "bypass_org_auth_enabled": ("edit", "sso"),
    "scim_enabled": ("edit", "scim"),
    "allow_secret_sharing_outside_organization": ("manage-settings", "secret-share"),
    "max_shared_secret_lifetime": ("manage-settings", "secret-share"),
    "max_shared_secret_view_limit": ("manage-settings", "secret-share"),
}
"""What it takes to change a field; for the others it is to edit settings."""


def slug_taken() -> Conflict:
    """What is said about a slug that another organization of the instance has."""
    return Conflict("Another organization has this slug: choose a different one")


async def create(work: UnitOfWork, clock: Clock, name: str, administrator: User | None = None) -> Organization:
    """Begin an organization; a user who exists already may become its administrator."""
    organization = Organization.new(name, clock.now())
    await organizations.add(work, organization)
    if administrator is not None:
        await add_admin(work, organization, "user", administrator.id)
    return organization


async def add_admin_identity(work: UnitOfWork, identity: Identity) -> None:
    """Keep a new identity with all rights in its organization. For beginnings: nobody's own rights are looked at."""
    await identities.add(work, identity)
    membership = Membership.new(
        "identity", identity.id, [_admin()], identity.created_at, organization_id=identity.organization_id
    )
    await memberships.add(work, membership)


async def add_admin(
    work: UnitOfWork, organization: Organization, kind: SubjectKind, subject_id: UUID, *, status: str = ACCEPTED
) -> None:
    """Give a new organization its administrator. For beginnings: nobody's own rights are looked at."""
    membership = Membership.new(kind, subject_id, [_admin()], organization.created_at, organization_id=organization.id)
    await memberships.add(work, replace(membership, status=status))


async def join_default(work: UnitOfWork, clock: Clock, organization_id: UUID, user: User) -> Organization:
    """Let a user into an organization that takes everybody, with the role that newcomers get there.

    Raises `OrganizationNotFound`.
    """
    organization = await organizations.lock(work, organization_id)
    if organization is None:
        raise OrganizationNotFound
    if await invitations.statuses(work, organization_id, [user.id]):
        await invitations.accept(work, organization_id, user.id, clock.now())
        return organization
    given = await roles.get_all(work, [organization.default_membership_role], organization_id)
    membership = Membership.new(
        "user",
        user.id,
        [MembershipRole.of(role) for role in given],
        clock.now(),
        organization_id=organization_id,
    )
    await memberships.add(work, membership)
    return organization


async def begin(context: IdentityContext, caller: Caller, origin: Origin, name: str) -> Organization:
    """Begin an organization whose administrator is the caller."""
    organization = Organization.new(name, context.clock.now())
    origin = replace(origin, organization_id=organization.id)
    async with context.database.begin(origin) as work:
        await organizations.add(work, organization)
        await add_admin(work, organization, caller.access.kind, caller.access.subject_id)
        metadata = {"organizationId": str(organization.id), "name": organization.name}
        work.record(audit_record(origin, context.clock, "create-organization", metadata))
        await work.commit()
    return organization


async def list_own(context: IdentityContext, caller: Caller) -> list[OwnOrganization]:
    """List the organizations that the calling user works in."""
    return await organizations.list_of_user(context.database, caller.access.subject_id)


def verify_own(caller: Caller, organization_id: UUID) -> None:
    """Raise `OrganizationNotFound` unless the caller's token is for this organization."""
    if caller.organization_id != organization_id:
        raise OrganizationNotFound


async def get(context: IdentityContext, caller: Caller, organization_id: UUID) -> Organization:
    """Return the caller's organization to any of its members."""
    verify_own(caller, organization_id)
    organization = await organizations.find(context.database, organization_id)
    if organization is None:
        raise OrganizationNotFound
    return organization


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID, changes: Mapping[str, Any]
) -> Organization:
    """Change some fields. Raises `Conflict` for a slug that is taken and for what nobody could log in with."""
    verify_own(caller, organization_id)
    for action, subject in sorted({_RIGHTS.get(name, ("edit", "settings")) for name in changes}):
        caller.require(action, subject)
    if changes.get("auth_enforced"):
        raise Conflict("No single sign-on is set up for this organization: nobody could log in any more")
    if changes.get("scim_enabled"):
        raise Conflict("This instance does not provide SCIM")
    with refusing({organizations.SLUG_TAKEN: slug_taken()}):
        async with context.database.begin(origin) as work:
            organization = await organizations.lock(work, organization_id)
            if organization is None:
                raise OrganizationNotFound
            default = changes.get("default_membership_role")
            if default is not None:
                # Whoever comes gets it from whoever says so here.
                given = await roles.get_all(work, [default], organization_id)
                roles.verify_grantable(caller.rules, given)
            organization = replace(organization, **changes, updated_at=context.clock.now())
            await organizations.save(work, organization)
            metadata = {"organizationId": str(organization_id), "fields": sorted(changes)}
            work.record(audit_record(origin, context.clock, "update-organization", metadata))
            await work.commit()
    return organization


async def delete(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID
) -> tuple[Organization, Secret]:
    """Delete the calling user's organization and all that hangs on it, if he is one of its admins.

    Returns it as it was, and a token with which his session goes on, for no organization.
    """
    verify_own(caller, organization_id)
    if not await organizations.is_admin(context.database, organization_id, caller.access.subject_id):
        raise Forbidden("Only an admin of the organization may delete it")
    async with context.database.begin(origin) as work:
        session = await session_rows.lock(work, caller.access.token_id, context.clock.now())
    if session is None:
        raise SessionOver
    organization = await delete_with_all(context, origin, organization_id, "delete-organization")
    return organization, sessions.tokens_of(context, session).access_token


async def delete_with_all(
    context: IdentityContext, origin: Origin, organization_id: UUID, event: str, *, parent_id: UUID | None = None
) -> Organization:
    """Delete an organization, its sub-organizations, and all that hangs on them; say so to every service.

    One transaction: a crash leaves all of it or nothing, and what the others must hear waits in the outbox with it.
    With `parent_id` only a sub-organization of that one is found.
    """
    async with context.database.begin(origin) as work:
        organization = await organizations.lock(work, organization_id)
        if organization is None or parent_id not in {None, organization.parent_id}:
            raise OrganizationNotFound
        gone = await organizations.list_belongings(work, organization_id)
        await organizations.delete(work, organization_id)
        for project_id, owner_id in gone.projects:
            work.send(ProjectDeleted(project_id=project_id, organization_id=owner_id), origin.in_project(project_id))
        heard = [AccessChanged(organization_id=one) for one in gone.organization_ids]
        subjects = [identity_id for identity_id, _ in gone.identities]
        dead = [
            TokensRevoked(subject_ids=subjects[start : start + MOST_NAMED])
            for start in range(0, len(subjects), MOST_NAMED)
        ]
        for identity_id, owner_id in gone.identities:
            work.send(IdentityDeleted(id=identity_id, organization_id=owner_id))
        for one in gone.organization_ids:
            work.send(OrganizationDeleted(organization_id=one))
        for message in (*heard, *dead):
            work.send(message)
        metadata = {
            "organizationId": str(organization_id),
            "name": organization.name,
            "slug": organization.slug,
            "projects": len(gone.projects),
            "identities": len(gone.identities),
        }
        work.record(audit_record(origin, context.clock, event, metadata))
        await work.commit()
    for change_of_access in heard:
        context.doorkeeper.hear_access_changed(change_of_access)
    for revoked in dead:
        context.doorkeeper.hear_tokens_revoked(revoked)
    return organization


async def list_own_projects(context: IdentityContext, caller: Caller, organization_id: UUID) -> list[Project]:
    """List the organization's projects that the caller is a member of."""
    verify_own(caller, organization_id)
    return await projects.list_of(
        context.database,
        caller.access.kind,
        caller.access.subject_id,
        organization_id,
        project_type=None,
        with_roles=False,
    )


def _admin() -> MembershipRole:
    return MembershipRole.of(ORGANIZATION_ROLES["admin"])
