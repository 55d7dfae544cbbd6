"""Machine identities."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.roles import CustomRole

IdentityOrder = Literal["name", "role"]


@dataclass(frozen=True)
class Metadata:
    """A word about an identity, for people and for conditions of rules."""

    id: UUID
    key: str
    value: str

    @classmethod
    def new(cls, key: str, value: str) -> "Metadata":
        """A new one."""
        return cls(new_id(), key, value)


@dataclass(frozen=True)
class Identity:
    """A machine. `project_id` is set where a project owns it; `auth_methods` are the kinds of login that it has."""

    id: UUID
    organization_id: UUID
    project_id: UUID | None
    name: str
    has_delete_protection: bool
    is_instance_admin: bool
    created_at: datetime
    updated_at: datetime
    metadata: tuple[Metadata, ...] = ()
    auth_methods: tuple[str, ...] = ()

    @classmethod
    def new(
        cls,
        organization_id: UUID,
        name: str,
        now: datetime,
        *,
        project_id: UUID | None = None,
        has_delete_protection: bool = False,
        is_instance_admin: bool = False,
        metadata: Sequence[tuple[str, str]] = (),
    ) -> "Identity":
        """A new identity of the organization, or of one of its projects."""
        return cls(
            id=new_id(),
            organization_id=organization_id,
            project_id=project_id,
            name=name,
            has_delete_protection=has_delete_protection,
            is_instance_admin=is_instance_admin,
            created_at=now,
            updated_at=now,
            metadata=tuple(Metadata.new(key, value) for key, value in metadata),
        )


@dataclass(frozen=True)
class IdentityMembership:
    """An identity in an organization, as lists show it."""

    id: UUID
    organization_id: UUID
    identity: Identity
    role: str
    custom_role: CustomRole | None
    locked_methods: Sequence[str]
    last_login_method: str | None
    last_login_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class TextTest:
    """What a text must be like; each absent part is no condition."""

    equals: str | None = None
    contains: str | None = None
    among: Sequence[str] | None = None


@dataclass(frozen=True)
class IdentityFilter:
    """Which identities are looked for: all conditions hold, and one of `any_of` where there are some."""

    name: TextTest = field(default_factory=TextTest)
    role: TextTest = field(default_factory=TextTest)
    any_of: Sequence["IdentityFilter"] = ()
