"""A folder."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that exists or has just been deleted."""

    id: UUID
    name: str
    path: str
    version: int
    created_at: datetime
    updated_at: datetime
    environment_id: UUID
    parent_id: UUID | None
    description: str | None
    last_secret_modified: datetime | None

    @classmethod
    def of(cls, row: Any) -> "Folder":
        """Read a row of the store."""
        return cls(
            id=row["id"],
            name=row["name"],
            path=row["path"],
            version=row["version"],
            created_at=row["created_at"],
            updated_at=row["updated_at"],
            environment_id=row["folder_environment_id"],
            parent_id=row["parent_id"],
            description=row["description"],
            last_secret_modified=row["last_secret_modified"],
        )
