"""The queries about checkpoints of the audit log."""

from uuid import UUID

from sqlalchemy import delete, select, text
from sqlalchemy.dialects.postgresql import insert

from strongroom_common.db.database import UnitOfWork
from strongroom_identity.domain.audit_checkpoints import Checkpoint
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import AUDIT_CHECKPOINTS

_TABLE = AUDIT_CHECKPOINTS.c
_DUE = text("""
SELECT h.organization_id FROM audit_heads h
WHERE h.chained_number > coalesce((
    SELECT c.number FROM audit_checkpoints c WHERE c.organization_id = h.organization_id ORDER BY c.number DESC LIMIT 1
), 0)
""")


async def list_due(work: UnitOfWork) -> list[UUID]:
    """List the organizations with records that no checkpoint covers."""
    return [row.organization_id for row in await work.rows(_DUE)]


async def find_newest(work: UnitOfWork, organization_id: UUID, *, until: int | None = None) -> Checkpoint | None:
    """Return the last checkpoint, or the last one that covers no record above `until`."""
    statement = select(AUDIT_CHECKPOINTS).where(_TABLE.organization_id == organization_id)
    if until is not None:
        statement = statement.where(_TABLE.number <= until)
    row = await work.row(statement.order_by(_TABLE.number.desc()).limit(1))
    return None if row is None else value_of(Checkpoint, row._mapping)


async def find_next(work: UnitOfWork, organization_id: UUID, after: int) -> Checkpoint | None:
    """Return the first checkpoint above this number."""
    statement = (
        select(AUDIT_CHECKPOINTS)
        .where(_TABLE.organization_id == organization_id, _TABLE.number > after)
        .order_by(_TABLE.number)
        .limit(1)
    )
    row = await work.row(statement)
    return None if row is None else value_of(Checkpoint, row._mapping)


async def add(work: UnitOfWork, checkpoint: Checkpoint) -> None:
    """Keep a checkpoint; where another replica was faster, its one stays."""
    await work.execute(
        insert(AUDIT_CHECKPOINTS).values(**columns_of(AUDIT_CHECKPOINTS, checkpoint)).on_conflict_do_nothing()
    )


async def drop_below(work: UnitOfWork, organization_id: UUID, number: int) -> None:
    """Forget the checkpoints below this one."""
    await work.execute(
        delete(AUDIT_CHECKPOINTS).where(_TABLE.organization_id == organization_id, _TABLE.number < number)
    )
