"""Dead letters without a broker: rows of an outbox whose consumer gave up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from strongroom_common.contracts.envelopes import Envelope
from strongroom_common.runtime.postgres import EmbeddedPostgres, PostgresFailed
from strongroom_common.runtime.process import CannotStart
from strongroom_standalone.folder import DataFolder
from strongroom_standalone.house import SERVICES

_LIST = """
SELECT id, envelope, dead_at, last_error FROM outbox WHERE dead_at IS NOT NULL ORDER BY dead_at LIMIT $1
"""
_REPLAY = """
UPDATE outbox SET dead_at = NULL WHERE dead_at IS NOT NULL AND (cardinality($1::uuid[]) = 0 OR id = ANY($1::uuid[]))
RETURNING id
"""


async def list_letters(data: Path, limit: int) -> list[dict[str, Any]]:
    """Return the dead letters of all services; secret fields in them are sealed and left out here."""
    found: list[dict[str, Any]] = []
    for service in SERVICES:
        connection = await _connect(data, service)
        try:
            for row in await connection.fetch(_LIST, limit):
                envelope = Envelope.decode(row["envelope"])
                found.append(
                    {
                        "from": service,
                        "messageId": str(row["id"]),
                        "type": envelope.type,
                        "diedAt": row["dead_at"].isoformat(),
                        "reason": row["last_error"],
                    }
                )
        finally:
            await connection.close()
    return found[:limit]


async def replay_letters(data: Path, message_ids: Sequence[UUID]) -> int:
    """Let the running instance's relay publish them again; return how many."""
    count = 0
    for service in SERVICES:
        connection = await _connect(data, service)
        try:
            count += len(await connection.fetch(_REPLAY, list(message_ids)))
            await connection.execute("NOTIFY strongroom_outbox")
        finally:
            await connection.close()
    return count


async def _connect(data: Path, service: str) -> "asyncpg.Connection[asyncpg.Record]":
    folder = DataFolder(data, lambda line: None)
    try:
        url = EmbeddedPostgres.url_of_running(folder.postgres, service)
        return await asyncpg.connect(url.reveal(), timeout=5)
    except (PostgresFailed, OSError, asyncpg.PostgresError):
        raise CannotStart(f"nothing runs on {folder.path}: start it first, or name its folder with --data") from None
