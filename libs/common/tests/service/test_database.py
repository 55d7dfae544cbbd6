"""The unit of work: rows, messages and records become true together, or not at all."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Envelope, Origin, Postmaster
from strongroom_common.contracts.messages import Event, SealedSecret
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.db.data_keys import DataKeys
from strongroom_common.db.database import Database
from strongroom_common.db.errors import violated_constraint
from strongroom_common.kernel import faults
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import InvalidInput, Unavailable
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.postgres import PostgresServer

INSERT = text("INSERT INTO things (id, name) VALUES (:id, :name)")


class ThingMade(Event):
    type = "tests.thing.made.v1"
    password: SealedSecret

    def aggregate(self) -> str:
        return "thing"


class Killed(BaseException):
    pass


def _record() -> AuditRecord:
    return audit_record(Origin(), SystemClock(), "make-thing", {"id": 1})


async def _counts(database: Database) -> tuple[int, int, int]:
    row = await database.fetch_row(
        "SELECT (SELECT count(*) FROM things), (SELECT count(*) FROM outbox), (SELECT count(*) FROM audit_spool)"
    )
    assert row is not None
    return tuple(row)


async def _make(database: Database) -> None:
    async with database.begin(Origin()) as work:
        await work.execute(INSERT, {"id": 1, "name": "one"})
        work.send(ThingMade(password=Secret("canary")))
        work.record(_record())
        await work.commit()


async def test_row_message_and_record_become_true_together(database: Database) -> None:
    rung: list[str] = []
    database.after_commit = lambda: rung.append("rung")

    await _make(database)

    assert await _counts(database) == (1, 1, 1)
    assert rung == ["rung"]


@pytest.mark.parametrize(("place", "counts"), [("work.before_commit", (0, 0, 0)), ("work.after_commit", (1, 1, 1))])
async def test_a_death_around_the_commit_leaves_all_or_nothing(
    database: Database, place: str, counts: tuple[int, int, int]
) -> None:
    def die() -> None:
        raise Killed

    faults.arm(place, die)
    with pytest.raises(Killed):
        await _make(database)

    assert await _counts(database) == counts


async def test_work_that_is_not_committed_is_undone(database: Database) -> None:
    async with database.begin(Origin()) as work:
        await work.execute(INSERT, {"id": 1, "name": "one"})
        work.send(ThingMade(password=Secret("x")))

    assert await _counts(database) == (0, 0, 0)


async def test_a_secret_field_is_sealed_in_the_outbox_and_opens_again(
    database: Database, postmaster: Postmaster
) -> None:
    await _make(database)

    raw = (await database.fetch("SELECT envelope FROM outbox"))[0]["envelope"]
    assert b"canary" not in raw
    assert b"canary".hex().encode() not in raw
    envelope = Envelope.decode(raw)
    assert postmaster.disclose(envelope, ThingMade).password.reveal() == "canary"
    moved = envelope.model_copy(update={"id": new_id()})
    with pytest.raises(Exception, match=r"."):
        postmaster.disclose(moved, ThingMade)


async def test_a_message_is_noted_once(database: Database) -> None:
    message_id = new_id()

    async def note() -> bool:
        async with database.begin(Origin()) as work:
            is_first = await work.is_first_time("tests", message_id)
            await work.commit()
            return is_first

    assert sorted(await asyncio.gather(*(note() for _ in range(5)))) == [False] * 4 + [True]


async def test_a_violated_constraint_is_named(database: Database) -> None:
    await _make(database)
    with pytest.raises(Exception, match="things_name_key") as refused:
        async with database.begin(Origin()) as work:
            await work.execute(INSERT, {"id": 2, "name": "one"})
    assert violated_constraint(refused.value) == "things_name_key"


async def test_a_text_that_cannot_be_stored_is_the_callers_mistake(database: Database) -> None:
    with pytest.raises(InvalidInput, match="U\\+0000"):
        async with database.begin(Origin()) as work:
            await work.execute(INSERT, {"id": 2, "name": "a\x00b"})
    with pytest.raises(InvalidInput, match="U\\+0000"):
        await database.fetch("SELECT $1::text", "a\x00b")


async def test_errors_never_show_parameters(database: Database) -> None:
    with pytest.raises(DBAPIError) as refused:
        async with database.begin(Origin()) as work:
            await work.execute(text("SELECT nothing(:value)"), {"value": "canary"})
    assert "canary" not in str(refused.value)


async def test_a_lost_connection_is_unavailable_and_the_next_work_succeeds(
    database: Database, postgres_server: PostgresServer
) -> None:
    await _make(database)
    await database.fetch("SELECT 1")
    async with postgres_server.embedded.administrator() as administrator:
        await administrator.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'strongroom%'"
        )

    with pytest.raises(Unavailable):
        async with database.begin(Origin()) as work:
            await work.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    async with database.begin(Origin()) as work:
        assert await work.row(text("SELECT 1")) is not None
    assert await database.fetch("SELECT 1")


async def test_two_first_writers_of_a_scope_share_one_data_key(database: Database) -> None:
    keyring = Keyring.generate()
    scope = new_id()

    async def seal() -> bytes:
        keys = DataKeys(database, keyring)
        async with database.begin(Origin()) as work:
            sealed = (await keys.active(work, scope)).seal(b"value", b"place")
            await work.commit()
            return sealed

    sealed = await asyncio.gather(*(seal() for _ in range(4)))

    assert len(await database.fetch("SELECT FROM data_keys")) == 1
    keys = await DataKeys(database, keyring).opening(sealed)
    assert {keys[next(iter(keys))].open(value, b"place") for value in sealed} == {b"value"}
