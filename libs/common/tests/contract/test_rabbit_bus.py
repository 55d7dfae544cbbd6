"""RabbitMQ keeps the promises of both transports, and those about consumers that die and a broker that goes away."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import aio_pika
import pytest

import strongroom_common
from strongroom_common.bus.port import Bus
from strongroom_common.bus.rabbit import DELIVERY_LIMIT, RabbitBus
from strongroom_common.contracts.envelopes import Envelope
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.bus_contract import (
    GRACE,
    RETRY_DELAYS,
    BusContract,
    BusWorld,
    Recorder,
    enclose,
    fail,
)
from strongroom_common.testing.rabbitmq import RabbitServer
from strongroom_common.testing.waiting import eventually

BRIEFLY = timedelta(seconds=1)


class RabbitWorld(BusWorld):
    def __init__(self, url: Secret, retry_delays: Sequence[timedelta] = RETRY_DELAYS) -> None:
        super().__init__()
        self.url = url
        self.retry_delays = retry_delays
        self.joined: list[Bus] = []

    def join(self, service: str) -> Bus:
        bus = RabbitBus(
            self.url,
            service,
            SystemClock(),
            retry_delays=self.retry_delays,
            publish_timeout=BRIEFLY,
            longest_pause=timedelta(milliseconds=200),
        )
        self.joined.append(bus)
        return bus

    async def close(self) -> None:
        for bus in self.joined:
            await bus.close(timedelta())

    async def remove_queues(self) -> None:
        """Leave nothing behind that slows down the tests after us, for all of them share the broker."""
        rooms = [f"retry.{delay // timedelta(milliseconds=1)}" for delay in self.retry_delays]
        async with await aio_pika.connect(self.url.reveal()) as connection:
            channel = await connection.channel()
            for service, queue in (("painter", "things"), ("shop", "events")):
                # Each before the one that it hands on to.
                for rest in (*([room] for room in rooms), [], ["dead"]):
                    await channel.queue_delete(self.name_of(service, queue, *rest))


class Gap:
    """Counts how often the bus was away and is back."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self) -> None:
        self.count += 1


@pytest.fixture
async def world(rabbit_server: RabbitServer) -> AsyncIterator[RabbitWorld]:
    world = RabbitWorld(rabbit_server.url)
    yield world
    await world.close()


async def taken_over(world: BusWorld) -> Recorder:
    """Let another replica take what lies in the world's queue."""
    bus = world.join(world.name_of("painter"))
    bus.consume(world.queue, [world.painted.type], recorder := Recorder())
    await bus.open()
    return recorder


class TestRabbitBus(BusContract):
    @pytest.fixture
    async def world(self, world: RabbitWorld) -> AsyncIterator[RabbitWorld]:
        yield world
        await world.close()
        await world.remove_queues()

    async def raw_dead(self, world: BusWorld) -> Sequence[bytes]:
        assert isinstance(world, RabbitWorld)
        async with await aio_pika.connect(world.url.reveal()) as connection:
            channel = await connection.channel()
            dead = await channel.get_queue(f"{world.queue}.dead")
            message = await dead.get()
            return [repr((message.headers, message.info(), message.body)).encode()]

    async def is_safe(self, world: BusWorld, sending: "asyncio.Future[Envelope]") -> bool:
        envelope = await sending
        recorder = await taken_over(world)
        await eventually(lambda: recorder.got)
        return recorder.got == [envelope]

    async def test_one_of_two_replicas_handles_a_message_and_both_overhear_it(self, world: RabbitWorld) -> None:
        handled = [Recorder(), Recorder()]
        heard = [Recorder(), Recorder()]
        for handler, listener in zip(handled, heard, strict=True):
            bus = world.join(world.name_of("painter"))
            bus.consume(world.queue, [world.painted.type], handler)
            bus.overhear([world.painted.type], listener)
            await bus.open()
        sent = {(await world.send(world.painted(number=number), bus)).id for number in range(10)}
        await eventually(lambda: sum(len(handler.got) for handler in handled) == len(sent))
        await eventually(lambda: all(set(listener.ids()) == sent for listener in heard))
        assert set(handled[0].ids()) | set(handled[1].ids()) == sent

    async def test_a_message_that_came_before_its_consumer_waits_for_it(self, world: RabbitWorld) -> None:
        first = await taken_over(world)
        for bus in world.joined:
            await bus.close(GRACE)
        world.service("shop")
        await world.open()
        event = await world.send(world.painted(), world.service("shop"))
        second = await taken_over(world)
        await eventually(lambda: second.got == [event])
        assert first.got == []

    async def test_a_message_whose_consumer_is_killed_is_delivered_again(self, world: RabbitWorld) -> None:
        consumer = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            HANGING_CONSUMER,
            world.url.reveal(),
            world.name_of("painter"),
            world.queue,
            world.painted.type,
            env={"PYTHONPATH": str(Path(strongroom_common.__file__).parents[1])},
            stdout=asyncio.subprocess.PIPE,
        )
        assert consumer.stdout is not None
        assert await consumer.stdout.readline() == b"open\n"
        world.service("shop")
        await world.open()
        event = await world.send(world.painted(), world.service("shop"))
        assert await consumer.stdout.readline() == f"got {event.id}\n".encode()
        consumer.kill()
        await consumer.wait()
        recorder = await taken_over(world)
        await eventually(lambda: recorder.got == [event])

    async def test_a_lost_connection_interrupts_no_work_and_loses_no_message(
        self, world: RabbitWorld, rabbit_server: RabbitServer
    ) -> None:
        go_on = asyncio.Event()
        ended: list[int] = []

        async def handle(_: Envelope) -> None:
            await go_on.wait()
            ended.append(len(handler.got))

        handler = Recorder(then=handle)
        bus = world.service()
        bus.consume(world.queue, [world.painted.type], handler)
        bus.after_gap(gap := Gap())
        await world.open()
        event = await world.send(world.painted())
        await eventually(lambda: handler.got)
        await asyncio.to_thread(rabbit_server.control, "close_all_connections", "a test")
        await eventually(lambda: gap.count)
        go_on.set()
        await eventually(lambda: len(ended) == 2)
        assert handler.got == [event, event], "delivered again, for the first delivery could not be acknowledged"

    async def test_what_is_no_message_at_all_goes_to_the_dead_letters(self, world: RabbitWorld) -> None:
        bus = world.service()
        bus.consume(world.queue, [world.painted.type], handler := Recorder())
        await world.open()
        async with await aio_pika.connect(world.url.reveal()) as connection:
            channel = await connection.channel()
            events = await channel.get_exchange("strongroom.events")
            await events.publish(aio_pika.Message(b"\xff not json"), world.painted.type)
        letter = (await self.letters(world, 1))[0]
        assert (letter.type, letter.reason, letter.attempts) == ("unreadable", "unreadable", 1)
        assert letter.envelope.payload == {"size": 10, "start": "/yBub3QganNvbg=="}
        assert await bus.replay(world.queue, [letter.message_id]) == 1
        again = (await self.letters(world, 1))[0]
        assert again.message_id == letter.message_id
        assert handler.got == []

    async def test_a_message_that_no_consumer_survives_is_set_aside(self, world: RabbitWorld) -> None:
        async def die(_: Envelope) -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)

        handler = Recorder(then=die)
        world.service().consume(world.queue, [world.painted.type], handler)
        await world.open()
        event = await world.send(world.painted())
        letter = (await self.letters(world, 1))[0]
        assert (letter.message_id, letter.reason) == (event.id, "delivery_limit")
        assert len(handler.got) == letter.attempts == DELIVERY_LIMIT + 1
        assert letter.died_at.tzinfo is not None

    async def test_a_queue_that_somebody_deletes_is_made_again(self, world: RabbitWorld) -> None:
        bus = world.service()
        bus.consume(world.queue, [world.painted.type], handler := Recorder())
        bus.after_gap(gap := Gap())
        await world.open()
        async with await aio_pika.connect(world.url.reveal()) as connection:
            await (await connection.channel()).queue_delete(world.queue)
        await eventually(lambda: gap.count)
        event = await world.send(world.painted())
        await eventually(lambda: handler.got == [event])

    async def test_a_user_limited_to_its_own_names_can_do_everything(
        self, world: RabbitWorld, rabbit_server: RabbitServer
    ) -> None:
        world.service("asker")
        await world.open()  # by somebody who may: the exchanges that all share exist now
        name = world.name_of("painter")
        url = await asyncio.to_thread(
            rabbit_server.add_user,
            name,
            rf"^{name}\.",
            rf"^({name}|strongroom)\.|^amq\.default$",
            rf"^({name}|strongroom)\.",
        )
        bus = RabbitBus(url, name, SystemClock(), retry_delays=RETRY_DELAYS)
        handler = Recorder(then=fail)

        async def answer(_: Envelope) -> dict[str, Any]:
            return {"name": "red"}

        bus.consume(world.queue, [world.painted.type, world.paint.type], handler)
        bus.overhear([world.painted.type], heard := Recorder())
        bus.answer(world.what_colour.type, answer)
        await bus.open()
        try:
            event, command = await world.send(world.painted(), bus), await world.send(world.paint(), bus)

            async def dead() -> bool:
                return {letter.message_id for letter in await bus.dead_letters(world.queue)} == {event.id, command.id}

            await eventually(dead, every=0.1)
            handler.then = None
            handler.got.clear()
            assert await bus.replay(world.queue) == 2
            await eventually(lambda: set(handler.ids()) == {event.id, command.id})
            assert heard.got == [event]
            assert await world.ask() == {"name": "red"}
            assert await bus.ask(enclose(world.what_colour()), GRACE) == {"name": "red"}
        finally:
            await bus.close(GRACE)


HANGING_CONSUMER = """
import asyncio, sys
from strongroom_common.bus.rabbit import RabbitBus
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.secret import Secret

url, service, queue, message_type = sys.argv[1:]

async def handle(envelope):
    print("got", envelope.id, flush=True)
    await asyncio.Event().wait()

async def main():
    bus = RabbitBus(Secret(url), service, SystemClock(), retry_delays=[])
    bus.consume(queue, [message_type], handle)
    await bus.open()
    print("open", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


class TestOutages:
    """The broker goes away and comes back, and nobody has to do anything.

    The queues stay: RabbitMQ 3.10 does not bear it well when some are deleted while it is still starting others.
    """

    async def test_everything_goes_on_after_a_restart(self, world: RabbitWorld, rabbit_server: RabbitServer) -> None:
        async def answer(_: Envelope) -> dict[str, Any]:
            return {"name": "red"}

        bus = world.service()
        bus.consume(world.queue, [world.painted.type, world.paint.type], handled := Recorder())
        bus.overhear([world.painted.type], heard := Recorder())
        bus.after_gap(gap := Gap())
        bus.answer(world.what_colour.type, answer)
        world.service("asker")
        await world.open()
        assert gap.count == 0
        await asyncio.to_thread(rabbit_server.stop)
        try:
            await eventually(lambda: not bus.is_connected())
            with pytest.raises(Unavailable):
                await bus.publish(enclose(world.painted()))
            with pytest.raises(Unavailable):
                await world.ask()
            with pytest.raises(Unavailable):
                await bus.dead_letters(world.queue)
        finally:
            await asyncio.to_thread(rabbit_server.start)
        await eventually(lambda: bus.is_connected() and world.service("asker").is_connected(), within=20)
        event, command = await world.send(world.painted()), await world.send(world.paint())
        await eventually(lambda: set(handled.ids()) == {event.id, command.id})
        await eventually(lambda: heard.got == [event])
        assert await world.ask() == {"name": "red"}
        assert gap.count == 1

    async def test_what_lies_in_a_broker_is_there_after_it_was_killed(self, rabbit_server: RabbitServer) -> None:
        go_on = asyncio.Event()
        done: set[UUID] = set()

        async def handle(envelope: Envelope) -> None:
            if envelope.payload["number"] % 2 and not go_on.is_set():
                raise RuntimeError("not yet")
            await go_on.wait()
            done.add(envelope.id)

        world = RabbitWorld(rabbit_server.url, retry_delays=[timedelta(seconds=3)])
        bus = world.service()
        bus.consume(world.queue, [world.painted.type], handler := Recorder(then=handle))
        await world.open()
        try:
            # RabbitMQ writes down only after a while where a new queue lies, unless it is shut down in order.
            await asyncio.to_thread(rabbit_server.restart)
            await eventually(bus.is_connected, within=20)
            # Half of them are in hand or in their queue, the other half wait for another try.
            sent = {(await world.send(world.painted(thing=f"{n}", number=n))).id for n in range(40)}
            await eventually(lambda: len(handler.got) >= 20)
            await asyncio.to_thread(rabbit_server.kill)
            await asyncio.to_thread(rabbit_server.start)
            go_on.set()
            await eventually(lambda: done == sent, within=20)
            await eventually(bus.is_connected)
            assert await bus.dead_letters(world.queue) == []
        finally:
            await world.close()

    async def test_a_broker_that_does_not_answer_stops_nobody_for_long(
        self, world: RabbitWorld, rabbit_server: RabbitServer
    ) -> None:
        bus = world.service()
        bus.consume(world.queue, [world.painted.type, world.paint.type], handler := Recorder())
        await world.open()
        loop = asyncio.get_running_loop()
        with rabbit_server.paused():
            for attempt in (
                bus.publish(enclose(world.painted())),
                bus.publish(enclose(world.paint())),
                bus.ask(enclose(world.what_colour()), BRIEFLY),
                bus.dead_letters(world.queue),
                bus.replay(world.queue),
            ):
                began = loop.time()
                with pytest.raises(Unavailable):
                    await attempt
                assert loop.time() - began < 4 * BRIEFLY.total_seconds()
        await eventually(bus.is_connected)
        command = await world.send(world.paint())
        await eventually(lambda: command in handler.got, within=20)

    async def test_a_question_under_way_ends_with_its_connection(
        self, world: RabbitWorld, rabbit_server: RabbitServer
    ) -> None:
        asked, never = asyncio.Event(), asyncio.Event()

        async def ponder(_: Envelope) -> dict[str, Any]:
            asked.set()
            await never.wait()
            return {}

        world.service().answer(world.what_colour.type, ponder)
        world.service("asker")
        await world.open()
        asking = asyncio.ensure_future(world.ask(within=timedelta(hours=1)))
        await asked.wait()
        await asyncio.to_thread(rabbit_server.control, "close_all_connections", "a test")
        with pytest.raises(Unavailable):
            await asking
        await eventually(lambda: world.service("asker").is_connected())

    async def test_a_bus_that_cannot_be_opened_says_so_in_time_and_can_be_opened_later(
        self, world: RabbitWorld, rabbit_server: RabbitServer
    ) -> None:
        bus = RabbitBus(world.url, world.name_of("painter"), SystemClock(), connect_timeout=BRIEFLY)
        await asyncio.to_thread(rabbit_server.stop)
        try:
            with pytest.raises(Unavailable):
                await bus.open()
            assert not bus.is_connected()
        finally:
            await asyncio.to_thread(rabbit_server.start)
        await bus.open()
        assert bus.is_connected()
        await bus.close(GRACE)

    async def test_a_wrong_password_is_not_repeated_in_the_error(self, rabbit_server: RabbitServer) -> None:
        url = rabbit_server.url_for(rabbit_server.user, "wrong-password")
        with pytest.raises(Unavailable) as caught:
            await RabbitBus(url, "painter", SystemClock(), connect_timeout=BRIEFLY).open()
        assert "wrong-password" not in repr((caught.value, caught.value.__cause__, caught.value.__context__))

    async def test_closing_works_while_the_broker_is_away(
        self, world: RabbitWorld, rabbit_server: RabbitServer
    ) -> None:
        bus = world.service()
        bus.consume(world.queue, [world.painted.type], Recorder())
        await world.open()
        await asyncio.to_thread(rabbit_server.stop)
        try:
            await bus.close(GRACE)
            assert not bus.is_connected()
        finally:
            await asyncio.to_thread(rabbit_server.start)
