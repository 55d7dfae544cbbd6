"""The keys that sign tokens: made, changed for new ones without a login lost, retired.

A new key is published to everyone who verifies before it signs anything, and an old one goes on verifying the tokens
that it signed: to their end, or until somebody retires it. Which key signs follows from the clock, so that all replicas
change at the same moment without speaking to each other.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import PLATFORM, Origin
from strongroom_common.contracts.identity import PublicKey, SigningKeysChanged
from strongroom_common.crypto.data_keys import bind
from strongroom_common.crypto.jwts import SigningKey
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict, NotFound
from strongroom_identity.domain.signing_keys import KeyInForce, signing_at
from strongroom_identity.store import signing_keys
from strongroom_identity.store.signing_keys import KeptKey
from strongroom_identity.usecases.context import IdentityContext

LEAD = timedelta(minutes=1)
"""How long a key is known to everyone before it signs: longer than any answer about keys is remembered."""

_INSTANCE = UUID(int=0)


async def begin(context: IdentityContext, work: UnitOfWork) -> list[KeyInForce]:
    """Return the keys in force; the first time, make one. Inside the work that holds the lock of first starts."""
    kept = await signing_keys.list_in_force(work)
    return [_opened(context, key) for key in kept] or [await _add(context, work, [], timedelta(0))]


async def reload(context: IdentityContext) -> None:
    """Read the keys anew, in every replica: when they have changed, and now and then in case that went unheard."""
    async with context.database.begin(Origin()) as work:
        kept = await signing_keys.list_in_force(work)
    context.secrets.take_keys([_opened(context, key) for key in kept])


async def rotate(context: IdentityContext, lead: timedelta = LEAD) -> KeyInForce:
    """Make a new key. Everyone hears of it now; it signs after `lead`."""
    async with context.database.begin(Origin(actor=PLATFORM)) as work:
        kept = await signing_keys.list_in_force(work, lock=True)
        fresh = await _add(context, work, kept, lead)
        _record(context, work, "rotate-signing-key", fresh.key.id)
        await work.commit()
    return fresh


async def retire(context: IdentityContext, kid: str) -> None:
    """Let a key verify nothing more: tokens that it signed are refused from now on.

    Raises `NotFound`, and `Conflict` for the key that signs or is about to.
    """
    async with context.database.begin(Origin(actor=PLATFORM)) as work:
        kept = await signing_keys.list_in_force(work, lock=True)
        now = context.clock.now()
        if kid not in {key.kid for key in kept}:
            raise NotFound("There is no such signing key in force")
        signing = signing_at([_opened(context, key) for key in kept], now)
        if kid == signing.id or any(key.kid == kid and key.signs_from > now for key in kept):
            raise Conflict("This key signs, or is about to: rotate first, and wait until the new key signs")
        await signing_keys.retire(work, kid, now)
        work.send(SigningKeysChanged(keys=[key.public() for key in kept if key.kid != kid]))
        _record(context, work, "retire-signing-key", kid)
        await work.commit()


async def list_all(context: IdentityContext) -> tuple[Sequence[KeptKey], str]:
    """List the keys in force, oldest first, and name the one that signs."""
    async with context.database.begin(Origin()) as work:
        kept = await signing_keys.list_in_force(work)
    return kept, signing_at([_opened(context, key) for key in kept], context.clock.now()).id


async def _add(context: IdentityContext, work: UnitOfWork, others: Sequence[KeptKey], lead: timedelta) -> KeyInForce:
    fresh, now = SigningKey.generate(), context.clock.now()
    public = json.dumps(fresh.verification_key.to_json())
    sealed = context.keyring.seal(fresh.private_bytes(), _place_of(fresh.id))
    await signing_keys.add(work, KeptKey(fresh.id, sealed, public, now, now + lead))
    work.send(SigningKeysChanged(keys=[*(key.public() for key in others), PublicKey(kid=fresh.id, key=public)]))
    return KeyInForce(fresh, now + lead)


def _opened(context: IdentityContext, kept: KeptKey) -> KeyInForce:
    private = context.keyring.open(kept.sealed_private_key, _place_of(kept.kid))
    return KeyInForce(SigningKey(kept.kid, private), kept.signs_from)


def _record(context: IdentityContext, work: UnitOfWork, event: str, kid: str) -> None:
    work.record(audit_record(work.origin, context.clock, event, {"kid": kid}))


def _place_of(kid: str) -> bytes:
    return bind("signing_keys", UUID(kid), "private_key", _INSTANCE)
