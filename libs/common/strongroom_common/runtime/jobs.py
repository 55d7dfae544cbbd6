"""Time in: what a service does again and again, in every replica. A job claims its rows; no replica leads."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from strongroom_common.kernel.errors import Unavailable
from strongroom_common.observability.logs import get_logger

log = get_logger(__name__)

Work = Callable[[Any], Awaitable[object]]


@dataclass(frozen=True)
class Job:
    """One thing to do every so often."""

    name: str
    every: timedelta
    work: Work


class Jobs:
    """A room's list of jobs."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def every(self, interval: timedelta) -> Callable[[Work], Work]:
        """`async def job(context)`: run it at this interval, the first time after one interval."""

        def decorate(work: Work) -> Work:
            self.jobs.append(Job(f"{work.__module__.rpartition('.')[2]}.{work.__name__}", interval, work))
            return work

        return decorate

    def include(self, other: "Jobs") -> None:
        """Take over the jobs of another room."""
        self.jobs += other.jobs


@asynccontextmanager
async def running(jobs: list[Job], context: Any, service: str) -> AsyncIterator[None]:
    """Run the jobs until left; one that fails is logged and comes round again."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_run_forever(job, context, service), name=f"{service}:{job.name}") for job in jobs]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def _run_forever(job: Job, context: Any, service: str) -> None:
    seconds = job.every.total_seconds()
    while True:
        # A little jitter, so that replicas that started together do not knock together for ever.
        await asyncio.sleep(seconds * (0.9 + secrets.randbelow(200) / 1000))
        try:
            await job.work(context)
        except Unavailable as error:
            log.warning("job_postponed", service=service, job=job.name, reason=error.message)
        except Exception:
            log.exception("job_failed", service=service, job=job.name)
