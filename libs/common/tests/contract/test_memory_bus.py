"""The bus inside one process keeps the promises of both transports, and those that let an outbox rely on it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest

from strongroom_common.bus.memory import MemoryBus
from strongroom_common.bus.port import Bus, Undeliverable
from strongroom_common.contracts.envelopes import Envelope
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.testing.bus_contract import RETRY_DELAYS, BusContract, BusWorld, Recorder, enclose, fail
from strongroom_common.testing.waiting import eventually


class MemoryWorld(BusWorld):
    def __init__(self, retry_delays: Sequence[timedelta] = RETRY_DELAYS) -> None:
        super().__init__()
        self._bus = MemoryBus(SystemClock(), retry_delays=retry_delays)

    def join(self, service: str) -> Bus:
        return self._bus


class TestMemoryBus(BusContract):
    @pytest.fixture
    async def world(self) -> AsyncIterator[MemoryWorld]:
        world = MemoryWorld()
        yield world
        await world.close()

    async def raw_dead(self, world: BusWorld) -> Sequence[bytes]:
        return [letter.envelope.encode() for letter in await world.service().dead_letters(world.queue)]

    async def is_safe(self, world: BusWorld, sending: "asyncio.Future[Envelope]") -> bool:
        return isinstance((await asyncio.gather(sending, return_exceptions=True))[0], Unavailable)

    async def test_publish_returns_when_every_consumer_is_done(self, world: BusWorld) -> None:
        painter, shop = Recorder(), Recorder()
        world.service().consume(world.queue, [world.painted.type], painter)
        world.service("shop").consume(world.name_of("shop", "events"), [world.painted.type], shop)
        await world.open()
        event = await world.send(world.painted())
        assert painter.ids() == shop.ids() == [event.id]

    async def test_a_publisher_learns_that_a_consumer_gave_up_and_the_others_are_served(self, world: BusWorld) -> None:
        world.service().consume(world.queue, [world.painted.type], fail)
        world.service("shop").consume(world.name_of("shop", "events"), [world.painted.type], shop := Recorder())
        await world.open()
        event = enclose(world.painted())
        with pytest.raises(Undeliverable) as caught:
            await world.service().publish(event)
        assert (caught.value.queue, caught.value.reason) == (world.queue, "RuntimeError")
        assert shop.got == [event]

    async def test_a_cancelled_publisher_takes_its_handlers_along(self, world: BusWorld) -> None:
        begun, never, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def handle(_: Envelope) -> None:
            begun.set()
            try:
                await never.wait()
            finally:
                ended.set()

        world.service().consume(world.queue, [world.painted.type], handle)
        await world.open()
        sending = asyncio.ensure_future(world.send(world.painted()))
        await begun.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert ended.is_set()

    async def test_a_handler_cannot_change_what_another_one_gets(self, world: BusWorld) -> None:
        async def scribble(envelope: Envelope) -> None:
            envelope.payload["thing"] = "scribbled"

        world.service().consume(world.queue, [world.painted.type], scribble)
        world.service("shop").consume(world.name_of("shop", "events"), [world.painted.type], shop := Recorder())
        await world.open()
        await world.send(world.painted())
        assert [envelope.payload["thing"] for envelope in shop.got] == ["chair"]

    async def test_the_last_service_to_close_closes_the_bus_for_all(self, world: BusWorld) -> None:
        first, second = world.service(), world.service("shop")
        await world.open()
        await first.close(timedelta())
        assert second.is_connected()
        await second.close(timedelta())
        assert not second.is_connected()

    async def test_closing_does_not_wait_for_a_retry(self) -> None:
        world = MemoryWorld(retry_delays=[timedelta(hours=1)])
        world.service().consume(world.queue, [world.painted.type], handler := Recorder(then=fail))
        await world.open()
        sending = asyncio.ensure_future(world.send(world.painted()))
        await eventually(lambda: handler.got)
        await world.service().close(timedelta(hours=1))
        with pytest.raises(Unavailable):
            await sending

    async def test_a_letter_whose_replay_is_cut_short_by_closing_is_kept(self) -> None:
        world = MemoryWorld(retry_delays=[])
        bus = world.service()
        bus.consume(world.queue, [world.painted.type], handler := Recorder(then=fail))
        await world.open()
        event = await world.send(world.painted())
        begun, never = asyncio.Event(), asyncio.Event()

        async def hang(_: Envelope) -> None:
            begun.set()
            await never.wait()

        handler.then = hang
        await bus.replay(world.queue)
        await begun.wait()
        assert await bus.dead_letters(world.queue) == []
        await bus.close(timedelta())
        assert [letter.message_id for letter in await bus.dead_letters(world.queue)] == [event.id]
