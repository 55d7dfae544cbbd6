"""The queries about users."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import insert, select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.users import User
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import USERS

EMAIL_TAKEN = "users_email_key"
USERNAME_TAKEN = "users_username_key"

_FIND = "SELECT * FROM users WHERE id = $1"
_FIND_BY_EMAIL = "SELECT * FROM users WHERE email = $1"


async def add(work: UnitOfWork, user: User) -> None:
    """Keep a new user."""
    await work.execute(insert(USERS).values(columns_of(USERS, user)))


async def find(database: Database, user_id: UUID) -> User | None:
    """Return a user, or None."""
    row = await database.fetch_row(_FIND, user_id)
    return None if row is None else value_of(User, row)


async def find_by_email(database: Database, email: str) -> User | None:
    """Return the user with this mailbox, in its one spelling; or None."""
    row = await database.fetch_row(_FIND_BY_EMAIL, email)
    return None if row is None else value_of(User, row)


async def lock(work: UnitOfWork, user_id: UUID) -> User | None:
    """Return a user, and keep the row from changing until the work ends."""
    row = await work.row(select(USERS).where(USERS.c.id == user_id).with_for_update())
    return None if row is None else value_of(User, row._mapping)


async def lock_by_emails(work: UnitOfWork, emails: Sequence[str]) -> dict[str, User]:
    """Return the users with these mailboxes, and keep their rows from changing until the work ends."""
    statement = select(USERS).where(USERS.c.email.in_(emails)).order_by(USERS.c.id).with_for_update()
    return {row.email: value_of(User, row._mapping) for row in await work.rows(statement)}


async def save(work: UnitOfWork, user: User) -> None:
    """Keep what changed of a user."""
    await work.execute(update(USERS).where(USERS.c.id == user.id).values(columns_of(USERS, user)))


async def save_password(work: UnitOfWork, user_id: UUID, password_hash: str, now: datetime) -> None:
    """Keep a new password's hash."""
    await work.execute(update(USERS).where(USERS.c.id == user_id).values(password_hash=password_hash, updated_at=now))
