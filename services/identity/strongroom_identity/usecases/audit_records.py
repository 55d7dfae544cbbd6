"""The audit log: records come in and are chained, are searched, and end when their time is over."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_identity.domain import audit_chain
from strongroom_identity.domain.audit_records import NOBODY, FoundRecord, LoggedRecord, Search
from strongroom_identity.store import audit_checkpoints, audit_records
from strongroom_identity.store.audit_records import Head
from strongroom_identity.usecases.context import IdentityContext

_BATCH: Final = 1000
_MOST_DROPPED: Final = 10_000
"""How many records one transaction deletes: as many as go away with a checkpoint or two."""


async def append(context: IdentityContext, work: UnitOfWork, records: Sequence[AuditRecord]) -> None:
    """Add records to the log, numbered and chained per organization; those that are in it already change nothing."""
    # 1. The heads are locked first: from here on nobody else adds to these organizations.
    places = [record.organization_id or NOBODY for record in records]
    heads = {head.organization_id: head for head in await audit_records.lock_heads(work, places)}
    for head in heads.values():
        heads[head.organization_id] = await _catch_up(context, work, head)

    # 2. Only now is it certain which records are new. A message may come twice, or hold a record twice.
    ids = [(place, record.id) for place, record in zip(places, records, strict=True)]
    known = await audit_records.find_known(work, ids)
    now = context.clock.now()
    fresh: list[LoggedRecord] = []
    for (place, record_id), record in zip(ids, records, strict=True):
        if (place, record_id) in known:
            continue
        known.add((place, record_id))
        head = heads[place]
        logged = LoggedRecord.of(record, place, head.last_number + 1, now)
        mac = audit_chain.link(context.audit.mac_key, head.last_mac or audit_chain.START, logged.cover())
        fresh.append(replace(logged, mac=mac))
        heads[place] = Head(place, logged.number, logged.number, mac)
    if fresh:
        grown = {record.organization_id for record in fresh}
        await audit_records.add(work, [heads[place] for place in sorted(grown)], fresh)


async def search(context: IdentityContext, caller: Caller, wanted: Search) -> list[FoundRecord]:
    """List records of the caller's organization. Raises `PermissionDenied`; for a project, `NotFound` as well."""
    if wanted.project_id is None:
        caller.require("read", "audit-logs")
    else:
        standing = await context.doorkeeper.standing(caller, wanted.project_id)
        standing.require("read", "audit-logs")
    return await audit_records.search(context.database, caller.organization_id, wanted, context.audit_retention_days)


async def remove_expired(context: IdentityContext) -> None:
    """Remove the records whose time is over, so that what remains can still be verified.

    Where all records up to a checkpoint have expired they are deleted, and the tree grows on from the checkpoint. An
    expired one among others loses its content and keeps its place: its hash and its MAC.
    """
    async with context.database.begin(Origin()) as work:
        organizations = await audit_records.list_with_expiry(work, context.audit_retention_days)
    for organization_id in organizations:
        while await _remove_some(context, organization_id):
            pass


async def _remove_some(context: IdentityContext, organization_id: UUID) -> bool:
    now, days = context.clock.now(), context.audit_retention_days
    origin = Origin(organization_id=None if organization_id == NOBODY else organization_id)
    async with context.database.begin(origin) as work:
        if not await audit_records.claim_expiry(work, organization_id):
            return False
        newest = await audit_checkpoints.find_newest(work, organization_id)
        if newest is None:
            return False
        first_kept = await audit_records.find_first_kept(work, organization_id, now, days)
        last_expired = newest.number if first_kept is None else first_kept - 1
        oldest = await audit_checkpoints.find_next(work, organization_id, 0)
        limit = (oldest.number if oldest else 0) + _MOST_DROPPED
        anchor = await audit_checkpoints.find_newest(work, organization_id, until=min(last_expired, limit))
        deleted = 0
        if anchor is not None:
            # In one transaction: the records before a checkpoint are all there, or it is where the tree begins.
            deleted = await audit_records.drop_until(work, organization_id, anchor.number)
            await audit_checkpoints.drop_below(work, organization_id, anchor.number)
        # Only what a checkpoint covers: until then nothing but the record itself says what it was.
        expired = await audit_records.list_expired(
            work,
            organization_id,
            now,
            days,
            after=anchor.number if anchor else 0,
            until=newest.number,
            limit=_BATCH,
        )
        await audit_records.empty(work, organization_id, [_emptied(context, record) for record in expired])
        if not deleted and not expired:
            return False
        metadata = {"deleted": deleted, "emptied": len(expired), "upTo": anchor.number if anchor else 0}
        work.record(audit_record(origin, context.clock, "remove-expired-audit-logs", metadata))
        await work.commit()
    return True


def _emptied(context: IdentityContext, record: LoggedRecord) -> LoggedRecord:
    removal_mac = audit_chain.removal(context.audit.mac_key, record.cover())
    return replace(record, content_hash=record.hash_of_content(), removal_mac=removal_mac)


async def _catch_up(context: IdentityContext, work: UnitOfWork, head: Head) -> Head:
    # Records of a release that did not chain them yet: from before, or from a replica that is still of that release.
    while head.chained_number < head.last_number:
        mac, macs = head.last_mac or audit_chain.START, []
        behind = await audit_records.list_span(
            work, head.organization_id, head.chained_number, head.chained_number + _BATCH
        )
        for record in behind:
            mac = audit_chain.link(context.audit.mac_key, mac, record.cover())
            macs.append((record.number, mac))
        await audit_records.chain(work, head.organization_id, macs)
        head = replace(head, chained_number=macs[-1][0], last_mac=mac)
    return head
