"""The keys that sign tokens, looked at now and then: an event may have gone unheard."""

from datetime import timedelta

from strongroom_common.runtime.jobs import Jobs
from strongroom_identity.usecases import signing_keys
from strongroom_identity.usecases.context import IdentityContext

jobs = Jobs()


@jobs.every(timedelta(seconds=30))
async def reload(context: IdentityContext) -> None:
    """Take the keys that are in force now."""
    await signing_keys.reload(context)
