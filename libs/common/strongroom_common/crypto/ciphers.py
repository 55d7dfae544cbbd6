"""The one place that runs AES-GCM. A keyring and a data key only put a header before what this makes.

NIST SP 800-38D (8.3) allows 2^32 seals with random nonces under one key. Counting them across processes would need a
database, so no key of ours is ever used directly: each process draws a random 128-bit salt, derives a subkey from it
(HMAC-SHA256, the counter-mode KDF of SP 800-108 with one block), seals at most `SEALS_PER_SALT` values under it and
then draws the next salt. Under one subkey the chance that two nonces meet stays below 2^-56, and a key may seal for
ever. The derivation is paid once per salt, not per value: values written together are opened with one subkey.
"""

import hmac
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
SALT_BYTES: Final = 16
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
OVERHEAD: Final = SALT_BYTES + NONCE_BYTES + TAG_BYTES
SEALS_PER_SALT: Final = 2**20

_BODY: Final = SALT_BYTES + NONCE_BYTES
_REMEMBERED_SALTS: Final = 1024
_LABEL: Final = b"\x00\x00\x00\x01strongroom aes-256-gcm v1\x00"
_LENGTH: Final = b"\x00\x00\x01\x00"


class SealBroken(ValueError):
    """A sealed value does not open: another key, another place, another version, cut, or changed by a single bit.

    It is a `ValueError` so that a message that does not open counts as one that cannot be read. It never says which of
    these it was.
    """

    def __init__(self) -> None:
        super().__init__("a sealed value does not open")


class Cipher:
    """One 256-bit key. What it seals is salt, nonce, ciphertext and tag, without a name for the key."""

    __slots__ = ("_ciphers", "_key", "_left", "_salt", "_sealer")

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key must be {KEY_BYTES} bytes")
        self._key = key
        self._ciphers: dict[bytes, AESGCM] = {}
        self._salt = b""
        self._sealer = AESGCM(key)  # replaced before its first use, since no seal is left
        self._left = 0

    def key(self) -> bytes:
        """The key itself, for wrapping it under another."""
        return self._key

    def seal(self, plain: bytes, associated: bytes) -> bytes:
        """Seal the value to the associated data, which is not part of the output."""
        if self._left <= 0:
            self._salt = os.urandom(SALT_BYTES)
            self._sealer = self._derived(self._salt)
            self._left = SEALS_PER_SALT
        # Two threads may count one seal together; a few more under one salt do not matter at 2^20.
        self._left -= 1
        nonce = os.urandom(NONCE_BYTES)
        return self._salt + nonce + self._sealer.encrypt(nonce, plain, associated)

    def open(self, sealed: bytes, associated: bytes, start: int = 0) -> bytes:
        """Return what was sealed, reading from `start` on; raises `SealBroken`."""
        salt = sealed[start : start + SALT_BYTES]
        cipher = self._ciphers.get(salt) or self._derived(salt)
        body = start + _BODY
        try:
            return cipher.decrypt(sealed[start + SALT_BYTES : body], sealed[body:], associated)
        except (InvalidTag, ValueError):  # ValueError: the nonce or the tag is cut short
            raise SealBroken from None

    def _derived(self, salt: bytes) -> AESGCM:
        if len(self._ciphers) >= _REMEMBERED_SALTS:
            self._ciphers.clear()
        cipher = AESGCM(hmac.digest(self._key, _LABEL + salt + _LENGTH, "sha256"))
        self._ciphers[salt] = cipher
        return cipher
