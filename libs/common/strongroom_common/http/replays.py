"""`Idempotency-Key`: a write that is sent twice happens once, and the second sender gets the first answer.

A claim is a row. The first commit of the request's work marks it in the same transaction, so that after a crash
anywhere the truth is known: nothing was done (the claim may be taken over) or it was done (and the answer, if it got
that far, is replayed). Answers are sealed: they may hold a secret.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from strongroom_common.db.database import BEFORE_COMMIT, Database
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import InvalidInput, Stale

KEPT = timedelta(hours=24)
ABANDONED = timedelta(minutes=3)
"""Longer than any request may take: a claim this old without a commit belongs to a process that died."""
LARGEST_ANSWER = 4 * 1024 * 1024

_CLAIM = """
INSERT INTO idempotency_keys AS claim (scope, fingerprint, claimed_at) VALUES ($1, $2, $3)
ON CONFLICT (scope) DO UPDATE
SET fingerprint = excluded.fingerprint, claimed_at = excluded.claimed_at, committed_at = NULL, status = NULL,
    answer = NULL
WHERE claim.claimed_at < $4 OR (claim.committed_at IS NULL AND claim.status IS NULL AND claim.claimed_at < $5)
RETURNING true
"""
_LOOK = "SELECT fingerprint, committed_at, status, answer FROM idempotency_keys WHERE scope = $1"
_COMMITTED = text(
    "UPDATE idempotency_keys SET committed_at = coalesce(committed_at, :claimed_at) "
    "WHERE scope = :scope AND claimed_at = :claimed_at"
)
_ANSWERED = "UPDATE idempotency_keys SET status = $3, answer = $4 WHERE scope = $1 AND claimed_at = $2"
_RELEASE = "DELETE FROM idempotency_keys WHERE scope = $1 AND claimed_at = $2 AND committed_at IS NULL"
_EXPIRE = "DELETE FROM idempotency_keys WHERE claimed_at < $1"


class Sealer(Protocol):
    """What seals the kept answers."""

    def seal(self, plain: bytes, associated: bytes) -> bytes:
        """Seal under the service's own key."""
        ...

    def open(self, sealed: bytes, associated: bytes) -> bytes:
        """Open what was sealed."""
        ...


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The first answer to a request that comes again."""

    status: int
    body: bytes


@dataclass(slots=True)
class Claim:
    """This request is the first with its key; `answer` is kept if it gets that far."""

    scope: bytes
    claimed_at: datetime
    answer: KeptAnswer | None = None

    async def note_commit(self, connection: AsyncConnection) -> None:
        """Make "it was done" true together with the work itself."""
        result = await connection.execute(_COMMITTED, {"scope": self.scope, "claimed_at": self.claimed_at})
        if result.rowcount != 1:
            raise Stale("another request with this Idempotency-Key has taken over; look at what it did")


class Replays:
    """The kept answers of one service."""

    def __init__(self, database: Database, sealer: Sealer, clock: Clock) -> None:
        self._database = database
        self._sealer = sealer
        self._clock = clock

    @asynccontextmanager
    async def once(
        self, *, caller: str, method: str, path: str, key: str, query: str, body: bytes
    ) -> AsyncIterator[Claim | KeptAnswer]:
        """Claim the key for the length of a request, or return the answer that it already has.

        Raises `InvalidInput` (422) for a key used with another request, `Stale` (409) while the first one is under way
        or when its answer was lost.
        """
        if not 1 <= len(key) <= 255 or not key.isprintable():
            raise InvalidInput.of_field(["Idempotency-Key"], "custom", "must be 1 to 255 readable characters long")
        scope = sha256("\x00".join((caller, method, path, key)).encode()).digest()
        fingerprint = sha256(query.encode() + b"\x00" + body).digest()
        now = self._clock.now()
        claimed = await self._database.fetch_row(_CLAIM, scope, fingerprint, now, now - KEPT, now - ABANDONED)
        if claimed is None:
            yield await self._look(scope, fingerprint)
            return
        claim = Claim(scope, now)
        token = BEFORE_COMMIT.set(claim.note_commit)
        try:
            yield claim
        finally:
            BEFORE_COMMIT.reset(token)
            if claim.answer is not None and len(claim.answer.body) <= LARGEST_ANSWER:
                sealed = self._sealer.seal(claim.answer.body, b"idempotency|" + scope)
                await self._database.execute(_ANSWERED, scope, now, claim.answer.status, sealed)
            else:
                await self._database.execute(_RELEASE, scope, now)

    async def expire(self) -> None:
        """Forget answers that are older than a day."""
        await self._database.execute(_EXPIRE, self._clock.now() - KEPT)

    async def _look(self, scope: bytes, fingerprint: bytes) -> KeptAnswer:
        row = await self._database.fetch_row(_LOOK, scope)
        if row is None:
            raise Stale("the first request with this Idempotency-Key has just failed; try again")
        if row["fingerprint"] != fingerprint:
            raise InvalidInput.of_field(
                ["Idempotency-Key"], "custom", "this key was used with another request; choose a new one"
            )
        if row["status"] is not None:
            return KeptAnswer(row["status"], self._sealer.open(row["answer"], b"idempotency|" + scope))
        if row["committed_at"] is not None:
            raise Stale("this request was carried out, but its answer was lost: read what it changed")
        raise Stale("the first request with this Idempotency-Key is still under way; try again in a moment")
