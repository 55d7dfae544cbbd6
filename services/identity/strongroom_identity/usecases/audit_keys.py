"""The keys of the audit log: made at the first start, sealed in the instance."""

import secrets
from uuid import UUID

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.crypto.data_keys import bind
from strongroom_common.kernel.errors import NotFound
from strongroom_identity.domain.audit_chain import HASH_BYTES
from strongroom_identity.domain.audit_checkpoints import AuditSigner
from strongroom_identity.store import audit_keys, instance
from strongroom_identity.store.audit_keys import SealedAuditKeys
from strongroom_identity.usecases.context import IdentityContext

_INSTANCE = UUID(int=0)
_MAC_KEY = bind("instance", _INSTANCE, "audit_mac_key", _INSTANCE)
_SIGNING_KEY = bind("instance", _INSTANCE, "audit_signing_key", _INSTANCE)


async def begin(context: IdentityContext) -> None:
    """Read the keys; the first time, make them. The instance must have begun."""
    async with context.database.begin(Origin()) as work:
        # Replicas may start together: the second one finds what the first one made.
        await instance.lock_first_start(work)
        kept = await audit_keys.find(work)
        if kept is None:
            mac_key, signer = secrets.token_bytes(HASH_BYTES), AuditSigner.generate()
            seal = context.keyring.seal
            kept = SealedAuditKeys(seal(mac_key, _MAC_KEY), seal(signer.private_bytes(), _SIGNING_KEY))
            await audit_keys.save(work, kept)
            await work.commit()
    _take(context, kept)


async def read(context: IdentityContext) -> None:
    """Read the keys, for a command beside the service. Raises `NotFound` where the service has never run."""
    async with context.database.begin(Origin()) as work:
        kept = await audit_keys.find(work)
    if kept is None:
        raise NotFound("There is no audit log yet: the service has never run on this database")
    _take(context, kept)


def _take(context: IdentityContext, kept: SealedAuditKeys) -> None:
    mac_key = context.keyring.open(kept.mac_key, _MAC_KEY)
    context.audit.take(mac_key, AuditSigner(context.keyring.open(kept.signing_key, _SIGNING_KEY)))
