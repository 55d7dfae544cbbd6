"""The queries about failed logins and the locks that they lead to."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, text, update
from sqlalchemy.exc import DBAPIError

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_common.db.errors import as_ours
from strongroom_common.kernel.errors import RateLimited, Stale
from strongroom_identity.domain.lockouts import Failures
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.tables import LOCKOUTS

PATIENCE = "1s"
"""How long a login waits for others of the same name before it is told to come again (429)."""

_FIND = "SELECT count, is_locked, ends_at FROM lockouts WHERE subject_id = $1 AND kind = $2 AND name_hash = $3"
_WAIT_FOR = text("SELECT set_config('lock_timeout', :patience, true)")
# The row is made where it is absent, and in either case nobody else has it until the work ends.
_LOCK = text("""
INSERT INTO lockouts AS held (subject_id, kind, name_hash, count, is_locked, ends_at)
VALUES (:subject_id, :kind, :name_hash, 0, false, CAST(:now AS timestamptz))
ON CONFLICT (subject_id, kind, name_hash) DO UPDATE SET count = held.count
RETURNING count, is_locked, ends_at
""")
_LOCKED_KINDS = """
SELECT subject_id, array_agg(DISTINCT kind ORDER BY kind) AS kinds FROM lockouts
WHERE subject_id = ANY($1::uuid[]) AND is_locked AND ends_at > $2 GROUP BY subject_id
"""
_DROP_UNLOCKED = """
DELETE FROM lockouts
WHERE subject_id = $1 AND kind = $2 AND name_hash = $3 AND NOT (is_locked AND ends_at > $4)
"""
_DROP_OVER = """
DELETE FROM lockouts WHERE (subject_id, kind, name_hash) IN (
    SELECT subject_id, kind, name_hash FROM lockouts WHERE ends_at < $1
    ORDER BY ends_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""

Key = tuple[UUID, str, bytes]
"""Whose login, which kind, and the keyed hash of the name that was presented."""


async def find(database: Database, key: Key) -> Failures | None:
    """Return the failures counted under a key, or None."""
    row = await database.fetch_row(_FIND, *key)
    return None if row is None else value_of(Failures, row)


async def lock(work: UnitOfWork, key: Key, now: datetime) -> Failures:
    """Return the failures counted under a key, and let nobody else count until the work ends.

    Raises `RateLimited` when too many others do the same at this moment.
    """
    await work.execute(_WAIT_FOR, {"patience": PATIENCE})
    try:
        (row,) = await work.rows(_LOCK, {**_columns(key), "now": now})
    except DBAPIError as error:
        if isinstance(as_ours(error), Stale):
            raise RateLimited("Too many logins at the same moment: try again in a second") from None
        raise
    return value_of(Failures, row._mapping)


async def save(work: UnitOfWork, key: Key, failures: Failures) -> None:
    """Keep what was counted under a key that this work has locked."""
    statement = update(LOCKOUTS).where(*_is(key))
    await work.execute(statement.values(count=failures.count, is_locked=failures.is_locked, ends_at=failures.ends_at))


async def drop_unlocked(database: Database, key: Key, now: datetime) -> None:
    """Forget what was counted under a key, unless it has led to a lock."""
    await database.execute(_DROP_UNLOCKED, *key, now)


async def drop_all(work: UnitOfWork, subject_id: UUID, kind: str) -> int:
    """Forget all that was counted for a subject's logins of one kind; return how many names it was."""
    return await work.execute(delete(LOCKOUTS).where(LOCKOUTS.c.subject_id == subject_id, LOCKOUTS.c.kind == kind))


async def drop_of_subject(work: UnitOfWork, subject_id: UUID) -> None:
    """Forget all that was counted for a subject."""
    await work.execute(delete(LOCKOUTS).where(LOCKOUTS.c.subject_id == subject_id))


async def list_locked_kinds(
    database: Database, subject_ids: Sequence[UUID], now: datetime
) -> Mapping[UUID, Sequence[str]]:
    """List the kinds of login in which subjects are locked out right now; subjects without any are left out."""
    rows = await database.fetch(_LOCKED_KINDS, subject_ids, now)
    return {row["subject_id"]: row["kinds"] for row in rows}


async def drop_over(database: Database, now: datetime, most: int = 1000) -> bool:
    """Forget some of what is over; say whether there may be more."""
    done = await database.execute(_DROP_OVER, now, most)
    return int(done.rpartition(" ")[2]) == most


def _columns(key: Key) -> dict[str, Any]:
    subject_id, kind, name_hash = key
    return {"subject_id": subject_id, "kind": kind, "name_hash": name_hash}


def _is(key: Key) -> list[Any]:
    return [LOCKOUTS.c[name] == value for name, value in _columns(key).items()]
