"""From a method and decoded segments to an endpoint. A fixed segment wins over a parameter."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

from strongroom_common.kernel.errors import InvalidInput

E = TypeVar("E")

_PARAMETER = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)(?::(uuid))?\}")


@dataclass(slots=True)
class _Node(Generic[E]):
    fixed: dict[str, "_Node[E]"] = field(default_factory=dict)
    parameter: "_Node[E] | None" = None
    leaves: dict[str, tuple[E, tuple[tuple[int, str, str], ...]]] = field(default_factory=dict)


def template_parameters(template: str) -> list[tuple[int, str, str]]:
    """List a template's parameters: their place, name and kind (`uuid` or empty)."""
    found = []
    for place, segment in enumerate(template.strip("/").split("/")):
        match = _PARAMETER.fullmatch(segment)
        if match:
            found.append((place, match[1], match[2] or ""))
        elif "{" in segment or "}" in segment:
            raise ValueError(f"{template}: a parameter is a whole segment, like {{id}} or {{id:uuid}}")
    return found


class Router(Generic[E]):
    """All routes of one service."""

    def __init__(self) -> None:
        self._root: _Node[E] = _Node()

    def add(self, method: str, template: str, endpoint: E) -> None:
        """Add a route such as `GET /api/v1/projects/{projectId:uuid}`; raises `ValueError` when it exists already."""
        parameters = template_parameters(template)
        places = {place for place, _, _ in parameters}
        node = self._root
        segments = [segment for segment in template.strip("/").split("/") if segment]
        for place, segment in enumerate(segments):
            if place in places:
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.fixed.setdefault(segment, _Node())
        if method in node.leaves:
            raise ValueError(f"{method} {template} is declared twice")
        node.leaves[method] = (endpoint, tuple(parameters))

    def find(self, method: str, segments: Sequence[str]) -> tuple[E, dict[str, str]] | None:
        """Return the endpoint and its parameters, or None. A malformed UUID parameter raises `InvalidInput` (422)."""
        for node in self._reach(self._root, segments, 0):
            leaf = node.leaves.get(method)
            if leaf is not None:
                endpoint, parameters = leaf
                return endpoint, {name: _value(segments[place], name, kind) for place, name, kind in parameters}
        return None

    def _reach(self, node: _Node[E], segments: Sequence[str], place: int) -> Iterator[_Node[E]]:
        if place == len(segments):
            yield node
            return
        fixed = node.fixed.get(segments[place])
        if fixed is not None:
            yield from self._reach(fixed, segments, place + 1)
        if node.parameter is not None:
            yield from self._reach(node.parameter, segments, place + 1)


def _value(segment: str, name: str, kind: str) -> str:
    value = segment.strip()
    if kind == "uuid":
        try:
            return str(UUID(value))
        except ValueError:
            raise InvalidInput.of_field([name], "invalid_string", "must be a UUID") from None
    return value
