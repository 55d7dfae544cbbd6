"""Environments: looked at, made, changed, deleted. What hangs on them in other services follows by event.

Each change locks the project, so that two at the same moment see each other, and makes its next revision.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import ProjectUpdated
from strongroom_common.db.database import UnitOfWork
from strongroom_identity.domain import environments as rules
from strongroom_identity.domain.environments import Environment, Environments, EnvironmentWish
from strongroom_identity.domain.errors import EnvironmentNotFound, ProjectNotFound
from strongroom_identity.domain.projects import Project
from strongroom_identity.store import environments, projects
from strongroom_identity.usecases.context import IdentityContext


async def get(
    context: IdentityContext, caller: Caller, environment_id: UUID, project_id: UUID | None = None
) -> Environment:
    """Return an environment, of this project if one is named; raises `NotFound`, `Forbidden`."""
    if project_id is not None:
        await _require(context, caller, project_id, "read")
    environment = await environments.find(context.database, caller.organization_id, environment_id)
    if environment is None or project_id not in {None, environment.project_id}:
        raise EnvironmentNotFound
    if project_id is None:
        await _require(context, caller, environment.project_id, "read")
    return environment


async def create(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, name: str, slug: str, place: int | None
) -> Environment:
    """Make an environment, the last one unless a place is given. Raises `EnvironmentSlugTaken`, `Conflict`."""
    await _require(context, caller, project_id, "create")
    origin = origin.in_project(project_id)
    async with context.database.begin(origin) as work:
        project = await _lock(work, project_id)
        place = place or rules.last_position(project.environments) + 1
        new = Environment.new(project_id, name, slug, place, context.clock.now())
        after = rules.added(project.environments, new)
        await environments.add(work, new)
        await _take_over(work, project, after)
        work.record(audit_record(origin, context.clock, "create-environment", _facts(new)))
        await work.commit()
    return new


async def change(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    project_id: UUID,
    environment_id: UUID,
    wish: EnvironmentWish,
) -> Environment:
    """Rename or move an environment. Raises `EnvironmentNotFound`, `EnvironmentSlugTaken`."""
    await _require(context, caller, project_id, "edit")
    origin = origin.in_project(project_id)
    async with context.database.begin(origin) as work:
        project = await _lock(work, project_id)
        old = rules.get_one(project.environments, environment_id)
        new, after = rules.changed(project.environments, environment_id, wish, context.clock.now())
        await environments.save(work, new)
        await _take_over(work, project, after)
        facts = {**_facts(new), "oldName": old.name, "oldSlug": old.slug, "oldPosition": old.position}
        work.record(audit_record(origin, context.clock, "update-environment", facts))
        await work.commit()
    return new


async def delete(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, environment_id: UUID
) -> Environment:
    """Delete an environment; its place stays empty. Raises `EnvironmentNotFound`."""
    await _require(context, caller, project_id, "delete")
    origin = origin.in_project(project_id)
    async with context.database.begin(origin) as work:
        project = await _lock(work, project_id)
        gone = rules.get_one(project.environments, environment_id)
        await environments.delete(work, environment_id)
        await _take_over(work, project, tuple(one for one in project.environments if one.id != environment_id))
        work.record(audit_record(origin, context.clock, "delete-environment", _facts(gone)))
        await work.commit()
    return gone


async def _require(context: IdentityContext, caller: Caller, project_id: UUID, action: str) -> None:
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require(action, "environments")


async def _lock(work: UnitOfWork, project_id: UUID) -> Project:
    project = await projects.lock(work, project_id)
    if project is None:
        raise ProjectNotFound
    return project


async def _take_over(work: UnitOfWork, project: Project, after: Environments) -> None:
    await environments.move(work, project.id, after)
    next_revision = project.with_environments(after)
    await projects.save(work, next_revision)
    work.send(ProjectUpdated(project=next_revision.state()))


def _facts(environment: Environment) -> Mapping[str, Any]:
    return {"environmentId": str(environment.id), "name": environment.name, "slug": environment.slug}
