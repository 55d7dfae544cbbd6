"""Exports of the audit log, read as a stream and checked against the keyed chain on the way."""

from collections.abc import AsyncIterator
from uuid import UUID

from sqlalchemy import text

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.kernel.errors import Conflict, NotFound
from strongroom_identity.domain import audit_chain, audit_exports
from strongroom_identity.domain.audit_records import LoggedRecord
from strongroom_identity.store import audit_checkpoints, audit_records
from strongroom_identity.usecases import audit_checkpoints as checkpoints
from strongroom_identity.usecases.context import IdentityContext

_SNAPSHOT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


class Export:
    """One organization's audit log, whole. Memory is bounded by what lies between two checkpoints."""

    def __init__(self, context: IdentityContext, organization_id: UUID) -> None:
        self._context = context
        self._organization_id = organization_id
        self._number = 0
        self._mac = audit_chain.START
        self.first_bad: int | None = None
        """After the last line: the first record that was not written by this instance as it stands, if there is one."""

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the export. Raises `NotFound` for an organization without records.

        Only what is signed is exported: where the chain is broken before the next checkpoint, that is where it ends.
        """
        context, organization_id = self._context, self._organization_id
        await checkpoints.write(context, organization_id)
        async with context.database.begin(Origin()) as work:
            # One moment for all of it: retention may remove records meanwhile.
            await work.execute(_SNAPSHOT)
            last = await audit_checkpoints.find_newest(work, organization_id)
            length = await audit_records.find_length(work, organization_id)
            if last is None and length:
                raise Conflict("The first audit record is not as it was written: the audit log was changed")
            if last is None:
                raise NotFound("There are no audit records of this organization")
            first = await audit_records.list_span(work, organization_id, 0, last.number, limit=1)
            begins_at = first[0].number if first else last.number + 1
            anchor = await audit_checkpoints.find_newest(work, organization_id, until=begins_at - 1)
            if anchor is not None:
                self._number, self._mac = anchor.number, anchor.last_mac
            now, signer = context.clock.now(), context.audit.signer
            yield audit_exports.header_line(organization_id, anchor, last, now, signer)
            position = self._number
            while position < last.number:
                checkpoint = await audit_checkpoints.find_next(work, organization_id, position)
                if checkpoint is None:
                    break
                records = await audit_records.list_span(work, organization_id, position, checkpoint.number)
                yield audit_exports.checkpoint_line(checkpoint, records, now, signer)
                for record in records:
                    self._check(record)
                    yield audit_exports.record_line(record)
                position = checkpoint.number
            # One more may have come meanwhile. That it fits says that nothing kept the checkpoint from covering it.
            for record in await audit_records.list_span(work, organization_id, last.number, length, limit=1):
                self._check(record)
            if self.first_bad is None and self._number < min(length, last.number + 1):
                self.first_bad = self._number + 1

    def _check(self, record: LoggedRecord) -> None:
        if self.first_bad is not None:
            return
        key, covered = self._context.audit.mac_key, record.cover()
        mac = audit_chain.link(key, self._mac, covered)
        is_removed_by_us = record.content_hash is None or record.removal_mac == audit_chain.removal(key, covered)
        if record.number != self._number + 1 or mac != record.mac or not is_removed_by_us:
            self.first_bad = self._number + 1
            return
        self._number, self._mac = record.number, mac
