"""Random secrets that are stored only as keyed hashes, and the comparison of secrets in constant time.

A 256-bit random secret cannot be guessed, so it needs no slow hash. The key (the pepper) makes a stolen table useless.
"""

import hmac
import secrets
from typing import Final, NoReturn

from strongroom_common.kernel.secret import Secret

TOKEN_BYTES: Final = 32


def new_token() -> Secret:
    """256 random bits as 64 hexadecimal characters."""
    return Secret(secrets.token_hex(TOKEN_BYTES))


def is_same(left: bytes | Secret, right: bytes | Secret) -> bool:
    """Compare two secrets in a time that tells nothing but their lengths."""
    return hmac.compare_digest(_bytes(left), _bytes(right))


class Pepper:
    """The key of the hashes. It never changes: with another one, no stored hash would match again."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < TOKEN_BYTES:
            raise ValueError(f"a pepper must be at least {TOKEN_BYTES} bytes")
        self._key = key

    @classmethod
    def generate(cls) -> "Pepper":
        """A fresh random key."""
        return cls(secrets.token_bytes(TOKEN_BYTES))

    def key(self) -> bytes:
        """The key itself, for sealing it at rest."""
        return self._key

    def hash(self, token: Secret) -> bytes:
        """HMAC-SHA256 of the token: 32 bytes, equal for equal tokens, so it can be looked up."""
        return hmac.digest(self._key, _bytes(token), "sha256")

    def is_hash_of(self, stored_hash: bytes, token: Secret) -> bool:
        """Say whether the stored hash belongs to this token."""
        return is_same(stored_hash, self.hash(token))

    def __repr__(self) -> str:
        return "Pepper(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pepper cannot be copied out of the process")


def _bytes(value: bytes | Secret) -> bytes:
    # A lone surrogate comes in by JSON (`"\ud800"`); it must be a wrong secret, not a crash.
    return value.reveal().encode("utf-8", "surrogatepass") if isinstance(value, Secret) else value
