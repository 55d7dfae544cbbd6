"""Typed questions: seals what must be sealed, keeps the deadline, and reads the answer as its model."""

from datetime import timedelta
from typing import TypeVar

from strongroom_common.bus.port import Bus
from strongroom_common.contracts.envelopes import Origin, Postmaster
from strongroom_common.contracts.messages import Payload, Query
from strongroom_common.kernel.errors import Unavailable

A = TypeVar("A", bound=Payload)


class Asker:
    """Asks other services."""

    def __init__(self, bus: Bus, postmaster: Postmaster, patience: timedelta = timedelta(seconds=3)) -> None:
        self._bus = bus
        self._postmaster = postmaster
        self._patience = patience

    async def ask(self, query: Query[A], origin: Origin | None = None) -> A:
        """Return the answer; raises the answerer's own error, or `Unavailable` when none comes in time."""
        envelope = self._postmaster.enclose(query, origin or Origin())
        answer = await self._bus.ask(envelope, self._patience)
        model: type[A] = type(query).answer_type()  # type: ignore[assignment]  # the declaration says which
        try:
            return self._postmaster.disclose_answer(answer, envelope, model)
        except ValueError as error:
            raise Unavailable(f"{query.type} was answered in a form that this release cannot read") from error
