"""What every service has recorded, on its way into the audit log."""

from strongroom_common.contracts.audit import AUDIT_TYPES, AuditRecorded
from strongroom_common.db.database import UnitOfWork
from strongroom_common.runtime.listening import Listeners
from strongroom_identity.usecases import audit_records, decisions
from strongroom_identity.usecases.context import IdentityContext

listeners: Listeners[IdentityContext] = Listeners()


@listeners.on(AuditRecorded, pattern=AUDIT_TYPES)
async def append(context: IdentityContext, work: UnitOfWork, message: AuditRecorded) -> None:
    """Keep a batch of records, and with them what is needed to explain the refusals among them."""
    await audit_records.append(context, work, message.records)
    await decisions.keep(work, message.records)
