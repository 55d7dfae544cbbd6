"""Organizations beneath an organization: their own members, projects and roles, under one roof."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.kernel.errors import Conflict
from strongroom_identity.domain.errors import OrganizationNotFound
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.store import organizations
from strongroom_identity.store.pages import Page
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.organizations import add_admin, delete_with_all, slug_taken


async def create(context: IdentityContext, caller: Caller, origin: Origin, name: str, slug: str | None) -> Organization:
    """Begin a sub-organization of the caller's organization, with the caller as its admin.

    Raises `Conflict` for a slug that is taken, and where the caller's organization has a parent itself.
    """
    caller.require("create", "sub-organization")
    with refusing({organizations.SLUG_TAKEN: slug_taken()}):
        async with context.database.begin(origin) as work:
            parent = await organizations.lock(work, caller.organization_id)
            if parent is None:
                raise OrganizationNotFound
            if parent.parent_id is not None:
                raise Conflict("A sub-organization has no sub-organizations of its own")
            organization = Organization.new(name, context.clock.now(), slug=slug, parent=parent)
            await organizations.add(work, organization)
            await add_admin(work, organization, caller.access.kind, caller.access.subject_id)
            metadata = {
                "organizationId": str(organization.id),
                "name": organization.name,
                "slug": organization.slug,
            }
            work.record(audit_record(origin, context.clock, "create-sub-organization", metadata))
            await work.commit()
    return organization


async def list_visible(
    context: IdentityContext, caller: Caller, page: Page, *, accessible_only: bool
) -> tuple[list[Organization], int]:
    """List the sub-organizations that the caller works in; whoever may enter all of them sees all of them."""
    sees_all = caller.rules.may("direct-access", "sub-organization")
    return await organizations.list_sub_organizations(
        context.database,
        caller.organization_id,
        page,
        caller.access.kind,
        caller.access.subject_id,
        own_only=accessible_only or not sees_all,
    )


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID, changes: Mapping[str, Any]
) -> Organization:
    """Change name or slug; raises `OrganizationNotFound`, and `Conflict` for a slug that is taken."""
    caller.require("direct-access", "sub-organization")
    with refusing({organizations.SLUG_TAKEN: slug_taken()}):
        async with context.database.begin(origin) as work:
            organization = await organizations.lock(work, organization_id)
            if organization is None or organization.parent_id != caller.organization_id:
                raise OrganizationNotFound
            organization = replace(organization, **changes, updated_at=context.clock.now())
            await organizations.save(work, organization)
            metadata = {"organizationId": str(organization_id), "fields": sorted(changes)}
            work.record(audit_record(origin, context.clock, "update-sub-organization", metadata))
            await work.commit()
    return organization


async def delete(context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID) -> Organization:
    """Delete a sub-organization and all that hangs on it."""
    caller.require("direct-access", "sub-organization")
    return await delete_with_all(
        context, origin, organization_id, "delete-sub-organization", parent_id=caller.organization_id
    )
