"""Messages in: handlers by message type, each effect exactly once.

A durable handler gets a unit of work in which its message is already noted in the inbox; the runtime commits it and
only then acknowledges. A handler that raises leaves nothing behind and is tried again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from strongroom_common.bus.port import Bus
from strongroom_common.contracts.envelopes import Envelope, Origin, Postmaster
from strongroom_common.contracts.messages import Command, Event, Message, Query
from strongroom_common.db.database import Database, UnitOfWork
from strongroom_common.kernel import faults
from strongroom_common.observability.logs import get_logger
from strongroom_common.observability.metrics import MESSAGES_HANDLED

C = TypeVar("C")
log = get_logger(__name__)

Durable = Callable[[Any, UnitOfWork, Any], Awaitable[None]]
Overhearing = Callable[[Any, Any], Awaitable[None]]
Answering = Callable[[Any, Any, Origin], Awaitable[Any]]


@dataclass(frozen=True)
class _DurableHandler:
    name: str
    model: type[Message]
    handle: Durable
    pattern: str


@dataclass
class Listeners(Generic[C]):
    """What a service listens to. `C` is the service's context, handed to each handler."""

    durable: list[_DurableHandler] = field(default_factory=list)
    overheard: list[tuple[type[Event], Overhearing]] = field(default_factory=list)
    answers: list[tuple[type[Query[Any]], Answering]] = field(default_factory=list)

    def on(self, *models: type[Event] | type[Command], pattern: str = "") -> Callable[[Durable], Durable]:
        """`async def heard(context, work, message)`: do the work of a fact or an order, once.

        `pattern` widens one model to all types of a form, such as `*.audit.recorded.v1`.
        """

        def decorate(handle: Durable) -> Durable:
            for model in models:
                name = f"{handle.__module__.rpartition('.')[2]}.{handle.__name__}"
                self.durable.append(_DurableHandler(name, model, handle, pattern or model.type))
            return handle

        return decorate

    def overhear(self, model: type[Event]) -> Callable[[Overhearing], Overhearing]:
        """`async def heard(context, message)`: in every process, best effort; for dropping what is remembered."""

        def decorate(handle: Overhearing) -> Overhearing:
            self.overheard.append((model, handle))
            return handle

        return decorate

    def answer(self, model: type[Query[Any]]) -> Callable[[Answering], Answering]:
        """`async def answer(context, question, origin)`: return the query's answer model or raise an error of ours."""

        def decorate(handle: Answering) -> Answering:
            self.answers.append((model, handle))
            return handle

        return decorate

    def include(self, other: "Listeners[C]") -> None:
        """Take over the listeners of another room."""
        self.durable += other.durable
        self.overheard += other.overheard
        self.answers += other.answers

    def attach(self, bus: Bus, service: str, context: C, database: Database, postmaster: Postmaster) -> None:
        """Declare everything on the bus, before it opens."""
        hands = _Hands(service, context, database, postmaster)
        events = [handler for handler in self.durable if issubclass(handler.model, Event)]
        if events:
            patterns = sorted({handler.pattern for handler in events})
            bus.consume(f"{service}.events", patterns, partial(hands.work, handlers=events))
        for handler in self.durable:
            if issubclass(handler.model, Command):
                bus.consume(
                    f"{service}.commands.{handler.pattern}", [handler.pattern], partial(hands.work, handlers=[handler])
                )
        for event, overhearing in self.overheard:
            bus.overhear([event.type], partial(hands.overhear, event=event, overhearing=overhearing))
        for query, answering in self.answers:
            bus.answer(query.type, partial(hands.answer, query=query, answering=answering))


@dataclass(frozen=True)
class _Hands:
    service: str
    context: Any
    database: Database
    postmaster: Postmaster

    async def work(self, envelope: Envelope, handlers: list[_DurableHandler]) -> None:
        for handler in handlers:
            if not _fits(handler.pattern, envelope.type):
                continue
            message = self.postmaster.disclose(envelope, handler.model)
            async with self.database.begin(envelope.origin()) as work:
                if not await work.is_first_time(handler.name, envelope.id):
                    MESSAGES_HANDLED.labels(self.service, envelope.type, "repeated").inc()
                    continue
                await handler.handle(self.context, work, message)
                faults.reach("consumer.before_commit")
                await work.commit()
                faults.reach("consumer.after_commit")
            MESSAGES_HANDLED.labels(self.service, envelope.type, "done").inc()

    async def overhear(self, envelope: Envelope, event: type[Event], overhearing: Overhearing) -> None:
        await overhearing(self.context, self.postmaster.disclose(envelope, event))

    async def answer(self, envelope: Envelope, query: type[Query[Any]], answering: Answering) -> dict[str, Any]:
        question = self.postmaster.disclose(envelope, query)
        answer = await answering(self.context, question, envelope.origin())
        return self.postmaster.enclose_answer(answer, envelope)


def _fits(pattern: str, message_type: str) -> bool:
    if pattern == message_type:
        return True
    wanted, words = pattern.split("."), message_type.split(".")
    return len(wanted) == len(words) and all(want in {"*", word} for want, word in zip(wanted, words, strict=True))
