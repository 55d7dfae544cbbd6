"""The sub-organizations that a login may choose."""

from uuid import UUID

from strongroom_common.db.database import Database

_FIND = """
SELECT o.id, EXISTS (
    SELECT FROM memberships m WHERE m.organization_id = o.id AND m.identity_id = $3 AND m.project_id IS NULL
) AS is_member
FROM organizations o WHERE o.slug = $2 AND $1 IN (o.parent_id, o.root_id)
"""


async def find(database: Database, organization_id: UUID, slug: str, identity_id: UUID) -> tuple[UUID, bool] | None:
    """Return the sub-organization of an organization by its slug, and whether an identity is a member; or None."""
    row = await database.fetch_row(_FIND, organization_id, slug, identity_id)
    return None if row is None else (row["id"], row["is_member"])
