"""The audit log as time passes: it is signed, and it forgets what is too old."""

from datetime import timedelta

from strongroom_common.runtime.jobs import Jobs
from strongroom_identity.usecases import audit_checkpoints, audit_records
from strongroom_identity.usecases.context import IdentityContext

jobs = Jobs()


@jobs.every(timedelta(minutes=1))
async def write_checkpoints(context: IdentityContext) -> None:
    """Sign what the log is by now: every minute, and every thousand records."""
    await audit_checkpoints.write_due(context)


@jobs.every(timedelta(hours=1))
async def remove_expired(context: IdentityContext) -> None:
    """Remove records that are older than their retention."""
    await audit_records.remove_expired(context)
