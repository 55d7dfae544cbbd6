"""Counters and locks of failed logins that are over."""

from datetime import timedelta

from strongroom_common.runtime.jobs import Jobs
from strongroom_identity.usecases import lockouts
from strongroom_identity.usecases.context import IdentityContext

jobs = Jobs()


@jobs.every(timedelta(minutes=10))
async def drop_over(context: IdentityContext) -> None:
    """Forget them."""
    await lockouts.drop_over(context)
