"""The public keys that verify tokens: heard by event, asked for on a miss, kept in the service's own database.

A service that restarts while identity is away still knows who its callers are.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from strongroom_common.contracts.identity import PublicKey, PublicKeys
from strongroom_common.crypto.jwts import UnknownSigningKey, VerificationKey, verify
from strongroom_common.db.database import Database
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import TokenRefused

ASK_AGAIN_AFTER = 2.0
"""Seconds between two questions about unknown keys: a stream of made-up key ids must not become one of questions."""

_LOAD = "SELECT kid, key FROM verification_keys"
_REPLACE = """
WITH gone AS (DELETE FROM verification_keys WHERE kid <> ALL($1::text[]))
INSERT INTO verification_keys (kid, key) SELECT * FROM unnest($1::text[], $2::text[])
ON CONFLICT (kid) DO UPDATE SET key = excluded.key, heard_at = now()
"""


class VerificationKeys:
    """All keys known to this process."""

    def __init__(self, database: Database, ask: Callable[[], Awaitable[PublicKeys]], clock: Clock) -> None:
        self._database = database
        self._ask = ask
        self._clock = clock
        self._keys: dict[str, VerificationKey] = {}
        self._asked_at: float | None = None
        self._asking = asyncio.Lock()

    async def load(self) -> None:
        """Read what was kept."""
        rows = await self._database.fetch(_LOAD)
        self._keys = {row["kid"]: _key(row["key"]) for row in rows}

    async def replace(self, keys: Sequence[PublicKey]) -> None:
        """Know these keys and no others."""
        alive = [key for key in keys if not key.is_retired]
        known = {key.kid: _key(key.key) for key in alive}
        await self._database.execute(_REPLACE, [key.kid for key in alive], [key.key for key in alive])
        self._keys = known

    async def verify(self, token: str) -> dict[str, Any]:
        """Return the claims of a well-signed, unexpired token; raises `TokenRefused`, or `Unavailable` when its key is
        unknown and identity cannot be asked."""
        try:
            return verify(token, self._keys.get, self._clock)
        except UnknownSigningKey:
            pass
        try:
            # A crowd with the same new key waits for one question.
            async with self._asking:
                return await self._verify_after_asking(token)
        except UnknownSigningKey:
            raise TokenRefused("the token is not signed with a key that is valid here") from None

    async def _verify_after_asking(self, token: str) -> dict[str, Any]:
        try:
            return verify(token, self._keys.get, self._clock)
        except UnknownSigningKey:
            now = self._clock.monotonic()
            if self._asked_at is not None and now - self._asked_at < ASK_AGAIN_AFTER:
                raise
            await self.replace((await self._ask()).keys)
            self._asked_at = now
            return verify(token, self._keys.get, self._clock)


def _key(document: str) -> VerificationKey:
    return VerificationKey.of_json(json.loads(document))
