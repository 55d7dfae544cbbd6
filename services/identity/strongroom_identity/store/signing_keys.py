"""The keys that sign tokens."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select

from strongroom_common.contracts.identity import PublicKey
from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.store.tables import SIGNING_KEYS

_LIST = "SELECT kid, public_key FROM signing_keys WHERE retired_at IS NULL ORDER BY created_at, kid"


@dataclass(frozen=True)
class SealedSigningKey:
    """A signing key as it rests."""

    kid: str
    sealed_private_key: bytes
    public_key: str


async def find_newest(work: UnitOfWork) -> SealedSigningKey | None:
    """Return the key that signs."""
    statement = (
        select(SIGNING_KEYS)
        .where(SIGNING_KEYS.c.retired_at.is_(None))
        .order_by(SIGNING_KEYS.c.created_at.desc(), SIGNING_KEYS.c.kid.desc())
        .limit(1)
    )
    row = await work.row(statement)
    return None if row is None else SealedSigningKey(row.kid, row.sealed_private_key, row.public_key)


async def add(work: UnitOfWork, key: SealedSigningKey, now: datetime) -> None:
    """Keep a new key."""
    values = {
        "kid": key.kid,
        "sealed_private_key": key.sealed_private_key,
        "public_key": key.public_key,
        "created_at": now,
    }
    await work.execute(insert(SIGNING_KEYS).values(**values))


async def list_public(database: Database) -> list[PublicKey]:
    """List the keys that tokens may be signed with now."""
    return [PublicKey(kid=row["kid"], key=row["public_key"]) for row in await database.fetch(_LIST)]
