"""The outbox relay: nothing lost, nothing doubled in effect, in order per aggregate, through every outage."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from strongroom_common.bus.memory import MemoryBus
from strongroom_common.bus.port import Undeliverable
from strongroom_common.contracts.envelopes import Envelope, Origin, Postmaster
from strongroom_common.contracts.messages import Event
from strongroom_common.db.database import Database, UnitOfWork
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.kernel.secret import Secret
from strongroom_common.runtime.listening import Listeners
from strongroom_common.runtime.relay import Relay, prune
from strongroom_common.testing.postgres import PostgresServer
from strongroom_common.testing.waiting import eventually


class Counted(Event):
    type = "tests.counter.counted.v1"
    counter: str
    value: int

    def aggregate(self) -> str:
        return self.counter


class Recorder:
    """A bus as the relay sees it: it keeps what was published, and may be away."""

    def __init__(self) -> None:
        self.published: list[tuple[str, int]] = []
        self.is_away = False
        self.rejects: set[int] = set()

    async def publish(self, envelope: Envelope) -> None:
        await asyncio.sleep(0)
        if self.is_away:
            raise Unavailable("away")
        value = envelope.payload["value"]
        if value in self.rejects:
            raise Undeliverable("tests.events", "no")
        self.published.append((envelope.payload["counter"], value))


async def _count(database: Database, counter: str, *values: int) -> None:
    for value in values:
        async with database.begin(Origin()) as work:
            work.send(Counted(counter=counter, value=value))
            await work.commit()


async def _waiting(database: Database) -> int:
    row = await database.fetch_row("SELECT count(*) FROM outbox WHERE sent_at IS NULL AND dead_at IS NULL")
    assert row is not None
    return int(row[0])


@asynccontextmanager
async def _relaying(database: Database, url: Secret, bus: object) -> AsyncIterator[Relay]:
    relay = Relay(url, bus, "tests")  # type: ignore[arg-type]
    database.after_commit = relay.ring
    async with relay.running():
        yield relay


async def test_what_was_committed_before_the_start_is_published_in_order(database: Database, url: Secret) -> None:
    bus = Recorder()
    await _count(database, "a", *range(5))
    async with _relaying(database, url, bus):
        await _count(database, "a", *range(5, 10))

        async def is_sent() -> bool:
            return await _waiting(database) == 0

        await eventually(is_sent)
    assert bus.published == [("a", value) for value in range(10)]


async def test_a_bus_that_is_away_delays_and_loses_nothing(
    database: Database, url: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strongroom_common.runtime.relay.BACK_OFF", 0.05)
    bus = Recorder()
    bus.is_away = True
    async with _relaying(database, url, bus):
        await _count(database, "a", 1, 2, 3)
        await _count(database, "b", 1)
        assert bus.published == []
        bus.is_away = False

        async def is_sent() -> bool:
            return await _waiting(database) == 0

        await eventually(is_sent)
    assert [entry for entry in bus.published if entry[0] == "a"] == [("a", 1), ("a", 2), ("a", 3)]
    assert sorted(bus.published) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


async def test_a_message_nobody_can_handle_is_set_aside_with_its_reason(database: Database, url: Secret) -> None:
    bus = Recorder()
    bus.rejects = {1}
    async with _relaying(database, url, bus):
        await _count(database, "a", 1, 2)

        async def is_settled() -> bool:
            return await _waiting(database) == 0

        await eventually(is_settled)
    dead = await database.fetch("SELECT last_error FROM outbox WHERE dead_at IS NOT NULL")
    assert [row["last_error"] for row in dead] == ["tests.events: no"]
    assert bus.published == [("a", 2)]


async def test_a_lost_database_connection_is_a_new_lead(
    database: Database, url: Secret, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strongroom_common.runtime.relay.BACK_OFF", 0.05)
    bus = Recorder()
    async with _relaying(database, url, bus):
        await _count(database, "a", 1)
        await eventually(lambda: bus.published == [("a", 1)])
        async with postgres_server.embedded.administrator() as administrator:
            await administrator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'strongroom-relay'"
            )
        await _count(database, "a", 2)
        await eventually(lambda: ("a", 2) in bus.published)


async def test_a_second_process_stands_by_rings_the_leader_and_takes_over(
    database: Database, url: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strongroom_common.runtime.relay.STAND_BY", 0.05)
    first, second = Recorder(), Recorder()
    async with _relaying(database, url, first) as leader:
        await _count(database, "a", 1)
        await eventually(lambda: first.published == [("a", 1)])
        async with _relaying(database, url, second) as standby:
            # A commit of the stand-by's own process rings only the stand-by.
            database.after_commit = standby.ring
            await _count(database, "a", 2)
            await eventually(lambda: ("a", 2) in first.published)
            assert second.published == []
            database.after_commit = leader.ring
    async with _relaying(database, url, second):
        await _count(database, "a", 3)
        await eventually(lambda: second.published == [("a", 3)])


async def test_a_message_published_twice_has_its_effect_once(
    database: Database, url: Secret, postmaster: Postmaster
) -> None:
    bus = MemoryBus(SystemClock(), [timedelta(milliseconds=5)])
    listeners: Listeners[None] = Listeners()
    seen: list[int] = []
    failures = [RuntimeError("first try"), None, None]

    @listeners.on(Counted)
    async def heard(context: None, work: UnitOfWork, event: Counted) -> None:
        seen.append(event.value)
        failure = failures.pop(0)
        if failure:
            raise failure

    listeners.attach(bus, "tests", None, database, postmaster)
    await bus.open()
    try:
        async with _relaying(database, url, bus):
            await _count(database, "a", 1)
            await eventually(lambda: seen == [1, 1])

            async def is_sent() -> bool:
                return await _waiting(database) == 0

            await eventually(is_sent)
            # As after a crash between the publish and the mark.
            await database.execute("UPDATE outbox SET sent_at = NULL")
            await database.execute("NOTIFY strongroom_outbox")
            await eventually(is_sent)
    finally:
        await bus.close(timedelta(seconds=1))
    assert seen == [1, 1]
    assert len(await database.fetch("SELECT FROM inbox")) == 1


async def test_old_messages_are_pruned_and_waiting_ones_never(database: Database, url: Secret) -> None:
    await _count(database, "a", 1, 2, 3)
    await database.execute("UPDATE outbox SET sent_at = now() - interval '2 days' WHERE seq = 1")
    await database.execute("UPDATE outbox SET sent_at = now() WHERE seq = 2")
    await database.execute("UPDATE outbox SET created_at = now() - interval '9 years'")

    await prune(url)

    assert [row["seq"] for row in await database.fetch("SELECT seq FROM outbox ORDER BY seq")] == [2, 3]
