"""Decisions that nobody can ask about any more."""

from datetime import timedelta

from strongroom_common.runtime.jobs import Jobs
from strongroom_identity.usecases import decisions
from strongroom_identity.usecases.context import IdentityContext

jobs = Jobs()


@jobs.every(timedelta(minutes=10))
async def forget(context: IdentityContext) -> None:
    """Forget decisions that are too old, or more than an organization keeps."""
    await decisions.forget(context)
