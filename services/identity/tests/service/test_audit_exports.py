"""Checkpoints, exports and what changes in the database look like from outside."""

import json
import os
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from services.identity.tests.service.audit_logs import ORGANIZATION, a_record, exported, log

from strongroom_common.kernel.errors import Conflict, NotFound
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.service_harness import settings_for
from strongroom_identity.domain.audit_exports import BadExport, verify_export
from strongroom_identity.jobs import audit_records as jobs
from strongroom_identity.settings import IdentitySettings
from strongroom_identity.usecases.audit_exports import Export

OTHER = UUID(int=8)


async def checkpoints_of(fresh, organization_id: UUID = ORGANIZATION) -> list[int]:
    rows = await fresh.rows(
        "SELECT number FROM audit_checkpoints WHERE organization_id = $1 ORDER BY number", organization_id
    )
    return [row["number"] for row in rows]


async def change(fresh, statement: str) -> None:
    await fresh.context.database.execute(statement)


async def test_the_job_signs_what_is_new(fresh) -> None:
    await log(fresh, a_record(1), a_record(2), a_record(3, OTHER))
    await jobs.write_checkpoints(fresh.context)
    await jobs.write_checkpoints(fresh.context)
    assert (await checkpoints_of(fresh), await checkpoints_of(fresh, OTHER)) == ([2], [1])
    await log(fresh, a_record(4))
    await jobs.write_checkpoints(fresh.context)
    assert (await checkpoints_of(fresh), await checkpoints_of(fresh, OTHER)) == ([2, 3], [1])


@pytest.mark.timeout(120)
async def test_an_export_of_several_thousand_records_is_good(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(2500)))
    lines, first_bad = await exported(fresh, ORGANIZATION)
    assert first_bad is None
    good = verify_export(lines, [fresh.context.audit.signer.public_key.hex()])
    assert (good.organization_id, good.first, good.last) == (ORGANIZATION, 1, 2500)
    assert await checkpoints_of(fresh) == [1000, 2000, 2500]


async def test_an_export_holds_everything_that_a_record_says(fresh) -> None:
    record = a_record(1)
    await log(fresh, record)
    lines, _ = await exported(fresh, ORGANIZATION)
    content = json.loads(lines[-1])["content"]
    assert content == {
        "id": str(record.id),
        "event": "event-1",
        "actorType": "identity",
        "actorId": str(record.actor.id),
        "actorMetadata": {"name": "robot"},
        "metadata": {"number": 1, "nested": {"list": [1, "two", None]}},
        "ipAddress": "192.0.2.1",
        "userAgent": "cli",
    }


async def test_the_records_of_nobody_can_be_exported(fresh) -> None:
    await log(fresh, a_record(1, None))
    lines, first_bad = await exported(fresh, UUID(int=0))
    assert (first_bad, verify_export(lines).last) == (None, 1)


async def test_an_organization_without_records_has_no_export(fresh) -> None:
    with pytest.raises(NotFound):
        await exported(fresh, OTHER)


CHANGES = [
    f"UPDATE audit_records SET {column} = {value} WHERE number = 5"  # noqa: S608 - ours
    for column, value in {
        "id": "gen_random_uuid()",
        "project_id": "gen_random_uuid()",
        "event": "'other'",
        "actor_kind": "'user'",
        "actor_id": "NULL",
        "actor_metadata": "'{}'",
        "metadata": "metadata || '{\"number\": 6}'",
        "client_address": "''",
        "user_agent": "'curl'",
        "occurred_at": "occurred_at + interval '1 microsecond'",
        "recorded_at": "recorded_at - interval '1 microsecond'",
        "mac": "decode(repeat('00', 32), 'hex')",
        "content_hash": "decode(repeat('00', 32), 'hex')",
    }.items()
]


@pytest.mark.parametrize("statement", [*CHANGES, "DELETE FROM audit_records WHERE number = 5"])
async def test_a_change_in_the_database_is_found_inside_and_outside(fresh, statement) -> None:
    await log(fresh, *(a_record(number) for number in range(9)))
    await jobs.write_checkpoints(fresh.context)
    await change(fresh, statement)
    lines, first_bad = await exported(fresh, ORGANIZATION)
    assert first_bad == 5
    with pytest.raises(BadExport):
        verify_export(lines)


async def test_a_cut_tail_in_the_database_is_found(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(9)))
    await jobs.write_checkpoints(fresh.context)
    await change(fresh, "DELETE FROM audit_records WHERE number > 6")
    lines, first_bad = await exported(fresh, ORGANIZATION)
    assert first_bad == 7
    with pytest.raises(BadExport):
        verify_export(lines)


async def test_records_that_changed_places_are_found(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(9)))
    await jobs.write_checkpoints(fresh.context)
    await change(fresh, "UPDATE audit_records SET number = number + 100 WHERE number IN (4, 6)")
    await change(fresh, "UPDATE audit_records SET number = CASE number WHEN 104 THEN 6 ELSE 4 END WHERE number > 100")
    lines, first_bad = await exported(fresh, ORGANIZATION)
    assert first_bad == 4
    with pytest.raises(BadExport):
        verify_export(lines)


async def test_a_change_before_the_checkpoint_is_found_by_the_chain(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(9)))
    await change(fresh, CHANGES[2])
    lines, first_bad = await exported(fresh, ORGANIZATION)
    assert first_bad == 5
    # Nobody signs what was changed: the export ends before it.
    assert verify_export(lines).last == 4


async def test_a_tail_cut_before_the_checkpoint_is_found_by_its_length(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(9)))
    await change(fresh, "DELETE FROM audit_records WHERE number > 6")
    lines, first_bad = await exported(fresh, ORGANIZATION)
    assert (first_bad, verify_export(lines).last) == (7, 6)


async def test_a_log_that_is_broken_from_the_first_record_has_no_export(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(9)))
    await change(fresh, "UPDATE audit_records SET event = 'other' WHERE number = 1")
    with pytest.raises(Conflict):
        await exported(fresh, ORGANIZATION)


async def test_a_record_that_comes_while_an_export_is_read_changes_nothing_in_it(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(3)))
    export = Export(fresh.context, ORGANIZATION)
    lines = []
    async for line in export.lines():
        await log(fresh, a_record(10 + len(lines)))
        lines.append(line)
    assert (export.first_bad, verify_export(lines).last) == (None, 3)


async def test_a_checkpoint_is_not_made_over_a_gap(fresh) -> None:
    await log(fresh, *(a_record(number) for number in range(9)))
    await change(fresh, "DELETE FROM audit_records WHERE number = 5")
    await jobs.write_checkpoints(fresh.context)
    assert await checkpoints_of(fresh) == [4]


@pytest.mark.timeout(120)
async def test_the_command_line_exports_and_verifies(start, fresh, database_url: Secret, clock, tmp_path: Path) -> None:
    await log(fresh, *(a_record(number) for number in range(5)))
    settings = fresh.identity.service.foundations.settings
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "STRONGROOM_IDENTITY_DATABASE_URL": settings.database_url.reveal(),
        "STRONGROOM_IDENTITY_BUS_URL": "amqp://nobody@localhost/",
        "STRONGROOM_IDENTITY_MASTER_KEYS": settings.master_keys.reveal(),
        "STRONGROOM_BUS_KEYS": settings.bus_keys.reveal(),
    }
    file = tmp_path / "audit.jsonl"

    async def run(*arguments: str, env: dict[str, str]) -> tuple[int | None, str]:
        process = await create_subprocess_exec(
            sys.executable, "-m", "strongroom_identity", "audit", *arguments, env=env, stdout=PIPE, stderr=PIPE
        )
        out, error = await process.communicate()
        return process.returncode, (out + error).decode()

    nothing = {name: environment[name] for name in ("PATH", "PYTHONPATH")}
    assert await run("export", "--organization", str(ORGANIZATION), "--output", str(file), env=environment) == (0, "")
    assert (await run("export", "--organization", str(OTHER), env=environment))[0] == 1
    _, key = await run("public-key", env=environment)
    status, said = await run("verify", str(file), "--public-key", key.strip(), env=nothing)
    assert (status, said.startswith(f"good: organization {ORGANIZATION}, records 1 to 5, as of ")) == (0, True)
    assert len(said.splitlines()) == 1

    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:4], *lines[5:]]))
    status, said = await run("verify", str(file), env=nothing)
    assert status == 3
    assert "record 3" in said

    await change(fresh, CHANGES[2])
    status, said = await run("export", "--organization", str(ORGANIZATION), env=environment)
    assert status == 3
    assert "record 5 is not as it was written" in said


async def test_a_day_later_the_export_goes_on(fresh, clock) -> None:
    await log(fresh, a_record(1))
    earlier, _ = await exported(fresh, ORGANIZATION)
    clock.advance(timedelta(days=1))
    await log(fresh, a_record(2))
    lines, first_bad = await exported(fresh, ORGANIZATION)
    assert (first_bad, verify_export(lines).last, verify_export(earlier).last) == (None, 2, 1)


def test_the_retention_has_a_default() -> None:
    assert settings_for(IdentitySettings, Secret("postgresql://")).audit_retention_days == 0
