"""The queries about the audit log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import select, text

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.audit_records import FoundRecord, LoggedRecord, Search, end_of_life
from strongroom_identity.store.rows import Columns, value_of
from strongroom_identity.store.tables import AUDIT_RECORDS

_TABLE = AUDIT_RECORDS.c


@dataclass(frozen=True)
class Head:
    """How far an organization's part of the log has come, and its chain."""

    organization_id: UUID
    last_number: int
    chained_number: int
    last_mac: bytes | None


# In the order of ids, so that two batches cannot wait for each other. A head stays locked until the commit: numbers
# have no gaps and grow in the order of commits.
_LOCK_HEADS = text("""
INSERT INTO audit_heads AS head (organization_id, last_number)
SELECT organization_id, 0 FROM unnest(CAST(:organization_ids AS uuid[])) organization_id ORDER BY organization_id
ON CONFLICT (organization_id) DO UPDATE SET last_number = head.last_number
RETURNING organization_id, last_number, chained_number, last_mac
""")
_LENGTH = text("SELECT chained_number FROM audit_heads WHERE organization_id = :organization_id")
_KNOWN = text("""
SELECT organization_id, id FROM audit_records
WHERE (organization_id, id) IN (SELECT * FROM unnest(CAST(:organization_ids AS uuid[]), CAST(:ids AS uuid[])))
""")
_ADD = text("""
WITH moved AS (
    UPDATE audit_heads head SET last_number = h.last_number, chained_number = h.last_number,
        last_mac = decode(h.last_mac, 'hex')
    FROM jsonb_to_recordset(CAST(:heads AS jsonb)) AS h (organization_id uuid, last_number bigint, last_mac text)
    WHERE head.organization_id = h.organization_id
)
INSERT INTO audit_records (organization_id, number, id, project_id, event, actor_kind, actor_id, actor_metadata,
    metadata, client_address, user_agent, user_agent_type, occurred_at, recorded_at, mac)
SELECT organization_id, number, id, project_id, event, actor_kind, actor_id, actor_metadata, metadata, client_address,
    user_agent, user_agent_type, occurred_at, recorded_at, decode(mac, 'hex')
FROM jsonb_to_recordset(CAST(:records AS jsonb)) AS (
    organization_id uuid, number bigint, id uuid, project_id uuid, event text, actor_kind text, actor_id uuid,
    actor_metadata jsonb, metadata jsonb, client_address text, user_agent text, user_agent_type text,
    occurred_at timestamptz, recorded_at timestamptz, mac text
)
""")

_RECORD = (
    "organization_id, number, id, project_id, event, actor_kind, actor_id, actor_metadata, metadata, client_address, "
    "user_agent, occurred_at, recorded_at, mac, content_hash, removal_mac"
)
_CHAIN = text("""
UPDATE audit_records r SET mac = decode(c.mac, 'hex')
FROM jsonb_to_recordset(CAST(:links AS jsonb)) AS c (number bigint, mac text)
WHERE r.organization_id = :organization_id AND r.number = c.number
""")
_MOVE_CHAIN = text("""
UPDATE audit_heads SET chained_number = :number, last_mac = :mac WHERE organization_id = :organization_id
""")

# A record's own retention: that of its project, or else the instance's; 0 and none are for ever.
_RETENTION = "coalesce(nullif(p.audit_logs_retention_days, 0), CAST(:days AS integer))"
_EXPIRED = f"({_RETENTION} > 0 AND r.occurred_at < CAST(:now AS timestamptz) - make_interval(days => {_RETENTION}))"
_WITH_EXPIRY = text("""
SELECT organization_id FROM audit_heads
WHERE CAST(:days AS integer) > 0
    OR organization_id IN (SELECT organization_id FROM projects WHERE audit_logs_retention_days > 0)
""")
_CLAIM_EXPIRY = text("SELECT pg_try_advisory_xact_lock(hashtextextended('audit-retention:' || :organization_id, 0))")
_FIRST_KEPT = text(f"""
SELECT r.number FROM audit_records r LEFT JOIN projects p ON p.id = r.project_id
WHERE r.organization_id = :organization_id AND r.content_hash IS NULL AND NOT {_EXPIRED}
ORDER BY r.number LIMIT 1
""")  # noqa: S608 - our own condition
_DROP = text("DELETE FROM audit_records WHERE organization_id = :organization_id AND number <= :number")
_EXPIRED_INSIDE = text(f"""
SELECT r.number FROM audit_records r LEFT JOIN projects p ON p.id = r.project_id
WHERE r.organization_id = :organization_id AND r.number > :after AND r.number <= :until AND r.content_hash IS NULL
    AND {_EXPIRED}
ORDER BY r.number LIMIT :limit
""")  # noqa: S608 - our own condition
# The id goes as well: it is what keeps the content from being guessed.
_EMPTY = text("""
UPDATE audit_records r SET content_hash = decode(e.content_hash, 'hex'),
    removal_mac = decode(e.removal_mac, 'hex'), id = gen_random_uuid(), event = '',
    actor_kind = '', actor_id = NULL, actor_metadata = '{}', metadata = '{}', client_address = '', user_agent = '',
    user_agent_type = ''
FROM jsonb_to_recordset(CAST(:emptied AS jsonb)) AS e (number bigint, content_hash text, removal_mac text)
WHERE r.organization_id = :organization_id AND r.number = e.number
""")


async def lock_heads(work: UnitOfWork, organization_ids: Iterable[UUID]) -> list[Head]:
    """Lock the heads of these organizations until the commit; those that are missing begin at 0."""
    rows = await work.rows(_LOCK_HEADS, {"organization_ids": sorted(set(organization_ids))})
    return [value_of(Head, row._mapping) for row in rows]


async def find_length(work: UnitOfWork, organization_id: UUID) -> int:
    """Return the number of the last record that is chained."""
    row = await work.row(_LENGTH, {"organization_id": organization_id})
    return 0 if row is None else int(row.chained_number)


async def find_known(work: UnitOfWork, places: Sequence[tuple[UUID, UUID]]) -> set[tuple[UUID, UUID]]:
    """Of these records (organization, id), return those that are in the log already."""
    parameters = {"organization_ids": [place[0] for place in places], "ids": [place[1] for place in places]}
    return {(row.organization_id, row.id) for row in await work.rows(_KNOWN, parameters)}


async def add(work: UnitOfWork, heads: Iterable[Head], records: Iterable[LoggedRecord]) -> None:
    """Add records, and move their heads on."""
    moved = [
        {"organization_id": head.organization_id, "last_number": head.last_number, "last_mac": _hex(head.last_mac)}
        for head in heads
    ]
    rows = [_columns(record) for record in records]
    await work.execute(_ADD, {"heads": orjson.dumps(moved).decode(), "records": orjson.dumps(rows).decode()})


async def list_span(
    work: UnitOfWork, organization_id: UUID, after: int, until: int, *, limit: int | None = None
) -> list[LoggedRecord]:
    """List the records with a number above `after`, up to `until`, in their order."""
    statement = (
        select(AUDIT_RECORDS)
        .where(_TABLE.organization_id == organization_id, _TABLE.number > after, _TABLE.number <= until)
        .order_by(_TABLE.number)
        .limit(limit)
    )
    return [value_of(LoggedRecord, row._mapping) for row in await work.rows(statement)]


async def chain(work: UnitOfWork, organization_id: UUID, macs: Sequence[tuple[int, bytes]]) -> None:
    """Give records that are in the log already their MACs, in the order of their numbers."""
    links = [{"number": number, "mac": mac.hex()} for number, mac in macs]
    await work.execute(_CHAIN, {"organization_id": organization_id, "links": orjson.dumps(links).decode()})
    number, mac = macs[-1]
    await work.execute(_MOVE_CHAIN, {"organization_id": organization_id, "number": number, "mac": mac})


async def search(database: Database, organization_id: UUID, wanted: Search, retention_days: int) -> list[FoundRecord]:
    """List what is wanted, the newest first. `retention_days` is the instance's, for those without a project's."""
    arguments: list[Any] = []

    def place(value: Any) -> str:
        arguments.append(value)
        return f"${len(arguments)}"

    conditions = [
        f"organization_id = {place(organization_id)}",
        f"occurred_at >= {place(wanted.since)}",
        f"occurred_at <= {place(wanted.until)}",
        "content_hash IS NULL",
    ]
    if wanted.project_id is not None:
        conditions.append(f"project_id = {place(wanted.project_id)}")
    if wanted.events:
        conditions.append(f"event = ANY({place(list(wanted.events))}::text[])")
    if wanted.actor_kind is not None:
        conditions.append(f"actor_kind = {place(wanted.actor_kind)}")
    if wanted.actor_id is not None:
        conditions.append(f"actor_id = {place(wanted.actor_id)}")
    if wanted.user_agent_type is not None:
        conditions.append(f"user_agent_type = {place(wanted.user_agent_type)}")
    for name, value in wanted.metadata:
        ways = " OR ".join(f"metadata @> {place({name: one})}::jsonb" for one in _readings(value))
        conditions.append(f"({ways})")
    statement = f"""
        SELECT r.*, p.name AS project_name, coalesce(nullif(p.audit_logs_retention_days, 0), 0) AS days FROM (
            SELECT {_RECORD} FROM audit_records WHERE {" AND ".join(conditions)}
            ORDER BY occurred_at DESC, number DESC LIMIT {place(wanted.limit)} OFFSET {place(wanted.offset)}
        ) r LEFT JOIN projects p ON p.id = r.project_id AND p.organization_id = r.organization_id
        ORDER BY r.occurred_at DESC, r.number DESC
    """  # noqa: S608 - names of columns and places of arguments
    return [_found(row, retention_days) for row in await database.fetch(statement, *arguments)]


async def list_with_expiry(work: UnitOfWork, retention_days: int) -> list[UUID]:
    """List the organizations of which records may expire."""
    return [row.organization_id for row in await work.rows(_WITH_EXPIRY, {"days": retention_days})]


async def claim_expiry(work: UnitOfWork, organization_id: UUID) -> bool:
    """Let one replica at a time remove an organization's records, until the commit."""
    row = await work.row(_CLAIM_EXPIRY, {"organization_id": str(organization_id)})
    return row is not None and bool(row[0])


async def find_first_kept(work: UnitOfWork, organization_id: UUID, now: datetime, retention_days: int) -> int | None:
    """Return the number of the first record that has not expired."""
    row = await work.row(_FIRST_KEPT, {"organization_id": organization_id, "now": now, "days": retention_days})
    return None if row is None else row.number


async def drop_until(work: UnitOfWork, organization_id: UUID, number: int) -> int:
    """Delete the records up to this number; return how many there were."""
    return await work.execute(_DROP, {"organization_id": organization_id, "number": number})


async def list_expired(
    work: UnitOfWork, organization_id: UUID, now: datetime, retention_days: int, *, after: int, until: int, limit: int
) -> list[LoggedRecord]:
    """List expired records that still say something, with a number above `after` up to `until`."""
    parameters = {
        "organization_id": organization_id,
        "now": now,
        "days": retention_days,
        "after": after,
        "until": until,
        "limit": limit,
    }
    numbers = [row.number for row in await work.rows(_EXPIRED_INSIDE, parameters)]
    statement = select(AUDIT_RECORDS).where(_TABLE.organization_id == organization_id, _TABLE.number.in_(numbers))
    return [value_of(LoggedRecord, row._mapping) for row in await work.rows(statement)]


async def empty(work: UnitOfWork, organization_id: UUID, records: Iterable[LoggedRecord]) -> None:
    """Remove what these records say; their place in the chain stays. They bring their hashes and removal MACs."""
    emptied = [
        {"number": record.number, "content_hash": _hex(record.content_hash), "removal_mac": _hex(record.removal_mac)}
        for record in records
    ]
    await work.execute(_EMPTY, {"organization_id": organization_id, "emptied": orjson.dumps(emptied).decode()})


def _columns(record: LoggedRecord) -> dict[str, Any]:
    return {
        "organization_id": record.organization_id,
        "number": record.number,
        "id": record.id,
        "project_id": record.project_id,
        "event": record.event,
        "actor_kind": record.actor_kind,
        "actor_id": record.actor_id,
        "actor_metadata": record.actor_metadata,
        "metadata": record.metadata,
        "client_address": record.client_address,
        "user_agent": record.user_agent,
        "user_agent_type": record.user_agent_type,
        "occurred_at": record.occurred_at,
        "recorded_at": record.recorded_at,
        "mac": _hex(record.mac),
    }


def _hex(raw: bytes | None) -> str | None:
    return None if raw is None else raw.hex()


def _readings(text_value: str) -> list[Any]:
    """The values that this text may stand for: itself, and the number or truth value that it spells."""
    try:
        value = orjson.loads(text_value)
    except ValueError:
        return [text_value]
    return [text_value, value] if isinstance(value, bool | int | float) else [text_value]


def _found(row: Columns, retention_days: int) -> FoundRecord:
    record = value_of(LoggedRecord, row)
    return FoundRecord(record, row["project_name"], end_of_life(record.occurred_at, row["days"] or retention_days))
