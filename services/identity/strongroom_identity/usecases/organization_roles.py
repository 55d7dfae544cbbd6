"""The roles that an organization makes for itself (wire-identity 10, 12.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.access.rules import Rule
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.errors import OrganizationNotFound, RoleNotFound
from strongroom_identity.domain.organizations import Member, Organization
from strongroom_identity.domain.roles import CustomRole, Role, predefined
from strongroom_identity.store import organization_roles, organizations
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import organization_members, roles
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.organizations import verify_own


@dataclass(frozen=True)
class NewRole:
    """What a caller wants."""

    slug: str
    name: str
    description: str | None
    rules: Sequence[Rule]


async def create(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID, wish: NewRole
) -> CustomRole:
    """Make a role of rights that the caller has; raises `BeyondOwnRights`, and `Conflict` for a slug that is taken."""
    verify_own(caller, organization_id)
    caller.require("create", "role")
    roles.verify_within(caller.rules, wish.rules)
    now = context.clock.now()
    role = CustomRole(
        id=new_id(),
        organization_id=organization_id,
        project_id=None,
        slug=wish.slug,
        name=wish.name,
        description=wish.description,
        permissions=[rule.to_wire() for rule in wish.rules],
        version=1,
        created_at=now,
        updated_at=now,
    )
    with refusing({organization_roles.SLUG_TAKEN: _slug_taken()}):
        async with context.database.begin(origin) as work:
            await _lock_organization(work, organization_id)
            if await organization_roles.count(work, organization_id) >= organization_roles.MOST:
                raise Conflict(f"An organization has at most {organization_roles.MOST} roles of its own")
            await organization_roles.add(work, role)
            metadata = {"roleId": str(role.id), "slug": role.slug, "name": role.name}
            work.record(audit_record(origin, context.clock, "create-organization-role", metadata))
            await work.commit()
    return role


async def change(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    organization_id: UUID,
    role_id: UUID,
    changes: Mapping[str, Any],
) -> CustomRole:
    """Change a role by the names of its fields; `permissions` are rules. Whoever has the role feels it at once.

    Raises `RoleNotFound`, `BeyondOwnRights`, and `Conflict` for a slug that is taken.
    """
    verify_own(caller, organization_id)
    caller.require("edit", "role")
    rules: Sequence[Rule] | None = changes.get("permissions")
    if rules is not None:
        roles.verify_within(caller.rules, rules)
        changes = {**changes, "permissions": [rule.to_wire() for rule in rules]}
    heard = AccessChanged(organization_id=organization_id)
    with refusing({organization_roles.SLUG_TAKEN: _slug_taken()}):
        async with context.database.begin(origin) as work:
            organization = await _lock_organization(work, organization_id)
            role = await organization_roles.lock(work, organization_id, role_id)
            if role is None:
                raise RoleNotFound
            # What an admin's role could do before it was cut down is the admin's affair.
            roles.verify_within(caller.rules, [Rule.of_wire(rule) for rule in role.permissions])
            if organization.default_membership_role == role.slug and "slug" in changes:
                organization = replace(organization, default_membership_role=changes["slug"])
                await organizations.save(work, organization)
            role = replace(role, **changes, version=role.version + 1, updated_at=context.clock.now())
            await organization_roles.save(work, role)
            if rules is not None:
                work.send(heard)
            metadata = {"roleId": str(role.id), "slug": role.slug, "fields": sorted(changes)}
            work.record(audit_record(origin, context.clock, "update-organization-role", metadata))
            await work.commit()
    if rules is not None:
        context.doorkeeper.hear_access_changed(heard)
    return role


async def delete(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID, role_id: UUID
) -> CustomRole:
    """Delete a role that nobody has; raises `RoleNotFound`, `Conflict`."""
    verify_own(caller, organization_id)
    caller.require("delete", "role")
    in_use = Conflict("The role is in use: give its holders another one first")
    with refusing({organization_roles.IN_USE: in_use}):
        async with context.database.begin(origin) as work:
            organization = await _lock_organization(work, organization_id)
            role = await organization_roles.lock(work, organization_id, role_id)
            if role is None:
                raise RoleNotFound
            if organization.default_membership_role == role.slug:
                raise in_use
            await organization_roles.delete(work, role_id)
            metadata = {"roleId": str(role.id), "slug": role.slug, "name": role.name}
            work.record(audit_record(origin, context.clock, "delete-organization-role", metadata))
            await work.commit()
    return role


async def get(context: IdentityContext, caller: Caller, organization_id: UUID, role_id: UUID) -> CustomRole:
    """Return one of the organization's own roles."""
    verify_own(caller, organization_id)
    caller.require("read", "role")
    role = await organization_roles.find(context.database, organization_id, role_id)
    if role is None:
        raise RoleNotFound
    return role


async def get_by_slug(context: IdentityContext, caller: Caller, slug: str) -> tuple[Organization, Role]:
    """Return the caller's organization, and its role with this slug, which may be a predefined one."""
    caller.require("read", "role")
    organization = await organizations.find(context.database, caller.organization_id)
    if organization is None:
        raise OrganizationNotFound
    role = predefined(slug, None) or await organization_roles.find_by_slug(context.database, organization.id, slug)
    if role is None:
        raise RoleNotFound
    return organization, role


async def list_all(
    context: IdentityContext, caller: Caller, organization_id: UUID
) -> tuple[Organization, list[CustomRole]]:
    """List the organization's own roles, with the organization."""
    verify_own(caller, organization_id)
    caller.require("read", "role")
    organization = await organizations.find(context.database, organization_id)
    if organization is None:
        raise OrganizationNotFound
    return organization, await organization_roles.list_all(context.database, organization_id)


async def get_permissions(context: IdentityContext, caller: Caller, organization_id: UUID) -> Member:
    """Return what the calling user is in the organization; his rules are the caller's."""
    return await organization_members.get_own(context, caller, organization_id)


async def _lock_organization(work: UnitOfWork, organization_id: UUID) -> Organization:
    organization = await organizations.lock(work, organization_id)
    if organization is None:
        raise OrganizationNotFound
    return organization


def _slug_taken() -> Conflict:
    return Conflict("Another role of this organization has this slug: choose a different one")
