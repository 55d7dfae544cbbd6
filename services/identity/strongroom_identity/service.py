"""Puts the identity service together: the only file that names concrete classes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from strongroom_common.bus.port import Bus
from strongroom_common.contracts.audit import IdentityAudited
from strongroom_common.contracts.identity import IdentityTokensUsed
from strongroom_common.crypto.passwords import Passwords
from strongroom_common.http.endpoints import Endpoint
from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_common.runtime.jobs import Jobs
from strongroom_common.runtime.listening import Listeners
from strongroom_common.runtime.services import Foundations, Service
from strongroom_identity.api import identities, instance, memberships, projects, universal_auth
from strongroom_identity.api import tokens as tokens_api
from strongroom_identity.consumers import access, audit_records
from strongroom_identity.consumers import projects as projects_consumer
from strongroom_identity.consumers import tokens as tokens_consumer
from strongroom_identity.jobs import tokens as tokens_jobs
from strongroom_identity.settings import IdentitySettings
from strongroom_identity.usecases.access import LocalAccess
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.instance import begin

MIGRATIONS = "strongroom_identity.migrations"


class IdentityService(Service):
    """A service that has, before anyone is answered, what it hashes and signs with."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Begin the instance, the first time; then run. Not in `prepared`: a check of the service changes nothing."""
        await begin(self.context)
        try:
            async with super().running():
                yield
        finally:
            self.context.passwords.close()


def endpoints() -> list[Endpoint]:
    """All routes of the service."""
    rooms = (instance, identities, projects, memberships, tokens_api, universal_auth)
    return [endpoint for room in rooms for endpoint in room.routes]


def build(settings: IdentitySettings, bus: Bus, *, clock: Clock | None = None) -> Service:
    """Return the service, ready to be prepared and run."""
    clock = clock or SystemClock()
    foundations = Foundations.lay(
        "identity", settings, bus, clock=clock, source=lambda database: LocalAccess(database, clock)
    )
    context = IdentityContext(
        database=foundations.database,
        clock=clock,
        trail=foundations.trail,
        doorkeeper=foundations.doorkeeper,
        keys=foundations.keys,
        keyring=foundations.keyring,
        passwords=Passwords(settings.password_hashes_at_once),
        access=foundations.source,
    )
    listeners: Listeners[IdentityContext] = Listeners()
    for heard in (access, projects_consumer, tokens_consumer, audit_records):
        listeners.include(heard.listeners)
    jobs = Jobs()
    jobs.include(tokens_jobs.jobs)
    return IdentityService(
        foundations,
        context=context,
        endpoints=endpoints(),
        listeners=listeners,
        jobs=jobs,
        migrations=MIGRATIONS,
        audited=IdentityAudited,
        tokens_used=IdentityTokensUsed,
    )
