"""The queries about tags.

Whoever changes a project's tags holds its project's lock, which comes first in the order of all locks. Whoever gives
tags to secrets holds the tags against deletion, after the folders and before any secret is written.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.engine import Row

from strongroom_common.db.database import UnitOfWork
from strongroom_secrets.domain.tags import Mark, Tag

_COLUMNS: Final = "t.id, t.project_id, t.slug, t.color, t.actor_kind, t.actor_id, t.created_at, t.updated_at"

# $1 the caller's organization, $2 the project.
LIST: Final = f"""
    SELECT {_COLUMNS} FROM tags t JOIN projects p ON p.id = t.project_id
    WHERE p.organization_id = $1 AND p.id = $2 AND p.deleted_at IS NULL
    """  # noqa: S608 - put together from constants of this module
LIST_ALL: Final = f"{LIST} ORDER BY t.slug"
# $3 the tag.
FIND_BY_ID: Final = f"{LIST} AND t.id = $3"
FIND_BY_SLUG: Final = f"{LIST} AND t.slug = $3"
IS_PROJECT_KNOWN: Final = "SELECT 1 FROM projects WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL"

_LOCK_PROJECT = text(
    """
    SELECT id FROM projects WHERE organization_id = :organization_id AND id = :project_id AND deleted_at IS NULL
    FOR NO KEY UPDATE
    """
)
_FIND = text(
    f"SELECT {_COLUMNS} FROM tags t WHERE t.project_id = :project_id AND t.id = :id"  # noqa: S608 - constants
)
_FIND_SLUG = text("SELECT id FROM tags WHERE project_id = :project_id AND slug = :slug")
_COUNT = text("SELECT count(*) AS tags FROM tags WHERE project_id = :project_id")
_INSERT = text(
    """
    INSERT INTO tags (id, project_id, slug, color, actor_kind, actor_id, created_at, updated_at)
    VALUES (:id, :project_id, :slug, :color, :actor_kind, :actor_id, :created_at, :updated_at)
    """
)
_UPDATE = text(
    "UPDATE tags SET slug = :slug, color = :color, updated_at = :updated_at WHERE project_id = :project_id AND id = :id"
)
_DELETE = text("DELETE FROM tags WHERE project_id = :project_id AND id = :id")
_HOLD = text(
    """
    SELECT id, slug, color FROM tags WHERE project_id = :project_id AND id = ANY (CAST(:ids AS uuid[]))
    ORDER BY id FOR KEY SHARE
    """
)


async def lock_project(work: UnitOfWork, organization_id: UUID, project_id: UUID) -> bool:
    """Let nobody else change the project's tags until this work is over; False when there is no such project."""
    parameters = {"organization_id": organization_id, "project_id": project_id}
    return await work.row(_LOCK_PROJECT, parameters) is not None


async def find(work: UnitOfWork, project_id: UUID, tag_id: UUID) -> Row[Any] | None:
    """Return a tag of the project."""
    return await work.row(_FIND, {"project_id": project_id, "id": tag_id})


async def find_slug(work: UnitOfWork, project_id: UUID, slug: str) -> UUID | None:
    """Return the id of the tag that has this slug."""
    row = await work.row(_FIND_SLUG, {"project_id": project_id, "slug": slug})
    return None if row is None else row.id


async def count(work: UnitOfWork, project_id: UUID) -> int:
    """Count the project's tags."""
    row = await work.row(_COUNT, {"project_id": project_id})
    return row.tags if row else 0


async def insert(work: UnitOfWork, tag: Tag) -> None:
    """Add a tag."""
    await work.execute(_INSERT, {name: getattr(tag, name) for name in Tag.__dataclass_fields__})


async def update(work: UnitOfWork, tag: Tag) -> None:
    """Replace what can be changed in a tag."""
    await work.execute(_UPDATE, {name: getattr(tag, name) for name in Tag.__dataclass_fields__})


async def delete(work: UnitOfWork, tag: Tag) -> None:
    """Remove a tag, from all secrets, too."""
    await work.execute(_DELETE, {"project_id": tag.project_id, "id": tag.id})


async def hold(work: UnitOfWork, project_id: UUID, tag_ids: Sequence[UUID]) -> dict[UUID, Mark]:
    """Return those of these tags that exist; they stay until this work is over."""
    rows = await work.rows(_HOLD, {"project_id": project_id, "ids": tag_ids})
    return {row.id: Mark(row.id, row.slug, row.color) for row in rows}
