"""The queries about project templates, and about whom they name."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import func, insert, select, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.project_templates import ProjectTemplate
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import PROJECT_TEMPLATES, ROLES

NAME_TAKEN = "project_templates_organization_id_name_key"

_FIND = "SELECT * FROM project_templates WHERE organization_id = $1 AND id = $2"
_FIND_BY_NAME = "SELECT * FROM project_templates WHERE organization_id = $1 AND name = $2"
_LIST = """
SELECT * FROM project_templates WHERE organization_id = $1 AND ($2::text IS NULL OR type = $2) ORDER BY name
"""
_USERS = text(
    """
    SELECT u.username, u.id FROM users u
    JOIN memberships m ON m.user_id = u.id AND m.organization_id = :organization_id AND m.project_id IS NULL
    WHERE u.username = ANY (CAST(:names AS text[]))
    """
)
_GROUPS = text(
    "SELECT slug, id FROM groups WHERE organization_id = :organization_id AND slug = ANY (CAST(:names AS text[]))"
)


async def find(database: Database, organization_id: UUID, template_id: UUID) -> ProjectTemplate | None:
    """Return a template of the organization, or None."""
    row = await database.fetch_row(_FIND, organization_id, template_id)
    return None if row is None else value_of(ProjectTemplate, row)


async def find_by_name(database: Database, organization_id: UUID, name: str) -> ProjectTemplate | None:
    """Return the organization's template of this name, or None."""
    row = await database.fetch_row(_FIND_BY_NAME, organization_id, name)
    return None if row is None else value_of(ProjectTemplate, row)


async def list_of(database: Database, organization_id: UUID, project_type: str | None) -> list[ProjectTemplate]:
    """List the organization's templates, by name."""
    rows = await database.fetch(_LIST, organization_id, project_type)
    return [value_of(ProjectTemplate, row) for row in rows]


async def count(work: UnitOfWork, organization_id: UUID) -> int:
    """Count the organization's templates."""
    row = await work.row(
        select(func.count())
        .select_from(PROJECT_TEMPLATES)
        .where(PROJECT_TEMPLATES.c.organization_id == organization_id)
    )
    return 0 if row is None else int(row[0])


async def lock(work: UnitOfWork, organization_id: UUID, template_id: UUID) -> ProjectTemplate | None:
    """Return a template of the organization, and keep it from changing until the work ends."""
    statement = select(PROJECT_TEMPLATES).where(
        PROJECT_TEMPLATES.c.organization_id == organization_id, PROJECT_TEMPLATES.c.id == template_id
    )
    row = await work.row(statement.with_for_update())
    return None if row is None else value_of(ProjectTemplate, row._mapping)


async def add(work: UnitOfWork, template: ProjectTemplate) -> None:
    """Keep a new template."""
    await work.execute(insert(PROJECT_TEMPLATES).values(columns_of(PROJECT_TEMPLATES, template)))


async def save(work: UnitOfWork, template: ProjectTemplate) -> None:
    """Keep a locked template as it now is."""
    values = columns_of(PROJECT_TEMPLATES, template)
    await work.execute(update(PROJECT_TEMPLATES).where(PROJECT_TEMPLATES.c.id == template.id).values(values))


async def delete(work: UnitOfWork, template_id: UUID) -> None:
    """Remove a template; projects made from it stay as they are."""
    await work.execute(delete_from(PROJECT_TEMPLATES).where(PROJECT_TEMPLATES.c.id == template_id))


async def find_users(work: UnitOfWork, organization_id: UUID, usernames: Sequence[str]) -> dict[str, UUID]:
    """Return the ids of those members of the organization, by user name."""
    rows = await work.rows(_USERS, {"organization_id": organization_id, "names": list(usernames)})
    return {row.username: row.id for row in rows}


async def find_groups(work: UnitOfWork, organization_id: UUID, slugs: Sequence[str]) -> dict[str, UUID]:
    """Return the ids of those groups of the organization, by slug."""
    rows = await work.rows(_GROUPS, {"organization_id": organization_id, "names": list(slugs)})
    return {row.slug: row.id for row in rows}


async def add_roles(work: UnitOfWork, roles: Sequence[CustomRole]) -> None:
    """Give a new project its custom roles."""
    if roles:
        await work.execute(insert(ROLES), [columns_of(ROLES, role) for role in roles])
