"""The cover of every message: who caused it, when, in which tenant, and what it follows from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict

from strongroom_common.contracts.messages import Command, Event, Message, Payload
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret

MessageKind = Literal["event", "command", "query"]
P = TypeVar("P", bound=Payload)


class Actor(BaseModel):
    """Who did it. `kind` is `user`, `identity`, `service` or `platform` (wire-identity 14)."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["user", "identity", "service", "platform", "unknownUser"]
    id: UUID | None = None
    name: str = ""
    metadata: Mapping[str, str] = {}


PLATFORM = Actor(kind="platform", name="platform")


@dataclass(frozen=True)
class Origin:
    """What caused a piece of work: a request, a message or the clock. It travels into messages and audit records."""

    actor: Actor = PLATFORM
    organization_id: UUID | None = None
    project_id: UUID | None = None
    correlation_id: str = ""
    causation_id: UUID | None = None
    traceparent: str | None = None
    client_address: str = ""
    user_agent: str = ""

    def in_project(self, project_id: UUID) -> "Origin":
        """The same cause, seen inside one project."""
        return replace(self, project_id=project_id)


class Envelope(BaseModel):
    """One message with its cover. `payload` is JSON whose secret fields are sealed."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    kind: MessageKind
    type: str
    aggregate: str
    occurred_at: datetime
    actor: Actor
    organization_id: UUID | None = None
    project_id: UUID | None = None
    correlation_id: str = ""
    causation_id: UUID | None = None
    traceparent: str | None = None
    payload: dict[str, Any]

    def encode(self) -> bytes:
        """Write it as JSON bytes."""
        return orjson.dumps(self.model_dump(mode="json"))

    @classmethod
    def decode(cls, raw: bytes) -> "Envelope":
        """Read what `encode` wrote; raises `ValueError` on anything else."""
        return cls.model_validate_json(raw)

    def origin(self) -> Origin:
        """The origin of whatever this message causes."""
        return Origin(
            actor=self.actor,
            organization_id=self.organization_id,
            project_id=self.project_id,
            correlation_id=self.correlation_id,
            causation_id=self.id,
            traceparent=self.traceparent,
        )


Seal = Callable[[bytes, bytes], bytes]
"""(plain bytes, associated data) -> sealed bytes."""


@dataclass(frozen=True)
class Postmaster:
    """Turns messages into envelopes and back, sealing and opening their secret fields under the bus key.

    The associated data is the message's id and type: a sealed field moved into another message does not open.
    """

    clock: Clock
    seal: Seal
    open: Seal
    new_message_id: Callable[[], UUID] = field(default=new_id)

    def enclose(self, message: Message, origin: Origin) -> Envelope:
        """Put a message into an envelope."""
        message_id = self.new_message_id()
        associated = f"{message_id}|{message.type}".encode()

        def seal(secret: Secret) -> str:
            return self.seal(secret.reveal().encode(), associated).hex()

        kind: MessageKind = (
            "event" if isinstance(message, Event) else "command" if isinstance(message, Command) else "query"
        )
        return Envelope(
            id=message_id,
            kind=kind,
            type=message.type,
            aggregate=message.aggregate() if isinstance(message, Event | Command) else message.type,
            occurred_at=self.clock.now(),
            actor=origin.actor,
            organization_id=origin.organization_id,
            project_id=origin.project_id,
            correlation_id=origin.correlation_id,
            causation_id=origin.causation_id,
            traceparent=origin.traceparent,
            payload=message.model_dump(mode="json", context={"seal": seal}),
        )

    def disclose(self, envelope: Envelope, model: type[P]) -> P:
        """Take a message out of its envelope; raises `ValueError` when it does not fit or does not open."""
        return self._read(envelope.payload, envelope, model)

    def enclose_answer(self, answer: Payload, question: Envelope) -> dict[str, Any]:
        """Write the answer to a query, sealed to that query."""
        associated = f"{question.id}|{question.type}|answer".encode()

        def seal(secret: Secret) -> str:
            return self.seal(secret.reveal().encode(), associated).hex()

        return answer.model_dump(mode="json", context={"seal": seal})

    def disclose_answer(self, answer: dict[str, Any], question: Envelope, model: type[P]) -> P:
        """Read the answer to a query of ours."""
        return self._read(answer, question, model, suffix="|answer")

    def _read(self, payload: dict[str, Any], envelope: Envelope, model: type[P], suffix: str = "") -> P:
        associated = f"{envelope.id}|{envelope.type}{suffix}".encode()

        def opener(sealed: str) -> Secret:
            return Secret(self.open(bytes.fromhex(sealed), associated).decode())

        return model.model_validate(payload, context={"open": opener})
