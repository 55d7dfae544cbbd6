"""The queries about environments. Whoever writes holds the lock of their project (`projects.lock`)."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.environments import Environment
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import ENVIRONMENTS

_FIND = """
SELECT e.* FROM environments e JOIN projects p ON p.id = e.project_id WHERE e.id = $1 AND p.organization_id = $2
"""
_MOVE = text(
    """
    UPDATE environments e SET position = t.position
    FROM unnest(CAST(:ids AS uuid[]), CAST(:positions AS int[])) AS t (id, position)
    WHERE e.id = t.id AND e.project_id = :project_id AND e.position <> t.position
    """
)


async def find(database: Database, organization_id: UUID, environment_id: UUID) -> Environment | None:
    """Return an environment of any project of the organization, or None."""
    row = await database.fetch_row(_FIND, environment_id, organization_id)
    return None if row is None else value_of(Environment, row)


async def add(work: UnitOfWork, environment: Environment) -> None:
    """Keep a new one."""
    await work.execute(insert(ENVIRONMENTS).values(columns_of(ENVIRONMENTS, environment)))


async def save(work: UnitOfWork, environment: Environment) -> None:
    """Keep what has changed about one."""
    await work.execute(
        update(ENVIRONMENTS).where(ENVIRONMENTS.c.id == environment.id).values(columns_of(ENVIRONMENTS, environment))
    )


async def move(work: UnitOfWork, project_id: UUID, environments: Sequence[Environment]) -> None:
    """Put a project's environments where they now are."""
    places = {
        "project_id": project_id,
        "ids": [one.id for one in environments],
        "positions": [one.position for one in environments],
    }
    await work.execute(_MOVE, places)


async def delete(work: UnitOfWork, environment_id: UUID) -> None:
    """Remove one."""
    await work.execute(delete_from(ENVIRONMENTS).where(ENVIRONMENTS.c.id == environment_id))
