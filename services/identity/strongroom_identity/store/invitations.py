"""The queries about memberships that begin with an invitation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.memberships import ACCEPTED, INVITED
from strongroom_identity.store.rows import value_of
from strongroom_identity.store.tables import MEMBERSHIPS

_FIND = """
SELECT u.email AS mailbox, o.name AS organization, m.status
FROM memberships m JOIN users u ON u.id = m.user_id JOIN organizations o ON o.id = m.organization_id
WHERE m.id = $1 AND m.organization_id = $2 AND m.project_id IS NULL
"""


@dataclass(frozen=True)
class Invitation:
    """Who was invited where, and whether it is still open."""

    mailbox: str
    organization: str
    status: str


async def find(database: Database, membership_id: UUID, organization_id: UUID) -> Invitation | None:
    """Return what is known of a user's membership of the organization, or None."""
    row = await database.fetch_row(_FIND, membership_id, organization_id)
    return None if row is None else value_of(Invitation, row)


async def statuses(work: UnitOfWork, organization_id: UUID, user_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Say by user where the memberships of the organization stand; who has none is left out."""
    table = MEMBERSHIPS.c
    statement = select(table.user_id, table.status).where(
        table.organization_id == organization_id, table.project_id.is_(None), table.user_id.in_(user_ids)
    )
    return {row.user_id: row.status for row in await work.rows(statement)}


async def list_in_projects(
    work: UnitOfWork, project_ids: Collection[UUID], user_ids: Sequence[UUID]
) -> set[tuple[UUID, UUID]]:
    """List which of the users are in which of the projects, as (project, user)."""
    table = MEMBERSHIPS.c
    statement = select(table.project_id, table.user_id).where(
        table.project_id.in_(project_ids), table.user_id.in_(user_ids)
    )
    return {(row.project_id, row.user_id) for row in await work.rows(statement)}


async def accept(work: UnitOfWork, organization_id: UUID, user_id: UUID, now: datetime) -> bool:
    """Let an invited user in; False where there is no open invitation."""
    table = MEMBERSHIPS.c
    is_open = (
        table.organization_id == organization_id,
        table.project_id.is_(None),
        table.user_id == user_id,
        table.status == INVITED,
    )
    return await work.execute(update(MEMBERSHIPS).where(*is_open).values(status=ACCEPTED, updated_at=now)) == 1
