"""The audit log of an organization (wire-identity 14)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Instant, NoBody, OptionalText, QueryString, View
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.api.calls import Call
from strongroom_identity.domain.audit_records import FoundRecord, Search
from strongroom_identity.usecases import audit_records

routes = Routes("Audit logs")

MOST_WORDS = 50
"""How many entries a comma list may have."""


def _in_our_time(moment: datetime) -> datetime:
    if not 1970 <= moment.year <= 9000:
        raise ValueError("must be between the years 1970 and 9000")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_in_our_time)]

Words = Annotated[str, StringConstraints(strip_whitespace=True, max_length=8192)]


class ListAuditLogsQuery(QueryString):
    """Which records. Lists are separated by commas; the span is from last midnight (UTC) until now by default."""

    project_id: UUID | None = None
    environment: OptionalText = None
    secret_path: OptionalText = None
    secret_key: OptionalText = None
    actor_type: OptionalText = None
    actor: UUID | None = None
    event_type: Words = ""
    event_metadata: Words = ""
    user_agent_type: OptionalText = None
    start_date: Moment | None = None
    end_date: Moment | None = None
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 20

    def to_search(self, now: datetime) -> Search:
        """What the caller wants, in our words; raises `InvalidInput` for a span or a list that makes no sense."""
        midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        until = self.end_date or now
        metadata = [_pair(word) for word in _words(self.event_metadata, "eventMetadata")]
        if self.environment is not None:
            metadata.append(("environment", self.environment))
        if self.secret_path is not None:
            metadata.append(("secretPath", self.secret_path.rstrip("/") or "/"))
        if self.secret_key is not None:
            metadata.append(("secretKey", self.secret_key))
        return Search(
            since=self.start_date or midnight,
            until=until,
            offset=self.offset,
            limit=self.limit,
            project_id=self.project_id,
            events=_words(self.event_type, "eventType"),
            actor_kind=self.actor_type,
            actor_id=self.actor,
            user_agent_type=self.user_agent_type,
            metadata=metadata,
        )


class EventView(View):
    """What happened."""

    type: str
    metadata: Mapping[str, Any]


class ActorView(View):
    """Who did it."""

    type: str
    metadata: Mapping[str, Any]


class AuditLogView(View):
    """One record."""

    id: UUID
    created_at: Instant
    updated_at: Instant
    expires_at: Instant | None
    ip_address: str | None
    user_agent: str | None
    user_agent_type: str
    org_id: UUID
    project_id: UUID | None
    project_name: str | None
    event: EventView
    actor: ActorView

    @classmethod
    def of(cls, found: FoundRecord) -> "AuditLogView":
        """Show a record."""
        record = found.record
        return cls(
            id=record.id,
            created_at=record.occurred_at,
            updated_at=record.recorded_at,
            expires_at=found.expires_at,
            ip_address=record.client_address or None,
            user_agent=record.user_agent or None,
            user_agent_type=record.user_agent_type,
            org_id=record.organization_id,
            project_id=record.project_id,
            project_name=found.project_name,
            event=EventView(type=record.event, metadata=record.metadata),
            actor=ActorView(type=record.actor_kind, metadata=record.actor_metadata),
        )


class AuditLogsAnswer(View):
    """Records, the newest first."""

    audit_logs: Sequence[AuditLogView]


@routes.get(
    "/api/v1/organization/audit-logs",
    query=ListAuditLogsQuery,
    returns=AuditLogsAnswer,
    permission="organization: audit-logs read (with projectId: project)",
)
async def list_(call: Call[NoBody, ListAuditLogsQuery]) -> AuditLogsAnswer:
    """List what happened in an organization, or in one of its projects."""
    wanted = call.query.to_search(call.service.clock.now())
    found = await audit_records.search(call.service, call.caller, wanted)
    return AuditLogsAnswer(audit_logs=[AuditLogView.of(one) for one in found])


def _words(text: str, name: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if len(words) > MOST_WORDS:
        raise InvalidInput.of_field([name], "too_big", f"Must have at most {MOST_WORDS} entries")
    return words


def _pair(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not sign or not name.strip():
        raise InvalidInput.of_field(["eventMetadata"], "custom", "Must be a list of key=value")
    return name.strip(), value.strip()
