"""Group commit of read records: durable before the answer, one INSERT for many, lost never."""

import asyncio

import pytest

from strongroom_common.audit.trail import ReadTrail, audit_record, forward_spool
from strongroom_common.contracts.audit import AuditRecord, SecretsAudited
from strongroom_common.contracts.envelopes import Envelope, Origin, Postmaster
from strongroom_common.db.database import Database
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import Unavailable


def _record(number: int) -> AuditRecord:
    return audit_record(Origin(), SystemClock(), "get-secret", {"number": number})


async def _spooled(database: Database) -> int:
    return len(await database.fetch("SELECT FROM audit_spool"))


async def test_concurrent_reads_share_few_commits_and_each_waits_for_its_own(database: Database) -> None:
    trail = ReadTrail(database)
    async with trail.running():
        await asyncio.gather(*(trail.note(_record(number)) for number in range(100)))
        assert 1 <= await _spooled(database) <= 10


async def test_a_record_that_cannot_be_written_refuses_its_reader(database: Database) -> None:
    trail = ReadTrail(database)
    async with trail.running():
        await database.execute("ALTER TABLE audit_spool RENAME TO elsewhere")
        with pytest.raises(Unavailable):
            await trail.note(_record(1))
        await database.execute("ALTER TABLE elsewhere RENAME TO audit_spool")
        await trail.note(_record(2))
        assert await _spooled(database) == 1


async def test_relaxed_reads_are_written_before_the_process_ends(database: Database) -> None:
    trail = ReadTrail(database, "relaxed")
    async with trail.running():
        for number in range(10):
            await trail.note(_record(number))
    assert await _spooled(database) >= 1


async def test_the_spool_becomes_messages_in_order_and_all_of_it(database: Database, postmaster: Postmaster) -> None:
    trail = ReadTrail(database)
    async with trail.running():
        for number in range(5):
            await trail.note(_record(number))
    async with database.begin(Origin()) as work:
        for number in range(5, 1200):
            work.record(_record(number))
        await work.commit()

    assert await forward_spool(database, SecretsAudited) == 6
    assert await forward_spool(database, SecretsAudited) == 0

    rows = await database.fetch("SELECT envelope FROM outbox ORDER BY seq")
    messages = [postmaster.disclose(Envelope.decode(row["envelope"]), SecretsAudited) for row in rows]
    assert [len(message.records) for message in messages] == [500, 500, 200]
    assert [record.metadata["number"] for message in messages for record in message.records] == list(range(1200))
