"""Records of the audit log: what is kept of each, and what may be asked for."""

from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.domain import audit_chain

NOBODY = UUID(int=0)
"""The organization of records that have none."""

LONGEST_SPAN_MONTHS = 3

_AGENTS = (("mozilla/", "web"), ("cli", "cli"), ("k8-operator", "k8-operator"), ("terraform", "terraform"))


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record in its place. One whose content was removed has its `content_hash`, and no event."""

    organization_id: UUID
    number: int
    id: UUID
    project_id: UUID | None
    event: str
    actor_kind: str
    actor_id: UUID | None
    actor_metadata: Mapping[str, Any]
    metadata: Mapping[str, Any]
    client_address: str
    user_agent: str
    occurred_at: datetime
    recorded_at: datetime
    mac: bytes | None = None
    content_hash: bytes | None = None
    removal_mac: bytes | None = None

    @classmethod
    def of(cls, record: AuditRecord, organization_id: UUID, number: int, now: datetime) -> "LoggedRecord":
        """Give a record its place."""
        return cls(
            organization_id=organization_id,
            number=number,
            id=record.id,
            project_id=record.project_id,
            event=without_nul(record.event),
            actor_kind=record.actor.kind,
            actor_id=record.actor.id,
            actor_metadata=without_nul(record.actor.metadata),
            metadata=without_nul(record.metadata),
            client_address=without_nul(record.client_address),
            user_agent=without_nul(record.user_agent),
            occurred_at=record.occurred_at,
            recorded_at=now,
        )

    @property
    def user_agent_type(self) -> str:
        """What kind of client it was, by what it said of itself."""
        agent = self.user_agent.lower()
        return next((kind for start, kind in _AGENTS if agent.startswith(start)), "other")

    def content(self) -> dict[str, Any] | None:
        """What the record says, or None when retention has removed it."""
        if self.content_hash is not None:
            return None
        return {
            # Random, so that a removed content cannot be guessed from its hash.
            "id": str(self.id),
            "event": self.event,
            "actorType": self.actor_kind,
            "actorId": None if self.actor_id is None else str(self.actor_id),
            "actorMetadata": self.actor_metadata,
            "metadata": self.metadata,
            "ipAddress": self.client_address,
            "userAgent": self.user_agent,
        }

    def hash_of_content(self) -> bytes:
        """The content's hash, whether the content is still there or not."""
        return self.content_hash or audit_chain.content_hash(self.content() or {})

    def cover(self) -> bytes:
        """The canonical bytes that the chain holds together."""
        return audit_chain.cover(
            str(self.organization_id),
            self.number,
            None if self.project_id is None else str(self.project_id),
            audit_chain.instant(self.occurred_at),
            audit_chain.instant(self.recorded_at),
            self.hash_of_content(),
        )


@dataclass(frozen=True)
class Search:
    """Which records of an organization, the newest first. Empty and None mean: any."""

    since: datetime
    until: datetime
    offset: int
    limit: int
    project_id: UUID | None = None
    events: Sequence[str] = ()
    actor_kind: str | None = None
    actor_id: UUID | None = None
    user_agent_type: str | None = None
    metadata: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        """Raises `InvalidInput` when the end is before the start, or too far from it."""
        if self.until < self.since:
            raise InvalidInput.of_field(["endDate"], "custom", "Must not be before startDate")
        if self.until > months_later(self.since, LONGEST_SPAN_MONTHS):
            message = f"Must not be more than {LONGEST_SPAN_MONTHS} months after startDate"
            raise InvalidInput.of_field(["endDate"], "custom", message)


@dataclass(frozen=True)
class FoundRecord:
    """A record as it is shown: with its project's name, and when it will be removed."""

    record: LoggedRecord
    project_name: str | None
    expires_at: datetime | None


def months_later(start: datetime, months: int) -> datetime:
    """The same day so many months later, or the last one of that month. Raises `ValueError` after the year 9999."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return start.replace(year=year, month=month + 1, day=min(start.day, monthrange(year, month + 1)[1]))


def end_of_life(occurred_at: datetime, retention_days: int) -> datetime | None:
    """When a record is removed; 0 days: never."""
    return occurred_at + timedelta(days=retention_days) if retention_days else None


def without_nul(value: Any) -> Any:
    """The same document without NUL characters: PostgreSQL keeps none, and a record must not be lost for one."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, Mapping):
        return {without_nul(name): without_nul(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nul(one) for one in value]
    return value
