"""Identifiers: sortable UUIDs for rows and messages, random texts for requests."""

import secrets
import string
import time
from functools import lru_cache
from typing import NewType
from uuid import UUID

OrganizationId = NewType("OrganizationId", UUID)
ProjectId = NewType("ProjectId", UUID)
EnvironmentId = NewType("EnvironmentId", UUID)
IdentityId = NewType("IdentityId", UUID)
UserId = NewType("UserId", UUID)
TokenId = NewType("TokenId", UUID)

ALPHANUMERIC = string.ascii_letters + string.digits


def new_id() -> UUID:
    """Return a UUIDv7 (RFC 9562): 48 bits of milliseconds, then 74 random bits, so that new rows sit together."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | secrets.randbits(80)
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return UUID(int=value)


def new_request_id() -> str:
    """Return `req-` and 14 alphanumeric characters."""
    return "req-" + random_text(14)


def random_text(length: int, alphabet: str = ALPHANUMERIC) -> str:
    """Return `length` characters drawn evenly from the alphabet by the system's secure source."""
    # One draw and one translation for all characters: every request needs an id.
    table, unfair = _drawing(alphabet)
    text = ""
    while len(text) < length:
        text += secrets.token_bytes(2 * length).translate(table, unfair).decode("ascii")
    return text[:length]


@lru_cache(maxsize=16)
def _drawing(alphabet: str) -> tuple[bytes, bytes]:
    # Bytes beyond the last full round of the alphabet would favour its first characters, so they are left out.
    fair = 256 - 256 % len(alphabet)
    return bytes(ord(alphabet[byte % len(alphabet)]) for byte in range(256)), bytes(range(fair, 256))
