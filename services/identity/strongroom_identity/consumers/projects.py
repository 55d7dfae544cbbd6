"""Questions of the other services about projects."""

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import DescribeProject, ProjectState
from strongroom_common.runtime.listening import Listeners
from strongroom_identity.usecases import projects
from strongroom_identity.usecases.context import IdentityContext

listeners: Listeners[IdentityContext] = Listeners()


@listeners.answer(DescribeProject)
async def describe(context: IdentityContext, question: DescribeProject, origin: Origin) -> ProjectState:
    """Tell about one project."""
    return await projects.describe(context, question)
