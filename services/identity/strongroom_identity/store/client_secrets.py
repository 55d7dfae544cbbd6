"""The queries about client secrets."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import insert, or_, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.auth_configurations import AuthConfiguration
from strongroom_identity.domain.client_secrets import ClientSecret, MatchingSecret
from strongroom_identity.domain.lockouts import Failures
from strongroom_identity.store.auth_configurations import configuration_of
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import CLIENT_SECRETS

_FOR_LOGIN = """
SELECT c.*, i.name AS identity_name, o.parent_id IS NOT NULL AS is_of_sub_organization,
    s.id AS secret_id, s.ttl AS secret_ttl, s.created_at AS secret_created_at,
    l.count, l.is_locked, l.ends_at
FROM auth_configurations c
JOIN identities i ON i.id = c.identity_id
JOIN organizations o ON o.id = c.organization_id
JOIN memberships m
    ON m.identity_id = c.identity_id AND m.organization_id = c.organization_id
    AND m.project_id IS NOT DISTINCT FROM i.project_id
LEFT JOIN client_secrets s ON s.configuration_id = c.id AND s.secret_hash = $2 AND NOT s.is_revoked
LEFT JOIN lockouts l ON l.subject_id = c.identity_id AND l.kind = c.method AND l.name_hash = $3
WHERE c.client_id = $1
"""
_LIST = """
SELECT * FROM client_secrets WHERE configuration_id = $1 AND NOT is_revoked ORDER BY created_at DESC, id DESC LIMIT $2
"""
_FIND = "SELECT * FROM client_secrets WHERE configuration_id = $1 AND id = $2"


@dataclass(frozen=True)
class LoginAttempt:
    """What a login by client id and secret finds: `secret` is None where no secret in force matches."""

    configuration: AuthConfiguration
    identity_name: str
    is_of_sub_organization: bool
    secret: MatchingSecret | None
    failures: Failures | None


async def add(work: UnitOfWork, secret: ClientSecret) -> None:
    """Keep a new secret, hashed."""
    await work.execute(insert(CLIENT_SECRETS).values(columns_of(CLIENT_SECRETS, secret)))


async def list_in_force(database: Database, configuration_id: UUID, most: int) -> list[ClientSecret]:
    """List the secrets that are not revoked, newest first."""
    return [value_of(ClientSecret, row) for row in await database.fetch(_LIST, configuration_id, most)]


async def find(database: Database, configuration_id: UUID, secret_id: UUID) -> ClientSecret | None:
    """Return one of a configuration's secrets, revoked or not; or None."""
    row = await database.fetch_row(_FIND, configuration_id, secret_id)
    return None if row is None else value_of(ClientSecret, row)


async def find_for_login(
    database: Database, client_id: UUID, secret_hash: bytes, name_hash: bytes
) -> LoginAttempt | None:
    """Return what a login needs to know, or None for an unknown client id. `name_hash`: where failures are counted."""
    row = await database.fetch_row(_FOR_LOGIN, client_id, secret_hash, name_hash)
    if row is None:
        return None
    secret = None
    if row["secret_id"] is not None:
        secret = MatchingSecret(row["secret_id"], row["secret_ttl"], row["secret_created_at"])
    return LoginAttempt(
        configuration=configuration_of(row),
        identity_name=row["identity_name"],
        is_of_sub_organization=row["is_of_sub_organization"],
        secret=secret,
        failures=None if row["ends_at"] is None else value_of(Failures, row),
    )


async def count_use(work: UnitOfWork, secret_id: UUID, now: datetime) -> bool:
    """Count one use, if there is one left; the row's lock keeps the count exact however many come at once."""
    table = CLIENT_SECRETS.c
    is_usable = (table.id == secret_id, table.is_revoked.is_(False))
    has_uses_left = or_(table.uses_limit == 0, table.uses < table.uses_limit)
    statement = update(CLIENT_SECRETS).where(*is_usable, has_uses_left)
    return await work.execute(statement.values(uses=table.uses + 1, updated_at=now)) == 1


async def revoke(work: UnitOfWork, secret_id: UUID, now: datetime) -> bool:
    """Revoke a secret; False when it was already."""
    table = CLIENT_SECRETS.c
    statement = update(CLIENT_SECRETS).where(table.id == secret_id, table.is_revoked.is_(False))
    return await work.execute(statement.values(is_revoked=True, updated_at=now)) == 1
