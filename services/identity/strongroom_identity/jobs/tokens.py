"""Tokens that have come to their end."""

from datetime import timedelta

from strongroom_common.runtime.jobs import Jobs
from strongroom_identity.usecases import tokens
from strongroom_identity.usecases.context import IdentityContext

jobs = Jobs()


@jobs.every(timedelta(hours=1))
async def drop_expired(context: IdentityContext) -> None:
    """Forget the records of tokens that nobody can use or renew any more."""
    await tokens.drop_expired(context)
