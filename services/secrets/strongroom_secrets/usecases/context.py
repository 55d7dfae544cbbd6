"""What every use case works with."""

from dataclasses import dataclass

from strongroom_common.access.doorkeeper import Doorkeeper
from strongroom_common.audit.trail import ReadTrail
from strongroom_common.bus.asking import Asker
from strongroom_common.db.data_keys import DataKeys
from strongroom_common.db.database import Database
from strongroom_common.kernel.clock import Clock


@dataclass(frozen=True)
class SecretsContext:
    """The service, as its use cases see it."""

    clock: Clock
    database: Database
    data_keys: DataKeys
    asker: Asker
    doorkeeper: Doorkeeper
    trail: ReadTrail
