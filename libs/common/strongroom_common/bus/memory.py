"""The bus inside one process. What makes it durable is the outbox: `publish` returns only when the work is done."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from strongroom_common.bus.errors import decode_answer, encode_answer, reason_of
from strongroom_common.bus.port import RETRY_DELAYS, Answer, DeadLetter, Forget, Handle, Undeliverable
from strongroom_common.bus.workers import AT_ONCE, InHand, Turns, matches, was_cancelled
from strongroom_common.contracts.envelopes import Envelope
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import NotFound, Unavailable
from strongroom_common.observability.logs import get_logger

log = get_logger(__name__)


@dataclass
class _Queue:
    """One durable queue: who takes from it, what waits its turn, and what died."""

    name: str
    types: Sequence[str]
    handle: Handle
    turns: Turns = field(default_factory=Turns)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    letters: list[DeadLetter] = field(default_factory=list)


class MemoryBus:
    """One object for all services of a process: each declares on it, opens it and closes it; the last one closes it.

    Nothing may be declared once it is open: an event published before its consumer was known would be lost to it.
    """

    def __init__(self, clock: Clock, retry_delays: Sequence[timedelta] = RETRY_DELAYS) -> None:
        self._clock = clock
        self._retry_delays = retry_delays
        self._queues: dict[str, _Queue] = {}
        self._listeners: list[tuple[Sequence[str], Handle]] = []
        self._answers: dict[str, Answer] = {}
        self._in_hand = InHand()
        self._opened = 0
        self._closing = asyncio.Event()

    def consume(self, queue: str, types: Sequence[str], handle: Handle) -> None:
        self._verify_not_open()
        if queue in self._queues:
            raise ValueError(f"{queue} already has a consumer")
        self._queues[queue] = _Queue(queue, types, handle)

    def overhear(self, types: Sequence[str], handle: Handle) -> None:
        self._verify_not_open()
        self._listeners.append((types, handle))

    def after_gap(self, forget: Forget) -> None:
        """Nothing is ever missed here."""

    def answer(self, query_type: str, answer: Answer) -> None:
        self._verify_not_open()
        if query_type in self._answers:
            raise ValueError(f"{query_type} already has an answerer")
        self._answers[query_type] = answer

    def _verify_not_open(self) -> None:
        if self._opened:
            raise RuntimeError("declare what you listen to before anyone opens the bus")

    async def open(self) -> None:
        self._opened += 1
        self._closing.clear()

    async def close(self, grace: timedelta) -> None:
        self._opened = max(0, self._opened - 1)
        if not self._opened:
            self._closing.set()
            await self._in_hand.finish(grace)

    def is_connected(self) -> bool:
        return self._opened > 0

    async def publish(self, envelope: Envelope) -> None:
        if envelope.kind == "query":
            raise ValueError("a query is asked, not published")
        self._verify_open()
        queues = [queue for queue in self._queues.values() if matches(queue.types, envelope.type)]
        if envelope.kind == "command" and not queues:
            raise Unavailable(f"nobody takes {envelope.type}")
        listeners = [handle for types, handle in self._listeners if matches(types, envelope.type)]
        raw = envelope.encode()
        work = [self._in_hand.spawn(self._deliver(queue, Envelope.decode(raw))) for queue in queues]
        if envelope.kind == "event":
            work += [self._in_hand.spawn(_tell(handle, Envelope.decode(raw))) for handle in listeners]
        for outcome in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(outcome, asyncio.CancelledError):
                raise Unavailable("the bus is closing")
            if isinstance(outcome, BaseException):
                raise outcome

    async def ask(self, envelope: Envelope, timeout: timedelta) -> dict[str, Any]:  # noqa: ASYNC109 - see the port
        self._verify_open()
        answer = self._answers.get(envelope.type)
        if answer is None:
            raise Unavailable(f"nobody answers {envelope.type}")
        question = Envelope.decode(envelope.encode())
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                raw = await encode_answer(answer, question)
        except TimeoutError:
            raise Unavailable(f"no answer to {envelope.type} in time") from None
        return decode_answer(raw)

    async def dead_letters(self, queue: str, limit: int = 100) -> list[DeadLetter]:
        return self._queue(queue).letters[:limit]

    async def replay(self, queue: str, message_ids: Sequence[UUID] | None = None) -> int:
        self._verify_open()
        place = self._queue(queue)
        chosen = [letter for letter in place.letters if message_ids is None or letter.message_id in message_ids]
        place.letters = [letter for letter in place.letters if letter not in chosen]
        for letter in chosen:
            _ = self._in_hand.spawn(self._deliver_again(place, letter))
        return len(chosen)

    def _verify_open(self) -> None:
        if not self._opened:
            raise Unavailable("the bus is not open")

    def _queue(self, name: str) -> _Queue:
        queue = self._queues.get(name)
        if queue is None:
            raise NotFound(f"there is no queue {name}")
        return queue

    async def _deliver_again(self, queue: _Queue, letter: DeadLetter) -> None:
        try:
            await self._deliver(queue, letter.envelope)
        except Undeliverable:
            log.warning("replayed_in_vain", queue=queue.name, message_id=str(letter.message_id))
        except (Unavailable, asyncio.CancelledError):
            queue.letters.append(letter)  # The bus closes before it was done, and no outbox row brings it back.

    async def _deliver(self, queue: _Queue, envelope: Envelope) -> None:
        async with queue.turns.take(envelope.aggregate):
            attempts = 0
            while True:
                if self._closing.is_set():
                    raise Unavailable("the bus is closing")
                attempts += 1
                failure = await self._attempt(queue, envelope)
                if failure is None:
                    return
                if attempts > len(self._retry_delays):
                    break
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._retry_delays[attempts - 1].total_seconds()):
                        await self._closing.wait()
        reason = reason_of(failure)
        died_at = self._clock.now()
        queue.letters.append(DeadLetter(queue.name, envelope.id, envelope.type, reason, attempts, died_at, envelope))
        raise Undeliverable(queue.name, reason)

    async def _attempt(self, queue: _Queue, envelope: Envelope) -> BaseException | None:
        """Return how it failed, or None. A handler that somebody cancels has failed; cancelling us is not that."""
        async with queue.slots:
            attempt = self._in_hand.spawn(_run(queue.handle, envelope))
            try:
                await attempt
            except Exception as error:
                log.warning("message_failed", queue=queue.name, message_id=str(envelope.id), exc_info=error)
                return error
            except asyncio.CancelledError as error:
                if was_cancelled():
                    raise
                return error
            return None


async def _run(handle: Handle, envelope: Envelope) -> None:
    await handle(envelope)


async def _tell(handle: Handle, envelope: Envelope) -> None:
    try:
        await handle(envelope)
    except Exception as error:  # a listener is told, not asked
        log.warning("listener_failed", message_type=envelope.type, exc_info=error)
