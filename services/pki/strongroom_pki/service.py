"""Puts the pki service together: the only file that names concrete classes."""

from strongroom_common.bus.port import Bus
from strongroom_common.contracts.audit import PkiAudited
from strongroom_common.contracts.identity import PkiTokensUsed
from strongroom_common.kernel.clock import Clock
from strongroom_common.runtime.jobs import Jobs
from strongroom_common.runtime.listening import Listeners
from strongroom_common.runtime.services import Foundations, Service
from strongroom_pki.settings import PkiSettings

MIGRATIONS = "strongroom_pki.migrations"


def build(settings: PkiSettings, bus: Bus, *, clock: Clock | None = None) -> Service:
    """Return the service, ready to be prepared and run."""
    foundations = Foundations.lay("pki", settings, bus, clock=clock)
    return Service(
        foundations,
        context=foundations,
        endpoints=(),
        listeners=Listeners(),
        jobs=Jobs(),
        migrations=MIGRATIONS,
        audited=PkiAudited,
        tokens_used=PkiTokensUsed,
    )
