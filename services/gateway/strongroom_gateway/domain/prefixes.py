"""Whose path it is: the longest pattern that a path begins with wins, and only whole segments match."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

V = TypeVar("V")

ANY = "*"
"""Stands for any one segment in a pattern."""


class BadTable(ValueError):
    """Says in one line what is wrong with a table."""


@dataclass(frozen=True, slots=True)
class Match(Generic[V]):
    """The pattern that won, and what it leads to."""

    pattern: str
    value: V


@dataclass(slots=True)
class _Node(Generic[V]):
    fixed: dict[str, "_Node[V]"] = field(default_factory=dict)
    any: "_Node[V] | None" = None
    match: Match[V] | None = None


class Prefixes(Generic[V]):
    """Patterns such as `/api/v1/projects` or `/api/v1/projects/*/tags`, each with a value."""

    def __init__(self, patterns: Mapping[str, V]) -> None:
        """Raises `BadTable` for a pattern that no canonical path can begin with."""
        self._root: _Node[V] = _Node()
        for pattern, value in patterns.items():
            node = self._root
            for segment in _segments(pattern):
                if segment == ANY:
                    node.any = node.any or _Node()
                    node = node.any
                else:
                    node = node.fixed.setdefault(segment, _Node())
            node.match = Match(pattern, value)

    def find(self, segments: Sequence[str]) -> Match[V] | None:
        """Return the longest match, or None. Of two as long the one with the earlier fixed segment wins."""
        return self._find(self._root, segments, 0)[1]

    def _find(self, node: _Node[V], segments: Sequence[str], place: int) -> tuple[int, Match[V] | None]:
        best: tuple[int, Match[V] | None] = (place, node.match) if node.match is not None else (-1, None)
        if place == len(segments):
            return best
        fixed = node.fixed.get(segments[place])
        if fixed is not None:
            found = self._find(fixed, segments, place + 1)
            if found[0] > best[0]:
                best = found
        if node.any is not None:
            found = self._find(node.any, segments, place + 1)
            if found[0] > best[0]:
                best = found
        return best

    def __iter__(self) -> Iterator[Match[V]]:
        return self._walk(self._root)

    def _walk(self, node: _Node[V]) -> Iterator[Match[V]]:
        if node.match is not None:
            yield node.match
        for segment in sorted(node.fixed):
            yield from self._walk(node.fixed[segment])
        if node.any is not None:
            yield from self._walk(node.any)


def _segments(pattern: str) -> list[str]:
    if pattern == "/":
        return []
    segments = pattern[1:].split("/")
    if not pattern.startswith("/") or not pattern.isascii() or not pattern.isprintable():
        raise BadTable(f"{pattern!r} is not a path")
    for segment in segments:
        if not segment.strip(". ") or set(segment) & set(" %\\?#{}") or (ANY in segment and segment != ANY):
            raise BadTable(f"{pattern!r} is not a path of plain segments and single asterisks")
    return segments
