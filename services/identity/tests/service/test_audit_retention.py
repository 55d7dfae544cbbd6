"""Records end when their time is over; what remains can be verified, and shows when it ends."""

from datetime import timedelta
from uuid import UUID

import pytest
from services.identity.tests.service.audit_logs import a_record, all_recorded, exported, log
from services.identity.tests.service.conftest import Actions

from strongroom_common.testing.clock import MORNING
from strongroom_common.testing.service_harness import running_service, settings_for
from strongroom_identity.domain.audit_exports import BadExport, verify_export
from strongroom_identity.jobs import audit_records as jobs
from strongroom_identity.service import build
from strongroom_identity.settings import IdentitySettings

DAY = timedelta(days=1)


@pytest.fixture
async def month(database_url, clock):
    """An instance that keeps records for thirty days."""
    settings = settings_for(IdentitySettings, database_url, audit_retention_days=30)
    async with running_service(build, settings, clock=clock) as identity:
        actions = Actions(identity)
        assert (await actions.bootstrap()).status == 200
        await all_recorded(actions)
        yield actions


def organization(world) -> UUID:
    return UUID(world.tenants[0].organization_id)


def old(world, days: int, **more):
    return a_record(days, organization(world), occurred_at=MORNING - days * DAY, **{"event": f"day-{days}", **more})


async def project_with(world, days: int, name: str = "Short") -> UUID:
    project = UUID((await world.project(name))["id"])
    await all_recorded(world)
    await world.context.database.execute(
        "UPDATE projects SET audit_logs_retention_days = $1 WHERE id = $2", days, project
    )
    return project


async def days_left(world) -> list[str]:
    rows = await world.rows(
        "SELECT event FROM audit_records WHERE organization_id = $1 AND event LIKE 'day-%' ORDER BY number",
        organization(world),
    )
    return [row["event"] for row in rows]


async def test_without_a_retention_nothing_ends(world) -> None:
    await log(world, old(world, 5000))
    await jobs.write_checkpoints(world.context)
    await jobs.remove_expired(world.context)
    assert await days_left(world) == ["day-5000"]


async def test_what_is_older_than_the_instance_keeps_is_deleted(month, clock) -> None:
    await log(month, *(old(month, days) for days in (29, 10)))
    await jobs.write_checkpoints(month.context)
    clock.advance(2 * DAY)
    before = len(await month.rows("SELECT FROM audit_records"))
    await jobs.remove_expired(month.context)
    # One of the young ones is between it and the next checkpoint, so it keeps its place.
    assert await days_left(month) == ["day-10"]
    assert len(await month.rows("SELECT FROM audit_records")) == before
    clock.advance(30 * DAY)
    await jobs.write_checkpoints(month.context)
    await jobs.remove_expired(month.context)
    assert await month.rows("SELECT FROM audit_records WHERE organization_id = $1", organization(month)) == []
    lines, first_bad = await exported(month, organization(month))
    good = verify_export(lines)
    assert (first_bad, good.first, good.last, good.removed) == (None, before + 1, before, 0)


async def test_after_a_removal_the_log_goes_on_and_verifies(month, clock) -> None:
    await jobs.write_checkpoints(month.context)
    clock.advance(31 * DAY)
    await jobs.remove_expired(month.context)
    await all_recorded(month)
    await log(month, old(month, 0), old(month, -1))
    lines, first_bad = await exported(month, organization(month))
    good = verify_export(lines)
    assert first_bad is None
    assert good.first > 1
    assert good.last == good.first + 2
    (record,) = await month.audited("remove-expired-audit-logs")
    assert record["metadata"] == {"deleted": good.first - 1, "emptied": 0, "upTo": good.first - 1}
    assert record["actor_kind"] == "platform"


async def test_a_projects_own_retention_goes_before_that_of_the_instance(month) -> None:
    short, long = await project_with(month, 7), await project_with(month, 90, "Long")
    records = [
        old(month, 8, project_id=short),
        old(month, 6, project_id=short),
        old(month, 60, project_id=long),
        old(month, 91, project_id=long),
        old(month, 31),
        old(month, 29),
    ]
    await log(month, *records)
    await jobs.write_checkpoints(month.context)
    await jobs.remove_expired(month.context)
    assert await days_left(month) == ["day-6", "day-60", "day-29"]
    lines, first_bad = await exported(month, organization(month))
    good = verify_export(lines)
    assert (first_bad, good.first, good.removed) == (None, 1, 3)
    assert good.newest_removed.startswith("2025-12-25")


async def test_a_removed_content_leaves_nothing_that_tells_what_it_was(month) -> None:
    project = await project_with(month, 7)
    record = old(month, 8, project_id=project, metadata={"canary": "canary"}, user_agent="canary")
    await log(month, record)
    await jobs.write_checkpoints(month.context)
    await jobs.remove_expired(month.context)
    (row,) = await month.rows("SELECT r.*, r::text AS everything FROM audit_records r WHERE content_hash IS NOT NULL")
    for trace in ("canary", "day-8", "robot", "192.0.2.1", str(record.id), str(record.actor.id)):
        assert trace not in row["everything"]
    lines, _ = await exported(month, organization(month))
    assert b"canary" not in b"".join(lines)


async def test_a_removed_record_is_not_shown_and_the_others_say_when_they_end(month) -> None:
    project = await project_with(month, 7)
    await log(month, old(month, 8, project_id=project), old(month, 6, project_id=project), old(month, 20))
    await jobs.write_checkpoints(month.context)
    await jobs.remove_expired(month.context)
    params = {"startDate": "2025-12-01T00:00:00Z", "eventType": "day-8,day-6,day-20"}
    answer = await month.http.get("/api/v1/organization/audit-logs", token=month.token, params=params)
    assert [(one["event"]["type"], one["expiresAt"]) for one in answer.json["auditLogs"]] == [
        ("day-6", "2026-01-03T09:00:00.000Z"),
        ("day-20", "2026-01-12T09:00:00.000Z"),
    ]


async def test_only_retention_may_remove_a_content(month) -> None:
    project = await project_with(month, 7)
    await log(month, old(month, 8, project_id=project), old(month, 6, project_id=project))
    await jobs.write_checkpoints(month.context)
    await jobs.remove_expired(month.context)
    ours, theirs = await month.rows("SELECT number FROM audit_records ORDER BY number DESC LIMIT 2")
    await month.context.database.execute(
        "UPDATE audit_records a SET content_hash = decode(repeat('ab', 32), 'hex'), removal_mac = b.removal_mac "
        "FROM audit_records b WHERE a.number = $1 AND b.number = $2 AND b.organization_id = a.organization_id",
        ours["number"],
        theirs["number"],
    )
    lines, first_bad = await exported(month, organization(month))
    assert first_bad == ours["number"]
    with pytest.raises(BadExport):
        verify_export(lines)


async def test_what_no_checkpoint_covers_stays(month, clock) -> None:
    await log(month, old(month, 40))
    await jobs.remove_expired(month.context)
    assert await days_left(month) == ["day-40"]
    await jobs.write_checkpoints(month.context)
    await jobs.remove_expired(month.context)
    assert await days_left(month) == []


async def test_the_records_of_a_deleted_project_live_as_long_as_the_instance_says(month) -> None:
    project = await project_with(month, 7)
    await log(month, old(month, 8, project_id=project), old(month, 31, project_id=project))
    await month.http.delete(f"/api/v1/projects/{project}", token=month.token)
    await all_recorded(month)
    await jobs.write_checkpoints(month.context)
    await jobs.remove_expired(month.context)
    assert await days_left(month) == ["day-8"]


@pytest.mark.timeout(120)
async def test_many_records_go_in_pieces_and_each_piece_verifies(month, clock) -> None:
    await log(month, *(old(month, 1) for _ in range(2600)))
    await jobs.write_checkpoints(month.context)
    await log(month, old(month, -20))
    await jobs.write_checkpoints(month.context)
    clock.advance(31 * DAY)
    await jobs.remove_expired(month.context)
    await all_recorded(month)
    assert await days_left(month) == ["day--20"]
    lines, first_bad = await exported(month, organization(month))
    good = verify_export(lines)
    assert first_bad is None
    assert good.first > 2600
