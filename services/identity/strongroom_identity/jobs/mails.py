"""Mails on their way out."""

from datetime import timedelta

from strongroom_common.runtime.jobs import Jobs
from strongroom_identity.usecases import mails
from strongroom_identity.usecases.context import IdentityContext

jobs = Jobs()


@jobs.every(timedelta(seconds=1))
async def deliver(context: IdentityContext) -> None:
    """Send what is due."""
    await mails.deliver(context)
