"""Who belongs where, with which roles, and until when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.durations import parse_duration
from strongroom_identity.domain.roles import CUSTOM, CustomRole, Role

SubjectKind = Literal["user", "identity"]
"""Who can call."""
MemberKind = Literal["user", "identity", "group"]
"""Who can hold roles."""

ACCEPTED = "accepted"
INVITED = "invited"
"""Where a user's membership of an organization stands; one who is only invited has no access yet."""


@dataclass(frozen=True)
class Temporary:
    """A role in force from one instant until another; `range` is the length as it was asked for."""

    mode: str
    range: str
    starts_at: datetime
    ends_at: datetime

    @classmethod
    def relative(cls, length: str, starts_at: datetime) -> "Temporary":
        """In force for a length of time; raises `ValueError` for a bad one."""
        return cls("relative", length, starts_at, starts_at + parse_duration(length))


@dataclass(frozen=True)
class RoleEntry:
    """A wish: the slug of a role, for ever or for a time."""

    slug: str
    temporary: Temporary | None = None


@dataclass(frozen=True)
class MembershipRole:
    """One role of a membership."""

    id: UUID
    role: str
    custom_role_id: UUID | None = None
    custom_role_name: str | None = None
    custom_role_slug: str | None = None
    temporary: Temporary | None = None

    @classmethod
    def of(cls, role: Role, temporary: Temporary | None = None) -> "MembershipRole":
        """Give a role."""
        if isinstance(role, CustomRole):
            return cls(new_id(), CUSTOM, role.id, role.name, role.slug, temporary)
        return cls(new_id(), role.slug, temporary=temporary)


@dataclass(frozen=True)
class Membership:
    """A user, an identity or a group in an organization, or (`project_id`) in one of its projects."""

    id: UUID
    organization_id: UUID
    project_id: UUID | None
    user_id: UUID | None
    identity_id: UUID | None
    created_at: datetime
    updated_at: datetime
    roles: tuple[MembershipRole, ...] = ()
    group_id: UUID | None = None
    status: str = ACCEPTED

    @property
    def subject_id(self) -> UUID:
        """Whose membership it is."""
        (subject,) = (one for one in (self.user_id, self.identity_id, self.group_id) if one is not None)
        return subject

    @classmethod
    def new(
        cls,
        kind: MemberKind,
        subject_id: UUID,
        roles: Sequence[MembershipRole],
        now: datetime,
        *,
        organization_id: UUID,
        project_id: UUID | None = None,
    ) -> "Membership":
        """A new membership."""
        return cls(
            id=new_id(),
            organization_id=organization_id,
            project_id=project_id,
            user_id=subject_id if kind == "user" else None,
            identity_id=subject_id if kind == "identity" else None,
            group_id=subject_id if kind == "group" else None,
            created_at=now,
            updated_at=now,
            roles=tuple(roles),
        )
