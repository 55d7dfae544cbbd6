"""The queries about groups, who is in them and where they are."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.groups import Group, GroupIdentity, GroupProject, GroupUser
from strongroom_identity.domain.memberships import MembershipRole
from strongroom_identity.store.access import HeldRoles
from strongroom_identity.store.access_tables import GROUP_MEMBERS, GROUPS
from strongroom_identity.store.pages import Page
from strongroom_identity.store.rows import Columns, columns_of, value_of

NAME_TAKEN = "groups_organization_id_name_key"
SLUG_TAKEN = "groups_organization_id_slug_key"
ALREADY_IN_GROUP = "group_members_pkey"

Filter = Literal["in", "out"]
"""Only what belongs to the group, or only what does not."""

_GROUP = """
SELECT g.*, m.id AS membership_id, r.id AS role_id, r.role, x.id AS custom_role_id, x.name AS custom_role_name,
    x.slug AS custom_role_slug
FROM groups g
JOIN memberships m ON m.group_id = g.id AND m.organization_id = g.organization_id AND m.project_id IS NULL
LEFT JOIN LATERAL (
    SELECT * FROM membership_roles r WHERE r.membership_id = m.id ORDER BY r.position LIMIT 1
) r ON true
LEFT JOIN roles x ON x.id = r.custom_role_id
"""
_LIST = _GROUP + "WHERE g.organization_id = $1 ORDER BY g.slug LIMIT $2 OFFSET $3"
_FIND = _GROUP + "WHERE g.id = $1 AND g.organization_id = $2"
_FIND_BY_NAME = _GROUP + "WHERE g.organization_id = $1 AND g.name = $2"
_LOCK = text(_GROUP + "WHERE g.id = :id AND g.organization_id = :organization_id FOR UPDATE OF g, m")
_HELD = text("""
SELECT r.role, x.permissions AS rules
FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id
WHERE r.membership_id = :id ORDER BY r.position
""")
_IN_PROJECTS = text("""
SELECT m.project_id, jsonb_agg(jsonb_build_object('role', r.role, 'rules', x.permissions) ORDER BY r.position) AS roles
FROM memberships m
JOIN membership_roles r ON r.membership_id = m.id
LEFT JOIN roles x ON x.id = r.custom_role_id
WHERE m.group_id = :id AND m.project_id IS NOT NULL
GROUP BY m.project_id ORDER BY m.project_id
""")
# $4: whose names these are; $5: only those in the group, or only those outside.
_PAGED = """
WHERE o.organization_id = $1 AND o.project_id IS NULL AND ($3 = '' OR {name} ILIKE $3)
    AND ($4::text IS NULL OR {exact} = $4) AND ($5::text IS NULL OR (gm.group_id IS NOT NULL) = ($5 = 'in'))
"""
_USERS = """
FROM memberships o JOIN users u ON u.id = o.user_id
LEFT JOIN group_members gm ON gm.membership_id = o.id AND gm.group_id = $2
""" + _PAGED.format(name="concat_ws(' ', u.username, u.email, u.first_name, u.last_name)", exact="u.username")
_LIST_USERS = (
    "SELECT u.id, o.id AS membership_id, u.email, u.username, u.first_name, u.last_name, gm.joined_at"
    + _USERS
    + "ORDER BY u.username LIMIT $6 OFFSET $7"
)
_COUNT_USERS = "SELECT count(*) AS many" + _USERS
_IDENTITIES = """
FROM memberships o JOIN identities i ON i.id = o.identity_id
LEFT JOIN group_members gm ON gm.membership_id = o.id AND gm.group_id = $2
""" + _PAGED.format(name="i.name", exact="i.name")
_LIST_IDENTITIES = (
    "SELECT i.id, o.id AS membership_id, i.name, gm.joined_at"
    + _IDENTITIES
    + "ORDER BY i.name, i.id LIMIT $6 OFFSET $7"
)
_COUNT_IDENTITIES = "SELECT count(*) AS many" + _IDENTITIES
# A project that the group is not in is shown to whoever may see it: $4 is the caller, none for who may see all.
_PROJECTS = """
FROM projects p LEFT JOIN memberships m ON m.project_id = p.id AND m.group_id = $2
WHERE p.organization_id = $1 AND ($3 = '' OR p.name ILIKE $3)
    AND ($5::text IS NULL OR (m.id IS NOT NULL) = ($5 = 'in'))
    AND (m.id IS NOT NULL OR $4::uuid IS NULL OR EXISTS (
        SELECT FROM memberships own
        WHERE own.project_id = p.id AND (own.user_id = $4 OR own.identity_id = $4 OR own.group_id IN (
            SELECT x.group_id FROM memberships o JOIN group_members x ON x.membership_id = o.id
            WHERE o.organization_id = $1 AND o.project_id IS NULL AND (o.user_id = $4 OR o.identity_id = $4)
        ))
    ))
"""
_COUNT_PROJECTS = "SELECT count(*) AS many" + _PROJECTS
_LIST_PROJECTS = {
    is_descending: "SELECT p.id, p.name, p.slug, p.description, p.type, m.created_at AS joined_at"
    + _PROJECTS
    + f"ORDER BY p.name {'DESC' if is_descending else 'ASC'}, p.id LIMIT $6 OFFSET $7"
    for is_descending in (False, True)
}
_USER = """
SELECT u.id, u.email, u.username, u.first_name, u.last_name, o.id AS membership_id, gm.joined_at
FROM users u
JOIN memberships o ON o.user_id = u.id AND o.organization_id = $1 AND o.project_id IS NULL
LEFT JOIN group_members gm ON gm.membership_id = o.id AND gm.group_id = $2
WHERE u.username = $3
"""
_IDENTITY = """
SELECT i.id, i.name, o.id AS membership_id, gm.joined_at
FROM identities i
JOIN memberships o ON o.identity_id = i.id AND o.organization_id = $1 AND o.project_id IS NULL
LEFT JOIN group_members gm ON gm.membership_id = o.id AND gm.group_id = $2
WHERE i.id = $3
"""


async def add(work: UnitOfWork, group: Group) -> None:
    """Keep a new group. Its membership in the organization is added by itself."""
    await work.execute(insert(GROUPS).values(columns_of(GROUPS, group)))


async def save(work: UnitOfWork, group: Group) -> None:
    """Keep what was changed in a group."""
    await work.execute(update(GROUPS).where(GROUPS.c.id == group.id).values(columns_of(GROUPS, group)))


async def delete(work: UnitOfWork, group_id: UUID) -> None:
    """Remove a group and all that it held."""
    await work.execute(delete_from(GROUPS).where(GROUPS.c.id == group_id))


async def list_all(database: Database, organization_id: UUID, limit: int, offset: int) -> list[Group]:
    """List the groups of an organization by their slugs."""
    return [_group(row) for row in await database.fetch(_LIST, organization_id, limit, offset)]


async def find(database: Database, organization_id: UUID, group_id: UUID) -> Group | None:
    """Return a group of the organization, or None."""
    row = await database.fetch_row(_FIND, group_id, organization_id)
    return None if row is None else _group(row)


async def find_by_name(database: Database, organization_id: UUID, name: str) -> Group | None:
    """Return the group of the organization with this name, or None."""
    row = await database.fetch_row(_FIND_BY_NAME, organization_id, name)
    return None if row is None else _group(row)


async def lock(work: UnitOfWork, organization_id: UUID, group_id: UUID) -> Group | None:
    """Return a group of the organization, and keep it from changing until the work ends; or None."""
    row = await work.row(_LOCK, {"id": group_id, "organization_id": organization_id})
    return None if row is None else _group(row._mapping)


async def list_held(work: UnitOfWork, group: Group) -> HeldRoles:
    """List what a group holds in the organization."""
    return [(row.role, row.rules) for row in await work.rows(_HELD, {"id": group.membership_id})]


async def list_held_in_projects(work: UnitOfWork, group_id: UUID) -> list[tuple[UUID, HeldRoles]]:
    """List what a group holds in projects, those roles too that are not in force yet, or no longer."""
    rows = await work.rows(_IN_PROJECTS, {"id": group_id})
    return [(row.project_id, [(one["role"], one["rules"]) for one in row.roles]) for row in rows]


async def list_users(
    database: Database, group: Group, page: Page, username: str | None, which: Filter | None
) -> tuple[list[GroupUser], int]:
    """List the organization's users, seen from the group, and say how many there are in all."""
    wanted = (group.organization_id, group.id, page.pattern, username, which)
    rows, many = await _paged(database, _LIST_USERS, _COUNT_USERS, wanted, page)
    return [value_of(GroupUser, row) for row in rows], many


async def list_identities(
    database: Database, group: Group, page: Page, which: Filter | None
) -> tuple[list[GroupIdentity], int]:
    """List the organization's identities, seen from the group, and say how many there are in all."""
    wanted = (group.organization_id, group.id, page.pattern, None, which)
    rows, many = await _paged(database, _LIST_IDENTITIES, _COUNT_IDENTITIES, wanted, page)
    return [value_of(GroupIdentity, row) for row in rows], many


async def list_projects(
    database: Database, group: Group, page: Page, viewer: UUID | None, which: Filter | None, *, is_descending: bool
) -> tuple[list[GroupProject], int]:
    """List the group's projects and those that the viewer (None: who may see all) is in, and say how many in all."""
    wanted = (group.organization_id, group.id, page.pattern, viewer, which)
    rows, many = await _paged(database, _LIST_PROJECTS[is_descending], _COUNT_PROJECTS, wanted, page)
    return [value_of(GroupProject, row) for row in rows], many


async def find_user(database: Database, group: Group, username: str) -> GroupUser | None:
    """Return a user of the organization, seen from the group, or None."""
    row = await database.fetch_row(_USER, group.organization_id, group.id, username)
    return None if row is None else value_of(GroupUser, row)


async def find_identity(database: Database, group: Group, identity_id: UUID) -> GroupIdentity | None:
    """Return an identity of the organization, seen from the group, or None."""
    row = await database.fetch_row(_IDENTITY, group.organization_id, group.id, identity_id)
    return None if row is None else value_of(GroupIdentity, row)


async def add_member(work: UnitOfWork, group: Group, membership_id: UUID, now: datetime) -> None:
    """Put a member of the organization into a group; the constraint `ALREADY_IN_GROUP` refuses who is there."""
    values: Mapping[str, Any] = {
        "organization_id": group.organization_id,
        "group_id": group.id,
        "membership_id": membership_id,
        "joined_at": now,
    }
    await work.execute(insert(GROUP_MEMBERS).values(**values))


async def remove_member(work: UnitOfWork, group: Group, membership_id: UUID) -> bool:
    """Take a member out of a group; False for who is not there."""
    columns = GROUP_MEMBERS.c
    statement = delete_from(GROUP_MEMBERS).where(columns.group_id == group.id, columns.membership_id == membership_id)
    return await work.execute(statement) == 1


async def _paged(
    database: Database, listing: str, counting: str, wanted: Sequence[Any], page: Page
) -> tuple[Sequence[Columns], int]:
    rows = await database.fetch(listing, *wanted, page.limit, page.offset)
    if page.offset == 0 and len(rows) < page.limit:
        return rows, len(rows)
    (counted,) = await database.fetch(counting, *wanted)
    return rows, counted["many"]


def _group(row: Columns) -> Group:
    role = None
    if row["role_id"] is not None:
        role = MembershipRole(
            row["role_id"], row["role"], row["custom_role_id"], row["custom_role_name"], row["custom_role_slug"]
        )
    return value_of(Group, row, role=role)
