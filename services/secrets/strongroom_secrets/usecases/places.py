"""Finding the place that a request names, and what its caller may do there."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from strongroom_common.access.callers import Caller, Standing
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_secrets.domain.errors import EnvironmentNotFound, FolderNotFound, ProjectNotFound
from strongroom_secrets.domain.places import Place, ProjectRef
from strongroom_secrets.store.places import FIND_PLACES, LOCK_FOLDERS, Selector
from strongroom_secrets.usecases.context import SecretsContext
from strongroom_secrets.usecases.projects import learn

Rows = list[asyncpg.Record]


async def look_up(
    context: SecretsContext,
    caller: Caller,
    origin: Origin,
    which: ProjectRef,
    environment: str,
    statements: Mapping[Selector, str],
    *arguments: Any,
) -> tuple[Standing, Rows]:
    """Run one `located` statement; return the caller's standing in the project and the rows.

    A project or an environment that is not known here may be new, its event still on its way: identity is asked, once,
    and then the statement runs again. Raises `ProjectNotFound`, `EnvironmentNotFound`, and `Forbidden` for a stranger.
    """
    selector: Selector = "slug" if which.id is None else "id"
    organization_id = caller.organization_id

    async def look() -> Rows:
        return await context.database.fetch(
            statements[selector], organization_id, which.id or which.slug, environment, *arguments
        )

    # Who names a project by id is judged before anything is looked up; a slug must be looked up first. Either way
    # nothing is said about what is in the project before the caller's standing is known.
    standing = await context.doorkeeper.standing(caller, which.id) if which.id is not None else None
    rows = await look()
    if not rows:
        await learn(context, origin, organization_id, which)
        rows = await look()
        if not rows:
            raise ProjectNotFound
    if standing is None:
        standing = await context.doorkeeper.standing(caller, rows[0]["project_id"])
    if rows[0]["environment_id"] is None:
        await learn(context, origin, organization_id, which)
        rows = await look()
        if not rows or rows[0]["environment_id"] is None:
            raise EnvironmentNotFound(environment)
    return standing, rows


async def find_places(
    context: SecretsContext,
    caller: Caller,
    origin: Origin,
    which: ProjectRef,
    environment: str,
    paths: Collection[str],
) -> tuple[Standing, dict[str, Place]]:
    """Return the caller's standing, and those of the folders that exist, by path."""
    standing, rows = await look_up(context, caller, origin, which, environment, FIND_PLACES, list(paths))
    places = {
        row["path"]: Place(
            project_id=row["project_id"],
            environment_id=row["environment_id"],
            environment=row["environment"],
            folder_id=row["folder_id"],
            path=row["path"],
            is_upper_case_only=row["auto_capitalization"],
        )
        for row in rows
        if row["folder_id"] is not None
    }
    return standing, places


async def lock(work: UnitOfWork, places: Sequence[Place]) -> None:
    """Let nobody else write into these folders until this work is over; raises `FolderNotFound` for one that is gone.

    All writers lock in the order of the folders' ids, so that no two of them wait for each other.
    """
    ids = sorted({place.folder_id for place in places})
    rows = await work.rows(LOCK_FOLDERS, {"project_id": places[0].project_id, "ids": ids})
    found: dict[UUID, tuple[UUID, str]] = {row.id: (row.environment_id, row.path) for row in rows}
    for place in places:
        if found.get(place.folder_id) != (place.environment_id, place.path):
            raise FolderNotFound(place.path)
