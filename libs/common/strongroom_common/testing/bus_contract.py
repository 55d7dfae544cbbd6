"""What every transport of the bus promises, as tests. A transport inherits `BusContract` and gives it a world."""

import asyncio
import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final, TypeVar
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import Field

from strongroom_common.bus.port import Bus, DeadLetter, Undeliverable
from strongroom_common.contracts.envelopes import Envelope, Origin, Postmaster
from strongroom_common.contracts.messages import Command, Event, Message, Payload, Query, SealedSecret
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    PermissionDenied,
    RateLimited,
    StrongroomError,
    Unavailable,
)
from strongroom_common.kernel.ids import random_text
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.waiting import eventually

CANARY: Final = "canary-7f3a-do-not-show"
RETRY_DELAYS: Final = (timedelta(milliseconds=50), timedelta(milliseconds=200))
GRACE: Final = timedelta(seconds=5)
PATIENCE: Final = timedelta(seconds=10)

_nonces = itertools.count()
_cipher = AESGCM(bytes(range(32)))


def _seal(plain: bytes, associated: bytes) -> bytes:
    nonce = next(_nonces).to_bytes(12, "big")
    return nonce + _cipher.encrypt(nonce, plain, associated)


def _open(sealed: bytes, associated: bytes) -> bytes:
    return _cipher.decrypt(sealed[:12], sealed[12:], associated)


POSTMASTER: Final = Postmaster(SystemClock(), _seal, _open)


class ThingPainted(Event):
    """A fact for tests."""

    thing: str = "chair"
    number: int = 0
    password: SealedSecret = Field(default_factory=lambda: Secret(CANARY))

    def aggregate(self) -> str:
        return self.thing


class PaintThing(Command):
    """An order for tests."""

    thing: str = "chair"

    def aggregate(self) -> str:
        return self.thing


class Colour(Payload):
    """The answer to a question for tests."""

    name: str
    recipe: SealedSecret


class WhatColour(Query[Colour]):
    """A question for tests."""

    thing: str = "chair"


class ChairIsTaken(Conflict):
    """An error that only the answering service knows."""


M = TypeVar("M", bound=Message)


def _named(message: type[M], name: str) -> type[M]:
    return type(message.__name__, (message,), {"type": name, "__module__": __name__})


def enclose(message: Message) -> Envelope:
    """Put a message into an envelope."""
    return POSTMASTER.enclose(message, Origin())


class BusWorld(ABC):
    """Services on one bus. Everything that a test listens to is declared before `open`.

    Names and types are new in every world, because all of them may share one broker.
    """

    def __init__(self) -> None:
        self.tag = random_text(8).lower()
        self.queue = self.name_of("painter", "things")
        self.painted = _named(ThingPainted, f"{self.tag}.thing.painted.v1")
        self.paint = _named(PaintThing, f"{self.tag}.thing.paint.v1")
        self.what_colour = _named(WhatColour, f"{self.tag}.thing.colour.v1")
        self._buses: dict[str, Bus] = {}

    def name_of(self, service: str, *rest: str) -> str:
        """A name in this world, such as that of a service or of its queue."""
        return ".".join([f"{self.tag}-{service}", *rest])

    def service(self, name: str = "painter") -> Bus:
        """The bus as one service sees it."""
        if name not in self._buses:
            self._buses[name] = self.join(self.name_of(name))
        return self._buses[name]

    @abstractmethod
    def join(self, service: str) -> Bus:
        """Make a bus for a process of this service."""

    async def open(self) -> None:
        """Let all services begin."""
        for bus in self._buses.values():
            await bus.open()

    async def close(self) -> None:
        """Let all services end."""
        for bus in self._buses.values():
            await bus.close(GRACE)

    async def send(self, message: Message, bus: Bus | None = None) -> Envelope:
        """Publish; that a consumer gives up is told to the publisher by one transport and not by the other."""
        envelope = enclose(message)
        with contextlib.suppress(Undeliverable):
            await (bus or self.service()).publish(envelope)
        return envelope

    async def ask(self, question: Message | None = None, within: timedelta = PATIENCE) -> dict[str, Any]:
        """Ask in the name of a service that has no answer itself."""
        return await self.service("asker").ask(enclose(question or self.what_colour()), within)


class Recorder:
    """A handler that remembers what it got, and does what a test tells it to."""

    def __init__(self, then: Callable[[Envelope], Awaitable[None]] | None = None) -> None:
        self.got: list[Envelope] = []
        self.at: list[float] = []
        self.then = then

    async def __call__(self, envelope: Envelope) -> None:
        self.got.append(envelope)
        self.at.append(asyncio.get_running_loop().time())
        if self.then is not None:
            await self.then(envelope)

    def ids(self) -> list[UUID]:
        """The ids of what it got, in order."""
        return [envelope.id for envelope in self.got]


async def fail(_: Envelope) -> None:
    """A handler that cannot, and says too much about it."""
    raise RuntimeError(f"no brush, and the password is {CANARY}")


class BusContract:
    """The promises of both transports. A subclass has a fixture `world`."""

    async def test_an_event_reaches_every_service_that_consumes_it_once(self, world: BusWorld) -> None:
        painter, shop = Recorder(), Recorder()
        world.service().consume(world.queue, [world.painted.type], painter)
        world.service("shop").consume(world.name_of("shop", "events"), [world.painted.type], shop)
        await world.open()
        sent = [await world.send(world.painted(number=number)) for number in range(3)]
        await eventually(lambda: len(painter.got) == len(shop.got) == 3)
        assert painter.got == sent
        assert shop.got == sent

    async def test_a_command_reaches_the_queue_that_takes_it_and_no_listener(self, world: BusWorld) -> None:
        taken, heard = Recorder(), Recorder()
        kinds = [world.paint.type, world.painted.type]
        world.service().consume(world.queue, kinds, taken)
        world.service("shop").overhear(kinds, heard)
        await world.open()
        command = await world.send(world.paint())
        event = await world.send(world.painted())
        await eventually(lambda: heard.got and len(taken.got) == 2)
        assert taken.got == [command, event]
        assert heard.got == [event]

    async def test_a_command_that_nobody_takes_stays_with_its_sender(self, world: BusWorld) -> None:
        world.service()
        await world.open()
        with pytest.raises(Unavailable):
            await world.service().publish(enclose(world.paint()))

    async def test_an_event_that_nobody_wants_is_no_error(self, world: BusWorld) -> None:
        world.service()
        await world.open()
        await world.service().publish(enclose(world.painted()))

    async def test_every_listener_hears_an_event_even_if_another_one_fails(self, world: BusWorld) -> None:
        first, second = Recorder(then=fail), Recorder()
        world.service().overhear([world.painted.type], first)
        world.service().overhear([world.painted.type], second)
        world.service("shop").overhear([world.painted.type], third := Recorder())
        await world.open()
        event = await world.send(world.painted())
        await eventually(lambda: first.got and second.got and third.got)
        assert [first.ids(), second.ids(), third.ids()] == [[event.id]] * 3

    async def test_a_star_stands_for_exactly_one_word(self, world: BusWorld) -> None:
        tag = world.tag
        some, others, heard = Recorder(), Recorder(), Recorder()
        world.service().consume(world.queue, [f"{tag}.*.painted.v1"], some)
        world.service("shop").consume(world.name_of("shop", "events"), [f"{tag}.*.v1"], others)
        world.service("shop").overhear(["*.thing.painted.v1"], heard)
        await world.open()
        event = await world.send(world.painted())
        await eventually(lambda: some.got and event.id in heard.ids())
        assert some.ids() == [event.id]
        assert others.got == []

    async def test_messages_of_one_aggregate_are_handled_in_order_and_one_at_a_time(self, world: BusWorld) -> None:
        under_way: list[str] = []
        order: list[tuple[str, int]] = []

        async def handle(envelope: Envelope) -> None:
            assert envelope.aggregate not in under_way
            under_way.append(envelope.aggregate)
            await asyncio.sleep(0)
            order.append((envelope.aggregate, envelope.payload["number"]))
            under_way.remove(envelope.aggregate)

        world.service().consume(world.queue, [world.painted.type], handle)
        await world.open()
        async with asyncio.TaskGroup() as senders:
            for number in range(20):
                for thing in ("chair", "table"):
                    senders.create_task(world.send(world.painted(thing=thing, number=number)))
        await eventually(lambda: len(order) == 40)
        assert [number for thing, number in order if thing == "chair"] == list(range(20))
        assert [number for thing, number in order if thing == "table"] == list(range(20))

    async def test_a_slow_aggregate_does_not_hold_up_the_others(self, world: BusWorld) -> None:
        go_on = asyncio.Event()
        done = Recorder()

        async def handle(envelope: Envelope) -> None:
            if envelope.aggregate == "chair":
                await go_on.wait()
            await done(envelope)

        world.service().consume(world.queue, [world.painted.type], handle)
        await world.open()
        async with asyncio.TaskGroup() as senders:
            senders.create_task(world.send(world.painted(thing="chair")))
            senders.create_task(world.send(world.painted(thing="table")))
            await eventually(lambda: [envelope.aggregate for envelope in done.got] == ["table"])
            go_on.set()
        await eventually(lambda: len(done.got) == 2)

    async def test_a_failed_message_is_tried_again_ever_later(self, world: BusWorld) -> None:
        async def fail_twice(_: Envelope) -> None:
            if len(handler.got) <= len(RETRY_DELAYS):
                raise RuntimeError("not yet")

        handler = Recorder(then=fail_twice)
        world.service().consume(world.queue, [world.paint.type], handler)
        await world.open()
        command = await world.send(world.paint())
        await eventually(lambda: len(handler.got) == 3)
        assert handler.got == [command] * 3
        pauses = [later - earlier for earlier, later in itertools.pairwise(handler.at)]
        assert all(pause >= delay.total_seconds() * 0.9 for pause, delay in zip(pauses, RETRY_DELAYS, strict=True))
        assert await world.service().dead_letters(world.queue) == []

    async def test_what_nobody_can_handle_ends_among_the_dead_letters(self, world: BusWorld) -> None:
        handler = Recorder(then=fail)
        world.service().consume(world.queue, [world.paint.type], handler)
        await world.open()
        command = await world.send(world.paint())
        letter = (await self.letters(world, 1))[0]
        assert len(handler.got) == letter.attempts == len(RETRY_DELAYS) + 1
        assert (letter.queue, letter.message_id, letter.type) == (world.queue, command.id, command.type)
        assert letter.envelope == command
        assert letter.died_at.tzinfo is not None
        assert letter.reason == "RuntimeError", "the text of a stranger's exception stays in the log"

    async def test_an_error_of_ours_says_in_the_dead_letter_what_is_wrong(self, world: BusWorld) -> None:
        async def refuse(_: Envelope) -> None:
            raise ChairIsTaken("somebody sits on it")

        world.service().consume(world.queue, [world.paint.type], refuse)
        await world.open()
        await world.send(world.paint())
        assert [letter.reason for letter in await self.letters(world, 1)] == ["ChairIsTaken: somebody sits on it"]

    async def test_looking_at_dead_letters_takes_none_away(self, world: BusWorld) -> None:
        world.service().consume(world.queue, [world.painted.type], fail)
        await world.open()
        sent = [(await world.send(world.painted(number=number))).id for number in range(3)]
        letters = await self.letters(world, 3)
        assert [letter.message_id for letter in letters] == sent
        for _ in range(25):  # more often than a broker delivers a message before it loses patience
            assert await world.service().dead_letters(world.queue, limit=2) == letters[:2]
        assert await world.service().dead_letters(world.queue) == letters

    async def test_the_dead_letters_of_an_unknown_queue_are_not_found(self, world: BusWorld) -> None:
        world.service()
        await world.open()
        with pytest.raises(NotFound):
            await world.service().dead_letters(world.name_of("painter", "nowhere"))

    async def test_one_dead_letter_can_be_replayed_and_the_others_stay(self, world: BusWorld) -> None:
        handler = Recorder(then=fail)
        world.service().consume(world.queue, [world.painted.type], handler)
        await world.open()
        first, second, third = [(await world.send(world.painted(number=number))).id for number in range(3)]
        await self.letters(world, 3)
        handler.then = None
        handler.got.clear()
        assert await world.service().replay(world.queue, [second]) == 1
        await eventually(lambda: handler.ids() == [second])
        assert [letter.message_id for letter in await world.service().dead_letters(world.queue)] == [first, third]

    async def test_all_dead_letters_can_be_replayed(self, world: BusWorld) -> None:
        handler = Recorder(then=fail)
        world.service().consume(world.queue, [world.painted.type], handler)
        await world.open()
        sent = [(await world.send(world.painted(number=number))).id for number in range(3)]
        await self.letters(world, 3)
        handler.then = None
        handler.got.clear()
        assert await world.service().replay(world.queue) == 3
        await eventually(lambda: handler.ids() == sent)
        assert await world.service().dead_letters(world.queue) == []
        assert await world.service().replay(world.queue) == 0

    async def test_a_replayed_message_that_fails_again_has_all_its_tries_again(self, world: BusWorld) -> None:
        handler = Recorder(then=fail)
        world.service().consume(world.queue, [world.painted.type], handler)
        await world.open()
        event = await world.send(world.painted())
        await self.letters(world, 1)
        handler.got.clear()
        assert await world.service().replay(world.queue, [event.id]) == 1
        letter = (await self.letters(world, 1))[0]
        assert len(handler.got) == letter.attempts == len(RETRY_DELAYS) + 1

    async def test_a_cancelled_handler_leaves_its_message_to_be_delivered_again(self, world: BusWorld) -> None:
        async def be_cancelled_once(_: Envelope) -> None:
            task = asyncio.current_task()
            if len(handler.got) == 1 and task is not None:
                task.cancel()
                await asyncio.sleep(PATIENCE.total_seconds())

        handler = Recorder(then=be_cancelled_once)
        world.service().consume(world.queue, [world.paint.type], handler)
        await world.open()
        command = await world.send(world.paint())
        await eventually(lambda: len(handler.got) == 2)
        assert handler.got == [command, command]
        assert await world.service().dead_letters(world.queue) == []

    async def test_a_question_is_answered(self, world: BusWorld) -> None:
        async def answer(question: Envelope) -> dict[str, Any]:
            thing = POSTMASTER.disclose(question, world.what_colour).thing
            return POSTMASTER.enclose_answer(Colour(name=f"{thing}: red", recipe=Secret(CANARY)), question)

        world.service().answer(world.what_colour.type, answer)
        world.service("asker")
        await world.open()
        question = enclose(world.what_colour(thing="table"))
        raw = await world.service("asker").ask(question, PATIENCE)
        assert CANARY not in str(raw)
        colour = POSTMASTER.disclose_answer(raw, question, Colour)
        assert colour == Colour(name="table: red", recipe=Secret(CANARY))

    async def test_many_questions_at_once_get_their_own_answers(self, world: BusWorld) -> None:
        async def answer(question: Envelope) -> dict[str, Any]:
            return {"thing": question.payload["thing"]}

        world.service().answer(world.what_colour.type, answer)
        world.service("asker")
        await world.open()
        things = [f"thing {number}" for number in range(50)]
        answers = await asyncio.gather(*(world.ask(world.what_colour(thing=thing)) for thing in things))
        assert [found["thing"] for found in answers] == things

    ERRORS: ClassVar[Sequence[StrongroomError]] = (
        NotFound("no such chair", details={"chair": 7}),
        PermissionDenied("not yours", details={"rules": [{"action": "paint"}]}),
        InvalidInput.of_field(["colour", 0], "too_loud", "too loud"),
        InvalidInput("not a colour", label="NoColour"),
        RateLimited("too many coats", retry_after=17),
        ChairIsTaken("somebody sits on it", details={"until": "noon"}),
    )

    @pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{error.code()}-{error.wire_label}")
    async def test_an_error_of_ours_reaches_the_asker_whole(self, world: BusWorld, error: StrongroomError) -> None:
        async def refuse(_: Envelope) -> dict[str, Any]:
            raise error

        world.service().answer(world.what_colour.type, refuse)
        world.service("asker")
        await world.open()
        with pytest.raises(StrongroomError) as caught:
            await world.ask()
        got = caught.value
        families = [kind for kind in type(error).__mro__ if kind.__module__ == StrongroomError.__module__]
        assert isinstance(got, families[0]), "so that `except NotFound` works"
        assert (got.code(), got.family, got.wire_label) == (error.code(), error.family, error.wire_label)
        assert (got.message, got.details) == (error.message, error.details)
        assert getattr(got, "issues", None) == getattr(error, "issues", None)
        assert getattr(got, "retry_after", None) == getattr(error, "retry_after", None)

    async def test_a_strangers_error_reaches_the_asker_bare(self, world: BusWorld) -> None:
        async def stumble(_: Envelope) -> dict[str, Any]:
            raise RuntimeError(f"cannot log in with {CANARY}")

        async def answer_nonsense(_: Envelope) -> dict[str, Any]:
            return {"an object": object()}

        world.service().answer(world.what_colour.type, stumble)
        world.service().answer(world.paint.type, answer_nonsense)
        world.service("asker")
        await world.open()
        for question in (world.what_colour(), world.paint()):
            with pytest.raises(StrongroomError) as caught:
                await world.ask(question)
            assert type(caught.value) is StrongroomError
            assert caught.value.message == "internal error"

    async def test_no_answer_within_the_deadline_is_unavailable(self, world: BusWorld) -> None:
        never = asyncio.Event()

        async def ponder(_: Envelope) -> dict[str, Any]:
            await never.wait()
            return {}

        world.service().answer(world.what_colour.type, ponder)
        world.service("asker")
        await world.open()
        with pytest.raises(Unavailable, match="in time"):
            await world.ask(within=timedelta(milliseconds=200))

    async def test_a_question_that_nobody_answers_is_unavailable_at_once(self, world: BusWorld) -> None:
        world.service("asker")
        await world.open()
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable, match="nobody"):
            await world.ask(within=timedelta(minutes=1))
        assert asyncio.get_running_loop().time() - began < 5

    async def test_a_secret_field_is_sealed_wherever_it_lies(self, world: BusWorld) -> None:
        world.service().consume(world.queue, [world.painted.type], handler := Recorder(then=fail))
        await world.open()
        await world.send(world.painted())
        await self.letters(world, 1)
        lying = [repr(await world.service().dead_letters(world.queue)).encode(), *await self.raw_dead(world)]
        assert not any(CANARY.encode() in raw for raw in lying)
        assert all(b"chair" in raw for raw in lying), "we look at the right place"
        assert POSTMASTER.disclose(handler.got[0], world.painted).password == Secret(CANARY)

    async def test_a_bus_that_is_not_open_takes_nothing(self, world: BusWorld) -> None:
        bus = world.service()
        bus.consume(world.queue, [world.paint.type], Recorder())
        for _ in ("before", "after"):
            assert not bus.is_connected()
            with pytest.raises(Unavailable):
                await bus.publish(enclose(world.paint()))
            with pytest.raises(Unavailable):
                await bus.ask(enclose(world.what_colour()), PATIENCE)
            await bus.open()
            assert bus.is_connected()
            await bus.close(GRACE)

    async def test_what_is_heard_is_declared_once_and_before_the_opening(self, world: BusWorld) -> None:
        bus = world.service()
        handler = Recorder()

        async def answer(_: Envelope) -> dict[str, Any]:
            return {}

        bus.consume(world.queue, [world.paint.type], handler)
        bus.answer(world.what_colour.type, answer)
        with pytest.raises(ValueError, match="already"):
            bus.consume(world.queue, [world.painted.type], handler)
        with pytest.raises(ValueError, match="already"):
            bus.answer(world.what_colour.type, answer)
        await world.open()
        with pytest.raises(RuntimeError, match="before"):
            bus.consume(world.name_of("painter", "more"), [world.painted.type], handler)
        with pytest.raises(RuntimeError, match="before"):
            bus.overhear([world.painted.type], handler)
        with pytest.raises(RuntimeError, match="before"):
            bus.answer(world.paint.type, answer)

    async def test_a_question_cannot_be_published(self, world: BusWorld) -> None:
        bus = world.service()
        await world.open()
        with pytest.raises(ValueError, match="asked"):
            await bus.publish(enclose(world.what_colour()))

    async def test_closing_lets_work_in_hand_finish_and_begins_none(self, world: BusWorld) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()
        done = Recorder()

        async def handle(envelope: Envelope) -> None:
            begun.set()
            await go_on.wait()
            await done(envelope)

        bus = world.service()
        bus.consume(world.queue, [world.painted.type], handle)
        await world.open()
        outcomes = [asyncio.ensure_future(world.send(world.painted(number=number))) for number in range(2)]
        await begun.wait()
        closing = asyncio.ensure_future(bus.close(GRACE))
        await asyncio.sleep(0)  # The closing has begun.
        go_on.set()
        await closing
        await outcomes[0]
        assert [envelope.payload["number"] for envelope in done.got] == [0]
        assert await self.is_safe(world, outcomes[1])

    async def test_closing_does_not_wait_longer_than_the_grace(self, world: BusWorld) -> None:
        begun, never = asyncio.Event(), asyncio.Event()
        cancelled = asyncio.Event()

        async def handle(_: Envelope) -> None:
            begun.set()
            try:
                await never.wait()
            finally:
                cancelled.set()

        bus = world.service()
        bus.consume(world.queue, [world.painted.type], handle)
        await world.open()
        outcome = asyncio.ensure_future(world.send(world.painted()))
        await begun.wait()
        await bus.close(timedelta(milliseconds=50))
        assert cancelled.is_set()
        assert await self.is_safe(world, outcome)

    async def letters(self, world: BusWorld, count: int) -> list[DeadLetter]:
        """The dead letters of the world's queue, once there are so many."""

        async def look() -> list[DeadLetter]:
            found = await world.service().dead_letters(world.queue)
            return found if len(found) == count else []

        return await eventually(look, within=15, every=0.1)

    async def raw_dead(self, world: BusWorld) -> Sequence[bytes]:
        """The dead letters as they lie in the transport, headers and all."""
        raise NotImplementedError

    async def is_safe(self, world: BusWorld, sending: "asyncio.Future[Envelope]") -> bool:
        """Say whether a message that was not handled lies in the broker still, or was left with its sender."""
        raise NotImplementedError
