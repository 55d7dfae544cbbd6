"""What we know of projects: heard by event, asked for on a miss, written through."""

from uuid import UUID

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import DescribeProject, ProjectState
from strongroom_common.db.database import BEFORE_COMMIT, UnitOfWork
from strongroom_secrets.domain.errors import ProjectNotFound
from strongroom_secrets.domain.places import ProjectRef
from strongroom_secrets.store import projects
from strongroom_secrets.usecases.context import SecretsContext


async def take_in(context: SecretsContext, work: UnitOfWork, project: ProjectState) -> None:
    """Remember a project as it now is; older news than what we know changes nothing."""
    await projects.take_in(work, project, context.clock.now())


async def forget(context: SecretsContext, work: UnitOfWork, project_id: UUID, organization_id: UUID) -> None:
    """Remove a project with every folder, secret and version in it."""
    await projects.bury(work, project_id, organization_id, context.clock.now())


async def learn(context: SecretsContext, origin: Origin, organization_id: UUID, which: ProjectRef) -> None:
    """Ask identity about a project that a request names and we do not know well enough.

    Raises `NotFound` when there is no such project in the organization, `Unavailable` when nobody answers.
    """
    question = DescribeProject(project_id=which.id, organization_id=organization_id, slug=which.slug)
    project = await context.asker.ask(question, origin)
    if project.organization_id != organization_id:
        raise ProjectNotFound
    # This commit is not the request's own work: it must not mark the request's idempotency key as done.
    token = BEFORE_COMMIT.set(None)
    try:
        async with context.database.begin(origin) as work:
            await take_in(context, work, project)
            await work.commit()
    finally:
        BEFORE_COMMIT.reset(token)
