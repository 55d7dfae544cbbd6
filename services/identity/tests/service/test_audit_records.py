"""The audit log takes what every service records: once, in order, numbered per organization."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

from strongroom_common.contracts.audit import AuditRecord, PkiAudited, SecretsAudited
from strongroom_common.contracts.envelopes import PLATFORM, Actor, Origin
from strongroom_common.testing.clock import MORNING

ORGANIZATION = UUID(int=7)
OTHER = UUID(int=8)


def a_record(number: int, organization_id: UUID | None = ORGANIZATION) -> AuditRecord:
    return AuditRecord(
        id=uuid4(),
        occurred_at=MORNING + timedelta(seconds=number),
        organization_id=organization_id,
        project_id=None,
        actor=Actor(kind="identity", id=uuid4(), name="robot", metadata={"name": "robot"}),
        client_address="192.0.2.1",
        user_agent="cli",
        event=f"event-{number}",
        metadata={"number": number, "nested": {"list": [1, "two", None]}},
    )


async def publish(fresh, *messages, times: int = 1) -> None:
    foundations = fresh.identity.service.foundations
    envelopes = [foundations.postmaster.enclose(message, Origin()) for message in messages]
    await asyncio.gather(*(foundations.bus.publish(envelope) for envelope in envelopes for _ in range(times)))


async def numbers_of(fresh, organization_id: UUID) -> list[tuple[int, str]]:
    rows = await fresh.rows(
        "SELECT number, event FROM audit_records WHERE organization_id = $1 ORDER BY number", organization_id
    )
    return [(row["number"], row["event"]) for row in rows]


async def test_records_are_kept_whole_and_in_their_order(fresh) -> None:
    records = [a_record(number) for number in range(5)]
    await publish(fresh, SecretsAudited(records=records))
    rows = await fresh.rows("SELECT * FROM audit_records ORDER BY number")
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    for row, record in zip(rows, records, strict=True):
        assert row["id"] == record.id
        assert row["event"] == record.event
        assert row["occurred_at"] == record.occurred_at
        assert row["metadata"] == record.metadata
        assert (row["actor_kind"], row["actor_id"]) == ("identity", record.actor.id)
        assert row["actor_metadata"] == {"name": "robot"}
        assert (row["client_address"], row["user_agent"]) == ("192.0.2.1", "cli")


async def test_each_organization_counts_for_itself(fresh) -> None:
    mixed = [a_record(number, OTHER if number % 2 else ORGANIZATION) for number in range(6)]
    nobody = a_record(9, None).model_copy(update={"actor": PLATFORM})
    await publish(fresh, SecretsAudited(records=[*mixed, nobody]))
    await publish(fresh, PkiAudited(records=[a_record(10)]))
    assert await numbers_of(fresh, ORGANIZATION) == [(1, "event-0"), (2, "event-2"), (3, "event-4"), (4, "event-10")]
    assert await numbers_of(fresh, OTHER) == [(1, "event-1"), (2, "event-3"), (3, "event-5")]
    assert await numbers_of(fresh, UUID(int=0)) == [(1, "event-9")]


async def test_a_message_that_comes_twice_counts_once(fresh) -> None:
    await publish(fresh, SecretsAudited(records=[a_record(1), a_record(2)]), times=3)
    assert len(await numbers_of(fresh, ORGANIZATION)) == 2


async def test_a_record_in_two_messages_counts_once(fresh) -> None:
    first, second, third = a_record(1), a_record(2), a_record(3)
    await publish(fresh, SecretsAudited(records=[first, second]))
    await publish(fresh, SecretsAudited(records=[second, third]))
    assert await numbers_of(fresh, ORGANIZATION) == [(1, "event-1"), (2, "event-2"), (3, "event-3")]


async def test_batches_at_the_same_moment_leave_no_gap(fresh) -> None:
    batches = [
        [a_record(batch * 10 + number, OTHER if number % 2 else ORGANIZATION) for number in range(10)]
        for batch in range(8)
    ]
    await publish(fresh, *(SecretsAudited(records=batch) for batch in batches))
    for organization_id in (ORGANIZATION, OTHER):
        assert [number for number, _ in await numbers_of(fresh, organization_id)] == list(range(1, 41))
