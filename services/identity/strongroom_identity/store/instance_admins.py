"""The queries about who administrates the instance, and what these people look at."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.memberships import SubjectKind
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.users import User
from strongroom_identity.store.pages import Page
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.tables import IDENTITIES, MEMBERSHIPS, USERS

_IS_ADMIN: Mapping[SubjectKind, str] = {
    "user": "SELECT is_instance_admin FROM users WHERE id = $1",
    "identity": "SELECT is_instance_admin FROM identities WHERE id = $1",
}
# Two administrators who take each other's rights away at the same moment must not both succeed.
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('identity-instance-admins', 0))")
_OTHER_ADMINS = text("SELECT count(*) FROM users WHERE is_instance_admin AND id <> :user_id")

_USERS = """FROM users
WHERE ($1 = '' OR username ILIKE $1 OR email ILIKE $1 OR first_name || ' ' || last_name ILIKE $1)
    AND (NOT $2 OR is_instance_admin)
"""
_IDENTITIES = "FROM identities WHERE ($1 = '' OR name ILIKE $1)"
_ORGANIZATIONS = "FROM organizations WHERE ($1 = '' OR name ILIKE $1 OR slug ILIKE $1)"
_LIST_USERS = f"SELECT * {_USERS} ORDER BY username LIMIT $3 OFFSET $4"
_LIST_IDENTITIES = f"SELECT * {_IDENTITIES} ORDER BY name, id LIMIT $2 OFFSET $3"
_LIST_ORGANIZATIONS = f"SELECT * {_ORGANIZATIONS} ORDER BY name, id LIMIT $2 OFFSET $3"


async def is_admin(database: Database, kind: SubjectKind, subject_id: UUID) -> bool:
    """Say whether this user or identity administrates the instance, as of now."""
    row = await database.fetch_row(_IS_ADMIN[kind], subject_id)
    return row is not None and bool(row["is_instance_admin"])


async def list_users(database: Database, page: Page, *, admins_only: bool) -> tuple[list[User], int]:
    """List users by name, with how many there are altogether."""
    rows = await database.fetch(_LIST_USERS, page.pattern, admins_only, page.limit, page.offset)
    return [value_of(User, row) for row in rows], await _count(database, _USERS, page.pattern, admins_only)


async def list_identities(database: Database, page: Page) -> tuple[list[Identity], int]:
    """List identities by name, without their metadata, with how many there are altogether."""
    rows = await database.fetch(_LIST_IDENTITIES, page.pattern, page.limit, page.offset)
    found = [value_of(Identity, row, metadata=(), auth_methods=()) for row in rows]
    return found, await _count(database, _IDENTITIES, page.pattern)


async def list_organizations(database: Database, page: Page) -> tuple[list[Organization], int]:
    """List organizations by name, with how many there are altogether."""
    rows = await database.fetch(_LIST_ORGANIZATIONS, page.pattern, page.limit, page.offset)
    return [value_of(Organization, row) for row in rows], await _count(database, _ORGANIZATIONS, page.pattern)


async def lock(work: UnitOfWork) -> None:
    """Let one change of instance admins happen at a time."""
    await work.execute(_LOCK)


async def has_other_admins(work: UnitOfWork, user_id: UUID) -> bool:
    """Say whether another user administrates the instance."""
    row = await work.row(_OTHER_ADMINS, {"user_id": user_id})
    return row is not None and bool(row[0])


async def lock_identity(work: UnitOfWork, identity_id: UUID) -> Identity | None:
    """Return an identity without its metadata, and keep it from changing until the work ends."""
    row = await work.row(select(IDENTITIES).where(IDENTITIES.c.id == identity_id).with_for_update())
    return None if row is None else value_of(Identity, row._mapping, metadata=(), auth_methods=())


async def save_identity(work: UnitOfWork, identity: Identity) -> None:
    """Keep whether an identity administrates the instance."""
    values = {"is_instance_admin": identity.is_instance_admin, "updated_at": identity.updated_at}
    await work.execute(update(IDENTITIES).where(IDENTITIES.c.id == identity.id).values(**values))


async def delete_user(work: UnitOfWork, user_id: UUID) -> None:
    """Remove a user and all that hangs on it."""
    await work.execute(delete(USERS).where(USERS.c.id == user_id))


async def list_organizations_of(work: UnitOfWork, user_id: UUID) -> list[UUID]:
    """List the organizations that a user belongs to, in the order of ids: whoever locks them does so in one order."""
    statement = select(MEMBERSHIPS.c.organization_id).where(MEMBERSHIPS.c.user_id == user_id).distinct()
    return sorted(row.organization_id for row in await work.rows(statement))


async def _count(database: Database, of: str, *arguments: Any) -> int:
    row = await database.fetch_row(f"SELECT count(*) AS total {of}", *arguments)
    return int(row["total"]) if row else 0
