"""A tag: what a project's secrets are marked with, and what rules about them may ask for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

MOST_TAGS: Final = 1000
"""In one project: lists of tags are not paged."""


class Mark(NamedTuple):
    """A tag as its secrets know it."""

    id: UUID
    slug: str
    color: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag that exists or has just been deleted."""

    id: UUID
    project_id: UUID
    slug: str
    color: str
    actor_kind: str
    actor_id: UUID | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Any) -> "Tag":
        """Read a row of the store."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})


def marks_of(stored: Iterable[Mapping[str, Any]] | None) -> tuple[Mark, ...]:
    """Read the tags that a secret's row came with."""
    return tuple(Mark(UUID(one["id"]), one["slug"], one["color"]) for one in stored or ())


def slugs_of(stored: Iterable[Mapping[str, Any]] | None) -> tuple[str, ...]:
    """Read only what rules and filters ask for."""
    return tuple(one["slug"] for one in stored) if stored else ()
