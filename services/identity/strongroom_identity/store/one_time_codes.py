"""The queries about codes that were sent to a mailbox."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_common.kernel.ids import new_id
from strongroom_identity.store.user_tables import ONE_TIME_CODES

Purpose = Literal["sign-up", "invitation", "password-recovery"]

_DROP_EXPIRED = """
DELETE FROM one_time_codes WHERE id IN (
    SELECT id FROM one_time_codes WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""


async def put(
    work: UnitOfWork,
    purpose: Purpose,
    mailbox: str,
    code_hash: bytes,
    *,
    organization_id: UUID | None = None,
    expires_at: datetime,
    now: datetime,
) -> None:
    """Keep a code in place of the one before."""
    table = ONE_TIME_CODES.c
    fresh = {"code_hash": code_hash, "expires_at": expires_at, "created_at": now}
    statement = insert(ONE_TIME_CODES).values(
        id=new_id(), purpose=purpose, mailbox=mailbox, organization_id=organization_id, **fresh
    )
    if organization_id is None:
        keys, where = [table.purpose, table.mailbox], table.organization_id.is_(None)
    else:
        keys, where = [table.organization_id, table.purpose, table.mailbox], table.organization_id.is_not(None)
    await work.execute(statement.on_conflict_do_update(index_elements=keys, index_where=where, set_=fresh))


async def is_good(
    work: UnitOfWork,
    purpose: Purpose,
    mailbox: str,
    code_hash: bytes,
    now: datetime,
    *,
    organization_id: UUID | None = None,
) -> bool:
    """Say whether this is the mailbox's code, and keep it from being taken by anyone else until the work ends."""
    conditions = _of(purpose, mailbox, code_hash, organization_id)
    statement = select(ONE_TIME_CODES.c.id).where(*conditions, ONE_TIME_CODES.c.expires_at > now).with_for_update()
    return await work.row(statement) is not None


async def take(
    work: UnitOfWork,
    purpose: Purpose,
    mailbox: str,
    code_hash: bytes,
    now: datetime,
    *,
    organization_id: UUID | None = None,
) -> bool:
    """Use a code up; of two who try at the same moment one succeeds."""
    conditions = _of(purpose, mailbox, code_hash, organization_id)
    return await work.execute(delete(ONE_TIME_CODES).where(*conditions, ONE_TIME_CODES.c.expires_at > now)) == 1


async def drop(work: UnitOfWork, purpose: Purpose, mailbox: str, organization_id: UUID | None = None) -> None:
    """Make a mailbox's code worthless."""
    table = ONE_TIME_CODES.c
    await work.execute(
        delete(ONE_TIME_CODES).where(table.purpose == purpose, table.mailbox == mailbox, _in(organization_id))
    )


async def drop_expired(database: Database, now: datetime, most: int = 1000) -> bool:
    """Forget some of the codes that are over; say whether there may be more."""
    done = await database.execute(_DROP_EXPIRED, now, most)
    return int(done.rpartition(" ")[2]) == most


def _of(purpose: Purpose, mailbox: str, code_hash: bytes, organization_id: UUID | None) -> list[Any]:
    table = ONE_TIME_CODES.c
    return [table.purpose == purpose, table.mailbox == mailbox, table.code_hash == code_hash, _in(organization_id)]


def _in(organization_id: UUID | None) -> Any:
    column = ONE_TIME_CODES.c.organization_id
    return column.is_(None) if organization_id is None else column == organization_id
