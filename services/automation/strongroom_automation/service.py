"""Puts the automation service together: the only file that names concrete classes."""

from strongroom_automation.settings import AutomationSettings
from strongroom_common.bus.port import Bus
from strongroom_common.contracts.audit import AutomationAudited
from strongroom_common.contracts.identity import AutomationTokensUsed
from strongroom_common.kernel.clock import Clock
from strongroom_common.runtime.jobs import Jobs
from strongroom_common.runtime.listening import Listeners
from strongroom_common.runtime.services import Foundations, Service

MIGRATIONS = "strongroom_automation.migrations"


def build(settings: AutomationSettings, bus: Bus, *, clock: Clock | None = None) -> Service:
    """Return the service, ready to be prepared and run."""
    foundations = Foundations.lay("automation", settings, bus, clock=clock)
    return Service(
        foundations,
        context=foundations,
        endpoints=(),
        listeners=Listeners(),
        jobs=Jobs(),
        migrations=MIGRATIONS,
        audited=AutomationAudited,
        tokens_used=AutomationTokensUsed,
    )
