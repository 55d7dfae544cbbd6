"""The queries about the users of an organization."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.memberships import MembershipRole
from strongroom_identity.domain.organizations import Member, ProjectMembership
from strongroom_identity.store.access import ORGANIZATION_ROLES
from strongroom_identity.store.pages import Page
from strongroom_identity.store.rows import Columns, value_of
from strongroom_identity.store.tables import MEMBERSHIP_ROLES, MEMBERSHIPS

_MEMBERS = f"""
SELECT m.*, u.username, u.email, u.first_name, u.last_name, u.is_email_verified,
    coalesce(r.role, 'no-access') AS role, r.custom_role_id,
    x.slug AS custom_role_slug, x.name AS custom_role_name, {ORGANIZATION_ROLES} AS held
FROM memberships m
JOIN users u ON u.id = m.user_id
LEFT JOIN LATERAL (
    SELECT * FROM membership_roles r WHERE r.membership_id = m.id ORDER BY r.position LIMIT 1
) r ON true
LEFT JOIN roles x ON x.id = r.custom_role_id
WHERE m.organization_id = %s AND m.project_id IS NULL AND m.user_id IS NOT NULL
"""  # noqa: S608 - all parts are constants
# In the order of users' ids, which is that of their making: the index has it.
_LIST = _MEMBERS % "$1" + "ORDER BY m.user_id LIMIT $2 OFFSET $3"
_FIND = _MEMBERS % "$1" + "AND m.id = $2"
_FIND_OF_USER = _MEMBERS % "$1" + "AND m.user_id = $2"
_LOCK = text(_MEMBERS % ":organization_id" + "AND m.id = ANY(:ids) ORDER BY m.id FOR UPDATE OF m")
_LOCK_OF_USERS = text(_MEMBERS % ":organization_id" + "AND m.user_id = ANY(:user_ids) FOR UPDATE OF m")
_OTHER_ADMINS = text("""
SELECT count(*) FROM memberships m
WHERE m.organization_id = :organization_id AND m.project_id IS NULL AND m.user_id IS NOT NULL
    AND NOT m.id = ANY(:ids) AND m.is_active AND m.status = 'accepted'
    AND EXISTS (
        SELECT FROM membership_roles r WHERE r.membership_id = m.id AND r.role = 'admin' AND NOT r.is_temporary
    )
""")
_PROJECT_MEMBERSHIPS = """
SELECT m.id, m.created_at, p.id AS project_id, p.name AS project_name, p.slug AS project_slug, p.type AS project_type,
    (SELECT jsonb_agg(jsonb_build_object('id', r.id, 'role', r.role, 'customRoleId', r.custom_role_id,
                                         'customRoleName', x.name, 'customRoleSlug', x.slug,
                                         'isTemporary', r.is_temporary) ORDER BY r.position)
     FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id WHERE r.membership_id = m.id) AS roles
FROM memberships m JOIN projects p ON p.id = m.project_id
WHERE m.user_id = $1 AND m.organization_id = $2 ORDER BY p.name, p.id LIMIT $3 OFFSET $4
"""


async def list_all(database: Database, organization_id: UUID, page: Page) -> list[Member]:
    """List the users of an organization, invited and deactivated ones too."""
    return [_member(row) for row in await database.fetch(_LIST, organization_id, page.limit, page.offset)]


async def find(database: Database, organization_id: UUID, membership_id: UUID) -> Member | None:
    """Return one user of the organization, or None."""
    row = await database.fetch_row(_FIND, organization_id, membership_id)
    return None if row is None else _member(row)


async def find_of_user(database: Database, organization_id: UUID, user_id: UUID) -> Member | None:
    """Return what a user is in the organization, or None."""
    row = await database.fetch_row(_FIND_OF_USER, organization_id, user_id)
    return None if row is None else _member(row)


async def list_project_memberships(database: Database, member: Member, page: Page) -> list[ProjectMembership]:
    """List where in the organization's projects a user is a member himself."""
    rows = await database.fetch(_PROJECT_MEMBERSHIPS, member.user_id, member.organization_id, page.limit, page.offset)
    return [value_of(ProjectMembership, row, roles=row["roles"] or ()) for row in rows]


async def lock_all(work: UnitOfWork, organization_id: UUID, membership_ids: Sequence[UUID]) -> list[Member]:
    """Return those of the memberships that there are, and keep them from changing until the work ends."""
    rows = await work.rows(_LOCK, {"organization_id": organization_id, "ids": list(membership_ids)})
    return [_member(row._mapping) for row in rows]


async def list_working_admins(work: UnitOfWork, organization_id: UUID, user_ids: Sequence[UUID]) -> list[Member]:
    """Return those of the users who can do everything in the organization, and keep them from changing meanwhile."""
    rows = await work.rows(_LOCK_OF_USERS, {"organization_id": organization_id, "user_ids": list(user_ids)})
    return [member for member in (_member(row._mapping) for row in rows) if member.is_working_admin]


async def has_other_admins(work: UnitOfWork, organization_id: UUID, membership_ids: Sequence[UUID]) -> bool:
    """Say whether a working admin remains without these members."""
    row = await work.row(_OTHER_ADMINS, {"organization_id": organization_id, "ids": list(membership_ids)})
    return row is not None and bool(row[0])


async def save(work: UnitOfWork, membership_id: UUID, changes: Mapping[str, Any]) -> None:
    """Change some columns of a membership."""
    await work.execute(update(MEMBERSHIPS).where(MEMBERSHIPS.c.id == membership_id).values(**changes))


async def deactivate(work: UnitOfWork, organization_ids: Sequence[UUID], user_id: UUID) -> None:
    """Keep a user out of organizations without removing him."""
    table = MEMBERSHIPS.c
    statement = update(MEMBERSHIPS).where(
        table.user_id == user_id, table.organization_id.in_(organization_ids), table.project_id.is_(None)
    )
    await work.execute(statement.values(is_active=False))


async def replace_role(work: UnitOfWork, member: Member, role: MembershipRole, now: datetime) -> None:
    """Give a member another role instead of the one it had."""
    await work.execute(delete(MEMBERSHIP_ROLES).where(MEMBERSHIP_ROLES.c.membership_id == member.id))
    values = {
        "id": role.id,
        "organization_id": member.organization_id,
        "membership_id": member.id,
        "position": 0,
        "role": role.role,
        "custom_role_id": role.custom_role_id,
        "created_at": now,
        "updated_at": now,
    }
    await work.execute(insert(MEMBERSHIP_ROLES).values(**values))


def _member(row: Columns) -> Member:
    held = [(entry["role"], entry["rules"]) for entry in row["held"] or ()]
    return value_of(Member, row, held=held)
