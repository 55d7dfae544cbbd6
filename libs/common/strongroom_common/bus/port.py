"""What both transports promise. `rabbit` is the real one; `memory` serves `standalone` and unit tests.

| way | promise |
|---|---|
| event | at least once to one replica of each consuming service; broadcast listeners hear it in every process |
| command | at least once to the one service that takes it; retried ever later, then dead-lettered, never dropped |
| query | an answer, a typed error, or `Unavailable` within the deadline |
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from strongroom_common.contracts.envelopes import Envelope

Handle = Callable[[Envelope], Awaitable[None]]
"""Does the work of one message. Returning means done and durable; raising means try again later."""

Answer = Callable[[Envelope], Awaitable[dict[str, Any]]]
"""Answers one query with a JSON object, or raises an error of ours, which reaches the asker whole."""

Forget = Callable[[], Awaitable[None]]
"""Drops everything that broadcast events keep fresh."""

RETRY_DELAYS: Sequence[timedelta] = (
    timedelta(seconds=1),
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=5),
    timedelta(minutes=30),
)
"""After the last of these the message goes to the dead letters. A message is tried once more than there are delays."""


class Undeliverable(Exception):
    """A consumer in this process has given the message up; it waits among the dead letters (memory transport only)."""

    def __init__(self, queue: str, reason: str) -> None:
        super().__init__(f"{queue}: {reason}")
        self.queue = queue
        self.reason = reason


@dataclass(frozen=True)
class DeadLetter:
    """A message nobody could handle: where it lies, why, and the envelope. Secret fields in it stay sealed."""

    queue: str
    message_id: UUID
    type: str
    reason: str
    attempts: int
    died_at: datetime
    envelope: Envelope


class Bus(Protocol):
    """One process's way to speak and to listen. Declare what you listen to, then `open`."""

    def consume(self, queue: str, types: Sequence[str], handle: Handle) -> None:
        """Take events and commands of these types from one durable queue, shared by all replicas of a service.

        An event's type may contain `*` for one dot-separated word (`*.audit.recorded.v1`). The queue's name begins with
        the service's: `secrets.events`. In one process, messages of one aggregate are handled one after the other, in
        the order published. A message may come twice, and one that failed may come after its successors.
        """
        ...

    def overhear(self, types: Sequence[str], handle: Handle) -> None:
        """Hear events of these types in every process, best effort: for dropping what is cached."""
        ...

    def after_gap(self, forget: Forget) -> None:
        """Be called whenever broadcast events may have been missed: the broker was away, and is back."""
        ...

    def answer(self, query_type: str, answer: Answer) -> None:
        """Answer queries of one type; replicas share them."""
        ...

    async def open(self) -> None:
        """Connect, declare, start listening. Raises `Unavailable` when the broker cannot be reached in time."""
        ...

    async def close(self, grace: timedelta) -> None:
        """Stop taking messages, let those in hand finish within the grace, hand back the rest, disconnect."""
        ...

    async def publish(self, envelope: Envelope) -> None:
        """Return when the message is safe: confirmed by the broker, or handled by every durable consumer (memory).

        Raises `Unavailable` when the broker does not confirm in time, and for a command that no queue takes yet; the
        caller still has the outbox row.
        """
        ...

    async def ask(self, envelope: Envelope, timeout: timedelta) -> dict[str, Any]:  # noqa: ASYNC109 - travels as deadline
        """Return the answer. Raises the answerer's own error, or `Unavailable` at the deadline."""
        ...

    def is_connected(self) -> bool:
        """Say whether a publish has a chance now."""
        ...

    async def dead_letters(self, queue: str, limit: int = 100) -> list[DeadLetter]:
        """Look at the dead letters of one queue, oldest first, without taking them away.

        What could not be read at all has the type `unreadable` and its first bytes as payload. Raises `NotFound` when
        there is no such queue.
        """
        ...

    async def replay(self, queue: str, message_ids: Sequence[UUID] | None = None) -> int:
        """Put dead letters (all of them without ids) back into their queue, as new; return how many."""
        ...
