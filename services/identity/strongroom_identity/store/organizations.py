"""The queries about organizations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, or_, select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.memberships import SubjectKind
from strongroom_identity.domain.organizations import Organization, OwnOrganization
from strongroom_identity.store.pages import Page
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import IDENTITIES, MEMBERSHIPS, ORGANIZATIONS, PROJECTS

SLUG_TAKEN = "organizations_slug_key"

_FIND = "SELECT * FROM organizations WHERE id = $1"
_LIST_OF_USER = """
SELECT o.*, m.created_at AS joined_at,
    (SELECT r.role FROM membership_roles r WHERE r.membership_id = m.id ORDER BY r.position LIMIT 1) AS role
FROM memberships m JOIN organizations o ON o.id = m.organization_id
WHERE m.user_id = $1 AND m.project_id IS NULL AND m.is_active AND m.status = 'accepted' AND o.parent_id IS NULL
ORDER BY o.name, o.id
"""
# $2: only those of which the subject $3 is a working member.
_SUB_ORGANIZATIONS = """
FROM organizations o
WHERE o.parent_id = $1 AND (NOT $2 OR EXISTS (
    SELECT FROM memberships m
    WHERE m.organization_id = o.id AND m.subject_id = $3 AND m.project_id IS NULL AND m.is_active
        AND m.status = 'accepted'
))
"""
_SUB_ORGANIZATIONS_OF: Mapping[SubjectKind, str] = {
    "user": _SUB_ORGANIZATIONS.replace("subject_id", "user_id"),
    "identity": _SUB_ORGANIZATIONS.replace("subject_id", "identity_id"),
}

_IS_ADMIN = """
SELECT 1 FROM memberships m JOIN membership_roles r ON r.membership_id = m.id
WHERE m.organization_id = $1 AND m.user_id = $2 AND m.project_id IS NULL AND r.role = 'admin' AND NOT r.is_temporary
    AND m.is_active AND m.status = 'accepted'
"""


@dataclass(frozen=True)
class Belongings:
    """What goes with an organization: itself and its sub-organizations, their projects and their identities."""

    organization_ids: Sequence[UUID]
    projects: Sequence[tuple[UUID, UUID]]
    """(project, organization)."""
    identities: Sequence[tuple[UUID, UUID]]
    """(identity, organization)."""


async def add(work: UnitOfWork, organization: Organization) -> None:
    """Keep a new organization."""
    await work.execute(insert(ORGANIZATIONS).values(columns_of(ORGANIZATIONS, organization)))


async def find(database: Database, organization_id: UUID) -> Organization | None:
    """Return an organization, or None."""
    row = await database.fetch_row(_FIND, organization_id)
    return None if row is None else value_of(Organization, row)


async def lock(work: UnitOfWork, organization_id: UUID) -> Organization | None:
    """Return an organization; nobody else changes it, or who its admins are, until the work ends."""
    statement = select(ORGANIZATIONS).where(ORGANIZATIONS.c.id == organization_id).with_for_update()
    row = await work.row(statement)
    return None if row is None else value_of(Organization, row._mapping)


async def save(work: UnitOfWork, organization: Organization) -> None:
    """Keep a changed organization."""
    values = columns_of(ORGANIZATIONS, organization)
    await work.execute(update(ORGANIZATIONS).where(ORGANIZATIONS.c.id == organization.id).values(values))


async def list_belongings(work: UnitOfWork, organization_id: UUID) -> Belongings:
    """List what other services have to forget when the organization goes; what is listed can no longer grow."""
    tree = select(ORGANIZATIONS.c.id).where(
        or_(ORGANIZATIONS.c.id == organization_id, ORGANIZATIONS.c.root_id == organization_id)
    )
    # Whoever adds a project or an identity holds its organization's row against deletion, and waits for this lock.
    organizations = [row.id for row in await work.rows(tree.order_by(ORGANIZATIONS.c.id).with_for_update())]
    projects = select(PROJECTS.c.id, PROJECTS.c.organization_id).where(PROJECTS.c.organization_id.in_(organizations))
    identities = select(IDENTITIES.c.id, IDENTITIES.c.organization_id).where(
        IDENTITIES.c.organization_id.in_(organizations)
    )
    return Belongings(
        organizations,
        [(row.id, row.organization_id) for row in await work.rows(projects)],
        [(row.id, row.organization_id) for row in await work.rows(identities)],
    )


async def delete(work: UnitOfWork, organization_id: UUID) -> None:
    """Remove an organization and all that hangs on it, sub-organizations included."""
    await work.execute(delete_from(ORGANIZATIONS).where(ORGANIZATIONS.c.id == organization_id))


async def list_of_user(database: Database, user_id: UUID) -> list[OwnOrganization]:
    """List the root organizations that a user works in."""
    rows = await database.fetch(_LIST_OF_USER, user_id)
    return [OwnOrganization(value_of(Organization, row), row["role"], row["joined_at"]) for row in rows]


async def is_admin(database: Database, organization_id: UUID, user_id: UUID) -> bool:
    """Say whether a user can do everything in the organization, as of now."""
    return await database.fetch_row(_IS_ADMIN, organization_id, user_id) is not None


async def list_sub_organizations(
    database: Database, parent_id: UUID, page: Page, kind: SubjectKind, subject_id: UUID, *, own_only: bool
) -> tuple[list[Organization], int]:
    """List an organization's sub-organizations, or only those that a subject works in, with how many there are."""
    found = _SUB_ORGANIZATIONS_OF[kind]
    arguments = (parent_id, own_only, subject_id)
    listed = f"SELECT o.* {found} ORDER BY o.name, o.id LIMIT $4 OFFSET $5"
    rows = await database.fetch(listed, *arguments, page.limit, page.offset)
    count = await database.fetch_row(f"SELECT count(*) AS total {found}", *arguments)
    return [value_of(Organization, row) for row in rows], count["total"] if count else 0


async def list_tree(work: UnitOfWork, organization_id: UUID) -> list[UUID]:
    """List an organization and its sub-organizations, in the order of ids."""
    table = ORGANIZATIONS.c
    statement = select(table.id).where(or_(table.id == organization_id, table.root_id == organization_id))
    return [row.id for row in await work.rows(statement.order_by(table.id))]


async def remove_users(work: UnitOfWork, organization_ids: Sequence[UUID], user_ids: Sequence[UUID]) -> None:
    """Remove users from organizations and from all their projects."""
    table = MEMBERSHIPS.c
    await work.execute(
        delete_from(MEMBERSHIPS).where(table.user_id.in_(user_ids), table.organization_id.in_(organization_ids))
    )
