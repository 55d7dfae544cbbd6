"""An export of an organization's audit log, and its verification: without service, database or secret.

An export is JSON lines, each in its canonical bytes. The first one, signed, says from which record to which one it
goes. Then, segment by segment: a signed checkpoint with the leaves of the segment's records, and the records. Whoever
changes, drops, inserts, reorders, repeats or cuts meets a leaf, a root or a signature that does not fit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson

from strongroom_identity.domain import audit_chain
from strongroom_identity.domain.audit_chain import Frontier, canonical
from strongroom_identity.domain.audit_checkpoints import AuditSigner, Checkpoint, id_of_key, is_signed
from strongroom_identity.domain.audit_records import LoggedRecord

FORMAT: Final = 1
LONGEST_LINE: Final = 64 * 1024 * 1024

_HEADER: Final = {
    "kind",
    "format",
    "organizationId",
    "exportedAt",
    "anchor",
    "frontier",
    "last",
    "publicKeys",
    "keyId",
    "signature",
}
_CHECKPOINT: Final = {"organizationId", "count", "lastMac", "root", "createdAt", "keyId", "signature"}
_SEGMENT: Final = {"kind", "checkpoint", "leaves", "removed", "removedSignature"}
_RECORD: Final = {"kind", "number", "projectId", "occurredAt", "recordedAt", "content", "contentHash", "mac"}


class BadExport(ValueError):
    """The export is not what was written. `record` is the number of the first record that nothing vouches for."""

    def __init__(self, record: int | None, line: int, reason: str) -> None:
        super().__init__(f"line {line}" + (f", record {record}" if record is not None else "") + f": {reason}")
        self.record = record
        self.line = line
        self.reason = reason


@dataclass(frozen=True)
class Verified:
    """What a good export holds. `removed` counts records whose content retention has taken away.

    That the newest of them is old enough for it is for the reader to judge: only the content is gone, not the time.
    """

    organization_id: UUID
    as_of: str
    first: int
    last: int
    removed: int
    newest_removed: str
    public_keys: Sequence[str]


def header_line(
    organization_id: UUID, anchor: Checkpoint | None, last: Checkpoint, now: datetime, signer: AuditSigner
) -> bytes:
    """The first line. Records up to the anchor were removed; the tree grows on from its frontier."""
    document: dict[str, Any] = {
        "kind": "export",
        "format": FORMAT,
        "organizationId": str(organization_id),
        "exportedAt": audit_chain.instant(now),
        "anchor": anchor.to_json() if anchor else None,
        "frontier": [peak.hex() for peak in anchor.tree().peaks] if anchor else [],
        "last": last.to_json(),
        "publicKeys": [signer.public_key.hex()],
        "keyId": signer.key_id,
    }
    return _line({**document, "signature": signer.sign("export", document).hex()})


def checkpoint_line(
    checkpoint: Checkpoint, records: Sequence[LoggedRecord], now: datetime, signer: AuditSigner
) -> bytes:
    """The line before a segment. `now` is the one of the header, so that no line of another export fits in here."""
    leaves = [audit_chain.leaf(record.cover(), record.mac or b"").hex() for record in records]
    removed = [record.number for record in records if record.content_hash is not None]
    statement = _removals(str(checkpoint.organization_id), audit_chain.instant(now), removed)
    return _line(
        {
            "kind": "checkpoint",
            "checkpoint": checkpoint.to_json(),
            "leaves": leaves,
            "removed": removed,
            "removedSignature": signer.sign("removals", statement).hex() if removed else "",
        }
    )


def record_line(record: LoggedRecord) -> bytes:
    """One record."""
    return _line(
        {
            "kind": "record",
            "number": record.number,
            "projectId": None if record.project_id is None else str(record.project_id),
            "occurredAt": audit_chain.instant(record.occurred_at),
            "recordedAt": audit_chain.instant(record.recorded_at),
            "content": record.content(),
            "contentHash": record.hash_of_content().hex(),
            "mac": (record.mac or b"").hex(),
        }
    )


def verify_export(lines: Iterable[bytes], trusted_keys: Iterable[str] = ()) -> Verified:
    """Read an export to its end; raises `BadExport` at the first record that nothing vouches for.

    `trusted_keys` are public keys, in hexadecimal, that you know from elsewhere. Without them a good answer means only
    that the export is one piece, signed by whoever owns the keys in it.
    """
    return _Verifier(lines, frozenset(trusted_keys)).run()


class _Verifier:
    def __init__(self, lines: Iterable[bytes], trusted_keys: frozenset[str]) -> None:
        self._lines = enumerate(lines, 1)
        self._trusted_keys = trusted_keys
        self._number: int | None = None
        self._place = 0
        self._keys: dict[str, bytes] = {}

    def run(self) -> Verified:
        try:
            return self._run()
        except BadExport:
            raise
        # Whatever has another shape than ours is as bad as what has another content.
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise self._bad("is not of this format") from None

    def _run(self) -> Verified:
        header = self._header()
        organization_id = UUID(header["organizationId"])
        anchor, last = header["anchor"], header["last"]
        tree = Frontier(0 if anchor is None else anchor["count"], map(_bytes, header["frontier"]))
        if anchor is not None:
            self._verify_checkpoint(anchor, organization_id, tree)
        first = tree.count + 1
        removed, newest_removed = 0, ""
        self._number = first
        while tree.count < last["count"]:
            checkpoint, leaves, gone = self._segment(tree, header)
            record: dict[str, Any] = {}
            for leaf in leaves:
                record = self._record(organization_id, leaf)
                is_removed = record["content"] is None
                self._demand(is_removed == (self._number in gone), "the record's content was taken away")
                if is_removed:
                    removed, newest_removed = removed + 1, max(newest_removed, record["occurredAt"])
                self._number += 1
            self._demand(record["mac"] == checkpoint["lastMac"], "the checkpoint ends with another record")
        self._verify_checkpoint(last, organization_id, tree)
        surplus = next(self._lines, None)
        if surplus is not None:
            self._place, _ = surplus
            raise self._bad("there is more than the export says")
        return Verified(
            organization_id=organization_id,
            as_of=header["exportedAt"],
            first=first,
            last=last["count"],
            removed=removed,
            newest_removed=newest_removed,
            public_keys=header["publicKeys"],
        )

    def _header(self) -> dict[str, Any]:
        header = self._next("the export is empty")
        self._demand(header.keys() == _HEADER and header["kind"] == "export", "is not the beginning of an export")
        self._demand(header["format"] == FORMAT, "is of a format that this release does not know")
        keys = [_bytes(key) for key in header["publicKeys"]]
        self._keys = {id_of_key(key): key for key in keys}
        unknown = {key.hex() for key in keys} - self._trusted_keys if self._trusted_keys else set()
        self._demand(not unknown, "is signed with a key that you do not trust")
        document = {name: value for name, value in header.items() if name != "signature"}
        self._demand(self._is_signed("export", header, document), "the signature of the export does not fit")
        return header

    def _segment(self, tree: Frontier, header: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes], set[int]]:
        found = self._next("the export is cut off")
        self._demand(found.get("kind") == "checkpoint", "a checkpoint is missing here")
        checkpoint, leaves, removed = found["checkpoint"], [_bytes(leaf) for leaf in found["leaves"]], found["removed"]
        self._demand(found.keys() == _SEGMENT and len(leaves) > 0, "is not a checkpoint")
        for leaf in leaves:
            tree.add(leaf)
        self._verify_checkpoint(checkpoint, UUID(header["organizationId"]), tree)
        if removed or found["removedSignature"]:
            statement = _removals(header["organizationId"], header["exportedAt"], removed)
            signed = {"keyId": header["keyId"], "signature": found["removedSignature"]}
            self._demand(self._is_signed("removals", signed, statement), "contents were taken away")
        return checkpoint, leaves, set(removed)

    def _verify_checkpoint(self, checkpoint: dict[str, Any], organization_id: UUID, tree: Frontier) -> None:
        self._demand(checkpoint.keys() == _CHECKPOINT, "is not a checkpoint")
        document = {name: value for name, value in checkpoint.items() if name != "signature"}
        self._demand(
            self._is_signed("checkpoint", checkpoint, document), "the signature of the checkpoint does not fit"
        )
        self._demand(checkpoint["organizationId"] == str(organization_id), "the checkpoint is another organization's")
        self._demand(checkpoint["count"] == tree.count, "the checkpoint does not follow the one before")
        self._demand(checkpoint["root"] == tree.root().hex(), "the checkpoint was signed over other records")

    def _record(self, organization_id: UUID, leaf: bytes) -> dict[str, Any]:
        record = self._next("this record is missing: the export is cut off")
        self._demand(record.keys() == _RECORD and record["kind"] == "record", "this record is missing")
        if record["number"] != self._number:
            raise self._bad(f"another record, {int(record['number'])}, stands here")
        content = record["content"]
        digest = _bytes(record["contentHash"])
        if content is not None:
            self._demand(audit_chain.content_hash(content) == digest, "the record's content was changed")
        covered = audit_chain.cover(
            str(organization_id),
            record["number"],
            record["projectId"],
            record["occurredAt"],
            record["recordedAt"],
            digest,
        )
        self._demand(audit_chain.leaf(covered, _bytes(record["mac"])) == leaf, "the record was changed")
        return record

    def _is_signed(self, purpose: str, signed: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
        key = self._keys.get(signed["keyId"])
        return key is not None and is_signed(key, _bytes(signed["signature"]), purpose, document)

    def _next(self, otherwise: str) -> dict[str, Any]:
        found = next(self._lines, None)
        if found is None:
            self._place += 1
            raise self._bad(otherwise)
        self._place, raw = found
        document = orjson.loads(raw)
        # One spelling only: nothing is hidden in a second name, a space or a number written otherwise.
        self._demand(isinstance(document, dict) and _line(document) == raw, "is not written as an export writes it")
        return dict(document)

    def _demand(self, is_good: bool, reason: str) -> None:
        if not is_good:
            raise self._bad(reason)

    def _bad(self, reason: str) -> BadExport:
        return BadExport(self._number, self._place, reason)


def _removals(organization_id: str, exported_at: str, removed: Sequence[int]) -> dict[str, Any]:
    return {"organizationId": organization_id, "exportedAt": exported_at, "removed": list(removed)}


def _bytes(text: str) -> bytes:
    raw = bytes.fromhex(text)
    # Capitals and spaces would be a second spelling of the same bytes.
    if raw.hex() != text:
        raise ValueError("not in lower-case hexadecimal")
    return raw


def _line(document: Mapping[str, Any]) -> bytes:
    return canonical(document) + b"\n"
