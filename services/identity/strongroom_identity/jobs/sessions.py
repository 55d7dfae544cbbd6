"""Sessions, codes and counters that have come to their end."""

from datetime import timedelta

from strongroom_common.runtime.jobs import Jobs
from strongroom_identity.usecases import one_time_codes, sessions, throttles
from strongroom_identity.usecases.context import IdentityContext

jobs = Jobs()


@jobs.every(timedelta(hours=1))
async def forget_what_is_over(context: IdentityContext) -> None:
    """Forget what nobody can use any more."""
    await sessions.drop_expired(context)
    await one_time_codes.drop_expired(context)
    await throttles.forget_old(context)
