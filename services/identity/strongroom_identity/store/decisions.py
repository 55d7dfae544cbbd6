"""The queries about explained decisions."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.dialects.postgresql import insert

from strongroom_common.contracts.audit import Refusal
from strongroom_common.contracts.envelopes import Actor
from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.decisions import Decision
from strongroom_identity.store.access_tables import ACCESS_DECISIONS
from strongroom_identity.store.rows import value_of

_FIND = "SELECT * FROM access_decisions WHERE id = $1 AND organization_id = $2"
_DROP_OLD = """
DELETE FROM access_decisions WHERE id IN (
    SELECT id FROM access_decisions WHERE decided_at < $1 ORDER BY decided_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""
_DROP_SURPLUS = """
DELETE FROM access_decisions WHERE id IN (
    SELECT d.id
    FROM (SELECT organization_id FROM access_decisions GROUP BY organization_id HAVING count(*) > $1) o
    CROSS JOIN LATERAL (
        SELECT id FROM access_decisions x WHERE x.organization_id = o.organization_id
        ORDER BY x.decided_at DESC, x.id DESC OFFSET $1 LIMIT $2
    ) d
)
"""


async def add_all(work: UnitOfWork, decisions: Sequence[Decision]) -> None:
    """Keep decisions; those that are here already change nothing, since a message may come twice."""
    rows = [
        {
            "id": decision.id,
            "organization_id": decision.organization_id,
            "project_id": decision.project_id,
            "actor": decision.actor.model_dump(mode="json"),
            "refusal": decision.refusal.model_dump(mode="json"),
            "decided_at": decision.decided_at,
        }
        for decision in decisions
    ]
    await work.execute(insert(ACCESS_DECISIONS).on_conflict_do_nothing(), rows)


async def find(database: Database, organization_id: UUID, decision_id: UUID) -> Decision | None:
    """Return a decision made in the organization, or None."""
    row = await database.fetch_row(_FIND, decision_id, organization_id)
    if row is None:
        return None
    actor, refusal = Actor.model_validate(row["actor"]), Refusal.model_validate(row["refusal"])
    return value_of(Decision, row, actor=actor, refusal=refusal)


async def drop_old(database: Database, before: datetime, most: int = 1000) -> bool:
    """Forget some of the decisions made before an instant; say whether there may be more."""
    done = await database.execute(_DROP_OLD, before, most)
    return int(done.rpartition(" ")[2]) == most


async def drop_surplus(database: Database, kept: int, most: int = 10_000) -> None:
    """Forget the oldest decisions of each organization that has more than it keeps, some at a time."""
    await database.execute(_DROP_SURPLUS, kept, most)
