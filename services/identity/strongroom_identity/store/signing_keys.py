"""The keys that sign tokens."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select, update

from strongroom_common.contracts.identity import PublicKey
from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.tables import SIGNING_KEYS

_LIST = "SELECT kid, public_key FROM signing_keys WHERE retired_at IS NULL ORDER BY created_at, kid"


@dataclass(frozen=True)
class KeptKey:
    """A signing key as it rests."""

    kid: str
    sealed_private_key: bytes
    public_key: str
    created_at: datetime
    signs_from: datetime

    def public(self) -> PublicKey:
        """The half that everyone may know."""
        return PublicKey(kid=self.kid, key=self.public_key)


async def list_in_force(work: UnitOfWork, *, lock: bool = False) -> list[KeptKey]:
    """List the keys that are not retired, oldest first; locked, nobody else adds or retires one until the work ends."""
    columns = SIGNING_KEYS.c
    statement = (
        select(
            columns.kid,
            columns.sealed_private_key,
            columns.public_key,
            columns.created_at,
            # A key of a release that did not know of this signs from its beginning.
            func.coalesce(columns.signs_from, columns.created_at).label("signs_from"),
        )
        .where(columns.retired_at.is_(None))
        .order_by(columns.created_at, columns.kid)
    )
    return [
        value_of(KeptKey, row._mapping) for row in await work.rows(statement.with_for_update() if lock else statement)
    ]


async def add(work: UnitOfWork, key: KeptKey) -> None:
    """Keep a new key."""
    values = {
        "kid": key.kid,
        "sealed_private_key": key.sealed_private_key,
        "public_key": key.public_key,
        "created_at": key.created_at,
        "signs_from": key.signs_from,
    }
    await work.execute(insert(SIGNING_KEYS).values(**values))


async def retire(work: UnitOfWork, kid: str, now: datetime) -> None:
    """Let a key neither sign nor verify."""
    await work.execute(update(SIGNING_KEYS).where(SIGNING_KEYS.c.kid == kid).values(retired_at=now))


async def list_public(database: Database) -> list[PublicKey]:
    """List the keys that tokens may be signed with now, or soon."""
    return [PublicKey(kid=row["kid"], key=row["public_key"]) for row in await database.fetch(_LIST)]
