"""The keys of the audit log, as they rest in the instance's row."""

from dataclasses import dataclass

from sqlalchemy import select, update

from strongroom_common.db.database import UnitOfWork
from strongroom_identity.store.tables import INSTANCE


@dataclass(frozen=True)
class SealedAuditKeys:
    """What chains the records, and what signs checkpoints."""

    mac_key: bytes
    signing_key: bytes


async def find(work: UnitOfWork) -> SealedAuditKeys | None:
    """Return the keys, if they were made yet."""
    statement = select(INSTANCE.c.sealed_audit_mac_key, INSTANCE.c.sealed_audit_signing_key).where(
        INSTANCE.c.sealed_audit_mac_key.is_not(None)
    )
    row = await work.row(statement)
    return None if row is None else SealedAuditKeys(row.sealed_audit_mac_key, row.sealed_audit_signing_key)


async def save(work: UnitOfWork, keys: SealedAuditKeys) -> None:
    """Keep the keys."""
    await work.execute(
        update(INSTANCE).values(sealed_audit_mac_key=keys.mac_key, sealed_audit_signing_key=keys.signing_key)
    )
