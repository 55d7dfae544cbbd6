"""The queries about identities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import insert

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.identities import Identity
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import IDENTITIES, IDENTITY_METADATA

_FIND = """
SELECT i.*,
    (SELECT jsonb_agg(jsonb_build_object('role', r.role, 'rules', c.permissions) ORDER BY r.position)
     FROM membership_roles r LEFT JOIN roles c ON c.id = r.custom_role_id WHERE r.membership_id = m.id) AS roles
FROM identities i
JOIN memberships m ON m.identity_id = i.id AND m.organization_id = $2 AND m.project_id IS NULL
WHERE i.id = $1
"""


@dataclass(frozen=True)
class KnownIdentity:
    """An identity with what it holds in the organization, as (slug, rules of a custom role)."""

    identity: Identity
    roles: Sequence[tuple[str, Sequence[Mapping[str, Any]] | None]]


async def add(work: UnitOfWork, identity: Identity) -> None:
    """Keep a new identity with its metadata."""
    await work.execute(insert(IDENTITIES).values(columns_of(IDENTITIES, identity)))
    if identity.metadata:
        rows = [
            {
                "id": one.id,
                "organization_id": identity.organization_id,
                "identity_id": identity.id,
                "position": position,
                "key": one.key,
                "value": one.value,
            }
            for position, one in enumerate(identity.metadata)
        ]
        await work.execute(insert(IDENTITY_METADATA), rows)


async def find_member(database: Database, organization_id: UUID, identity_id: UUID) -> KnownIdentity | None:
    """Return an identity that belongs to the organization, without its metadata; or None."""
    row = await database.fetch_row(_FIND, identity_id, organization_id)
    if row is None:
        return None
    roles = [(entry["role"], entry["rules"]) for entry in row["roles"] or ()]
    return KnownIdentity(value_of(Identity, row, metadata=()), roles)
