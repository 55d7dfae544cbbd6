"""Signed tokens: JWTs with Ed25519 keys. Identity signs; every service verifies with public keys alone.

The algorithm is fixed here and never taken from a token. Whether a token was revoked is not asked here.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NoReturn

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from jwt.utils import base64url_decode, base64url_encode

from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import TokenRefused
from strongroom_common.kernel.ids import new_id

ALGORITHM: Final = "EdDSA"
LONGEST_TOKEN: Final = 8 * 1024
LARGEST_LEEWAY: Final = timedelta(seconds=5)

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MESSAGE: Final = "The access token is malformed, expired, or not signed by this instance."
_JWS = jwt.PyJWS(algorithms=[ALGORITHM])


class UnknownSigningKey(TokenRefused):
    """Signed with a key that is not known here. It may be new: fetch the keys and verify once more."""

    def __init__(self, key_id: str) -> None:
        super().__init__(_MESSAGE)
        self.key_id = key_id


@dataclass(frozen=True)
class VerificationKey:
    """The public half: it may be sent and stored anywhere."""

    id: str
    public: Ed25519PublicKey

    def to_json(self) -> dict[str, str]:
        """Write it as a JSON Web Key (RFC 8037)."""
        public = base64url_encode(self.public.public_bytes_raw()).decode()
        return {"kid": self.id, "kty": "OKP", "crv": "Ed25519", "alg": ALGORITHM, "use": "sig", "x": public}

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> "VerificationKey":
        """Read what `to_json` wrote; raises `ValueError` for any other kind of key."""
        key_id, public = document.get("kid"), document.get("x")
        if document.get("kty") != "OKP" or document.get("crv") != "Ed25519":
            raise ValueError("not an Ed25519 key")
        if not isinstance(key_id, str) or not _KEY_ID.fullmatch(key_id) or not isinstance(public, str):
            raise ValueError("not a verification key of ours")
        return cls(key_id, Ed25519PublicKey.from_public_bytes(base64url_decode(public)))


class SigningKey:
    """The private half, with the id that tokens carry as `kid`."""

    __slots__ = ("_private", "id", "verification_key")

    def __init__(self, key_id: str, private: bytes) -> None:
        if not _KEY_ID.fullmatch(key_id):
            raise ValueError("a signing key's id may hold letters, digits, hyphens and underscores, 64 at most")
        self.id = key_id
        self._private = Ed25519PrivateKey.from_private_bytes(private)
        self.verification_key = VerificationKey(key_id, self._private.public_key())

    @classmethod
    def generate(cls) -> "SigningKey":
        """A fresh key pair with a fresh id."""
        return cls(new_id().hex, Ed25519PrivateKey.generate().private_bytes_raw())

    def private_bytes(self) -> bytes:
        """The 32 private bytes, for sealing them at rest."""
        return self._private.private_bytes_raw()

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Write the claims as a token. `exp`, `nbf` and `iat` are seconds since 1970."""
        payload = json.dumps(claims, separators=(",", ":"), allow_nan=False).encode()
        token = _JWS.encode(payload, self._private, algorithm=ALGORITHM, headers={"kid": self.id})
        if len(token) > LONGEST_TOKEN:
            raise ValueError("the claims are too large for a token")
        return token

    def __repr__(self) -> str:
        return f"SigningKey({self.id!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a signing key cannot be copied out of the process")


FindKey = Callable[[str], VerificationKey | None]
"""Key id -> the key, or None when it is not known here."""


def verify(token: str, find_key: FindKey, clock: Clock, *, leeway: timedelta = timedelta(0)) -> dict[str, Any]:
    """Return the claims of a token that is ours and in force.

    Raises `UnknownSigningKey` when the key is not known, `TokenRefused` for everything else; neither says what was
    wrong. A token without `exp` has no end of its own. The leeway, 5 s at most, is for clocks that differ.
    """
    if not timedelta(0) <= leeway <= LARGEST_LEEWAY:
        raise ValueError("the leeway must be between 0 and 5 seconds")
    # Checked before anything is parsed: what a stranger sends must cost us little. Padding is not allowed, and PyJWT
    # refuses unused bits that are set: a token is remembered by its hash, so it must have one spelling.
    if len(token) > LONGEST_TOKEN or not _SHAPE.fullmatch(token):
        raise TokenRefused(_MESSAGE)
    try:
        key_id = jwt.get_unverified_header(token).get("kid")
        if not isinstance(key_id, str) or not _KEY_ID.fullmatch(key_id):
            raise TokenRefused(_MESSAGE)
        key = find_key(key_id)
        if key is None:
            raise UnknownSigningKey(key_id)
        verified = _JWS.decode_complete(token, key.public, algorithms=[ALGORITHM])
        claims = json.loads(verified["payload"], parse_constant=_refuse_constant)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise TokenRefused(_MESSAGE) from None
    if not isinstance(claims, dict) or not _is_in_force(claims, clock.now().timestamp(), leeway.total_seconds()):
        raise TokenRefused(_MESSAGE)
    return claims


def _is_in_force(claims: Mapping[str, Any], now: float, leeway: float) -> bool:
    for name in ("exp", "nbf", "iat"):
        value = claims.get(name, 0)
        # The comparison is false for NaN as well.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
            return False
    if "exp" in claims and now >= claims["exp"] + leeway:
        return False
    return bool(now >= claims.get("nbf", now) - leeway)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
