"""The queries about mails that wait to be sent."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import insert

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.user_tables import MAILS

# A claim is a lease: nobody else takes the mail before it ends, and if we die meanwhile somebody does then.
_CLAIM = """
UPDATE mails SET attempts = attempts + 1, next_attempt_at = $2 WHERE id IN (
    SELECT id FROM mails WHERE next_attempt_at <= $1 ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id, sealed_mail, attempts, created_at
"""
_DROP = "DELETE FROM mails WHERE id = $1"
_POSTPONE = "UPDATE mails SET next_attempt_at = $2 WHERE id = $1"


@dataclass(frozen=True)
class WaitingMail:
    """A mail on its way; `attempts` counts this one."""

    id: UUID
    sealed_mail: bytes
    attempts: int
    created_at: datetime


async def add(work: UnitOfWork, mail_id: UUID, sealed_mail: bytes, now: datetime) -> None:
    """Put a mail on its way, due at once."""
    values = {"id": mail_id, "sealed_mail": sealed_mail, "attempts": 0, "next_attempt_at": now, "created_at": now}
    await work.execute(insert(MAILS).values(**values))


async def claim(database: Database, now: datetime, lease: timedelta) -> WaitingMail | None:
    """Take a mail that is due, for the length of a lease; or None."""
    row = await database.fetch_row(_CLAIM, now, now + lease)
    return None if row is None else value_of(WaitingMail, row)


async def drop(database: Database, mail_id: UUID) -> None:
    """Forget a mail: it was sent, or never will be."""
    await database.execute(_DROP, mail_id)


async def postpone(database: Database, mail_id: UUID, until: datetime) -> None:
    """Let a mail wait for its next attempt."""
    await database.execute(_POSTPONE, mail_id, until)
