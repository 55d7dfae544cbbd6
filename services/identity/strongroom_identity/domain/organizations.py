"""An organization: the tenant."""

import string
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from strongroom_common.kernel.ids import new_id, random_text
from strongroom_common.kernel.names import slug_from

SUFFIX = string.ascii_lowercase + string.digits


def slug_for(name: str, otherwise: str) -> str:
    """Make a slug that hardly anyone has taken: the name's, or another word, and four random characters."""
    return f"{slug_from(name) or otherwise}-{random_text(4, SUFFIX)}"


@dataclass(frozen=True)
class Organization:
    """A root has no parent; a sub-organization has a parent and a root."""

    id: UUID
    name: str
    slug: str
    parent_id: UUID | None
    root_id: UUID | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def new(cls, name: str, now: datetime) -> "Organization":
        """A new root organization."""
        return cls(new_id(), name, slug_for(name, "organization"), None, None, now, now)
