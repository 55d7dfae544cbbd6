"""Refusals: kept for a while, and explained to whoever may know."""

from collections.abc import Sequence
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import NotFound
from strongroom_identity.domain.decisions import KEPT, MOST_KEPT, Decision
from strongroom_identity.store import decisions
from strongroom_identity.usecases.context import IdentityContext


async def keep(work: UnitOfWork, records: Sequence[AuditRecord]) -> None:
    """Keep those of the records that are decisions against a caller of some organization."""
    found = [
        Decision(record.id, record.organization_id, record.project_id, record.actor, record.refusal, record.occurred_at)
        for record in records
        if record.refusal is not None and record.organization_id is not None
    ]
    if found:
        await decisions.add_all(work, found)


async def get(context: IdentityContext, caller: Caller, origin: Origin, decision_id: UUID) -> tuple[Decision, bool]:
    """Return a decision to whom it was made against, or to an admin; and say whether it is an admin who asks.

    Only an admin sees more than what was needed: the rules and the resource may tell what the refused caller must not
    know. Raises `NotFound` for everybody else.
    """
    decision = await decisions.find(context.database, caller.organization_id, decision_id)
    # Who may go into every project of the organization may know what is decided in them.
    is_admin = caller.rules.may("access-all-projects", "organization-admin-console")
    if decision is None or not (is_admin or decision.actor.id == caller.access.subject_id):
        raise NotFound("There is no such decision, or it is too long ago")
    metadata = {"decisionId": str(decision_id)}
    await context.trail.note(audit_record(origin, context.clock, "get-access-decision", metadata))
    return decision, is_admin


async def forget(context: IdentityContext) -> None:
    """Forget what is too old, and what is too much."""
    while await decisions.drop_old(context.database, context.clock.now() - KEPT):
        pass
    await decisions.drop_surplus(context.database, MOST_KEPT)
