"""The queries about access tokens."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, insert, select, text, update

from strongroom_common.contracts.identity import TokenUses
from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.tokens import AccessToken
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import ACCESS_TOKENS

# In the order of ids, as every such statement, so that two of them cannot wait for each other.
_ADD_USES = text("""
WITH used AS (
    SELECT t.id, u.uses, u.last_used_at
    FROM unnest(CAST(:ids AS uuid[]), CAST(:uses AS bigint[]), CAST(:moments AS timestamptz[]))
         AS u (id, uses, last_used_at)
    JOIN access_tokens t USING (id)
    ORDER BY t.id FOR UPDATE OF t
)
UPDATE access_tokens t SET uses = t.uses + used.uses, last_used_at = greatest(t.last_used_at, used.last_used_at)
FROM used WHERE t.id = used.id
""")
# A token without uses left is dropped by the refused attempt. What the first part sees as spent cannot be what the
# second part counts: both look at the same moment.
_SPEND = """
WITH dropped AS (
    DELETE FROM access_tokens WHERE id = $1 AND uses_limit > 0 AND uses >= uses_limit
), spent AS (
    UPDATE access_tokens SET uses = uses + 1, last_used_at = $2
    WHERE id = $1 AND NOT is_revoked AND (uses_limit = 0 OR uses < uses_limit)
    RETURNING 1
)
SELECT EXISTS (SELECT FROM spent) AS is_spent
"""
_FIND_ISSUED = """
SELECT t.* FROM access_tokens t JOIN identities i ON i.id = t.identity_id
WHERE t.id = $1 AND $2 IN (t.organization_id, i.organization_id) AND t.auth_method = $3
"""
_LIST_ISSUED = """
SELECT * FROM access_tokens WHERE identity_id = $1 AND auth_method = $2
ORDER BY updated_at DESC, id DESC LIMIT $3 OFFSET $4
"""
_DROP_EXPIRED = """
DELETE FROM access_tokens WHERE id IN (
    SELECT id FROM access_tokens WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""


async def add(work: UnitOfWork, token: AccessToken) -> None:
    """Keep a new token's record."""
    await work.execute(insert(ACCESS_TOKENS).values(columns_of(ACCESS_TOKENS, token)))


async def find_issued(database: Database, organization_id: UUID, token_id: UUID, method: str) -> AccessToken | None:
    """Return a token that an identity of the organization, or for it, got by one kind of login; or None."""
    row = await database.fetch_row(_FIND_ISSUED, token_id, organization_id, method)
    return None if row is None else value_of(AccessToken, row)


async def list_issued(database: Database, identity_id: UUID, method: str, limit: int, offset: int) -> list[AccessToken]:
    """List the tokens that an identity got by one kind of login, revoked ones too, the newest change first."""
    rows = await database.fetch(_LIST_ISSUED, identity_id, method, limit, offset)
    return [value_of(AccessToken, row) for row in rows]


async def rename(work: UnitOfWork, token_id: UUID, name: str, now: datetime) -> None:
    """Call a token something else."""
    statement = update(ACCESS_TOKENS).where(ACCESS_TOKENS.c.id == token_id)
    await work.execute(statement.values(name=name, updated_at=now))


async def lock(work: UnitOfWork, token_id: UUID) -> AccessToken | None:
    """Return a token's record, and keep it from changing until the work ends."""
    row = await work.row(select(ACCESS_TOKENS).where(ACCESS_TOKENS.c.id == token_id).with_for_update())
    return None if row is None else value_of(AccessToken, row._mapping)


async def save_renewal(work: UnitOfWork, token: AccessToken) -> None:
    """Keep a renewed token's new end."""
    await work.execute(
        update(ACCESS_TOKENS)
        .where(ACCESS_TOKENS.c.id == token.id)
        .values(
            last_renewed_at=token.last_renewed_at,
            expires_at=token.expires_at,
            updated_at=token.updated_at,
        )
    )


async def revoke(work: UnitOfWork, token_id: UUID, now: datetime) -> None:
    """Mark a token as revoked."""
    statement = update(ACCESS_TOKENS).where(ACCESS_TOKENS.c.id == token_id)
    await work.execute(statement.values(is_revoked=True, updated_at=now))


async def drop(work: UnitOfWork, token_id: UUID) -> None:
    """Forget a token."""
    await work.execute(delete(ACCESS_TOKENS).where(ACCESS_TOKENS.c.id == token_id))


async def drop_of_method(work: UnitOfWork, identity_id: UUID, method: str) -> list[UUID]:
    """Forget the tokens that an identity got by one kind of login; return which they were."""
    table = ACCESS_TOKENS.c
    statement = delete(ACCESS_TOKENS).where(table.identity_id == identity_id, table.auth_method == method)
    return [row.id for row in await work.rows(statement.returning(table.id))]


async def drop_of_scope(work: UnitOfWork, identity_id: UUID, organization_id: UUID) -> list[UUID]:
    """Forget the tokens that an identity has for one organization; return which they were."""
    table = ACCESS_TOKENS.c
    statement = delete(ACCESS_TOKENS).where(table.identity_id == identity_id, table.organization_id == organization_id)
    return [row.id for row in await work.rows(statement.returning(table.id))]


async def drop_expired(database: Database, before: datetime, most: int = 1000) -> bool:
    """Forget some of the tokens that expired before an instant; say whether there may be more."""
    done = await database.execute(_DROP_EXPIRED, before, most)
    return int(done.rpartition(" ")[2]) == most


async def spend(database: Database, token_id: UUID, now: datetime) -> bool:
    """Count one use of a token, exactly; False when none is left or the token is dead."""
    row = await database.fetch_row(_SPEND, token_id, now)
    return row is not None and bool(row["is_spent"])


async def add_uses(work: UnitOfWork, uses: Sequence[TokenUses]) -> None:
    """Add uses that were counted elsewhere."""
    await work.execute(
        _ADD_USES,
        {
            "ids": [use.token_id for use in uses],
            "uses": [use.uses for use in uses],
            "moments": [use.last_used_at for use in uses],
        },
    )


EXPIRED_KEPT = timedelta(days=1)
"""How long the record of an expired token can still be looked at."""
