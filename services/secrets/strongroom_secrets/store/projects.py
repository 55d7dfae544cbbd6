"""Projects and environments as identity tells of them: taken in by revision, so that the order of news does not matter.

Locks are always taken in the order project, environments, folders by id; then nobody waits in a circle.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from strongroom_common.contracts.identity import ProjectState
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.ids import new_id
from strongroom_secrets.domain.places import ROOT

_TAKE = text(
    """
    INSERT INTO projects (id, organization_id, auto_capitalization, pit_version_limit, revision)
    VALUES (:id, :organization_id, :auto_capitalization, :pit_version_limit, :revision)
    ON CONFLICT (id) DO UPDATE
    SET auto_capitalization = excluded.auto_capitalization, pit_version_limit = excluded.pit_version_limit,
        revision = excluded.revision
    WHERE projects.deleted_at IS NULL AND projects.revision <= excluded.revision
    RETURNING id
    """
)
_FREE_SLUG = text(
    "UPDATE projects SET slug = NULL WHERE organization_id = :organization_id AND slug = :slug AND id <> :id"
)
_NAME = text("UPDATE projects SET slug = :slug WHERE id = :id")
_LOCK_DROPPED = text(
    """
    SELECT id FROM environments WHERE project_id = :project_id AND id <> ALL (CAST(:kept AS uuid[]))
    ORDER BY id FOR UPDATE
    """
)
_LOCK_FOLDERS = text(
    """
    SELECT id FROM folders WHERE project_id = :project_id AND environment_id = ANY (CAST(:dropped AS uuid[]))
    ORDER BY id FOR UPDATE
    """
)
_DROP_ENVIRONMENTS = text(
    """
    WITH gone AS (DELETE FROM environments WHERE project_id = :project_id AND id = ANY (CAST(:dropped AS uuid[])))
    DELETE FROM secret_versions WHERE project_id = :project_id AND environment_id = ANY (CAST(:dropped AS uuid[]))
    """
)
_TAKE_ENVIRONMENTS = text(
    """
    INSERT INTO environments (project_id, id, name, slug, position)
    SELECT CAST(:project_id AS uuid), * FROM unnest(
        CAST(:ids AS uuid[]), CAST(:names AS text[]), CAST(:slugs AS text[]), CAST(:positions AS int[])
    )
    ON CONFLICT (project_id, id) DO UPDATE
    SET name = excluded.name, slug = excluded.slug, position = excluded.position
    """
)
_ADD_ROOTS = text(
    """
    INSERT INTO folders (project_id, id, environment_id, name, path, created_at, updated_at)
    SELECT CAST(:project_id AS uuid), folder_id, environment_id, 'root', CAST(:root AS text),
        CAST(:now AS timestamptz), CAST(:now AS timestamptz)
    FROM unnest(CAST(:folder_ids AS uuid[]), CAST(:environment_ids AS uuid[])) AS t (folder_id, environment_id)
    ON CONFLICT (project_id, environment_id, path) DO NOTHING
    """
)
_BURY = text(
    """
    INSERT INTO projects (id, organization_id, auto_capitalization, pit_version_limit, revision, deleted_at)
    VALUES (:id, :organization_id, false, 1, 0, :now)
    ON CONFLICT (id) DO UPDATE SET slug = NULL, deleted_at = excluded.deleted_at
    """
)
_DROP_TAGS = text("DELETE FROM tags WHERE project_id = :project_id")
# Without its data keys, what a backup still holds of the project is noise.
_DROP_KEYS = text("DELETE FROM data_keys WHERE scope_id = :project_id")


async def take_in(work: UnitOfWork, project: ProjectState, now: datetime) -> bool:
    """Make our picture of the project this one; False when we know a newer one, or that the project is gone."""
    taken = await work.row(
        _TAKE,
        {
            "id": project.id,
            "organization_id": project.organization_id,
            "auto_capitalization": project.auto_capitalization,
            "pit_version_limit": project.pit_version_limit,
            "revision": project.revision,
        },
    )
    if taken is None:
        return False
    # Projects that trade slugs are heard of one by one: whoever is heard last has the slug, the other waits for news.
    slug = {"id": project.id, "organization_id": project.organization_id, "slug": project.slug}
    await work.execute(_FREE_SLUG, slug)
    await work.execute(_NAME, {"id": project.id, "slug": project.slug})
    environments = sorted(project.environments, key=lambda environment: environment.id)
    ids = [environment.id for environment in environments]
    await _drop_environments(work, project.id, kept=ids)
    await work.execute(
        _TAKE_ENVIRONMENTS,
        {
            "project_id": project.id,
            "ids": ids,
            "names": [environment.name for environment in environments],
            "slugs": [environment.slug for environment in environments],
            "positions": [environment.position for environment in environments],
        },
    )
    await work.execute(
        _ADD_ROOTS,
        {
            "project_id": project.id,
            "folder_ids": [new_id() for _ in ids],
            "environment_ids": ids,
            "root": ROOT,
            "now": now,
        },
    )
    return True


async def bury(work: UnitOfWork, project_id: UUID, organization_id: UUID, now: datetime) -> None:
    """Remove a project with all that is in it, and leave a tombstone."""
    await work.execute(_BURY, {"id": project_id, "organization_id": organization_id, "now": now})
    await _drop_environments(work, project_id, kept=[])
    await work.execute(_DROP_TAGS, {"project_id": project_id})
    await work.execute(_DROP_KEYS, {"project_id": project_id})


async def _drop_environments(work: UnitOfWork, project_id: UUID, kept: Sequence[UUID]) -> None:
    dropped = [row.id for row in await work.rows(_LOCK_DROPPED, {"project_id": project_id, "kept": kept})]
    if not dropped:
        return
    # Writers lock their folders by id before they touch a secret; the cascade would lock them in any order.
    await work.execute(_LOCK_FOLDERS, {"project_id": project_id, "dropped": dropped})
    await work.execute(_DROP_ENVIRONMENTS, {"project_id": project_id, "dropped": dropped})
