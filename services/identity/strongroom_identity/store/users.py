"""The queries about users."""

from sqlalchemy import insert

from strongroom_common.db.database import UnitOfWork
from strongroom_identity.domain.users import User
from strongroom_identity.store.rows import columns_of
from strongroom_identity.store.tables import USERS

EMAIL_TAKEN = "users_email_key"
USERNAME_TAKEN = "users_username_key"


async def add(work: UnitOfWork, user: User) -> None:
    """Keep a new user."""
    await work.execute(insert(USERS).values(columns_of(USERS, user)))
