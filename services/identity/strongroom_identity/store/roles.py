"""The queries about custom roles."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select

from strongroom_common.db.database import UnitOfWork
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.tables import ROLES


async def find_by_slugs(
    work: UnitOfWork, organization_id: UUID, project_id: UUID | None, slugs: Sequence[str]
) -> dict[str, CustomRole]:
    """Return the custom roles with these slugs, of a project, or of the organization where there is none.

    They are locked against deletion until the work ends.
    """
    statement = (
        select(ROLES)
        .where(
            ROLES.c.organization_id == organization_id,
            ROLES.c.project_id.is_(None) if project_id is None else ROLES.c.project_id == project_id,
            ROLES.c.slug.in_(slugs),
        )
        .with_for_update(key_share=True, read=True)
    )
    found = [value_of(CustomRole, row._mapping) for row in await work.rows(statement)]
    return {role.slug: role for role in found}
