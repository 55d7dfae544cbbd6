"""The one row of the instance."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import insert, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.store.tables import INSTANCE

_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('identity-first-start', 0))")
_PEPPER = text("SELECT sealed_pepper FROM instance")
_IS_SET_UP = "SELECT initialized_at IS NOT NULL AS is_set_up FROM instance"


async def lock_first_start(work: UnitOfWork) -> None:
    """Let one replica at a time look whether this is the first start."""
    await work.execute(_LOCK)


async def find_sealed_pepper(work: UnitOfWork) -> bytes | None:
    """Return the sealed key of the keyed hashes, if there is an instance yet."""
    row = await work.row(_PEPPER)
    return None if row is None else bytes(row.sealed_pepper)


async def add(work: UnitOfWork, instance_id: UUID, sealed_pepper: bytes, now: datetime) -> None:
    """Begin the instance."""
    values = {"id": 1, "instance_id": instance_id, "sealed_pepper": sealed_pepper, "created_at": now}
    await work.execute(insert(INSTANCE).values(**values))


async def is_set_up(database: Database) -> bool:
    """Say whether the instance has its first organization."""
    row = await database.fetch_row(_IS_SET_UP)
    return row is not None and bool(row["is_set_up"])


async def mark_set_up(work: UnitOfWork, now: datetime) -> bool:
    """Mark it; False when somebody else has. The row's lock makes a second one wait for the outcome of the first."""
    statement = update(INSTANCE).where(INSTANCE.c.initialized_at.is_(None)).values(initialized_at=now)
    return await work.execute(statement) == 1
