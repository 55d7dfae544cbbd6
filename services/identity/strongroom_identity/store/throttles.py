"""The queries about how often somebody tried."""

from datetime import datetime

from strongroom_common.db.database import Database
from strongroom_identity.domain.throttles import Throttle

# Counted before the attempt is judged: of a thousand guesses at the same moment only those that are free get an answer.
# No row comes back while the door is closed, and an attempt at a closed door changes nothing.
_COUNT = """
INSERT INTO throttles AS t (key, attempts, counted_at) VALUES ($1, 1, $2)
ON CONFLICT (key) DO UPDATE SET
    attempts = CASE WHEN t.counted_at < $3 THEN 1 ELSE t.attempts + 1 END,
    counted_at = $2,
    blocked_until = CASE
        WHEN t.counted_at >= $3 AND t.attempts + 1 > $4
        THEN $2 + least($5::interval * power(2, least(t.attempts - $4, 30)), $6::interval)
    END
WHERE t.blocked_until IS NULL OR t.blocked_until <= $2
RETURNING attempts
"""
_BLOCKED_UNTIL = "SELECT blocked_until FROM throttles WHERE key = $1"
_TAKE_BACK = """
UPDATE throttles SET attempts = attempts - 1, blocked_until = CASE WHEN attempts > $2 + 1 THEN blocked_until END
WHERE key = $1 AND attempts > 0
"""
_FORGET = "DELETE FROM throttles WHERE key = $1"
_FORGET_OLD = """
DELETE FROM throttles WHERE key IN (
    SELECT key FROM throttles WHERE counted_at < $1 ORDER BY counted_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""


async def count(database: Database, key: bytes, throttle: Throttle, now: datetime) -> datetime | None:
    """Count an attempt and return None; or return until when the door is closed."""
    since = now - throttle.forgotten
    if await database.fetch_row(_COUNT, key, now, since, throttle.free, throttle.first, throttle.longest) is not None:
        return None
    row = await database.fetch_row(_BLOCKED_UNTIL, key)
    return now if row is None or row["blocked_until"] is None else max(row["blocked_until"], now)


async def take_back(database: Database, key: bytes, throttle: Throttle) -> None:
    """Make an attempt one that never was: it was none of a guesser."""
    await database.execute(_TAKE_BACK, key, throttle.free)


async def forget(database: Database, key: bytes) -> None:
    """Begin to count anew."""
    await database.execute(_FORGET, key)


async def forget_old(database: Database, before: datetime, most: int = 1000) -> bool:
    """Forget some of what was counted before an instant; say whether there may be more."""
    done = await database.execute(_FORGET_OLD, before, most)
    return int(done.rpartition(" ")[2]) == most
