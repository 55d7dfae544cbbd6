"""The second factor: codes of time (TOTP, RFC 6238) and the recovery codes for the day the phone is lost."""

import string
from dataclasses import dataclass
from datetime import datetime
from unicodedata import normalize
from uuid import UUID

import pyotp

from strongroom_common.crypto.tokens import is_same
from strongroom_common.kernel.ids import random_text
from strongroom_common.kernel.secret import Secret

ISSUER = "Strongroom"
STEP_SECONDS = 30
DIGITS = 6
RECOVERY_CODES = 10

# Without letters and digits that are mistaken for each other.
_RECOVERY_ALPHABET = "".join(sorted(set(string.ascii_lowercase + string.digits) - set("ilo01")))
_RECOVERY_LENGTH = 16


@dataclass(frozen=True)
class Totp:
    """A user's generator of codes. `last_step` is the last time step whose code was used; none of them counts twice."""

    user_id: UUID
    secret: Secret
    last_step: int | None
    confirmed_at: datetime | None

    def find_step(self, code: str, now: datetime) -> int | None:
        """Return the step that the code is for, one step around now and never used before; or None.

        What is remembered is the step and not the text, so that another spelling of a used code is a used code.
        """
        text = canonical_code(code)
        current = int(now.timestamp()) // STEP_SECONDS
        generator = pyotp.TOTP(self.secret.reveal(), digits=DIGITS, interval=STEP_SECONDS)
        # Every candidate is compared, in constant time: how long it takes says nothing.
        steps = [
            step
            for step in (current - 1, current, current + 1)
            if is_same(generator.generate_otp(step).encode(), text.encode("utf-8", "replace"))
        ]
        return next((step for step in steps if self.last_step is None or step > self.last_step), None)

    def address(self, user_name: str) -> Secret:
        """The `otpauth://` address that an authenticator app reads, usually as a QR code."""
        uri: str = pyotp.TOTP(self.secret.reveal(), digits=DIGITS, interval=STEP_SECONDS).provisioning_uri(
            name=user_name, issuer_name=ISSUER
        )
        return Secret(uri)


def new_totp_secret() -> Secret:
    """160 random bits in base32."""
    return Secret(pyotp.random_base32())


def new_recovery_codes() -> list[Secret]:
    """Codes of about 79 random bits each."""
    return [Secret(random_text(_RECOVERY_LENGTH, _RECOVERY_ALPHABET)) for _ in range(RECOVERY_CODES)]


def canonical_code(code: str) -> str:
    """One spelling: Unicode digits as plain ones, one case, no spaces and hyphens."""
    return "".join(sign for sign in normalize("NFKC", code).casefold() if not sign.isspace() and sign != "-")
