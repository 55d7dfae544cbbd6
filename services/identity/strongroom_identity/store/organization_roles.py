"""The queries about an organization's own roles."""

from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import func, insert, select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import ROLES

SLUG_TAKEN = "roles_organization_slug_idx"
IN_USE = "membership_roles_custom_role_id_fkey"

MOST = 1000
"""How many roles an organization may have: they are listed whole."""

_LIST = "SELECT * FROM roles WHERE organization_id = $1 AND project_id IS NULL ORDER BY slug LIMIT $2"
_FIND = "SELECT * FROM roles WHERE id = $1 AND organization_id = $2 AND project_id IS NULL"
_FIND_BY_SLUG = "SELECT * FROM roles WHERE organization_id = $1 AND slug = $2 AND project_id IS NULL"


async def add(work: UnitOfWork, role: CustomRole) -> None:
    """Keep a new role."""
    await work.execute(insert(ROLES).values(columns_of(ROLES, role)))


async def count(work: UnitOfWork, organization_id: UUID) -> int:
    """Count the organization's own roles."""
    table = ROLES.c
    statement = select(func.count()).where(table.organization_id == organization_id, table.project_id.is_(None))
    row = await work.row(statement)
    return int(row[0]) if row else 0


async def list_all(database: Database, organization_id: UUID) -> list[CustomRole]:
    """List the organization's own roles by slug."""
    return [value_of(CustomRole, row) for row in await database.fetch(_LIST, organization_id, MOST)]


async def find(database: Database, organization_id: UUID, role_id: UUID) -> CustomRole | None:
    """Return one of the organization's own roles, or None."""
    row = await database.fetch_row(_FIND, role_id, organization_id)
    return None if row is None else value_of(CustomRole, row)


async def find_by_slug(database: Database, organization_id: UUID, slug: str) -> CustomRole | None:
    """Return the organization's own role with this slug, or None."""
    row = await database.fetch_row(_FIND_BY_SLUG, organization_id, slug)
    return None if row is None else value_of(CustomRole, row)


async def lock(work: UnitOfWork, organization_id: UUID, role_id: UUID) -> CustomRole | None:
    """Return one of the organization's own roles, and keep it from changing until the work ends; or None."""
    table = ROLES.c
    statement = select(ROLES).where(
        table.id == role_id, table.organization_id == organization_id, table.project_id.is_(None)
    )
    row = await work.row(statement.with_for_update())
    return None if row is None else value_of(CustomRole, row._mapping)


async def save(work: UnitOfWork, role: CustomRole) -> None:
    """Keep a changed role."""
    await work.execute(update(ROLES).where(ROLES.c.id == role.id).values(columns_of(ROLES, role)))


async def delete(work: UnitOfWork, role_id: UUID) -> None:
    """Remove a role; the database refuses while a membership has it."""
    await work.execute(delete_from(ROLES).where(ROLES.c.id == role_id))
