"""The audit log takes what every service records: once, in order, numbered and chained per organization."""

import asyncio
from uuid import UUID, uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from services.identity.tests.service.audit_logs import a_record, all_recorded, publish

from strongroom_common.contracts.audit import PkiAudited, SecretsAudited
from strongroom_common.contracts.envelopes import PLATFORM, Origin
from strongroom_identity.domain import audit_chain
from strongroom_identity.store import audit_records as store

ORGANIZATION = UUID(int=7)
OTHER = UUID(int=8)


async def numbers_of(fresh, organization_id: UUID) -> list[tuple[int, str]]:
    rows = await fresh.rows(
        "SELECT number, event FROM audit_records WHERE organization_id = $1 ORDER BY number", organization_id
    )
    return [(row["number"], row["event"]) for row in rows]


async def verify_chain(fresh, organization_id: UUID) -> int:
    """Walk the chain as it stands in the database; return its length."""
    async with fresh.context.database.begin(Origin()) as work:
        records = await store.list_span(work, organization_id, 0, 2**40)
    mac = audit_chain.START
    for number, record in enumerate(records, 1):
        mac = audit_chain.link(fresh.context.audit.mac_key, mac, record.cover())
        assert (record.number, record.mac) == (number, mac)
    (head,) = await fresh.rows("SELECT * FROM audit_heads WHERE organization_id = $1", organization_id)
    assert (head["last_number"], head["chained_number"], head["last_mac"]) == (len(records), len(records), mac)
    return len(records)


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
        assert row["user_agent_type"] == "cli"


async def test_each_organization_counts_for_itself(fresh) -> None:
    mixed = [a_record(number, OTHER if number % 2 else ORGANIZATION) for number in range(6)]
    nobody = a_record(9, None).model_copy(update={"actor": PLATFORM})
    await publish(fresh, SecretsAudited(records=[*mixed, nobody]))
    await publish(fresh, PkiAudited(records=[a_record(10)]))
    assert await numbers_of(fresh, ORGANIZATION) == [(1, "event-0"), (2, "event-2"), (3, "event-4"), (4, "event-10")]
    assert await numbers_of(fresh, OTHER) == [(1, "event-1"), (2, "event-3"), (3, "event-5")]
    assert await numbers_of(fresh, UUID(int=0)) == [(1, "event-9")]
    assert [await verify_chain(fresh, place) for place in (ORGANIZATION, OTHER, UUID(int=0))] == [4, 3, 1]


async def test_a_message_that_comes_twice_counts_once(fresh) -> None:
    await publish(fresh, SecretsAudited(records=[a_record(1), a_record(2)]), times=3)
    assert len(await numbers_of(fresh, ORGANIZATION)) == 2


async def test_a_record_in_two_messages_counts_once(fresh) -> None:
    first, second, third = a_record(1), a_record(2), a_record(3)
    await publish(fresh, SecretsAudited(records=[first, second, first]))
    await publish(fresh, SecretsAudited(records=[second, third]))
    assert await numbers_of(fresh, ORGANIZATION) == [(1, "event-1"), (2, "event-2"), (3, "event-3")]
    assert await verify_chain(fresh, ORGANIZATION) == 3


async def test_batches_at_the_same_moment_leave_no_gap(fresh) -> None:
    batches = [
        [a_record(batch * 10 + number, OTHER if number % 2 else ORGANIZATION) for number in range(10)]
        for batch in range(8)
    ]
    await publish(fresh, *(SecretsAudited(records=batch) for batch in batches))
    for organization_id in (ORGANIZATION, OTHER):
        assert [number for number, _ in await numbers_of(fresh, organization_id)] == list(range(1, 41))
        assert await verify_chain(fresh, organization_id) == 40


async def test_records_of_a_release_without_a_chain_are_chained_by_the_next_batch(fresh) -> None:
    await publish(fresh, SecretsAudited(records=[a_record(number) for number in range(3)]))
    # What a replica of the release before leaves: a number and a row, without a MAC.
    await fresh.context.database.execute("UPDATE audit_heads SET last_number = 5")
    for number in (4, 5):
        await fresh.context.database.execute(
            "INSERT INTO audit_records (organization_id, number, id, event, actor_kind, actor_metadata, metadata, "
            "client_address, user_agent, occurred_at, recorded_at) "
            "SELECT organization_id, $1, gen_random_uuid(), 'old', 'platform', '{}', '{}', '', '', now(), now() "
            "FROM audit_records WHERE number = 1",
            number,
        )
    await publish(fresh, SecretsAudited(records=[a_record(6)]))
    assert await verify_chain(fresh, ORGANIZATION) == 6


async def test_what_postgresql_cannot_keep_does_not_stop_the_log(fresh) -> None:
    record = a_record(1).model_copy(update={"metadata": {"name": "a\x00b", "k\x00": ["\x00"]}})
    await publish(fresh, SecretsAudited(records=[record]))
    (row,) = await fresh.rows("SELECT metadata FROM audit_records")
    assert row["metadata"] == {"name": "a\ufffdb", "k\ufffd": ["\ufffd"]}
    assert await verify_chain(fresh, ORGANIZATION) == 1


async def test_any_metadata_has_the_same_bytes_after_it_was_kept(fresh) -> None:
    numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
    values = st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=8,
    )
    documents: list[dict[str, object]] = []

    @settings(max_examples=150, database=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(texts, values, max_size=4))
    def draw(document) -> None:
        documents.append(document)

    await asyncio.to_thread(draw)
    documents += [{"n": number} for number in (-0.0, 1e17, 1e300, 5e-324, 2.0**63, 2.0**64, -(2.0**63), 1.5e19, 0.1)]
    records = [a_record(number).model_copy(update={"metadata": document}) for number, document in enumerate(documents)]
    await publish(fresh, SecretsAudited(records=records))
    assert await verify_chain(fresh, ORGANIZATION) == len(documents)


async def test_the_keys_of_the_log_outlive_a_restart_and_rest_sealed(start) -> None:
    async with start() as fresh:
        await publish(fresh, SecretsAudited(records=[a_record(1)]))
        mac_key, public_key = fresh.context.audit.mac_key, fresh.context.audit.signer.public_key
        (row,) = await fresh.rows("SELECT sealed_audit_mac_key, sealed_audit_signing_key FROM instance")
        assert mac_key not in row["sealed_audit_mac_key"]
        assert fresh.context.audit.signer.private_bytes() not in row["sealed_audit_signing_key"]
    async with start() as fresh:
        await publish(fresh, SecretsAudited(records=[a_record(2)]))
        assert fresh.context.audit.signer.public_key == public_key
        assert await verify_chain(fresh, ORGANIZATION) == 2


async def test_a_failed_login_is_a_record_of_the_organization_and_one_of_a_stranger_of_nobody(world) -> None:
    machine = await world.machine()
    await world.http.post(
        "/api/v1/auth/universal-auth/login", json={"clientId": machine.client_id, "clientSecret": "wrong"}
    )
    await world.http.post("/api/v1/auth/universal-auth/login", json={"clientId": str(uuid4()), "clientSecret": "x"})
    await all_recorded(world)
    known, stranger = sorted(await world.audited("login-identity-universal-auth-failed"), key=lambda r: r["actor_kind"])
    assert (known["actor_kind"], str(known["actor_id"])) == ("identity", machine.id)
    assert str(known["organization_id"]) == world.tenants[0].organization_id
    assert (stranger["actor_kind"], stranger["organization_id"]) == ("unknownUser", UUID(int=0))
