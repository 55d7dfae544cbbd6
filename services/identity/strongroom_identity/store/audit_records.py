"""The queries about the audit log."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import orjson
from sqlalchemy import text

from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.db.database import UnitOfWork

NOBODY = UUID(int=0)
"""The organization of records that have none."""

# 1. Records that are here already are left out: a message may come twice.
# 2. Each organization's head moves on by the number of its new records, in the order of ids, so that two batches cannot
#    wait for each other. Its row stays locked until the commit: numbers have no gaps and grow in the order of commits.
# 3. The records take the numbers in between, in the order in which they became durable at their service.
_APPEND = text("""
WITH incoming AS (
    SELECT coalesce(r.organization_id, CAST(:nobody AS uuid)) AS organization_id, r.id, r.project_id, r.event, r.actor,
        r.metadata, r.client_address, r.user_agent, r.occurred_at, place
    FROM ROWS FROM (
        jsonb_to_recordset(CAST(:records AS jsonb)) AS (
            id uuid, organization_id uuid, project_id uuid, event text, actor jsonb, metadata jsonb,
            client_address text, user_agent text, occurred_at timestamptz
        )
    ) WITH ORDINALITY AS r (id, organization_id, project_id, event, actor, metadata, client_address, user_agent,
                            occurred_at, place)
), fresh AS (
    SELECT i.*,
        row_number() OVER (PARTITION BY i.organization_id ORDER BY i.place) AS nth,
        count(*) OVER (PARTITION BY i.organization_id) AS many
    FROM incoming i
    WHERE NOT EXISTS (SELECT FROM audit_records a WHERE a.organization_id = i.organization_id AND a.id = i.id)
), heads AS (
    INSERT INTO audit_heads AS head (organization_id, last_number)
    SELECT organization_id, count(*) FROM fresh GROUP BY organization_id ORDER BY organization_id
    ON CONFLICT (organization_id) DO UPDATE SET last_number = head.last_number + excluded.last_number
    RETURNING organization_id, last_number
)
INSERT INTO audit_records (organization_id, number, id, project_id, event, actor_kind, actor_id, actor_metadata,
    metadata, client_address, user_agent, occurred_at, recorded_at)
SELECT f.organization_id, h.last_number - f.many + f.nth, f.id, f.project_id, f.event, f.actor ->> 'kind',
    CAST(f.actor ->> 'id' AS uuid), f.actor -> 'metadata', f.metadata, f.client_address, f.user_agent, f.occurred_at,
    CAST(:now AS timestamptz)
FROM fresh f JOIN heads h USING (organization_id)
""")


async def append(work: UnitOfWork, records: Sequence[AuditRecord], now: datetime) -> None:
    """Add records to the log, numbered per organization; those that are in it already change nothing."""
    documents = orjson.dumps([record.model_dump(mode="json") for record in records]).decode()
    await work.execute(_APPEND, {"records": documents, "nobody": NOBODY, "now": now})
