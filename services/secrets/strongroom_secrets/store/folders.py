"""The queries about folders."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.engine import Row

from strongroom_common.db.database import UnitOfWork
from strongroom_secrets.store.places import FOLDER_AT, SELECTORS, located

_COLUMNS: Final = """
    c.id, c.name, c.path, c.version, c.created_at, c.updated_at, c.environment_id AS folder_environment_id,
    c.parent_id, c.description, c.last_secret_modified"""

# $4 path.
LIST_CHILDREN: Final = {
    selector: located(
        selector,
        _COLUMNS,
        f"{FOLDER_AT} LEFT JOIN folders c ON c.project_id = p.id AND c.parent_id = f.id",
    )
    + "ORDER BY c.name"
    for selector in SELECTORS
}

# $4 path; $5 and $6: the bounds of all paths below it.
LIST_BELOW: Final = {
    selector: located(
        selector,
        _COLUMNS,
        f"""{FOLDER_AT} LEFT JOIN folders c
            ON c.project_id = p.id AND c.environment_id = e.id AND f.id IS NOT NULL AND c.id <> f.id
            AND c.path >= $5 AND c.path < $6""",
    )
    + "ORDER BY c.path"
    for selector in SELECTORS
}

# $1 the caller's organization, $2 the folder.
FIND_BY_ID: Final = f"""
    SELECT p.id AS project_id, e.name AS environment_name, e.slug AS environment, {_COLUMNS}
    FROM folders c
    JOIN projects p ON p.id = c.project_id
    JOIN environments e ON e.project_id = p.id AND e.id = c.environment_id
    WHERE c.id = $2 AND p.organization_id = $1 AND p.deleted_at IS NULL
    """  # noqa: S608 - put together from constants of this module

_FIND_AT = text(
    "SELECT id, path FROM folders "
    "WHERE project_id = :project_id AND environment_id = :environment_id AND path = ANY (CAST(:paths AS text[]))"
)
_INSERT = text(
    """
    INSERT INTO folders
        (project_id, id, environment_id, parent_id, name, path, description, created_at, updated_at)
    SELECT CAST(:project_id AS uuid), id, CAST(:environment_id AS uuid), parent_id, name, path, description,
        CAST(:now AS timestamptz), CAST(:now AS timestamptz)
    FROM unnest(
        CAST(:ids AS uuid[]), CAST(:parent_ids AS uuid[]), CAST(:names AS text[]), CAST(:paths AS text[]),
        CAST(:descriptions AS text[])
    ) AS t (id, parent_id, name, path, description)
    """
)
_FIND_ONE = text(
    f"""
    SELECT {_COLUMNS} FROM folders c
    WHERE c.project_id = :project_id AND c.environment_id = :environment_id AND (c.path = :path OR c.id = :id)
    ORDER BY c.path = :path DESC LIMIT 1
    """  # noqa: S608 - put together from constants of this module
)
_LOCK_TREE = text(
    """
    SELECT id, path FROM folders
    WHERE project_id = :project_id AND environment_id = :environment_id
        AND (id = :id OR (path >= :first AND path < :last))
    ORDER BY id FOR UPDATE
    """
)
_SECRETS_IN = text(
    """
    SELECT f.id AS folder_id, f.path, s.id, s.name, s.version, s.owner_id, s.rotation_id
    FROM folders f JOIN secrets s ON s.project_id = f.project_id AND s.folder_id = f.id
    WHERE f.project_id = :project_id AND f.id = ANY (CAST(:ids AS uuid[])) ORDER BY f.path, s.name
    """
)
_DELETE = text("DELETE FROM folders WHERE project_id = :project_id AND id = :id")


async def find_at(work: UnitOfWork, project_id: UUID, environment_id: UUID, paths: Sequence[str]) -> dict[str, UUID]:
    """Return the ids of those of these paths that exist."""
    rows = await work.rows(_FIND_AT, {"project_id": project_id, "environment_id": environment_id, "paths": paths})
    return {row.path: row.id for row in rows}


async def insert(
    work: UnitOfWork, project_id: UUID, environment_id: UUID, folders: Sequence[dict[str, Any]], now: datetime
) -> None:
    """Add folders, parents before their children."""
    await work.execute(
        _INSERT,
        {
            "project_id": project_id,
            "environment_id": environment_id,
            "now": now,
            "ids": [folder["id"] for folder in folders],
            "parent_ids": [folder["parent_id"] for folder in folders],
            "names": [folder["name"] for folder in folders],
            "paths": [folder["path"] for folder in folders],
            "descriptions": [folder["description"] for folder in folders],
        },
    )


async def find_one(
    work: UnitOfWork, project_id: UUID, environment_id: UUID, path: str, folder_id: UUID | None
) -> Row[Any] | None:
    """Return the folder at the path, else the one with the id."""
    return await work.row(
        _FIND_ONE, {"project_id": project_id, "environment_id": environment_id, "path": path, "id": folder_id}
    )


async def lock_tree(
    work: UnitOfWork, project_id: UUID, environment_id: UUID, folder_id: UUID, below: tuple[str, str]
) -> Sequence[Row[Any]]:
    """Lock a folder and all folders below it against every change."""
    return await work.rows(
        _LOCK_TREE,
        {
            "project_id": project_id,
            "environment_id": environment_id,
            "id": folder_id,
            "first": below[0],
            "last": below[1],
        },
    )


async def secrets_in(work: UnitOfWork, project_id: UUID, folder_ids: Sequence[UUID]) -> Sequence[Row[Any]]:
    """List the secrets in these folders, overrides included."""
    return await work.rows(_SECRETS_IN, {"project_id": project_id, "ids": folder_ids})


async def delete(work: UnitOfWork, project_id: UUID, folder_id: UUID) -> None:
    """Remove a folder with all that is in it."""
    await work.execute(_DELETE, {"project_id": project_id, "id": folder_id})
