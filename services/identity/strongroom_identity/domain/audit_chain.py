"""How records of the audit log hang together: canonical bytes, the keyed chain, the Merkle tree (ADR 9).

Who writes the log needs the MAC key. Who verifies an export needs no secret: signed checkpoints give the tree's root.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import orjson

HASH_BYTES: Final = 32
START: Final = bytes(HASH_BYTES)
"""What the first record of an organization follows."""

_CONTENT: Final = b"strongroom audit content v1\n"
_COVER: Final = b"strongroom audit record v1\n"
_REMOVAL: Final = b"strongroom audit removal v1\n"
_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one spelling of a JSON object: sorted names, no spaces, UTF-8, one form for each number.

    It is the same before a document goes into PostgreSQL's `jsonb` and after it comes out: 1.0, 1e0 and 1 are one
    number there, and so they are here.
    """
    return orjson.dumps(_normal(document), option=orjson.OPT_SORT_KEYS)


def instant(when: datetime) -> str:
    """An instant with its microseconds, in UTC."""
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def content_hash(content: Mapping[str, Any]) -> bytes:
    """The hash of what a record says. It stays when retention removes the content."""
    return hashlib.sha256(_CONTENT + canonical(content)).digest()


def cover(
    organization_id: str, number: int, project_id: str | None, occurred_at: str, recorded_at: str, content: bytes
) -> bytes:
    """The canonical bytes of a record: its place, its times and its content's hash."""
    return canonical(
        {
            "organizationId": organization_id,
            "number": number,
            "projectId": project_id,
            "occurredAt": occurred_at,
            "recordedAt": recorded_at,
            "contentHash": content.hex(),
        }
    )


def link(key: bytes, previous: bytes, covered: bytes) -> bytes:
    """The MAC of a record, which holds it to the one before."""
    return hmac.digest(key, _COVER + previous + covered, "sha256")


def removal(key: bytes, covered: bytes) -> bytes:
    """The mark of a content that retention has removed: without it, a missing content was taken away by somebody."""
    return hmac.digest(key, _REMOVAL + covered, "sha256")


def leaf(covered: bytes, mac: bytes) -> bytes:
    """The record's leaf in the Merkle tree (RFC 6962)."""
    return hashlib.sha256(_LEAF + covered + mac).digest()


class Frontier:
    """A Merkle tree (RFC 6962) of which only the complete subtrees' roots are kept: it grows, and knows its root."""

    def __init__(self, count: int = 0, peaks: Iterable[bytes] = ()) -> None:
        """`peaks` are the roots from the largest subtree to the smallest. Raises `ValueError` unless they fit."""
        self.count = count
        self.peaks = list(peaks)
        if count < 0 or len(self.peaks) != count.bit_count() or any(len(peak) != HASH_BYTES for peak in self.peaks):
            raise ValueError("not the frontier of a tree of this size")

    @classmethod
    def of_bytes(cls, count: int, raw: bytes) -> "Frontier":
        """Read what `to_bytes` wrote; raises `ValueError`."""
        return cls(count, (raw[start : start + HASH_BYTES] for start in range(0, len(raw), HASH_BYTES)))

    def to_bytes(self) -> bytes:
        """The peaks, one after the other."""
        return b"".join(self.peaks)

    def add(self, node: bytes) -> None:
        """Take in the next leaf."""
        # The bits of the count say which subtrees are complete: adding a leaf carries over like adding one.
        size = self.count
        while size & 1:
            node = _above(self.peaks.pop(), node)
            size >>= 1
        self.peaks.append(node)
        self.count += 1

    def root(self) -> bytes:
        """The hash of the whole tree."""
        if not self.peaks:
            return hashlib.sha256().digest()
        *rest, node = self.peaks
        for peak in reversed(rest):
            node = _above(peak, node)
        return node


def _above(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()


def _normal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _normal(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        # As it is written, not as it is: 2.0**63 is written 9.223372036854776e18, and comes back as the integer
        # 9223372036854776000. What has more than 64 bits comes back as a float, however it was written.
        written = int(Decimal(repr(value)))
        return written if -(2**63) <= written < 2**64 else value
    return value
