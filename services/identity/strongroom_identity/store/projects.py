"""The queries about projects and their environments."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, select
from sqlalchemy import update as update_in

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.environments import Environment
from strongroom_identity.domain.memberships import SubjectKind
from strongroom_identity.domain.projects import Project
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.store.rows import Columns, columns_of, value_of
from strongroom_identity.store.tables import ENVIRONMENTS, IDENTITIES, MEMBERSHIPS, PROJECTS

SLUG_TAKEN = "projects_organization_id_slug_key"

_WITH_ENVIRONMENTS = """
SELECT p.*,
    (SELECT jsonb_agg(to_jsonb(e) ORDER BY e.position) FROM environments e WHERE e.project_id = p.id) AS environments
"""
_FIND = _WITH_ENVIRONMENTS + "FROM projects p WHERE p.id = $1"
_FIND_BY_SLUG = _WITH_ENVIRONMENTS + "FROM projects p WHERE p.organization_id = $1 AND p.slug = $2"
_LIST = (
    _WITH_ENVIRONMENTS  # noqa: S608 - both parts are constants
    + """,
    CASE WHEN $4 THEN (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.created_at, r.id)
                       FROM roles r WHERE r.project_id = p.id) END AS roles
FROM projects p
WHERE p.id IN (
    SELECT m.project_id FROM memberships m
    WHERE m.subject_id = $1 AND m.organization_id = $2 AND m.project_id IS NOT NULL
    UNION ALL
    SELECT g.project_id
    FROM memberships m
    JOIN group_members x ON x.membership_id = m.id
    JOIN memberships g ON g.group_id = x.group_id AND g.project_id IS NOT NULL
    WHERE m.subject_id = $1 AND m.organization_id = $2 AND m.project_id IS NULL
) AND ($3::text IS NULL OR p.type = $3)
ORDER BY p.created_at, p.id
"""
)
_LIST_OF: Mapping[SubjectKind, str] = {
    "user": _LIST.replace("subject_id", "user_id"),
    "identity": _LIST.replace("subject_id", "identity_id"),
}


async def add(work: UnitOfWork, project: Project) -> None:
    """Keep a new project with its environments."""
    await work.execute(insert(PROJECTS).values(columns_of(PROJECTS, project)))
    if project.environments:
        await work.execute(insert(ENVIRONMENTS), [columns_of(ENVIRONMENTS, one) for one in project.environments])


async def find(database: Database, project_id: UUID) -> Project | None:
    """Return a project, or None."""
    return _project(await database.fetch_row(_FIND, project_id))


async def find_by_slug(database: Database, organization_id: UUID, slug: str) -> Project | None:
    """Return the organization's project with this slug, or None."""
    return _project(await database.fetch_row(_FIND_BY_SLUG, organization_id, slug))


async def list_of(
    database: Database,
    kind: SubjectKind,
    subject_id: UUID,
    organization_id: UUID,
    *,
    project_type: str | None,
    with_roles: bool,
) -> list[Project]:
    """List the projects that a subject is a member of, oldest first; with their custom roles on demand."""
    rows = await database.fetch(_LIST_OF[kind], subject_id, organization_id, project_type, with_roles)
    return [_of_row(row, tuple(map(_role, row["roles"] or ())) if with_roles else None) for row in rows]


async def lock(work: UnitOfWork, project_id: UUID) -> Project | None:
    """Return a project with its environments, and keep it and them from changing until the work ends."""
    row = await work.row(select(PROJECTS).where(PROJECTS.c.id == project_id).with_for_update())
    if row is None:
        return None
    # Read by a statement of its own, which sees what whoever had the lock before has committed.
    found = await work.rows(
        select(ENVIRONMENTS).where(ENVIRONMENTS.c.project_id == project_id).order_by(ENVIRONMENTS.c.position)
    )
    environments = tuple(value_of(Environment, one._mapping) for one in found)
    return value_of(Project, row._mapping, environments=environments, roles=None)


async def save(work: UnitOfWork, project: Project) -> None:
    """Keep a locked project's next revision, without its environments."""
    await work.execute(update_in(PROJECTS).where(PROJECTS.c.id == project.id).values(columns_of(PROJECTS, project)))


async def delete(work: UnitOfWork, project_id: UUID) -> list[UUID]:
    """Remove a project and all that hangs on it; return the identities that it owned."""
    owned = await work.rows(select(IDENTITIES.c.id).where(IDENTITIES.c.project_id == project_id))
    # Before the project's custom roles, which must not go while somebody still holds them.
    await work.execute(delete_from(MEMBERSHIPS).where(MEMBERSHIPS.c.project_id == project_id))
    await work.execute(delete_from(PROJECTS).where(PROJECTS.c.id == project_id))
    return [row.id for row in owned]


def _project(row: Columns | None) -> Project | None:
    return None if row is None else _of_row(row, None)


def _of_row(row: Columns, roles: tuple[CustomRole, ...] | None) -> Project:
    environments = tuple(
        value_of(Environment, one, **_ids(one, "id", "project_id"), **_times(one)) for one in row["environments"] or ()
    )
    return value_of(Project, row, environments=environments, roles=roles)


def _role(document: Columns) -> CustomRole:
    return value_of(CustomRole, document, **_ids(document, "id", "organization_id", "project_id"), **_times(document))


def _ids(document: Columns, *names: str) -> dict[str, UUID]:
    return {name: UUID(document[name]) for name in names}


def _times(document: Columns) -> dict[str, datetime]:
    return {name: datetime.fromisoformat(document[name]) for name in ("created_at", "updated_at")}
