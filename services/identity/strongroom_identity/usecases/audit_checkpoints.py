"""Checkpoints of the audit log: signed while the service runs, so that later nobody can say it was otherwise."""

from uuid import UUID

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.observability.logs import get_logger
from strongroom_identity.domain import audit_chain
from strongroom_identity.domain.audit_chain import Frontier
from strongroom_identity.domain.audit_checkpoints import SEGMENT, Checkpoint
from strongroom_identity.store import audit_checkpoints, audit_records
from strongroom_identity.usecases.context import IdentityContext

log = get_logger(__name__)


async def write_due(context: IdentityContext) -> None:
    """Cover every record that is in the log by now."""
    async with context.database.begin(Origin()) as work:
        due = await audit_checkpoints.list_due(work)
    for organization_id in due:
        await write(context, organization_id)


async def write(context: IdentityContext, organization_id: UUID) -> None:
    """Cover the records of one organization. Replicas may do it at once: records never change, so both are right."""
    while await _write_one(context, organization_id):
        pass


async def _write_one(context: IdentityContext, organization_id: UUID) -> bool:
    async with context.database.begin(Origin()) as work:
        newest = await audit_checkpoints.find_newest(work, organization_id)
        tree = newest.tree() if newest else Frontier()
        records = await audit_records.list_span(work, organization_id, tree.count, tree.count + SEGMENT)
        mac = newest.last_mac if newest else audit_chain.START
        begin = tree.count
        for record in records:
            if record.mac is None:
                break  # The chain may be behind.
            # What somebody has changed since it was written must not be signed away.
            expected = audit_chain.link(context.audit.mac_key, mac, record.cover())
            if record.number != tree.count + 1 or record.mac != expected:
                log.error("audit_chain_broken", organization_id=str(organization_id), number=tree.count + 1)
                break
            mac = expected
            tree.add(audit_chain.leaf(record.cover(), mac))
        if tree.count == begin:
            return False
        await audit_checkpoints.add(
            work, Checkpoint.of(organization_id, tree, mac, context.clock.now(), context.audit.signer)
        )
        await work.commit()
    return True
