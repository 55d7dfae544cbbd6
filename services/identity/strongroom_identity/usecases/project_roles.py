"""The roles of a project: made, looked at, changed, deleted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from strongroom_common.access.callers import Caller, Standing
from strongroom_common.access.roles import PROJECT_ROLES
from strongroom_common.access.rules import Rule
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.names import canonical_slug
from strongroom_identity.domain.errors import ProjectNotFound, RoleNotFound
from strongroom_identity.domain.projects import Project
from strongroom_identity.domain.roles import CustomRole, placeholder_id, predefined
from strongroom_identity.store import project_roles, projects
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import roles
from strongroom_identity.usecases.context import IdentityContext

MOST_LISTED = 1000


@dataclass(frozen=True)
class NewRole:
    """What a caller wants."""

    slug: str
    name: str
    description: str | None
    rules: Sequence[Rule]


@dataclass(frozen=True)
class RoleChange:
    """What a caller wants to be otherwise; None leaves it as it is. A description is taken away with an empty one."""

    slug: str | None = None
    name: str | None = None
    description: str | None = None
    rules: Sequence[Rule] | None = None


async def create(context: IdentityContext, caller: Caller, origin: Origin, project: str, wish: NewRole) -> CustomRole:
    """Make a role with rights that the caller has. `project` is an id or a slug.

    Raises `Conflict` for a slug that is taken, `BeyondOwnRights`.
    """
    standing = await _standing(context, caller, project)
    standing.require("create", "role")
    roles.verify_within(standing.rules, wish.rules)
    now, project_id = context.clock.now(), standing.project.project_id
    role = CustomRole(
        id=new_id(),
        organization_id=caller.organization_id,
        project_id=project_id,
        slug=wish.slug,
        name=wish.name,
        description=wish.description,
        permissions=[rule.to_wire() for rule in wish.rules],
        version=1,
        created_at=now,
        updated_at=now,
    )
    origin = origin.in_project(project_id)
    with refusing({project_roles.SLUG_TAKEN: _taken()}):
        async with context.database.begin(origin) as work:
            await project_roles.add(work, role)
            work.record(audit_record(origin, context.clock, "create-project-role", _metadata(role)))
            await work.commit()
    return role


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, project: str, role_id: UUID, wish: RoleChange
) -> CustomRole:
    """Change a role; whoever holds it has the new rights at once. Raises as `create`, and `RoleNotFound`."""
    standing = await _standing(context, caller, project)
    standing.require("edit", "role")
    if wish.rules is not None:
        roles.verify_within(standing.rules, wish.rules)
    project_id = standing.project.project_id
    origin = origin.in_project(project_id)
    changed = AccessChanged(organization_id=caller.organization_id, project_id=project_id)
    with refusing({project_roles.SLUG_TAKEN: _taken()}):
        async with context.database.begin(origin) as work:
            role = await project_roles.lock(work, project_id, role_id)
            if role is None:
                raise RoleNotFound
            role = replace(
                role,
                slug=wish.slug or role.slug,
                name=wish.name or role.name,
                description=role.description if wish.description is None else wish.description,
                permissions=role.permissions if wish.rules is None else [rule.to_wire() for rule in wish.rules],
                version=role.version + 1,
                updated_at=context.clock.now(),
            )
            await project_roles.save(work, role)
            work.send(changed)
            work.record(audit_record(origin, context.clock, "update-project-role", _metadata(role)))
            await work.commit()
    context.doorkeeper.hear_access_changed(changed)
    return role


async def delete(context: IdentityContext, caller: Caller, origin: Origin, project: str, role_id: UUID) -> CustomRole:
    """Delete a role that nobody holds; raises `Conflict` otherwise."""
    standing = await _standing(context, caller, project)
    standing.require("delete", "role")
    project_id = standing.project.project_id
    origin = origin.in_project(project_id)
    in_use = Conflict("Somebody holds this role: take it from its holders first")
    with refusing({project_roles.IN_USE: in_use}):
        async with context.database.begin(origin) as work:
            role = await project_roles.lock(work, project_id, role_id)
            if role is None:
                raise RoleNotFound
            await project_roles.delete(work, role_id)
            work.record(audit_record(origin, context.clock, "delete-project-role", _metadata(role)))
            await work.commit()
    return role


async def list_all(context: IdentityContext, caller: Caller, project: str, limit: int, offset: int) -> list[CustomRole]:
    """List the predefined roles, and behind them a part of the project's own."""
    standing = await _standing(context, caller, project)
    standing.require("read", "role")
    found = await _project(context, caller, project)
    custom = await project_roles.list_all(context.database, found.id, limit, offset)
    return [*(_as_of(found, slug) for slug in PROJECT_ROLES if predefined(slug, found.type)), *custom]


async def get_by_slug(context: IdentityContext, caller: Caller, project: str, slug: str) -> CustomRole:
    """Return a role of either sort; raises `RoleNotFound`."""
    standing = await _standing(context, caller, project)
    standing.require("read", "role")
    try:
        slug = canonical_slug(slug)
    except ValueError:
        raise RoleNotFound from None
    if predefined(slug, standing.project.type):
        return _as_of(await _project(context, caller, project), slug)
    role = await project_roles.find_by_slug(context.database, standing.project.project_id, slug)
    if role is None:
        raise RoleNotFound
    return role


def _as_of(project: Project, slug: str) -> CustomRole:
    """Show a predefined role, which is no row, in the shape of a custom one."""
    role = PROJECT_ROLES[slug]
    return CustomRole(
        id=placeholder_id(slug),
        organization_id=project.organization_id,
        project_id=project.id,
        slug=slug,
        name=role.name,
        description=role.description,
        permissions=[rule.to_wire() for rule in role.rules],
        version=1,
        created_at=project.created_at,
        updated_at=project.created_at,
    )


async def _standing(context: IdentityContext, caller: Caller, project: str) -> Standing:
    project_id = _id(project) or (await _project(context, caller, project)).id
    return await context.doorkeeper.standing(caller, project_id)


async def _project(context: IdentityContext, caller: Caller, project: str) -> Project:
    project_id = _id(project)
    if project_id is not None:
        found = await projects.find(context.database, project_id)
    else:
        found = await projects.find_by_slug(context.database, caller.organization_id, project.lower())
    if found is None:
        raise ProjectNotFound
    return found


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _taken() -> Conflict:
    return Conflict("Another role of this project has this slug: choose a different one")


def _metadata(role: CustomRole) -> dict[str, object]:
    return {"roleId": str(role.id), "slug": role.slug, "name": role.name, "permissions": list(role.permissions)}
