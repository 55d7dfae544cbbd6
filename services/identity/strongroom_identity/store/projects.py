"""The queries about projects and their environments."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, select

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.memberships import SubjectKind
from strongroom_identity.domain.projects import Environment, Project
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.store.rows import Columns, columns_of, value_of
from strongroom_identity.store.tables import ENVIRONMENTS, PROJECTS

SLUG_TAKEN = "projects_organization_id_slug_key"

_WITH_ENVIRONMENTS = """
SELECT p.*,
    (SELECT jsonb_agg(jsonb_build_object('id', e.id, 'name', e.name, 'slug', e.slug, 'position', e.position)
                      ORDER BY e.position, e.id)
     FROM environments e WHERE e.project_id = p.id) AS environments
"""
_FIND = _WITH_ENVIRONMENTS + "FROM projects p WHERE p.id = $1"
_FIND_BY_SLUG = _WITH_ENVIRONMENTS + "FROM projects p WHERE p.organization_id = $1 AND p.slug = $2"
_LIST = (
    _WITH_ENVIRONMENTS  # noqa: S608 - both parts are constants
    + """,
    CASE WHEN $4 THEN (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.created_at, r.id)
                       FROM roles r WHERE r.project_id = p.id) END AS roles
FROM memberships m JOIN projects p ON p.id = m.project_id
WHERE m.subject_id = $1 AND m.organization_id = $2 AND ($3::text IS NULL OR p.type = $3)
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
        times = {"project_id": project.id, "created_at": project.created_at, "updated_at": project.updated_at}
        rows = [{**columns_of(ENVIRONMENTS, environment), **times} for environment in project.environments]
        await work.execute(insert(ENVIRONMENTS), rows)


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
    """Return a project without its environments, and keep it from changing until the work ends."""
    row = await work.row(select(PROJECTS).where(PROJECTS.c.id == project_id).with_for_update())
    return None if row is None else value_of(Project, row._mapping, environments=(), roles=None)


async def delete(work: UnitOfWork, project_id: UUID) -> None:
    """Remove a project and all that hangs on it."""
    await work.execute(delete_from(PROJECTS).where(PROJECTS.c.id == project_id))


def _project(row: Columns | None) -> Project | None:
    return None if row is None else _of_row(row, None)


def _of_row(row: Columns, roles: tuple[CustomRole, ...] | None) -> Project:
    environments = tuple(
        Environment(UUID(one["id"]), one["name"], one["slug"], one["position"]) for one in row["environments"] or ()
    )
    return value_of(Project, row, environments=environments, roles=roles)


def _role(document: Columns) -> CustomRole:
    return value_of(
        CustomRole,
        document,
        id=UUID(document["id"]),
        organization_id=UUID(document["organization_id"]),
        project_id=UUID(document["project_id"]),
        created_at=datetime.fromisoformat(document["created_at"]),
        updated_at=datetime.fromisoformat(document["updated_at"]),
    )
