"""Machine identities."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from strongroom_common.kernel.ids import new_id


@dataclass(frozen=True)
class Metadata:
    """A word about an identity, for people and for conditions of rules."""

    id: UUID
    key: str
    value: str


@dataclass(frozen=True)
class Identity:
    """A machine. `project_id` is set where a project owns it."""

    id: UUID
    organization_id: UUID
    project_id: UUID | None
    name: str
    has_delete_protection: bool
    is_instance_admin: bool
    created_at: datetime
    updated_at: datetime
    metadata: tuple[Metadata, ...] = ()

    @classmethod
    def new(
        cls,
        organization_id: UUID,
        name: str,
        now: datetime,
        *,
        has_delete_protection: bool = False,
        is_instance_admin: bool = False,
        metadata: Sequence[tuple[str, str]] = (),
    ) -> "Identity":
        """A new identity of the organization."""
        return cls(
            id=new_id(),
            organization_id=organization_id,
            project_id=None,
            name=name,
            has_delete_protection=has_delete_protection,
            is_instance_admin=is_instance_admin,
            created_at=now,
            updated_at=now,
            metadata=tuple(Metadata(new_id(), key, value) for key, value in metadata),
        )
