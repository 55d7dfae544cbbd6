"""The queries about auth configurations."""

from uuid import UUID

from sqlalchemy import insert

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.auth_configurations import AuthConfiguration, Lockout, TokenSettings
from strongroom_identity.store.rows import Columns, value_of
from strongroom_identity.store.tables import AUTH_CONFIGURATIONS

ALREADY_ATTACHED = "auth_configurations_identity_id_method_key"

_FIND = "SELECT * FROM auth_configurations WHERE identity_id = $1 AND method = $2"


async def add(work: UnitOfWork, configuration: AuthConfiguration) -> None:
    """Attach a kind of login to an identity."""
    tokens, lockout = configuration.tokens, configuration.lockout
    values = {
        "id": configuration.id,
        "organization_id": configuration.organization_id,
        "identity_id": configuration.identity_id,
        "method": configuration.method,
        "access_token_ttl": tokens.ttl,
        "access_token_max_ttl": tokens.max_ttl,
        "access_token_uses_limit": tokens.uses_limit,
        "access_token_period": tokens.period,
        "access_token_trusted_ips": tokens.trusted_ips,
        "lockout_enabled": lockout.is_enabled if lockout else None,
        "lockout_threshold": lockout.threshold if lockout else None,
        "lockout_duration": lockout.duration if lockout else None,
        "lockout_counter_reset": lockout.counter_reset if lockout else None,
        "client_id": configuration.client_id,
        "settings": configuration.settings,
        "created_at": configuration.created_at,
        "updated_at": configuration.updated_at,
    }
    await work.execute(insert(AUTH_CONFIGURATIONS).values(**values))


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
