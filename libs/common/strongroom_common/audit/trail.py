"""Audit records of reads, written by group commit: requests at the same moment share one INSERT and one commit.

A change records itself in its own transaction, with `UnitOfWork.record`. Both land in the service's spool, from which a
job sends them to identity.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal
from uuid import UUID

import orjson
from sqlalchemy import text

from strongroom_common.contracts.audit import AuditRecord, AuditRecorded
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import Database, encode_records
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import StrongroomError, Unavailable
from strongroom_common.kernel.ids import new_id

Durability = Literal["durable", "relaxed"]

_SPOOL = "INSERT INTO audit_spool (records) VALUES ($1)"
_TAKE = text(
    "DELETE FROM audit_spool WHERE seq IN "
    "(SELECT seq FROM audit_spool ORDER BY seq LIMIT :rows FOR UPDATE SKIP LOCKED) RETURNING seq, records"
)
MOST_RECORDS = 500
"""How many records one message carries."""


def audit_record(
    origin: Origin, clock: Clock, event: str, metadata: Mapping[str, Any], *, project_id: UUID | None = None
) -> AuditRecord:
    """Make a record of what the origin's actor did just now."""
    return AuditRecord(
        id=new_id(),
        occurred_at=clock.now(),
        organization_id=origin.organization_id,
        project_id=project_id or origin.project_id,
        actor=origin.actor,
        client_address=origin.client_address,
        user_agent=origin.user_agent,
        event=event,
        metadata=metadata,
    )


class ReadTrail:
    """Records of reads. Runs inside `running()`."""

    def __init__(self, database: Database, durability: Durability = "durable") -> None:
        """`relaxed` answers before the record is durable: a crash may then lose the last moment's reads."""
        self._database = database
        self._durability = durability
        self._waiting: list[tuple[AuditRecord, asyncio.Future[None]]] = []
        self._bell = asyncio.Event()

    async def note(self, record: AuditRecord) -> None:
        """Return when the record is durable; raises `Unavailable` when it cannot be made so."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((record, done))
        self._bell.set()
        if self._durability == "durable":
            await done

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write what is noted; on the way out, everything that still waits."""
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(self._write_forever(), name="read-trail")
            try:
                yield
            finally:
                await self._write()
                writer.cancel()

    async def _write_forever(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            await self._write()

    async def _write(self) -> None:
        # While one batch is on its way to the disk, the next one gathers: load makes the batches larger, not more.
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        try:
            await self._database.execute(_SPOOL, encode_records([record for record, _ in batch]))
        except Exception as error:  # noqa: BLE001 - each waiting reader gets it, and is refused
            refusal = error if isinstance(error, StrongroomError) else Unavailable("the audit trail cannot be written")
            for _, done in batch:
                if not done.done():
                    done.set_exception(refusal)
                    # A relaxed reader has gone; asyncio must not complain that nobody looked.
                    done.exception()
            return
        for _, done in batch:
            if not done.done():
                done.set_result(None)


async def forward_spool(database: Database, message: type[AuditRecorded], rows: int = 1000) -> int:
    """Move spooled records into messages to identity, in one transaction; return how many rows were moved."""
    async with database.begin(Origin()) as work:
        taken = await work.rows(_TAKE, {"rows": rows})
        if not taken:
            return 0
        records = [record for row in sorted(taken, key=lambda row: row.seq) for record in orjson.loads(row.records)]
        for start in range(0, len(records), MOST_RECORDS):
            work.send(message(records=records[start : start + MOST_RECORDS]))
        await work.commit()
        return len(taken)
