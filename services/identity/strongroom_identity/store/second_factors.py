"""The queries about second factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.user_tables import RECOVERY_CODES, TOTPS

_IS_ON = "SELECT 1 FROM totps WHERE user_id = $1 AND confirmed_at IS NOT NULL"


@dataclass(frozen=True)
class SealedTotp:
    """A user's generator of codes as it rests."""

    user_id: UUID
    sealed_secret: bytes
    last_step: int | None
    confirmed_at: datetime | None


async def is_on(database: Database, user_id: UUID) -> bool:
    """Say whether a user has a second factor."""
    return await database.fetch_row(_IS_ON, user_id) is not None


async def lock(work: UnitOfWork, user_id: UUID) -> SealedTotp | None:
    """Return a user's generator, confirmed or not, and let nobody else use it until the work ends."""
    row = await work.row(select(TOTPS).where(TOTPS.c.user_id == user_id).with_for_update())
    return None if row is None else value_of(SealedTotp, row._mapping)


async def put_unconfirmed(work: UnitOfWork, user_id: UUID, sealed_secret: bytes, now: datetime) -> bool:
    """Keep a new generator in place of an unconfirmed one; False where there is a confirmed one."""
    fresh = {"sealed_secret": sealed_secret, "last_step": None, "confirmed_at": None, "created_at": now}
    statement = (
        upsert(TOTPS)
        .values(user_id=user_id, **fresh)
        .on_conflict_do_update(index_elements=[TOTPS.c.user_id], set_=fresh, where=TOTPS.c.confirmed_at.is_(None))
    )
    return await work.execute(statement) == 1


async def note_step(work: UnitOfWork, user_id: UUID, step: int, confirmed_at: datetime) -> None:
    """Remember the step whose code was used."""
    await work.execute(
        update(TOTPS)
        .where(TOTPS.c.user_id == user_id)
        .values(last_step=step, confirmed_at=func.coalesce(TOTPS.c.confirmed_at, confirmed_at))
    )


async def drop(work: UnitOfWork, user_id: UUID) -> None:
    """Forget a user's generator and recovery codes."""
    await work.execute(delete(TOTPS).where(TOTPS.c.user_id == user_id))
    await work.execute(delete(RECOVERY_CODES).where(RECOVERY_CODES.c.user_id == user_id))


async def replace_recovery_codes(work: UnitOfWork, user_id: UUID, hashes: Sequence[bytes]) -> None:
    """Keep new recovery codes in place of all others."""
    await work.execute(delete(RECOVERY_CODES).where(RECOVERY_CODES.c.user_id == user_id))
    await work.execute(insert(RECOVERY_CODES), [{"user_id": user_id, "code_hash": one} for one in hashes])


async def take_recovery_code(work: UnitOfWork, user_id: UUID, code_hash: bytes) -> bool:
    """Use a recovery code up; of two who try at the same moment one succeeds."""
    table = RECOVERY_CODES.c
    statement = delete(RECOVERY_CODES).where(table.user_id == user_id, table.code_hash == code_hash)
    return await work.execute(statement) == 1
