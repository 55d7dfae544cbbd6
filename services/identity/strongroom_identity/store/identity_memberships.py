"""The queries about where an identity belongs."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, insert, select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.memberships import MembershipRole, Temporary
from strongroom_identity.store.rows import Columns
from strongroom_identity.store.tables import MEMBERSHIP_ROLES, MEMBERSHIPS

MOST = 1000
"""How many projects of an identity are listed."""

_PROJECTS = """
SELECT m.id, m.created_at, m.updated_at, p.id AS project_id, p.name AS project_name, p.type AS project_type,
    (SELECT jsonb_agg(jsonb_build_object(
        'id', r.id, 'role', r.role, 'custom_role_id', r.custom_role_id, 'name', x.name, 'slug', x.slug,
        'is_temporary', r.is_temporary, 'mode', r.temporary_mode, 'range', r.temporary_range,
        'starts_at', r.starts_at, 'ends_at', r.ends_at) ORDER BY r.position)
     FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id WHERE r.membership_id = m.id) AS roles
FROM memberships m JOIN projects p ON p.id = m.project_id
WHERE m.identity_id = $1 AND m.organization_id = $2
ORDER BY p.name, p.id LIMIT $3
"""


@dataclass(frozen=True)
class ProjectMembership:
    """An identity in a project, with what is shown of the project."""

    id: UUID
    roles: tuple[MembershipRole, ...]
    project_id: UUID
    project_name: str
    project_type: str
    created_at: datetime
    updated_at: datetime


async def list_projects(database: Database, organization_id: UUID, identity_id: UUID) -> list[ProjectMembership]:
    """List an identity's memberships in projects of an organization, by the projects' names."""
    rows = await database.fetch(_PROJECTS, identity_id, organization_id, MOST)
    return [
        ProjectMembership(
            id=row["id"],
            roles=tuple(_role(role) for role in row["roles"] or ()),
            project_id=row["project_id"],
            project_name=row["project_name"],
            project_type=row["project_type"],
            created_at=row["created_at"],
            updated_at=row["updated_at"],
        )
        for row in rows
    ]


async def replace_organization_role(
    work: UnitOfWork, organization_id: UUID, identity_id: UUID, role: MembershipRole, now: datetime
) -> None:
    """Give an identity another role in an organization in which it is a member."""
    table = MEMBERSHIPS.c
    membership = (
        select(table.id)
        .where(table.organization_id == organization_id, table.identity_id == identity_id, table.project_id.is_(None))
        .with_for_update()
    )
    for row in await work.rows(membership):
        await work.execute(delete(MEMBERSHIP_ROLES).where(MEMBERSHIP_ROLES.c.membership_id == row.id))
        values = {
            "id": role.id,
            "organization_id": organization_id,
            "membership_id": row.id,
            "position": 0,
            "role": role.role,
            "custom_role_id": role.custom_role_id,
            "created_at": now,
            "updated_at": now,
        }
        await work.execute(insert(MEMBERSHIP_ROLES).values(**values))
        await work.execute(update(MEMBERSHIPS).where(table.id == row.id).values(updated_at=now))


async def remove_from_organization(work: UnitOfWork, organization_id: UUID, identity_id: UUID) -> None:
    """Take an identity out of an organization and all its projects."""
    table = MEMBERSHIPS.c
    await work.execute(
        delete(MEMBERSHIPS).where(table.organization_id == organization_id, table.identity_id == identity_id)
    )


def _role(row: Columns) -> MembershipRole:
    temporary = None
    if row["is_temporary"]:
        temporary = Temporary(
            mode=row["mode"],
            range=row["range"],
            starts_at=datetime.fromisoformat(row["starts_at"]),
            ends_at=datetime.fromisoformat(row["ends_at"]),
        )
    custom_role_id = row["custom_role_id"]
    return MembershipRole(
        id=UUID(row["id"]),
        role=row["role"],
        custom_role_id=None if custom_role_id is None else UUID(custom_role_id),
        custom_role_name=row["name"],
        custom_role_slug=row["slug"],
        temporary=temporary,
    )
