"""The queries about the custom roles of projects."""

from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import ROLES

SLUG_TAKEN = "roles_project_slug_idx"
IN_USE = "membership_roles_custom_role_id_fkey"

_LIST = "SELECT * FROM roles WHERE project_id = $1 ORDER BY slug LIMIT $2 OFFSET $3"
_FIND_BY_SLUG = "SELECT * FROM roles WHERE project_id = $1 AND slug = $2"


async def add(work: UnitOfWork, role: CustomRole) -> None:
    """Keep a new role."""
    await work.execute(insert(ROLES).values(columns_of(ROLES, role)))


async def list_all(database: Database, project_id: UUID, limit: int, offset: int) -> list[CustomRole]:
    """List a project's custom roles by their slugs."""
    return [value_of(CustomRole, row) for row in await database.fetch(_LIST, project_id, limit, offset)]


async def find_by_slug(database: Database, project_id: UUID, slug: str) -> CustomRole | None:
    """Return a project's custom role, or None."""
    row = await database.fetch_row(_FIND_BY_SLUG, project_id, slug)
    return None if row is None else value_of(CustomRole, row)


async def lock(work: UnitOfWork, project_id: UUID, role_id: UUID) -> CustomRole | None:
    """Return a project's custom role, and keep it from changing until the work ends; or None."""
    statement = select(ROLES).where(ROLES.c.id == role_id, ROLES.c.project_id == project_id)
    row = await work.row(statement.with_for_update())
    return None if row is None else value_of(CustomRole, row._mapping)


async def save(work: UnitOfWork, role: CustomRole) -> None:
    """Keep what was changed in a role."""
    await work.execute(update(ROLES).where(ROLES.c.id == role.id).values(columns_of(ROLES, role)))


async def delete(work: UnitOfWork, role_id: UUID) -> None:
    """Remove a role; the constraint `IN_USE` refuses one that somebody holds."""
    await work.execute(delete_from(ROLES).where(ROLES.c.id == role_id))
