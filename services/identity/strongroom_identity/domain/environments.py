"""Environments: the stages of a project, in the order of their positions.

Positions of one project differ, but need not be without gaps: what is deleted leaves its place empty
(wire-identity 11.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.errors import EnvironmentNotFound, EnvironmentSlugTaken

MOST_ENVIRONMENTS = 500
HIGHEST_POSITION = 1_000_000
"""Of those that a caller may ask for."""


@dataclass(frozen=True)
class Environment:
    """A stage of a project."""

    id: UUID
    project_id: UUID
    name: str
    slug: str
    position: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def new(cls, project_id: UUID, name: str, slug: str, position: int, now: datetime) -> "Environment":
        """A new environment."""
        return cls(new_id(), project_id, name, slug, position, now, now)


@dataclass(frozen=True)
class EnvironmentWish:
    """What a caller wants. What is None stays as it is; a new one without a position becomes the last."""

    name: str | None = None
    slug: str | None = None
    position: int | None = None


Environments = tuple[Environment, ...]


def get_one(present: Sequence[Environment], environment_id: UUID) -> Environment:
    """Return one of them; raises `EnvironmentNotFound`."""
    for one in present:
        if one.id == environment_id:
            return one
    raise EnvironmentNotFound


def added(present: Sequence[Environment], new: Environment) -> Environments:
    """Put a new one in; if its position is taken, that one and all later ones move up.

    Raises `EnvironmentSlugTaken`, and `Conflict` for one too many.
    """
    label = "CreateEnvironment"
    if len(present) >= MOST_ENVIRONMENTS:
        raise Conflict(f"A project can have at most {MOST_ENVIRONMENTS} environments", label=label)
    if any(one.slug == new.slug for one in present):
        raise EnvironmentSlugTaken(label)
    if any(one.position == new.position for one in present):
        present = _shifted(present, new.position, None, 1)
    return in_order([*present, new])


def changed(
    present: Sequence[Environment], environment_id: UUID, wish: EnvironmentWish, now: datetime
) -> tuple[Environment, Environments]:
    """Change one; those between its old and its new place close up. Return it, and all as they then are.

    Raises `EnvironmentNotFound`, `EnvironmentSlugTaken`.
    """
    old = get_one(present, environment_id)
    new = replace(
        old,
        name=old.name if wish.name is None else wish.name,
        slug=old.slug if wish.slug is None else wish.slug,
        position=old.position if wish.position is None else wish.position,
        updated_at=now,
    )
    others: Sequence[Environment] = [one for one in present if one.id != old.id]
    if any(one.slug == new.slug for one in others):
        raise EnvironmentSlugTaken("UpdateEnvironment")
    if new.position < old.position:
        others = _shifted(others, new.position, old.position, 1)
    elif new.position > old.position:
        others = _shifted(others, old.position, new.position, -1)
    return new, in_order([*others, new])


def last_position(present: Sequence[Environment]) -> int:
    """The highest position in use; 0 where there is none."""
    return max((one.position for one in present), default=0)


def in_order(environments: Sequence[Environment]) -> Environments:
    """Sort them by position."""
    return tuple(sorted(environments, key=lambda one: one.position))


def _shifted(present: Sequence[Environment], first: int, last: int | None, by: int) -> Environments:
    return tuple(
        replace(one, position=one.position + by) if first <= one.position and (last is None or one.position <= last)
        else one
        for one in present
    )  # fmt: skip
