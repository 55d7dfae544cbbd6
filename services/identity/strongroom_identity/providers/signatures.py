"""Who signed a foreign token. Which algorithms count is said here and never by the token."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurve,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from strongroom_identity.domain.errors import BadCredentials

LONGEST_TOKEN: Final = 16 * 1024
MOST_KEYS: Final = 100
SMALLEST_RSA: Final = 2048  # bits
LARGEST_RSA: Final = 8192  # bits; more costs time and proves nothing

_RSA: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_CURVES: Final[Mapping[str, type[EllipticCurve]]] = {"ES256": SECP256R1, "ES384": SECP384R1, "ES512": SECP521R1}
ALGORITHMS: Final = [*sorted(_RSA), *_CURVES, "EdDSA"]

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_JWS = jwt.PyJWS(algorithms=ALGORITHMS)

Key = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


class UnknownKey(BadCredentials):
    """No key here could have signed it. There may be newer ones."""

    def __init__(self) -> None:
        super().__init__("signed with a key that is not known")


@dataclass(frozen=True)
class TrustedKey:
    """A key whose signatures are believed; with a name or an algorithm of its own, only under those."""

    key: Key
    name: str | None = None
    algorithm: str | None = None

    def may_sign(self, name: str | None, algorithm: str) -> bool:
        """Say whether a token with this header can be of this key."""
        if self.algorithm not in {None, algorithm} or (name is not None and self.name not in {None, name}):
            return False
        if isinstance(self.key, RSAPublicKey):
            return algorithm in _RSA
        if isinstance(self.key, Ed25519PublicKey):
            return algorithm == "EdDSA"
        return algorithm in _CURVES and isinstance(self.key.curve, _CURVES[algorithm])


def signed_claims(token: str, keys: Sequence[TrustedKey]) -> dict[str, Any]:
    """Return the claims that one of these keys has signed; raises `UnknownKey`, and `BadCredentials` for the rest.

    Whether they are still in force, and about whom they are, is not asked here.
    """
    # Checked before anything is parsed: what a stranger sends must cost us little.
    if len(token) > LONGEST_TOKEN or not _SHAPE.fullmatch(token):
        raise BadCredentials("not a signed token")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise BadCredentials("not a signed token") from None
    name, algorithm = header.get("kid"), header.get("alg")
    if algorithm not in ALGORITHMS or not isinstance(name, str | None):
        raise BadCredentials("signed in a way that is not allowed")
    if "crit" in header or header.get("b64") is False:
        raise BadCredentials("a header that we do not understand")
    candidates = [key for key in keys if key.may_sign(name, algorithm)]
    if not candidates:
        raise UnknownKey
    for candidate in candidates:
        try:
            verified = _JWS.decode_complete(token, candidate.key, algorithms=[algorithm])
            claims = json.loads(verified["payload"], parse_constant=_refuse_constant)
        except jwt.InvalidSignatureError:
            continue
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise BadCredentials("not a signed token") from None
        if isinstance(claims, dict):
            return claims
        raise BadCredentials("not a signed token")
    raise BadCredentials("the signature is wrong")


def keys_of_set(document: Mapping[str, Any]) -> list[TrustedKey]:
    """Read a JSON Web Key Set (RFC 7517); what is no public key for signatures is left out."""
    entries = document.get("keys")
    found = [_key_of_entry(entry) for entry in (entries if isinstance(entries, list) else [])[:MOST_KEYS]]
    return [key for key in found if key is not None]


def key_of_pem(text: str) -> TrustedKey:
    """Read a PEM public key; raises `ValueError` for another text and for a key that is too weak."""
    try:
        key = load_pem_public_key(text.strip().encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("must be a PEM public key") from None
    if not _is_usable(key):
        raise ValueError(f"must be RSA of {SMALLEST_RSA} bits or more, P-256, P-384, P-521 or Ed25519")
    return TrustedKey(key)  # type: ignore[arg-type]  # seen above


def _key_of_entry(entry: Any) -> TrustedKey | None:
    # A symmetric key in a public document would let every reader sign.
    if not isinstance(entry, dict) or entry.get("kty") not in {"RSA", "EC", "OKP"}:
        return None
    name, algorithm = entry.get("kid"), entry.get("alg")
    if entry.get("use", "sig") != "sig" or not isinstance(name, str | None) or algorithm not in {None, *ALGORITHMS}:
        return None
    try:
        key = jwt.PyJWK(entry).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    return TrustedKey(key, name, algorithm) if _is_usable(key) else None


def _is_usable(key: object) -> bool:
    if isinstance(key, RSAPublicKey):
        return SMALLEST_RSA <= key.key_size <= LARGEST_RSA
    if isinstance(key, EllipticCurvePublicKey):
        return isinstance(key.curve, tuple(_CURVES.values()))
    return isinstance(key, Ed25519PublicKey)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
