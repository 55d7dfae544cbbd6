"""What the secrets service says: which secrets changed where. Never a value."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from strongroom_common.contracts.messages import Event, Payload


class ChangedSecret(Payload):
    """One shared secret that changed; its state after it, or the last one before it was deleted."""

    id: UUID
    key: str
    version: int
    change: Literal["created", "updated", "deleted"]
    previous_key: str | None = None
    """What it was called before this change renamed it."""


class SecretsChanged(Event):
    """Shared secrets of one folder changed together. Who did it stands on the envelope."""

    type = "secrets.secret.changed.v1"
    project_id: UUID
    environment_id: UUID
    environment: str
    folder_id: UUID
    path: str
    secrets: Sequence[ChangedSecret]

    def aggregate(self) -> str:
        return f"folder:{self.folder_id}"
