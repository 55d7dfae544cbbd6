"""The outbox relay: publishes what was committed, in order per aggregate, and marks it sent once it is safe.

One process per database leads, by a session-level advisory lock on the connection it works with: a lost connection is a
lost lead. The others wake it with NOTIFY after their own commits.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

import asyncpg

from strongroom_common.bus.port import Bus, Undeliverable
from strongroom_common.contracts.envelopes import Envelope
from strongroom_common.kernel import faults
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.kernel.secret import Secret
from strongroom_common.observability.logs import get_logger
from strongroom_common.observability.metrics import MESSAGES_PUBLISHED, OUTBOX_WAITING

log = get_logger(__name__)

_LOCK = 0x5374726F6E67  # the relay's advisory lock
_CHANNEL = "strongroom_outbox"
_NEXT = """
SELECT seq, aggregate, envelope FROM outbox
WHERE sent_at IS NULL AND dead_at IS NULL AND seq <> ALL($1::bigint[]) ORDER BY seq LIMIT $2
"""
_SENT = "UPDATE outbox SET sent_at = now() WHERE seq = ANY($1::bigint[])"
_DEAD = "UPDATE outbox SET dead_at = now(), last_error = $2 WHERE seq = $1"
_PRUNE = "DELETE FROM outbox WHERE sent_at < now() - $1::interval"
_PRUNE_INBOX = "DELETE FROM inbox WHERE handled_at < now() - $1::interval"

BATCH = 200
MOST_IN_FLIGHT = 1_000
LOOK_AGAIN = 5.0
"""Seconds until the relay looks without being rung: the safety net under NOTIFY."""
STAND_BY = 2.0
"""Seconds between two tries to lead."""
BACK_OFF = 1.0
"""Seconds to wait after the bus or the database failed."""
KEEP_SENT = timedelta(days=1)
KEEP_INBOX = timedelta(days=30)
"""Longer than any message can be redelivered, replayed dead letters included."""


class Relay:
    """Runs inside `running()`; `ring` it after each commit."""

    def __init__(self, url: Secret, bus: Bus, service: str) -> None:
        self._url = url
        self._bus = bus
        self._service = service
        self._bell = asyncio.Event()
        self._in_flight: set[int] = set()
        self._sent: list[int] = []
        self._dead: list[tuple[int, str]] = []
        self._is_failing = False

    def ring(self) -> None:
        """Say that there is something to publish."""
        self._bell.set()

    @asynccontextmanager
    async def running(self, grace: timedelta = timedelta(seconds=3)) -> AsyncIterator[None]:
        """Relay until left; then publish what is already committed, as far as the grace allows."""
        stopping = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._run(stopping), name=f"{self._service}-relay")
            try:
                yield
            finally:
                stopping.set()
                self._bell.set()
                done, _ = await asyncio.wait({task}, timeout=grace.total_seconds())
                if not done:
                    task.cancel()

    async def _run(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                connection = await asyncpg.connect(
                    self._url.reveal(), timeout=5, server_settings={"application_name": "strongroom-relay"}
                )
            except (OSError, asyncpg.PostgresError, TimeoutError):
                await _pause(stopping, BACK_OFF)
                continue
            pause = 0.0
            try:
                await self._stand_by_or_lead(connection, stopping)
            except* (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
                log.warning("relay_lost_database", service=self._service)
                pause = BACK_OFF
            finally:
                with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
                    await connection.close(timeout=2)
            await _pause(stopping, pause)

    async def _stand_by_or_lead(
        self, connection: "asyncpg.Connection[asyncpg.Record]", stopping: asyncio.Event
    ) -> None:
        while not stopping.is_set():
            if await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                await connection.add_listener(_CHANNEL, lambda *_: self._bell.set())
                # Rows that a former lead of this process had in hand are read anew; the inboxes know repeats.
                self._in_flight, self._sent, self._dead = set(), [], []
                await self._lead(connection, stopping)
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), STAND_BY)
                self._bell.clear()
                await connection.execute(f"NOTIFY {_CHANNEL}")

    async def _lead(self, connection: "asyncpg.Connection[asyncpg.Record]", stopping: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as tasks:
            last: dict[str, asyncio.Task[bool]] = {}
            while True:
                self._bell.clear()
                await self._mark(connection)
                room = MOST_IN_FLIGHT - len(self._in_flight)
                rows = await connection.fetch(_NEXT, list(self._in_flight), min(BATCH, room)) if room > 0 else []
                for row in rows:
                    self._in_flight.add(row["seq"])
                    aggregate = row["aggregate"]
                    task = tasks.create_task(self._deliver(row["seq"], row["envelope"], last.get(aggregate)))
                    last[aggregate] = task
                    task.add_done_callback(partial(_forget, last, aggregate))
                OUTBOX_WAITING.labels(self._service).set(len(self._in_flight))
                if stopping.is_set() and not self._in_flight and not self._sent:
                    return
                if self._is_failing:
                    self._is_failing = False
                    if stopping.is_set():
                        return
                    await _pause(stopping, BACK_OFF)
                elif len(rows) < BATCH:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._bell.wait(), LOOK_AGAIN)

    async def _deliver(self, seq: int, raw: bytes, previous: asyncio.Task[bool] | None) -> bool:
        is_settled = False
        try:
            # One that could not be published holds back those behind it: they are all read again, in order.
            if previous is not None and not await previous:
                return False
            envelope = Envelope.decode(raw)
            faults.reach("relay.before_publish")
            await self._bus.publish(envelope)
            faults.reach("relay.after_publish")
            MESSAGES_PUBLISHED.labels(self._service, envelope.type).inc()
            self._sent.append(seq)
            is_settled = True
            return True
        except Unavailable:
            self._is_failing = True
            return False
        except Undeliverable as error:
            self._dead.append((seq, str(error)[:2000]))
            is_settled = True
            return True
        finally:
            if not is_settled:
                self._in_flight.discard(seq)
            self._bell.set()

    async def _mark(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        sent, dead = self._sent[:], self._dead[:]
        if sent:
            await connection.execute(_SENT, sent)
        for seq, reason in dead:
            await connection.execute(_DEAD, seq, reason)
        done = set(sent) | {seq for seq, _ in dead}
        self._sent = [seq for seq in self._sent if seq not in done]
        self._dead = [entry for entry in self._dead if entry[0] not in done]
        self._in_flight -= done


def _forget(last: dict[str, asyncio.Task[bool]], aggregate: str, task: asyncio.Task[bool]) -> None:
    if last.get(aggregate) is task:
        del last[aggregate]


async def prune(connection_url: Secret) -> None:
    """Drop messages that were sent long ago and inbox rows older than any redelivery."""
    connection = await asyncpg.connect(connection_url.reveal(), timeout=5)
    try:
        await connection.execute(_PRUNE, KEEP_SENT)
        await connection.execute(_PRUNE_INBOX, KEEP_INBOX)
    finally:
        await connection.close()


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stopping.wait(), seconds)
