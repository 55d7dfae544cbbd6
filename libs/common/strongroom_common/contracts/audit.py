"""What happened, as every service reports it to identity, which keeps the audit log."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.contracts.envelopes import Actor
from strongroom_common.contracts.messages import Event, Payload

DENIED = "deny-access"
"""The event of a record that says whom the rules have refused what."""


class Refusal(Payload):
    """A decision against a caller, as far as it takes to explain it later. `rules` are those that were considered."""

    action: str
    subject: str
    lacking: Sequence[str]
    """The actions that were not allowed: of an old action, some of those that it stands for."""
    resource: Mapping[str, Any] | None = None
    rules: Sequence[Mapping[str, Any]] = ()
    deciding_rule: int | None = None
    """Its place in `rules`; none where no rule matched."""


class AuditRecord(Payload):
    """One fact about who did what to what. `event` is the wire's event type; `metadata` never holds a secret value."""

    id: UUID
    occurred_at: datetime
    organization_id: UUID | None
    project_id: UUID | None
    actor: Actor
    client_address: str = ""
    user_agent: str = ""
    event: str
    metadata: Mapping[str, Any] = {}
    refusal: Refusal | None = None
    """With the event `DENIED`: the record's id is then the id of the decision."""


class AuditRecorded(Event):
    """A batch of records of one service, in the order in which they became durable there."""

    records: Sequence[AuditRecord]


AUDIT_TYPES = "*.audit.recorded.v1"


class IdentityAudited(AuditRecorded):
    type = "identity.audit.recorded.v1"


class SecretsAudited(AuditRecorded):
    type = "secrets.audit.recorded.v1"


class PkiAudited(AuditRecorded):
    type = "pki.audit.recorded.v1"


class AutomationAudited(AuditRecorded):
    type = "automation.audit.recorded.v1"
