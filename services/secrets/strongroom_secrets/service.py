"""Puts the secrets service together: the only file that names concrete classes."""

from strongroom_common.bus.port import Bus
from strongroom_common.contracts.audit import SecretsAudited
from strongroom_common.contracts.identity import SecretsTokensUsed
from strongroom_common.kernel.clock import Clock
from strongroom_common.runtime.jobs import Jobs
from strongroom_common.runtime.services import Foundations, Service
from strongroom_secrets.api import folders, secrets, tags
from strongroom_secrets.consumers import projects
from strongroom_secrets.settings import SecretsSettings
from strongroom_secrets.usecases.context import SecretsContext

MIGRATIONS = "strongroom_secrets.migrations"


def build(settings: SecretsSettings, bus: Bus, *, clock: Clock | None = None) -> Service:
    """Return the service, ready to be prepared and run."""
    foundations = Foundations.lay("secrets", settings, bus, clock=clock)
    context = SecretsContext(
        clock=foundations.clock,
        database=foundations.database,
        data_keys=foundations.data_keys,
        asker=foundations.asker,
        doorkeeper=foundations.doorkeeper,
        trail=foundations.trail,
    )
    return Service(
        foundations,
        context=context,
        endpoints=[*secrets.routes, *folders.routes, *tags.routes],
        listeners=projects.listeners,
        jobs=Jobs(),
        migrations=MIGRATIONS,
        audited=SecretsAudited,
        tokens_used=SecretsTokensUsed,
    )
