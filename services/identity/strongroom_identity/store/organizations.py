"""The queries about organizations."""

from uuid import UUID

from sqlalchemy import insert

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import ORGANIZATIONS

_FIND = "SELECT * FROM organizations WHERE id = $1"


async def add(work: UnitOfWork, organization: Organization) -> None:
    """Keep a new organization."""
    await work.execute(insert(ORGANIZATIONS).values(columns_of(ORGANIZATIONS, organization)))


async def find(database: Database, organization_id: UUID) -> Organization | None:
    """Return an organization, or None."""
    row = await database.fetch_row(_FIND, organization_id)
    return None if row is None else value_of(Organization, row)
