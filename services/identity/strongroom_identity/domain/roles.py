"""Roles: predefined ones and those an organization or a project makes for itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from strongroom_common.access.roles import ORGANIZATION_ROLES, PROJECT_ROLES, PredefinedRole
from strongroom_common.access.rules import Rule

CUSTOM = "custom"
"""What a membership shows as its role where the role is a custom one."""


@dataclass(frozen=True)
class CustomRole:
    """A role somebody made. Its rules were checked when it was made."""

    id: UUID
    organization_id: UUID
    project_id: UUID | None
    slug: str
    name: str
    description: str | None
    permissions: Sequence[Mapping[str, Any]]
    version: int
    created_at: datetime
    updated_at: datetime


Role = PredefinedRole | CustomRole

_PLACEHOLDERS = UUID("6f1c2f0e-2f3f-5b0a-9d51-0a6c7e1d5b3a")


def placeholder_id(slug: str) -> UUID:
    """The id under which a predefined role, which is no row, is listed: the same one everywhere and for ever."""
    return uuid5(_PLACEHOLDERS, slug)


def predefined(slug: str, project_type: str | None) -> PredefinedRole | None:
    """Find a predefined role of an organization (no type), or of a project of this type."""
    if project_type is None:
        return ORGANIZATION_ROLES.get(slug)
    role = PROJECT_ROLES.get(slug)
    return role if role is not None and role.project_type in {None, project_type} else None


def rules_of(role: Role) -> Sequence[Rule]:
    """What the role allows and forbids."""
    return role.rules if isinstance(role, PredefinedRole) else [Rule.of_wire(rule) for rule in role.permissions]


def rules_together(
    held: Iterable[tuple[str, Sequence[Mapping[str, Any]] | None]], roles: Mapping[str, PredefinedRole]
) -> list[Mapping[str, Any]]:
    """Put the rules of several roles one behind the other, as (slug, rules of a custom role).

    A slug that is not known here, because a later release wrote it, gives nothing.
    """
    together: list[Mapping[str, Any]] = []
    for slug, permissions in held:
        if permissions is not None:
            together += permissions
        elif slug in roles:
            together += [rule.to_wire() for rule in roles[slug].rules]
    return together
