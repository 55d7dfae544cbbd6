"""What use cases work with: handed to every handler as `call.service`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from strongroom_common.access.doorkeeper import Doorkeeper
from strongroom_common.access.keys import VerificationKeys
from strongroom_common.audit.trail import ReadTrail
from strongroom_common.crypto.jwts import SigningKey
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.crypto.passwords import Passwords
from strongroom_common.crypto.tokens import Pepper
from strongroom_common.db.data_keys import DataKeys
from strongroom_common.db.database import Database
from strongroom_common.egress.guard import Guard
from strongroom_common.egress.mail import Mailer
from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.runtime.services import IdentitySource
from strongroom_identity.domain.audit_checkpoints import AuditSigner
from strongroom_identity.domain.signing_keys import KeyInForce, signing_at


class InstanceSecrets:
    """What this instance hashes and signs with. Read at start; before that, nobody can log in."""

    def __init__(self) -> None:
        self._pepper: Pepper | None = None
        self._keys: Sequence[KeyInForce] = ()
        self._clock: Clock = SystemClock()

    def take(self, pepper: Pepper, keys: Sequence[KeyInForce], clock: Clock) -> None:
        """Use these from now on."""
        self._pepper = pepper
        self._keys = keys
        self._clock = clock

    def take_keys(self, keys: Sequence[KeyInForce]) -> None:
        """Sign with one of these from now on."""
        self._keys = keys

    @property
    def pepper(self) -> Pepper:
        """The key of the keyed hashes."""
        if self._pepper is None:
            raise Unavailable("the service is still starting")
        return self._pepper

    @property
    def signing_key(self) -> SigningKey:
        """The key that signs at this moment."""
        if not self._keys:
            raise Unavailable("the service is still starting")
        return signing_at(self._keys, self._clock.now())


class AuditSecrets:
    """What the audit log is chained and signed with. Read at start, or by a command beside the service."""

    def __init__(self) -> None:
        self._mac_key: bytes | None = None
        self._signer: AuditSigner | None = None

    def take(self, mac_key: bytes, signer: AuditSigner) -> None:
        """Use these from now on."""
        self._mac_key = mac_key
        self._signer = signer

    @property
    def mac_key(self) -> bytes:
        """The key under which records are chained."""
        if self._mac_key is None:
            raise Unavailable("the service is still starting")
        return self._mac_key

    @property
    def signer(self) -> AuditSigner:
        """What signs checkpoints and exports."""
        if self._signer is None:
            raise Unavailable("the service is still starting")
        return self._signer


@dataclass(frozen=True)
class IdentityContext:
    """One per process."""

    database: Database
    clock: Clock
    trail: ReadTrail
    doorkeeper: Doorkeeper
    keys: VerificationKeys
    keyring: Keyring
    data_keys: DataKeys
    guard: Guard
    client_certificate_header: str
    passwords: Passwords
    access: IdentitySource
    mailer: Mailer
    site_url: str
    secrets: InstanceSecrets = field(default_factory=InstanceSecrets)
    audit: AuditSecrets = field(default_factory=AuditSecrets)
    audit_retention_days: int = 0
    """Of records that have no project with a retention of its own; 0 is for ever."""
