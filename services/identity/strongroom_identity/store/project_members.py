"""The queries about who is a member of a project: users, identities and groups alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.memberships import MemberKind, Membership, MembershipRole, SubjectKind, Temporary
from strongroom_identity.store.access import HeldRoles
from strongroom_identity.store.pages import Page
from strongroom_identity.store.rows import Columns, value_of
from strongroom_identity.store.tables import MEMBERSHIP_ROLES, MEMBERSHIPS

_USER = """jsonb_build_object('id', u.id, 'email', u.email, 'username', u.username, 'first_name', u.first_name,
                   'last_name', u.last_name)"""
# What a member is known by, where that stands, and its name.
_FROM = {
    "user": (_USER, "JOIN users u ON u.id = m.user_id", "u.username"),
    "identity": ("jsonb_build_object('name', i.name)", "JOIN identities i ON i.id = m.identity_id", "i.name"),
    "group": ("jsonb_build_object('name', g.name, 'slug', g.slug)", "JOIN groups g ON g.id = m.group_id", "g.name"),
}
_ROLES = """
(SELECT jsonb_agg(jsonb_build_object('id', r.id, 'role', r.role, 'custom_role_id', x.id, 'custom_role_name', x.name,
                                     'custom_role_slug', x.slug, 'mode', r.temporary_mode, 'range', r.temporary_range,
                                     'starts_at', r.starts_at, 'ends_at', r.ends_at) ORDER BY r.position)
 FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id WHERE r.membership_id = m.id)
"""
_WHERE = """
WHERE m.project_id = $1 AND ($2 = '' OR {name} ILIKE $2) AND ($3::uuid[] IS NULL OR m.{kind}_id = ANY($3))
    AND ($4::text[] IS NULL OR EXISTS (
        SELECT FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id
        WHERE r.membership_id = m.id AND coalesce(x.slug, r.role) = ANY($4)
    ))
"""


def _select(kind: str) -> str:
    known_by, join, _ = _FROM[kind]
    return f"""
SELECT m.*, {known_by} AS subject, p.name AS project_name, p.type AS project_type, {_ROLES} AS roles
FROM memberships m JOIN projects p ON p.id = m.project_id {join}
"""  # noqa: S608 - all parts are constants


def _list(kind: str, direction: str) -> str:
    name = _FROM[kind][2]
    where = _WHERE.format(name=name, kind=kind)
    return f"{_select(kind)}{where} ORDER BY {name} {direction}, m.id LIMIT $5 OFFSET $6"


_LIST = {(kind, way): _list(kind, "DESC" if way else "ASC") for kind in _FROM for way in (False, True)}
_COUNT = {
    kind: f"SELECT count(*) AS many FROM memberships m {join} {_WHERE.format(name=name, kind=kind)}"  # noqa: S608 - constants
    for kind, (_, join, name) in _FROM.items()
}
_FIND = {kind: f"{_select(kind)} WHERE m.project_id = $1 AND m.{kind}_id = $2" for kind in _FROM}
_FIND_BY_ID = {
    kind: f"{_select(kind)} WHERE m.id = $1 AND m.organization_id = $2 AND m.{kind}_id IS NOT NULL" for kind in _FROM
}
_IDENTITY_IDS = """
SELECT identity_id AS id FROM memberships WHERE project_id = $1 AND identity_id IS NOT NULL
"""
_USERS = """
SELECT u.id, u.email, u.username, m.id IS NOT NULL AS is_in_organization
FROM users u
LEFT JOIN memberships m ON m.user_id = u.id AND m.organization_id = $1 AND m.project_id IS NULL
WHERE u.email = ANY($2::text[]) OR u.username = ANY($3::text[])
ORDER BY u.id
"""
_HELD = text("""
SELECT r.membership_id, r.role, x.permissions AS rules
FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id
WHERE r.membership_id = ANY(:ids) ORDER BY r.membership_id, r.position
""")
# A user who is in several groups of the project is listed once for each: the roles differ.
_THROUGH_GROUPS = f"""
SELECT m.*, {_USER} AS subject, p.name AS project_name, p.type AS project_type, {_ROLES} AS roles
FROM memberships m
JOIN projects p ON p.id = m.project_id
JOIN group_members gm ON gm.group_id = m.group_id
JOIN memberships o ON o.id = gm.membership_id
JOIN users u ON u.id = o.user_id
WHERE m.project_id = $1
    AND ($2::text[] IS NULL OR EXISTS (
        SELECT FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id
        WHERE r.membership_id = m.id AND coalesce(x.slug, r.role) = ANY($2)
    ))
ORDER BY u.username, m.id LIMIT $3
"""  # noqa: S608 - both parts are constants
_OWN = f"""
SELECT m.*, '{{}}'::jsonb AS subject, p.name AS project_name, p.type AS project_type, {_ROLES} AS roles
FROM memberships m JOIN projects p ON p.id = m.project_id
WHERE m.project_id = $1 AND (m.subject_id = $2 OR m.group_id IN (
    SELECT gm.group_id FROM memberships o JOIN group_members gm ON gm.membership_id = o.id
    WHERE o.organization_id = p.organization_id AND o.project_id IS NULL AND o.subject_id = $2
))
ORDER BY m.created_at, m.id
"""  # noqa: S608 - both parts are constants
_OWN_OF: Mapping[SubjectKind, str] = {
    "user": _OWN.replace("subject_id", "user_id"),
    "identity": _OWN.replace("subject_id", "identity_id"),
}


@dataclass(frozen=True)
class ProjectMember:
    """A membership in a project with what people know its two ends by; `subject` holds the names of the member."""

    membership: Membership
    subject: Mapping[str, Any]
    project_name: str
    project_type: str


@dataclass(frozen=True)
class KnownUser:
    """A user of the instance, and whether the organization knows him."""

    id: UUID
    email: str
    username: str
    is_in_organization: bool


async def find_users(
    database: Database, organization_id: UUID, emails: Sequence[str], usernames: Sequence[str]
) -> list[KnownUser]:
    """Return the users with one of these mailboxes or names, each once."""
    return [value_of(KnownUser, row) for row in await database.fetch(_USERS, organization_id, emails, usernames)]


async def list_all(
    database: Database,
    kind: MemberKind,
    project_id: UUID,
    page: Page,
    *,
    is_descending: bool = False,
    only: Sequence[UUID] | None = None,
    roles: Sequence[str] | None = None,
) -> tuple[list[ProjectMember], int]:
    """List members of one kind by name, and say how many there are in all; `only` these subjects, with these roles."""
    wanted = (project_id, page.pattern, only, roles)
    rows = await database.fetch(_LIST[kind, is_descending], *wanted, page.limit, page.offset)
    if page.offset == 0 and len(rows) < page.limit:
        return [_member(row) for row in rows], len(rows)
    (counted,) = await database.fetch(_COUNT[kind], *wanted)
    return [_member(row) for row in rows], counted["many"]


async def list_users_through_groups(
    database: Database, project_id: UUID, roles: Sequence[str] | None, most: int
) -> list[ProjectMember]:
    """List the users who are in the project because a group of theirs is: the membership is the group's."""
    return [_member(row) for row in await database.fetch(_THROUGH_GROUPS, project_id, roles, most)]


async def list_own(database: Database, project_id: UUID, kind: SubjectKind, subject_id: UUID) -> list[Membership]:
    """List a caller's memberships in a project: its own and those of its groups."""
    return [_member(row).membership for row in await database.fetch(_OWN_OF[kind], project_id, subject_id)]


async def list_identity_ids(database: Database, project_id: UUID) -> list[UUID]:
    """List the ids of all identities that are members."""
    return [row["id"] for row in await database.fetch(_IDENTITY_IDS, project_id)]


async def find(database: Database, kind: MemberKind, project_id: UUID, subject_id: UUID) -> ProjectMember | None:
    """Return somebody's membership in a project, or None."""
    row = await database.fetch_row(_FIND[kind], project_id, subject_id)
    return None if row is None else _member(row)


async def find_by_id(
    database: Database, kind: MemberKind, membership_id: UUID, organization_id: UUID
) -> ProjectMember | None:
    """Return a membership in a project of the organization, or None."""
    row = await database.fetch_row(_FIND_BY_ID[kind], membership_id, organization_id)
    return None if row is None else _member(row)


async def lock_all(
    work: UnitOfWork, kind: MemberKind, project_id: UUID, subject_ids: Sequence[UUID]
) -> list[Membership]:
    """Return those of the memberships that there are, without roles, and keep them as they are until the work ends."""
    column = MEMBERSHIPS.c[f"{kind}_id"]
    statement = select(MEMBERSHIPS).where(MEMBERSHIPS.c.project_id == project_id, column.in_(subject_ids))
    rows = await work.rows(statement.order_by(MEMBERSHIPS.c.id).with_for_update())
    return [value_of(Membership, row._mapping, roles=()) for row in rows]


async def list_held(work: UnitOfWork, membership_ids: Sequence[UUID]) -> Mapping[UUID, HeldRoles]:
    """List what memberships hold: those roles too that are not in force yet, or no longer."""
    held: dict[UUID, list[tuple[str, Sequence[Mapping[str, Any]] | None]]] = {}
    for row in await work.rows(_HELD, {"ids": list(membership_ids)}):
        held.setdefault(row.membership_id, []).append((row.role, row.rules))
    return held


async def drop_roles(work: UnitOfWork, membership_id: UUID) -> None:
    """Take all roles from a membership."""
    await work.execute(delete(MEMBERSHIP_ROLES).where(MEMBERSHIP_ROLES.c.membership_id == membership_id))


async def touch(work: UnitOfWork, membership: Membership) -> None:
    """Keep when a membership was changed last."""
    statement = update(MEMBERSHIPS).where(MEMBERSHIPS.c.id == membership.id)
    await work.execute(statement.values(updated_at=membership.updated_at))


async def delete_all(work: UnitOfWork, membership_ids: Sequence[UUID]) -> None:
    """Remove memberships with their roles."""
    await work.execute(delete(MEMBERSHIPS).where(MEMBERSHIPS.c.id.in_(membership_ids)))


def role_of(document: Columns) -> MembershipRole:
    """Read a role as the statements here write it."""
    temporary = None
    if document["ends_at"] is not None:
        temporary = Temporary(
            document["mode"],
            document["range"],
            datetime.fromisoformat(document["starts_at"]),
            datetime.fromisoformat(document["ends_at"]),
        )
    custom = document["custom_role_id"]
    return MembershipRole(
        id=UUID(document["id"]),
        role=document["role"],
        custom_role_id=UUID(custom) if custom else None,
        custom_role_name=document["custom_role_name"],
        custom_role_slug=document["custom_role_slug"],
        temporary=temporary,
    )


def _member(row: Columns) -> ProjectMember:
    membership = value_of(Membership, row, roles=tuple(role_of(role) for role in row["roles"] or ()))
    return ProjectMember(membership, row["subject"], row["project_name"], row["project_type"])
