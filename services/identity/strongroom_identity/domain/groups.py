"""Groups: people and machines that hold the same roles."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.memberships import MembershipRole
from strongroom_identity.domain.organizations import slug_for


@dataclass(frozen=True)
class Group:
    """A group of an organization, with the role that it has there. `membership_id` is that of the group itself."""

    id: UUID
    organization_id: UUID
    name: str
    slug: str
    created_at: datetime
    updated_at: datetime
    membership_id: UUID | None = None
    role: MembershipRole | None = None

    @classmethod
    def new(cls, organization_id: UUID, name: str, slug: str | None, now: datetime) -> "Group":
        """A new group; without a slug one is made from the name."""
        return cls(new_id(), organization_id, name, slug or slug_for(name[:31], "group"), now, now)


@dataclass(frozen=True)
class GroupUser:
    """A user of the organization (`membership_id`), seen from a group; `joined_at` is None for who is not in it."""

    id: UUID
    membership_id: UUID
    email: str | None
    username: str
    first_name: str | None
    last_name: str | None
    joined_at: datetime | None


@dataclass(frozen=True)
class GroupIdentity:
    """An identity of the organization, seen as a user is."""

    id: UUID
    membership_id: UUID
    name: str
    joined_at: datetime | None


@dataclass(frozen=True)
class GroupProject:
    """A project of the organization, seen from a group; `joined_at` is None for one that the group is not in."""

    id: UUID
    name: str
    slug: str
    description: str | None
    type: str
    joined_at: datetime | None
