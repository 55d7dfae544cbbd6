"""What use cases work with: handed to every handler as `call.service`."""

from dataclasses import dataclass, field

from strongroom_common.access.doorkeeper import Doorkeeper
from strongroom_common.access.keys import VerificationKeys
from strongroom_common.audit.trail import ReadTrail
from strongroom_common.crypto.jwts import SigningKey
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.crypto.passwords import Passwords
from strongroom_common.crypto.tokens import Pepper
from strongroom_common.db.database import Database
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.runtime.services import IdentitySource


class InstanceSecrets:
    """What this instance hashes and signs with. Read at start; before that, nobody can log in."""

    def __init__(self) -> None:
        self._pepper: Pepper | None = None
        self._signing_key: SigningKey | None = None

    def take(self, pepper: Pepper, signing_key: SigningKey) -> None:
        """Use these from now on."""
        self._pepper = pepper
        self._signing_key = signing_key

    @property
    def pepper(self) -> Pepper:
        """The key of the keyed hashes."""
        if self._pepper is None:
            raise Unavailable("the service is still starting")
        return self._pepper

    @property
    def signing_key(self) -> SigningKey:
        """The newest key, which signs."""
        if self._signing_key is None:
            raise Unavailable("the service is still starting")
        return self._signing_key


@dataclass(frozen=True)
class IdentityContext:
    """One per process."""

    database: Database
    clock: Clock
    trail: ReadTrail
    doorkeeper: Doorkeeper
    keys: VerificationKeys
    keyring: Keyring
    passwords: Passwords
    access: IdentitySource
    secrets: InstanceSecrets = field(default_factory=InstanceSecrets)
