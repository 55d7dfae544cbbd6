"""The queries about auth configurations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert, select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.auth_configurations import AuthConfiguration, TokenSettings
from strongroom_identity.domain.lockouts import Lockout
from strongroom_identity.store.rows import Columns, value_of
from strongroom_identity.store.tables import AUTH_CONFIGURATIONS

ALREADY_ATTACHED = "auth_configurations_identity_id_method_key"

_FIND = "SELECT * FROM auth_configurations WHERE identity_id = $1 AND method = $2"


_FOR_LOGIN = """
SELECT c.*, i.name AS identity_name, o.parent_id IS NOT NULL AS is_of_sub_organization
FROM auth_configurations c
JOIN identities i ON i.id = c.identity_id
JOIN organizations o ON o.id = c.organization_id
JOIN memberships m
    ON m.identity_id = c.identity_id AND m.organization_id = c.organization_id
    AND m.project_id IS NOT DISTINCT FROM i.project_id
WHERE c.identity_id = $1 AND c.method = $2
"""
_METHODS = """
SELECT identity_id, array_agg(method ORDER BY method) AS methods FROM auth_configurations
WHERE identity_id = ANY($1::uuid[]) GROUP BY identity_id
"""


@dataclass(frozen=True)
class LoginTarget:
    """What a login at an identity's configuration finds."""

    configuration: AuthConfiguration
    identity_name: str
    is_of_sub_organization: bool


async def add(work: UnitOfWork, configuration: AuthConfiguration) -> None:
    """Attach a kind of login to an identity."""
    values = {
        "id": configuration.id,
        "organization_id": configuration.organization_id,
        "identity_id": configuration.identity_id,
        "method": configuration.method,
        "client_id": configuration.client_id,
        "created_at": configuration.created_at,
        **_changing_columns(configuration),
    }
    await work.execute(insert(AUTH_CONFIGURATIONS).values(**values))


async def save(work: UnitOfWork, configuration: AuthConfiguration) -> None:
    """Keep what was changed in a configuration."""
    statement = update(AUTH_CONFIGURATIONS).where(AUTH_CONFIGURATIONS.c.id == configuration.id)
    await work.execute(statement.values(**_changing_columns(configuration)))


async def lock(work: UnitOfWork, identity_id: UUID, method: str) -> AuthConfiguration | None:
    """Return an identity's configuration of one kind, and keep it from changing until the work ends; or None."""
    columns = AUTH_CONFIGURATIONS.c
    statement = select(AUTH_CONFIGURATIONS).where(columns.identity_id == identity_id, columns.method == method)
    row = await work.row(statement.with_for_update())
    return None if row is None else configuration_of(row._mapping)


async def hold(work: UnitOfWork, configuration_id: UUID) -> bool:
    """Keep a configuration from being taken away until the work ends; False when it is gone."""
    statement = select(AUTH_CONFIGURATIONS.c.id).where(AUTH_CONFIGURATIONS.c.id == configuration_id)
    return await work.row(statement.with_for_update(key_share=True, read=True)) is not None


async def remove(work: UnitOfWork, configuration_id: UUID) -> None:
    """Forget a configuration; its client secrets go with it."""
    await work.execute(delete(AUTH_CONFIGURATIONS).where(AUTH_CONFIGURATIONS.c.id == configuration_id))


async def find_for_login(database: Database, identity_id: UUID, method: str) -> LoginTarget | None:
    """Return what a login at an identity needs to know, or None for one that cannot log in this way."""
    row = await database.fetch_row(_FOR_LOGIN, identity_id, method)
    if row is None:
        return None
    return LoginTarget(configuration_of(row), row["identity_name"], row["is_of_sub_organization"])


async def list_methods(database: Database, identity_ids: Sequence[UUID]) -> dict[UUID, Sequence[str]]:
    """List the kinds of login that identities have; identities without any are left out."""
    return {row["identity_id"]: row["methods"] for row in await database.fetch(_METHODS, identity_ids)}


async def find(database: Database, identity_id: UUID, method: str) -> AuthConfiguration | None:
    """Return an identity's configuration of one kind, or None."""
    row = await database.fetch_row(_FIND, identity_id, method)
    return None if row is None else configuration_of(row)


def configuration_of(row: Columns) -> AuthConfiguration:
    """Read a row of the table."""
    lockout = None
    if row["lockout_enabled"] is not None:
        lockout = Lockout(
            row["lockout_enabled"], row["lockout_threshold"], row["lockout_duration"], row["lockout_counter_reset"]
        )
    tokens = TokenSettings(
        ttl=row["access_token_ttl"],
        max_ttl=row["access_token_max_ttl"],
        uses_limit=row["access_token_uses_limit"],
        period=row["access_token_period"],
        trusted_ips=tuple(row["access_token_trusted_ips"]),
    )
    return value_of(AuthConfiguration, row, tokens=tokens, lockout=lockout)


def _changing_columns(configuration: AuthConfiguration) -> dict[str, Any]:
    tokens, lockout = configuration.tokens, configuration.lockout
    return {
        "access_token_ttl": tokens.ttl,
        "access_token_max_ttl": tokens.max_ttl,
        "access_token_uses_limit": tokens.uses_limit,
        "access_token_period": tokens.period,
        "access_token_trusted_ips": tokens.trusted_ips,
        "lockout_enabled": lockout.is_enabled if lockout else None,
        "lockout_threshold": lockout.threshold if lockout else None,
        "lockout_duration": lockout.duration if lockout else None,
        "lockout_counter_reset": lockout.counter_reset if lockout else None,
        "settings": configuration.settings,
        "sealed_settings": configuration.sealed_settings,
        "updated_at": configuration.updated_at,
    }
