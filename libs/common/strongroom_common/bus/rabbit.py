"""The bus over RabbitMQ.

What lies in the broker, for a service `secrets` that consumes the queue `secrets.events`:

| name | what |
|---|---|
| `strongroom.events`, `strongroom.commands`, `strongroom.queries` | the exchanges everybody speaks to |
| `secrets.retry` | the service's own exchange, by which its messages go round |
| `secrets.events` | quorum queue; one replica handles each message |
| `secrets.events.retry.<ms>` | waits so many milliseconds, then gives back to `secrets.events` |
| `secrets.events.dead` | the dead letters |
| `secrets.answers.<type>` | queries of one type; gone with the last replica |
| `secrets.private.<random>` | what this process overhears; gone with its connection |

So the service's user needs: configure `^secrets\\.`, write and read `^(secrets|strongroom)\\.`, and, to answer queries,
write on the default exchange (`amq\\.default`), which is where RabbitMQ takes direct replies.
"""

import asyncio
import base64
import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

import aio_pika
from aio_pika import DeliveryMode, ExchangeType, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractQueue
from aio_pika.exceptions import CONNECTION_EXCEPTIONS, ChannelNotFoundEntity, PublishError

from strongroom_common.bus.errors import decode_answer, encode_answer, reason_of
from strongroom_common.bus.port import RETRY_DELAYS, Answer, DeadLetter, Forget, Handle
from strongroom_common.bus.workers import AT_ONCE, InHand, Turns, matches, was_cancelled
from strongroom_common.contracts.envelopes import PLATFORM, Envelope
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import NotFound, Unavailable
from strongroom_common.kernel.ids import new_id, random_text
from strongroom_common.kernel.secret import Secret
from strongroom_common.observability.logs import get_logger

log = get_logger(__name__)

_Work = Callable[[AbstractIncomingMessage], Coroutine[Any, Any, None]]

EVENTS: Final = "strongroom.events"
COMMANDS: Final = "strongroom.commands"
QUERIES: Final = "strongroom.queries"
EXCHANGES: Final = {EVENTS: ExchangeType.TOPIC, COMMANDS: ExchangeType.DIRECT, QUERIES: ExchangeType.DIRECT}
REPLIES: Final = "amq.rabbitmq.reply-to"

HEARTBEAT: Final = 10  # seconds; a broker that says nothing for about three of them is gone
LOOKED_AT: Final = 1000  # dead letters
DELIVERY_LIMIT: Final = 20  # deliveries without an answer, that is: consumers that died of it
NO_DELIVERY_LIMIT: Final = 2**31 - 1  # looking at a dead letter is a delivery, and must never drop it
GIVE_BACK_PAUSE: Final = 5.0  # seconds, when a message can neither be handled nor handed on
ANSWERS_AT_ONCE: Final = 64

ATTEMPTS: Final = "x-strongroom-attempts"
REASON: Final = "x-strongroom-reason"
DIED_AT: Final = "x-strongroom-died-at"


@dataclass(frozen=True)
class _Consumer:
    queue: str
    types: Sequence[str]
    handle: Handle
    turns: Turns = field(default_factory=Turns)


class _Link:
    """One connection and its channels. It is whole or it is gone: when a part breaks, all of it is made anew."""

    def __init__(self, connection: AbstractConnection) -> None:
        self.connection = connection
        self.lost = asyncio.Event()
        self.asked: dict[str, asyncio.Future[bytes]] = {}
        self.heard: list[tuple[AbstractQueue, _Work]] = []
        self._tags: list[tuple[AbstractQueue, str]] = []
        self._speaking: AbstractChannel | None = None
        connection.close_callbacks.add(self._lose)

    @property
    def speaking(self) -> AbstractChannel:
        """The channel for all that this process publishes and asks."""
        if self._speaking is None:
            raise Unavailable("the bus is not connected")
        return self._speaking

    async def speak(self) -> None:
        """Open that channel. Direct replies come back on the channel that asked, so it listens for them too."""
        self._speaking = await self.channel(on_return_raises=True)
        replies = await self._speaking.get_queue(REPLIES, ensure=False)
        await replies.consume(self._on_reply, no_ack=True)

    async def listen(self) -> None:
        """Begin to take messages."""
        for queue, work in self.heard:
            self._tags.append((queue, await queue.consume(work)))

    async def stop_listening(self) -> None:
        """Take no more; those in hand can still be acknowledged."""
        for queue, tag in self._tags:
            await queue.cancel(tag)

    async def channel(
        self, prefetch: int = 0, *, confirms: bool = True, on_return_raises: bool = False
    ) -> AbstractChannel:
        """Open a channel that the link cannot do without."""
        channel = await self._open(confirms=confirms, on_return_raises=on_return_raises)
        channel.close_callbacks.add(self._lose)
        if prefetch:
            await channel.set_qos(prefetch_count=prefetch)
        (await channel.get_underlay_channel()).on_consumer_cancel_callbacks.add(self._lose)
        return channel

    async def _open(self, *, confirms: bool = True, on_return_raises: bool = False) -> AbstractChannel:
        channel = self.connection.channel(publisher_confirms=confirms, on_return_raises=on_return_raises)
        await channel.initialize()
        return channel

    @contextlib.asynccontextmanager
    async def aside(self, limit: float | None = None) -> AsyncIterator[AbstractChannel]:
        """A channel that may break: a look at what does not exist closes it. What it took and kept goes back."""
        async with asyncio.timeout(limit):
            channel = await self._open()
        try:
            yield channel
        finally:
            with contextlib.suppress(Unavailable):
                async with _broker("the broker does not answer", limit):
                    if not channel.is_closed:
                        # The end of the channel would do it, too, but later and in any order. (0 is all deliveries.)
                        await (await channel.get_underlay_channel()).basic_nack(0, multiple=True, requeue=True)
                    await channel.close()

    async def close(self, limit: float) -> None:
        """Disconnect; the broker gives what was not acknowledged to somebody else."""
        self._lose()
        with contextlib.suppress(Unavailable):
            async with _broker("the broker does not answer", limit):
                await self.connection.close()

    async def _on_reply(self, message: AbstractIncomingMessage) -> None:
        future = self.asked.pop(message.correlation_id or "", None)
        if future is not None and not future.done():
            future.set_result(message.body)

    def _lose(self, *_: object) -> None:
        self.lost.set()
        for future in self.asked.values():
            future.cancel()
        self.asked.clear()


class RabbitBus:
    """One process of one service on the broker. It reconnects by itself for as long as it is open."""

    def __init__(
        self,
        url: Secret,
        service: str,
        clock: Clock,
        *,
        retry_delays: Sequence[timedelta] = RETRY_DELAYS,
        connect_timeout: timedelta = timedelta(seconds=10),
        publish_timeout: timedelta = timedelta(seconds=5),
        longest_pause: timedelta = timedelta(seconds=5),
    ) -> None:
        self._url = url
        self._service = service
        self._clock = clock
        self._retry_delays = retry_delays
        self._connect_timeout = connect_timeout.total_seconds()
        self._publish_timeout = publish_timeout.total_seconds()
        self._longest_pause = longest_pause.total_seconds()
        self._own_exchange = f"{service}.retry"
        self._consumers: dict[str, _Consumer] = {}
        self._listeners: list[tuple[Sequence[str], Handle]] = []
        self._forgets: list[Forget] = []
        self._answers: dict[str, Answer] = {}
        self._in_hand = InHand()
        self._link: _Link | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closing = False

    def consume(self, queue: str, types: Sequence[str], handle: Handle) -> None:
        self._verify_not_open()
        if not queue.startswith(f"{self._service}."):
            raise ValueError(f"{queue} is not a queue of {self._service}")
        if queue in self._consumers:
            raise ValueError(f"{queue} already has a consumer")
        self._consumers[queue] = _Consumer(queue, types, handle)

    def overhear(self, types: Sequence[str], handle: Handle) -> None:
        self._verify_not_open()
        self._listeners.append((types, handle))

    def after_gap(self, forget: Forget) -> None:
        self._verify_not_open()
        self._forgets.append(forget)

    def answer(self, query_type: str, answer: Answer) -> None:
        self._verify_not_open()
        if query_type in self._answers:
            raise ValueError(f"{query_type} already has an answerer")
        self._answers[query_type] = answer

    def _verify_not_open(self) -> None:
        if self._keeper is not None:
            raise RuntimeError("declare what you listen to before the bus is opened")

    async def open(self) -> None:
        self._verify_not_open()
        self._closing = False
        async with _broker("the broker cannot be reached", self._connect_timeout):
            while not self.is_connected():
                try:
                    await self._connect()
                except Unavailable as error:
                    log.warning("bus_unreachable", reason=error.message)
                    await asyncio.sleep(0.5)
        self._keeper = asyncio.create_task(self._keep())  # noqa: TID251 - a TaskGroup cannot span open() and close()

    async def close(self, grace: timedelta) -> None:
        self._closing = True
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None
        link = self._link
        if link is not None:
            with contextlib.suppress(Unavailable):
                async with _broker("the broker does not answer", self._publish_timeout):
                    await link.stop_listening()
        await self._in_hand.finish(grace)
        self._link = None
        if link is not None:
            await link.close(self._publish_timeout)

    def is_connected(self) -> bool:
        return self._link is not None and not self._link.lost.is_set()

    async def _keep(self) -> None:
        while True:
            if self._link is not None:
                await self._link.lost.wait()
                log.warning("bus_lost", service=self._service)
                await self._link.close(self._publish_timeout)
            await self._connect_again()
            log.info("bus_back", service=self._service)
            for forget in self._forgets:
                try:
                    await forget()
                except Exception as error:  # the other listeners must still hear of it
                    log.error("forgetting_failed", exc_info=error)

    async def _connect_again(self) -> None:
        pause = 0.1
        while True:
            try:
                await self._connect()
                return
            except Unavailable as error:
                log.warning("bus_unreachable", service=self._service, reason=error.message)
            except Exception as error:  # whatever it is, without this loop the bus would stay silent for ever
                log.error("bus_unreachable", service=self._service, exc_info=error)
            # Not to the millisecond, or all replicas of all services would come back at the same instant.
            await asyncio.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
            pause = min(pause * 2, self._longest_pause)

    async def _connect(self) -> None:
        async with _broker("the broker cannot be reached", self._connect_timeout):
            link = _Link(
                await aio_pika.connect(
                    self._url.reveal(),
                    heartbeat=HEARTBEAT,
                    client_properties={"connection_name": self._service},
                )
            )
            try:
                await self._declare(link)
                # First this: what a handler fails on, or wants to say, goes out by the same link.
                self._link = link
                await link.listen()
            except BaseException:
                await link.close(self._publish_timeout)
                raise

    async def _declare(self, link: _Link) -> None:
        for name, kind in EXCHANGES.items():
            await _declare_shared(link, name, kind)
        await link.speak()
        await link.speaking.declare_exchange(self._own_exchange, ExchangeType.DIRECT, durable=True)
        for consumer in self._consumers.values():
            channel = await link.channel(AT_ONCE)
            queue = await self._declare_durable(channel, consumer)
            link.heard.append((queue, partial(self._start, partial(self._take, consumer))))
        if self._listeners:
            channel = await link.channel(AT_ONCE)
            name = f"{self._service}.private.{random_text(16)}"
            queue = await channel.declare_queue(name, exclusive=True, auto_delete=True)
            for types, _ in self._listeners:
                for message_type in types:
                    await queue.bind(EVENTS, message_type)
            link.heard.append((queue, partial(self._start, self._hear)))
        if self._answers:
            channel = await link.channel(ANSWERS_AT_ONCE, confirms=False)
            for query_type in self._answers:
                queue = await channel.declare_queue(
                    f"{self._service}.answers.{query_type}", durable=True, auto_delete=True
                )
                await queue.bind(QUERIES, query_type)
                link.heard.append((queue, partial(self._start, partial(self._reply, channel))))

    async def _declare_durable(self, channel: AbstractChannel, consumer: _Consumer) -> AbstractQueue:
        name = consumer.queue
        # Nothing is dropped on the way: a message leaves its queue only when the next one has it, and a full queue
        # refuses the publisher.
        quorum: dict[str, Any] = {"x-queue-type": "quorum", "x-overflow": "reject-publish"}
        handing_on = quorum | {"x-dead-letter-exchange": self._own_exchange, "x-dead-letter-strategy": "at-least-once"}
        dead = await channel.declare_queue(
            f"{name}.dead", durable=True, arguments=quorum | {"x-delivery-limit": NO_DELIVERY_LIMIT}
        )
        await dead.bind(self._own_exchange, dead.name)
        for delay in self._retry_delays:
            waiting = await channel.declare_queue(
                _waiting_room(name, delay),
                durable=True,
                arguments=handing_on | {"x-message-ttl": _milliseconds(delay), "x-dead-letter-routing-key": name},
            )
            await waiting.bind(self._own_exchange, waiting.name)
        queue = await channel.declare_queue(
            name,
            durable=True,
            arguments=handing_on | {"x-delivery-limit": DELIVERY_LIMIT, "x-dead-letter-routing-key": dead.name},
        )
        await queue.bind(self._own_exchange, name)
        for message_type in consumer.types:
            await queue.bind(EVENTS, message_type)
            await queue.bind(COMMANDS, message_type)
        return queue

    async def publish(self, envelope: Envelope) -> None:
        message = Message(
            envelope.encode(),
            content_type="application/json",
            delivery_mode=DeliveryMode.PERSISTENT,
            message_id=str(envelope.id),
            type=envelope.type,
        )
        match envelope.kind:
            case "event":
                await self._send(EVENTS, envelope.type, message, mandatory=False)
            case "command":
                await self._send(COMMANDS, envelope.type, message)
            case "query":
                raise ValueError("a query is asked, not published")

    async def ask(self, envelope: Envelope, timeout: timedelta) -> dict[str, Any]:  # noqa: ASYNC109 - see the port
        link = self._whole()
        key = str(new_id())
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        message = Message(
            envelope.encode(),
            content_type="application/json",
            correlation_id=key,
            expiration=timeout,
            message_id=key,
            reply_to=REPLIES,
            type=envelope.type,
        )
        link.asked[key] = answered
        try:
            async with _broker(f"no answer to {envelope.type} in time", timeout.total_seconds()):
                await self._send(QUERIES, envelope.type, message, link=link)
                raw = await answered
        finally:
            link.asked.pop(key, None)
            answered.cancel()
        return decode_answer(raw)

    async def _send(
        self, exchange: str, routing_key: str, message: Message, *, mandatory: bool = True, link: _Link | None = None
    ) -> None:
        """Return when the broker has confirmed; raises `Unavailable` when it does not, or has no queue for it."""
        channel = (link or self._whole()).speaking
        async with _broker(f"the broker did not confirm {routing_key}", self._publish_timeout):
            target = await channel.get_exchange(exchange, ensure=False)
            try:
                await target.publish(message, routing_key, mandatory=mandatory)
            except PublishError:
                raise Unavailable(f"nobody takes {routing_key}") from None

    def _whole(self) -> _Link:
        if self._link is None or self._link.lost.is_set():
            raise Unavailable("the bus is not connected")
        return self._link

    async def _start(self, work: _Work, message: AbstractIncomingMessage) -> None:
        # aio-pika runs its callbacks in tasks that are cancelled when the connection breaks. Work in hand need not stop
        # for that: what it commits is remembered by the inbox, and the second delivery does nothing.
        _ = self._in_hand.spawn(work(message))

    async def _take(self, consumer: _Consumer, message: AbstractIncomingMessage) -> None:
        try:
            envelope = Envelope.decode(message.body)
        except ValueError:
            await self._bury(consumer.queue, message, "unreadable", attempts=1)
            return
        async with consumer.turns.take(envelope.aggregate):
            if self._closing or _is_stale(message):
                return  # Not acknowledged, so the broker gives it to somebody else.
            try:
                await consumer.handle(envelope)
            except asyncio.CancelledError as error:
                if was_cancelled():
                    await self._give_back(message)
                    raise
                await self._retry(consumer.queue, message, error)
            except Exception as error:
                log.warning("message_failed", queue=consumer.queue, message_id=str(envelope.id), exc_info=error)
                await self._retry(consumer.queue, message, error)
            else:
                await self._acknowledge(message)

    async def _retry(self, queue: str, message: AbstractIncomingMessage, error: BaseException) -> None:
        attempts = _number(message.headers.get(ATTEMPTS)) + 1
        if attempts > len(self._retry_delays):
            await self._bury(queue, message, reason_of(error), attempts)
        else:
            room = _waiting_room(queue, self._retry_delays[attempts - 1])
            await self._hand_on(message, room, {ATTEMPTS: attempts})

    async def _bury(self, queue: str, message: AbstractIncomingMessage, reason: str, attempts: int) -> None:
        died_at = self._clock.now().isoformat()
        log.error("message_died", queue=queue, message_id=message.message_id, reason=reason)
        await self._hand_on(message, f"{queue}.dead", {ATTEMPTS: attempts, REASON: reason, DIED_AT: died_at})

    async def _hand_on(self, message: AbstractIncomingMessage, routing_key: str, headers: dict[str, Any]) -> None:
        """Copy a message to another queue of ours, then let go of it. In this order it can be doubled, but not lost."""
        if _is_stale(message):
            return
        try:
            await self._send(self._own_exchange, routing_key, _copy(message, headers))
        except Unavailable:
            # Not at once: each return counts as a delivery, and after too many the broker buries the message.
            await asyncio.sleep(GIVE_BACK_PAUSE)
            await self._give_back(message)
        else:
            await self._acknowledge(message)

    async def _acknowledge(self, message: AbstractIncomingMessage) -> None:
        # If this fails the connection is gone, and the message comes again.
        with contextlib.suppress(Unavailable):
            async with _broker("the broker does not answer", self._publish_timeout):
                await message.ack()

    async def _give_back(self, message: AbstractIncomingMessage) -> None:
        with contextlib.suppress(Unavailable):
            async with _broker("the broker does not answer", self._publish_timeout):
                await message.nack(requeue=True)

    async def _hear(self, message: AbstractIncomingMessage) -> None:
        await self._acknowledge(message)
        try:
            envelope = Envelope.decode(message.body)
        except ValueError:
            log.warning("unreadable_event", message_id=message.message_id)
            return
        for types, handle in self._listeners:
            if matches(types, envelope.type):
                try:
                    await handle(envelope)
                except Exception as error:  # best effort, and not at the cost of the other listeners
                    log.warning("listener_failed", message_type=envelope.type, exc_info=error)

    async def _reply(self, channel: AbstractChannel, message: AbstractIncomingMessage) -> None:
        try:
            question = Envelope.decode(message.body)
            answer = self._answers[question.type]
        except (ValueError, KeyError):
            log.warning("unreadable_query", message_id=message.message_id)
            await self._acknowledge(message)
            return
        # Past this nobody waits any more. (On arrival `expiration` is what the asker gave, in seconds.)
        limit = message.expiration if isinstance(message.expiration, int | float) else None
        with contextlib.suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(limit):
                raw = await encode_answer(answer, question)
            async with _broker("the broker does not answer", self._publish_timeout):
                # A direct reply goes to no queue that exists, so it must not be mandatory.
                await channel.default_exchange.publish(
                    Message(raw, content_type="application/json", correlation_id=message.correlation_id),
                    message.reply_to or "",
                    mandatory=False,
                )
        await self._acknowledge(message)

    async def dead_letters(self, queue: str, limit: int = 100) -> list[DeadLetter]:
        letters: list[DeadLetter] = []
        async with self._dead(queue) as place:
            # What is given back goes to the end of the queue. So all are taken, within reason, or the next look would
            # begin with others.
            for _ in range(max(limit, LOOKED_AT)):
                message = await place.get(fail=False, timeout=self._publish_timeout)
                if message is None:
                    break
                letters.append(self._letter(queue, message))
        return sorted(letters, key=lambda letter: letter.died_at)[:limit]

    async def replay(self, queue: str, message_ids: Sequence[UUID] | None = None) -> int:
        replayed: set[UUID] = set()
        async with self._dead(queue) as place:
            while message_ids is None or not replayed.issuperset(message_ids):
                message = await place.get(fail=False, timeout=self._publish_timeout)
                if message is None:
                    break
                message_id = self._letter(queue, message).message_id
                # One that has died again meanwhile is not for this time.
                if message_id not in replayed and (message_ids is None or message_id in message_ids):
                    # A copy first, and then away with the letter: it may be doubled, but not lost.
                    await self._send(self._own_exchange, queue, _copy(message, {}))
                    await message.ack()
                    replayed.add(message_id)
        return len(replayed)

    @contextlib.asynccontextmanager
    async def _dead(self, queue: str) -> AsyncIterator[AbstractQueue]:
        limit = self._publish_timeout
        # There may be many letters, so the limit is for each step and not for all of them.
        async with _broker("the broker does not answer", None), self._whole().aside(limit) as channel:
            try:
                place = await channel.declare_queue(f"{queue}.dead", passive=True, timeout=limit)
            except ChannelNotFoundEntity:
                raise NotFound(f"there is no queue {queue}") from None
            yield place

    def _letter(self, queue: str, message: AbstractIncomingMessage) -> DeadLetter:
        headers: dict[str, Any] = dict(message.headers)
        if REASON in headers:
            reason, attempts = str(headers[REASON]), _number(headers.get(ATTEMPTS))
            died_at = datetime.fromisoformat(headers[DIED_AT])
        else:
            # Without a reason of ours the broker has buried it: it was delivered too often and never answered.
            death = (headers.get("x-death") or [{}])[0]
            reason, attempts = str(death.get("reason", "unknown")), _number(headers.get(ATTEMPTS)) + DELIVERY_LIMIT + 1
            died_at = death.get("time") or self._clock.now()
        try:
            envelope = Envelope.decode(message.body)
        except ValueError:
            envelope = _wrap(message, died_at)
        return DeadLetter(queue, envelope.id, envelope.type, reason, attempts, died_at, envelope)


@contextlib.asynccontextmanager
async def _broker(what: str, limit: float | None) -> AsyncIterator[None]:
    """Turn everything that a broker and the way to it can do to us into `Unavailable(what)`, within the limit."""
    try:
        async with asyncio.timeout(limit):
            yield
    except asyncio.CancelledError:
        # aiormq rejects what waits on a broken connection with this, too.
        if was_cancelled():
            raise
        raise Unavailable(what) from None
    except (TimeoutError, *CONNECTION_EXCEPTIONS) as error:
        raise Unavailable(f"{what}: {type(error).__name__}") from error


async def _declare_shared(link: _Link, name: str, kind: ExchangeType) -> None:
    # Looking needs no rights, so a service's user need not be allowed to make what all share.
    try:
        async with link.aside() as channel:
            await channel.declare_exchange(name, kind, durable=True, passive=True)
    except ChannelNotFoundEntity:
        async with link.aside() as channel:
            await channel.declare_exchange(name, kind, durable=True)


def _copy(message: AbstractIncomingMessage, headers: dict[str, Any]) -> Message:
    return Message(
        message.body,
        headers=headers,
        content_type=message.content_type,
        delivery_mode=DeliveryMode.PERSISTENT,
        message_id=message.message_id,
        type=message.type,
    )


def _wrap(message: AbstractIncomingMessage, died_at: datetime) -> Envelope:
    """Put what is not an envelope into one, so that it can be listed, and replayed by an id that stays the same."""
    return Envelope(
        id=UUID(bytes=hashlib.sha256(message.body).digest()[:16]),
        kind="event",
        type="unreadable",
        aggregate="unreadable",
        occurred_at=died_at,
        actor=PLATFORM,
        payload={"size": len(message.body), "start": base64.b64encode(message.body[:256]).decode()},
    )


def _is_stale(message: AbstractIncomingMessage) -> bool:
    """Say whether the channel it came by has closed: then the broker gives it to somebody else, whatever we do."""
    return bool(message.channel.is_closed)


def _waiting_room(queue: str, delay: timedelta) -> str:
    # Named by the delay itself: other delays in a later release make other queues, and these empty themselves.
    return f"{queue}.retry.{_milliseconds(delay)}"


def _milliseconds(delay: timedelta) -> int:
    return int(delay.total_seconds() * 1000)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
