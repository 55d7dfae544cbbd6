"""The queries about what an instance's administrators have chosen."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.instance_configuration import InstanceConfiguration
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.tables import INSTANCE

DEFAULT_ORGANIZATION = "instance_default_auth_organization_id_fkey"

_FIND = """
SELECT i.*, i.initialized_at IS NOT NULL AS is_initialized, o.slug AS default_auth_organization_slug,
    ARRAY(SELECT id FROM identities WHERE is_instance_admin ORDER BY id) AS admin_identity_ids
FROM instance i LEFT JOIN organizations o ON o.id = i.default_auth_organization_id
"""


async def get(database: Database) -> InstanceConfiguration:
    """Return the configuration; the instance's one row is there since the first start."""
    row = await database.fetch_row(_FIND)
    if row is None:
        raise RuntimeError("the instance has not begun")
    return value_of(InstanceConfiguration, row)


async def save(work: UnitOfWork, changes: Mapping[str, Any]) -> None:
    """Change some columns."""
    await work.execute(update(INSTANCE).values(**changes))
