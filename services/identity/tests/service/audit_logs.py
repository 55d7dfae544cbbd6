"""What tests of the audit log do on their way."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

from strongroom_common.audit.trail import forward_spool
from strongroom_common.contracts.audit import AuditRecord, IdentityAudited, SecretsAudited
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.testing.clock import MORNING
from strongroom_common.testing.waiting import eventually
from strongroom_identity.usecases.audit_exports import Export

ORGANIZATION = UUID(int=7)


def a_record(number: int, organization_id: UUID | None = ORGANIZATION, **more) -> AuditRecord:
    values = {
        "id": uuid4(),
        "occurred_at": MORNING + timedelta(seconds=number),
        "organization_id": organization_id,
        "project_id": None,
        "actor": Actor(kind="identity", id=uuid4(), name="robot", metadata={"name": "robot"}),
        "client_address": "192.0.2.1",
        "user_agent": "cli",
        "event": f"event-{number}",
        "metadata": {"number": number, "nested": {"list": [1, "two", None]}},
    }
    return AuditRecord(**{**values, **more})


async def publish(fresh, *messages, times: int = 1) -> None:
    """Say it on the bus; every one of them is handled when this returns."""
    foundations = fresh.identity.service.foundations
    envelopes = [foundations.postmaster.enclose(message, Origin()) for message in messages]
    await asyncio.gather(*(foundations.bus.publish(envelope) for envelope in envelopes for _ in range(times)))


async def log(fresh, *records: AuditRecord) -> None:
    """Put records into the log, in messages as large as they get."""
    for start in range(0, len(records), 500):
        await publish(fresh, SecretsAudited(records=records[start : start + 500]))


async def all_recorded(world) -> None:
    """Wait until everything that was recorded so far is in the log."""
    await forward_spool(world.context.database, IdentityAudited)
    world.context.database.after_commit()
    await eventually(lambda: _is_settled(world))


async def _is_settled(world) -> bool:
    rows = await world.rows(
        "SELECT (SELECT count(*) FROM audit_spool) + (SELECT count(*) FROM outbox WHERE sent_at IS NULL) AS waiting"
    )
    return rows[0]["waiting"] == 0


async def exported(world, organization_id: UUID) -> tuple[list[bytes], int | None]:
    """The lines of an export, and the first bad record that it found on the way."""
    export = Export(world.context, organization_id)
    lines = [line async for line in export.lines()]
    return lines, export.first_bad
