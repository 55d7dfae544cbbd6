"""The audit log as its readers search it (wire-identity 14)."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from services.identity.tests.service.audit_logs import a_record, all_recorded, log

from strongroom_common.contracts.envelopes import PLATFORM, Actor
from strongroom_common.kernel.clock import wire_instant
from strongroom_common.testing.clock import MORNING

LOGS = "/api/v1/organization/audit-logs"


def ours(world, number: int, **more):
    """A record of the first organization, a minute before `number` minutes ago."""
    at = MORNING - timedelta(minutes=number)
    return a_record(number, UUID(world.tenants[0].organization_id), occurred_at=at, **more)


async def search(world, token: str | None = None, **params: str):
    answer = await world.http.get(LOGS, token=token or world.token, params=params)
    assert answer.status == 200, answer.text
    return answer.json["auditLogs"]


async def events(world, token: str | None = None, **params: str) -> list[str]:
    return [found["event"]["type"] for found in await search(world, token, **params)]


async def test_a_record_has_the_fields_of_the_contract(world) -> None:
    project = await world.project("Payments")
    identity_id = uuid4()
    actor = Actor(kind="identity", id=identity_id, metadata={"identityId": str(identity_id), "name": "robot"})
    record = ours(
        world, 1, actor=actor, project_id=UUID(project["id"]), event="get-secret", metadata={"secretKey": "A"}
    )
    await log(world, record)
    (found,) = await search(world, eventType="get-secret")
    assert found == {
        "id": str(record.id),
        "createdAt": "2026-01-02T08:59:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
        "expiresAt": None,
        "ipAddress": "192.0.2.1",
        "userAgent": "cli",
        "userAgentType": "cli",
        "orgId": world.tenants[0].organization_id,
        "projectId": project["id"],
        "projectName": "Payments",
        "event": {"type": "get-secret", "metadata": {"secretKey": "A"}},
        "actor": {"type": "identity", "metadata": {"identityId": str(identity_id), "name": "robot"}},
    }


async def test_what_the_service_does_itself_is_found(world, clock) -> None:
    await world.project("Payments")
    await all_recorded(world)
    assert "create-project" in await events(world)
    assert "bootstrap-instance" in await events(world)


async def test_the_newest_come_first_page_by_page(world) -> None:
    await log(world, *(ours(world, number, event="tick", metadata={"n": number}) for number in (3, 1, 4, 2, 5)))
    numbers = [found["event"]["metadata"]["n"] for found in await search(world, eventType="tick")]
    assert numbers == [1, 2, 3, 4, 5]
    pages = [await search(world, eventType="tick", limit="2", offset=str(offset)) for offset in (0, 2, 4, 6)]
    assert [[found["event"]["metadata"]["n"] for found in page] for page in pages] == [[1, 2], [3, 4], [5], []]


async def test_records_of_one_instant_keep_their_order_over_pages(world) -> None:
    await log(world, *(ours(world, 1, event="tick", metadata={"n": number}) for number in range(6)))
    pages = [await search(world, eventType="tick", limit="2", offset=str(offset)) for offset in (0, 2, 4)]
    assert [found["event"]["metadata"]["n"] for page in pages for found in page] == [5, 4, 3, 2, 1, 0]


async def test_twenty_are_shown_unless_more_are_asked_for(world) -> None:
    await log(world, *(ours(world, number, event="tick") for number in range(30)))
    assert len(await search(world, eventType="tick")) == 20
    assert len(await search(world, eventType="tick", limit="1000")) == 30


async def test_the_span_is_from_midnight_until_now(world, clock) -> None:
    late = [ours(world, number, event=f"t-{number}") for number in (-1, 0, 539, 540, 541)]
    await log(world, *late)
    assert [event for event in await events(world) if event.startswith("t-")] == ["t-0", "t-539", "t-540"]
    before = wire_instant(MORNING - timedelta(days=1))
    assert "t-541" in await events(world, startDate=before)
    later = wire_instant(MORNING + timedelta(minutes=1))
    assert "t--1" in await events(world, endDate=later)
    assert await events(world, startDate=before, endDate=wire_instant(MORNING - timedelta(minutes=541))) == ["t-541"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"eventType": "get-secret"}, {"a", "b"}),
        ({"eventType": "get-secret, create-secret"}, {"a", "b", "c"}),
        ({"eventType": "no-such-event"}, set()),
        ({"actorType": "platform"}, {"d"}),
        ({"actorType": "scimClient"}, set()),
        ({"actor": str(UUID(int=5))}, {"a", "c"}),
        ({"actor": str(UUID(int=6))}, set()),
        ({"userAgentType": "terraform"}, {"c"}),
        ({"userAgentType": "cli"}, {"a", "b"}),
        ({"environment": "dev"}, {"a", "b"}),
        ({"environment": "dev", "secretPath": "/app"}, {"a"}),
        ({"secretPath": "/app/"}, {"a"}),
        ({"secretPath": "/"}, {"b"}),
        ({"secretKey": "KEY"}, {"a"}),
        ({"eventMetadata": "version=3"}, {"a", "d"}),
        ({"eventMetadata": "version=3,isBig=true"}, {"d"}),
        ({"eventMetadata": "nested=1"}, set()),
        ({"eventMetadata": "note=a=b"}, {"c"}),
        ({"eventType": "get-secret", "eventMetadata": "version=3"}, {"a"}),
    ],
)
async def test_each_filter_narrows(world, wanted, found) -> None:
    five = Actor(kind="identity", id=UUID(int=5))
    dev = {"environment": "dev"}
    a = {**dev, "secretPath": "/app", "secretKey": "KEY", "version": 3}
    await log(
        world,
        ours(world, 1, event="get-secret", actor=five, metadata={"name": "a", **a}),
        ours(world, 2, event="get-secret", metadata={"name": "b", "secretPath": "/", **dev}),
        ours(
            world, 3, event="create-secret", actor=five, user_agent="terraform", metadata={"name": "c", "note": "a=b"}
        ),
        ours(
            world, 4, event="tick", actor=PLATFORM, user_agent="", metadata={"name": "d", "version": "3", "isBig": True}
        ),
    )
    shown = {found["event"]["metadata"].get("name") for found in await search(world, **wanted)}
    assert shown == found


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("limit", {"limit": "1001"}),
        ("limit", {"limit": "0"}),
        ("limit", {"limit": "canary"}),
        ("offset", {"offset": "-1"}),
        ("projectId", {"projectId": "canary"}),
        ("actor", {"actor": "canary"}),
        ("startDate", {"startDate": "canary"}),
        ("startDate", {"startDate": "0001-01-01T00:00:00+14:00"}),
        ("endDate", {"endDate": "9999-12-31T23:59:59-12:00"}),
        ("endDate", {"endDate": "2026-01-01T00:00:00Z"}),
        ("endDate", {"startDate": "2025-01-01T00:00:00Z"}),
        ("endDate", {"startDate": "2025-01-01T00:00:00Z", "endDate": "2025-04-01T00:00:00.001Z"}),
        ("eventType", {"eventType": ",".join(["canary"] + [str(number) for number in range(50)])}),
        ("eventMetadata", {"eventMetadata": "canary"}),
        ("eventMetadata", {"eventMetadata": "=canary"}),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused(world, refusal, field, params) -> None:
    answer = await world.http.get(LOGS, token=world.token, params=params)
    assert refusal(answer) == (422, "ValidationFailure")
    assert {issue["path"][0] for issue in answer.json["message"]} == {field}
    assert "canary" not in answer.text


async def test_hostile_filters_are_only_texts(world) -> None:
    await log(world, ours(world, 1, event="tick", metadata={"name": "x"}))
    for text in ("' OR true --", '"}', "\\u0000", "%", "{}", "[1]", "NaN", "1e999", "9" * 400):
        for name in ("secretKey", "environment", "actorType", "eventType", "userAgentType"):
            assert await events(world, **{name: text}) == []
        assert await events(world, eventMetadata=f"name={text}") == []


async def test_each_organization_reads_its_own(world) -> None:
    other = await world.another_tenant()
    await log(world, ours(world, 1, event="ours"), a_record(0, UUID(other.organization_id), event="theirs"))
    assert await events(world, eventType="ours,theirs") == ["ours"]
    assert await events(world, other.token, eventType="ours,theirs") == ["theirs"]


async def test_the_organizations_log_is_for_who_may_read_it(world, refusal) -> None:
    reader, nobody = await world.machine("reader", role="member"), await world.machine("nobody")
    assert await search(world, await world.token_of(reader)) is not None
    answer = await world.http.get(LOGS, token=await world.token_of(nobody))
    assert refusal(answer) == (403, "PermissionDenied")


async def test_a_projects_log_is_for_who_may_read_it_there(world, refusal) -> None:
    project, other = await world.project("One"), await world.project("Two")
    guest = await world.machine("guest")
    await world.join(project["id"], guest, role="viewer")
    token = await world.token_of(guest)
    await log(
        world,
        ours(world, 1, event="tick", project_id=UUID(project["id"]), metadata={"n": 1}),
        ours(world, 2, event="tick", project_id=UUID(other["id"]), metadata={"n": 2}),
        ours(world, 3, event="tick", metadata={"n": 3}),
    )
    (found,) = await search(world, token, projectId=project["id"], eventType="tick")
    assert found["event"]["metadata"] == {"n": 1}
    assert refusal(await world.http.get(LOGS, token=token)) == (403, "PermissionDenied")
    foreign = await world.http.get(LOGS, token=token, params={"projectId": other["id"]})
    assert refusal(foreign) == (403, "ForbiddenError")


async def test_a_deleted_project_leaves_its_records_without_a_name(world) -> None:
    project = await world.project("One")
    await log(world, ours(world, 1, event="tick", project_id=UUID(project["id"])))
    await world.http.delete(f"/api/v1/projects/{project['id']}", token=world.token)
    (found,) = await search(world, eventType="tick")
    assert (found["projectId"], found["projectName"]) == (project["id"], None)


@pytest.mark.timeout(120)
async def test_every_question_is_answered_from_an_index(world) -> None:
    organization_id = UUID(world.tenants[0].organization_id)
    project = await world.project("One")
    database = world.context.database
    # 20,000 records of ours and as many of others, over a month: by hand, since what counts here is how they are read.
    await database.execute(
        """
        INSERT INTO audit_records (organization_id, number, id, project_id, event, actor_kind, actor_id,
            actor_metadata, metadata, client_address, user_agent, user_agent_type, occurred_at, recorded_at)
        SELECT CASE WHEN n % 2 = 0 THEN $1::uuid ELSE md5((n % 50)::text)::uuid END, n + 1000, gen_random_uuid(),
            CASE WHEN n % 100 = 0 THEN $2::uuid END, 'event-' || n % 200, 'identity', md5((n % 300)::text)::uuid,
            '{}', jsonb_build_object('secretKey', 'KEY-' || n % 5000, 'environment', 'dev', 'secretPath', '/'), '', '',
            'cli', $3::timestamptz - n * interval '1 minute', $3
        FROM generate_series(1, 40000) n
        """,
        organization_id,
        UUID(project["id"]),
        MORNING,
    )
    async with world.context.database.engine.connect() as connection:
        await connection.exec_driver_sql("ANALYZE audit_records")
        await connection.commit()
    month = {"startDate": wire_instant(MORNING - timedelta(days=30))}
    actor = str((await world.rows("SELECT md5('8')::uuid AS id"))[0]["id"])
    questions = [
        {},
        month,
        {**month, "limit": "1000", "offset": "500"},
        {**month, "projectId": project["id"]},
        {**month, "eventType": "event-8"},
        {**month, "actor": actor},
        {**month, "secretKey": "KEY-8", "environment": "dev"},
        {**month, "eventMetadata": "secretKey=KEY-8"},
    ]
    asked: list[tuple[str, tuple[object, ...]]] = []
    fetch = database.fetch

    async def overhear(statement: str, *arguments: object):
        asked.append((statement, arguments))
        return await fetch(statement, *arguments)

    for question in questions:
        asked.clear()
        database.fetch = overhear
        try:
            assert await search(world, **question)
        finally:
            del database.fetch
        ((statement, arguments),) = [one for one in asked if "audit_records" in one[0]]
        plan = "\n".join(row[0] for row in await fetch(f"EXPLAIN {statement}", *arguments))
        assert "Seq Scan on audit_records" not in plan, f"{question}\n{plan}"
        assert "audit_records_" in plan, f"{question}\n{plan}"
