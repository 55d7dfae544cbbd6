"""What identity says of projects."""

from strongroom_common.contracts.identity import ProjectCreated, ProjectDeleted, ProjectEvent, ProjectUpdated
from strongroom_common.db.database import UnitOfWork
from strongroom_common.runtime.listening import Listeners
from strongroom_secrets.usecases import projects
from strongroom_secrets.usecases.context import SecretsContext

listeners: Listeners[SecretsContext] = Listeners()


@listeners.on(ProjectCreated, ProjectUpdated)
async def changed(context: SecretsContext, work: UnitOfWork, event: ProjectEvent) -> None:
    await projects.take_in(context, work, event.project)


@listeners.on(ProjectDeleted)
async def deleted(context: SecretsContext, work: UnitOfWork, event: ProjectDeleted) -> None:
    await projects.forget(context, work, event.project_id, event.organization_id)
