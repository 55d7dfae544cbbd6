"""A secret's metadata: a list of keys and values, some of them sealed; and the filter that lists take."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from strongroom_common.kernel.errors import InvalidInput

MOST_GROUPS = 10


class MetadataEntry(NamedTuple):
    """One entry; an encrypted one is sealed at rest and does not take part in filters."""

    key: str
    value: str
    is_encrypted: bool

    def __repr__(self) -> str:
        return f"MetadataEntry({self.key!r}, is_encrypted={self.is_encrypted})"


def parse_filter(text: str) -> tuple[tuple[str, str], ...]:
    """Read `key=K,value=V|key=...`; a group that lacks either part is dropped (wire-secrets 2.1.1)."""
    groups = text.split("|")
    if len(groups) > MOST_GROUPS:
        raise InvalidInput.of_field(["metadataFilter"], "too_big", f"must hold at most {MOST_GROUPS} groups")
    wanted: list[tuple[str, str]] = []
    for group in groups:
        parts: dict[str, str] = {}
        for part in group.split(","):
            name, _, content = part.partition("=")
            parts[name.strip().lower()] = content.strip()
        if parts.get("key") and parts.get("value"):
            wanted.append((parts["key"], parts["value"]))
    return tuple(wanted)


def is_wanted(stored: Iterable[Mapping[str, Any]] | None, wanted: Sequence[tuple[str, str]]) -> bool:
    """Say whether a secret's stored entries have all that the filter wants; sealed entries never match."""
    if not wanted:
        return True
    plain = {(entry["key"], entry["value"]) for entry in stored or () if not entry["isEncrypted"]}
    return plain.issuperset(wanted)
