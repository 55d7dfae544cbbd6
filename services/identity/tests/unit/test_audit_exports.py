"""An export of the audit log is verified without a secret; whatever was done to it shows at the first bad record."""

import secrets
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strongroom_common.testing.clock import MORNING
from strongroom_identity.domain import audit_chain
from strongroom_identity.domain.audit_chain import Frontier, canonical
from strongroom_identity.domain.audit_checkpoints import AuditSigner, Checkpoint
from strongroom_identity.domain.audit_exports import (
    BadExport,
    checkpoint_line,
    header_line,
    record_line,
    verify_export,
)
from strongroom_identity.domain.audit_records import LoggedRecord

KEY = secrets.token_bytes(32)
SIGNER = AuditSigner.generate()
OURS, THEIRS = UUID(int=7), UUID(int=8)


def a_log(organization_id: UUID, count: int) -> list[LoggedRecord]:
    log, mac = [], audit_chain.START
    for number in range(1, count + 1):
        at = MORNING + timedelta(seconds=number)
        record = LoggedRecord(
            organization_id=organization_id,
            number=number,
            id=uuid4(),
            project_id=UUID(int=number) if number % 3 else None,
            event=f"event-{number}",
            actor_kind="identity",
            actor_id=uuid4(),
            actor_metadata={"name": "robot"},
            metadata={"number": number, "nested": [1.5, None, {"deep": "ü"}]},
            client_address="192.0.2.1",
            user_agent="cli",
            occurred_at=at,
            recorded_at=at,
        )
        mac = audit_chain.link(KEY, mac, record.cover())
        log.append(replace(record, mac=mac))
    return log


def checkpoints_of(log: list[LoggedRecord], segment: int) -> list[Checkpoint]:
    tree, made = Frontier(), []
    for record in log:
        tree.add(audit_chain.leaf(record.cover(), record.mac or b""))
        if record.number % segment == 0 or record is log[-1]:
            made.append(Checkpoint.of(record.organization_id, tree, record.mac or b"", MORNING, SIGNER))
    return made


def export_of(log: list[LoggedRecord], segment: int = 10, begins_after: int = 0) -> list[bytes]:
    """The export's lines; records up to `begins_after`, which a checkpoint covers, were dropped."""
    checkpoints = checkpoints_of(log, segment)
    anchor = next((one for one in checkpoints if one.number == begins_after), None)
    lines = [header_line(log[0].organization_id, anchor, checkpoints[-1], MORNING, SIGNER)]
    position = begins_after
    for checkpoint in checkpoints:
        if checkpoint.number > position:
            records = log[position : checkpoint.number]
            lines += [
                checkpoint_line(checkpoint, records, MORNING, SIGNER),
                *(record_line(record) for record in records),
            ]
            position = checkpoint.number
    return lines


LOG = a_log(OURS, 35)
GOOD = export_of(LOG)
OTHER = export_of(a_log(THEIRS, 35))


def place_of(number: int, lines: list[bytes] = GOOD) -> int:
    return next(at for at, line in enumerate(lines) if orjson.loads(line).get("number") == number)


def first_bad(lines: list[bytes], **more: object) -> int | None:
    with pytest.raises(BadExport) as caught:
        verify_export(lines, **more)  # type: ignore[arg-type]
    return caught.value.record


def changed(line: bytes, name: str, value: object) -> bytes:
    return canonical({**orjson.loads(line), name: value}) + b"\n"


def test_a_good_export_passes() -> None:
    good = verify_export(GOOD, [SIGNER.public_key.hex()])
    assert (good.organization_id, good.first, good.last, good.removed) == (OURS, 1, 35, 0)
    assert good.public_keys == [SIGNER.public_key.hex()]


def test_a_long_export_passes() -> None:
    lines = export_of(a_log(OURS, 5000), segment=1000)
    assert verify_export(iter(lines)).last == 5000


def test_an_export_that_begins_at_a_checkpoint_passes() -> None:
    assert verify_export(export_of(LOG, begins_after=20)).first == 21
    whole = export_of(LOG, begins_after=35)
    assert (verify_export(whole).first, verify_export(whole).last) == (36, 35)


def test_removed_contents_are_counted_and_dated() -> None:
    log = [replace(one, content_hash=one.hash_of_content()) if one.number in {3, 17} else one for one in LOG]
    good = verify_export(export_of(log))
    assert (good.removed, good.newest_removed) == (2, "2026-01-02T09:00:17.000000Z")


@pytest.mark.parametrize("number", [1, 2, 10, 11, 25, 35])
def test_a_changed_record_is_found(number) -> None:
    at = place_of(number)
    record = orjson.loads(GOOD[at])
    content = record["content"]
    changes = [("content", {**content, name: "other"}) for name in content]
    changes += [("content", None), ("content", {}), ("content", {**content, "more": 1})]
    changes += [("projectId", str(uuid4())), ("projectId", None if record["projectId"] else "x")]
    changes += [("occurredAt", "2026-01-02T08:00:00.000000Z"), ("recordedAt", None), ("number", number + 1)]
    changes += [("contentHash", "00" * 32), ("mac", "00" * 32), ("mac", record["mac"].upper() + " ")]
    changes += [("kind", "other"), ("more", 1)]
    for name, value in changes:
        assert first_bad([*GOOD[:at], changed(GOOD[at], name, value), *GOOD[at + 1 :]]) == number, name


@pytest.mark.parametrize("number", [1, 9, 10, 11, 34])
def test_a_changed_record_is_found_even_if_its_hashes_were_made_to_fit(number) -> None:
    at = place_of(number)
    forged = replace(LOG[number - 1], event="nothing-happened")
    assert first_bad([*GOOD[:at], record_line(forged), *GOOD[at + 1 :]]) == number
    # With the leaf in the checkpoint changed as well, it is the checkpoint that does not fit.
    segment = (number - 1) // 10
    log = [forged if one.number == number else one for one in LOG]
    mine = AuditSigner.generate()
    lines = export_of(log)
    lines[0] = GOOD[0]
    for line_at, line in enumerate(lines):
        document = orjson.loads(line)
        if document["kind"] == "checkpoint":
            genuine = orjson.loads(GOOD[line_at])["checkpoint"]
            lines[line_at] = canonical({**document, "checkpoint": genuine}) + b"\n"
    assert first_bad(lines) == segment * 10 + 1
    # And with all of it signed anew, it is the key.
    whole = [header_line(OURS, None, checkpoints_of(log, 10)[-1], MORNING, mine), *lines[1:]]
    assert first_bad(whole, trusted_keys=[SIGNER.public_key.hex()]) is None


def test_a_content_that_was_taken_away_is_found() -> None:
    removed = export_of([replace(one, content_hash=one.hash_of_content()) if one.number == 17 else one for one in LOG])
    at, before = place_of(17), place_of(11) - 1
    assert first_bad([*GOOD[:at], removed[at], *GOOD[at + 1 :]]) == 17
    claimed = changed(GOOD[before], "removed", [17])
    assert first_bad([*GOOD[:before], claimed, *GOOD[before + 1 : at], removed[at], *GOOD[at + 1 :]]) == 11
    assert first_bad([*removed[:at], GOOD[at], *removed[at + 1 :]]) == 17
    # A statement of an export made later is not one about this export.
    emptied = [replace(one, content_hash=one.hash_of_content()) if one.number == 17 else one for one in LOG[10:20]]
    later = checkpoint_line(checkpoints_of(LOG, 10)[1], emptied, MORNING + timedelta(days=1), SIGNER)
    foreign = changed(removed[before], "removedSignature", orjson.loads(later)["removedSignature"])
    assert first_bad([*removed[:before], foreign, *removed[before + 1 :]]) == 11


@pytest.mark.parametrize("number", [1, 2, 10, 11, 25, 35])
def test_a_missing_record_is_found(number) -> None:
    at = place_of(number)
    assert first_bad([*GOOD[:at], *GOOD[at + 1 :]]) == number


@pytest.mark.parametrize("number", [1, 2, 10, 11, 25, 35])
def test_an_inserted_or_repeated_record_is_found(number) -> None:
    at = place_of(number)
    forged = changed(GOOD[at], "content", {"event": "forged"})
    assert first_bad([*GOOD[:at], forged, *GOOD[at:]]) == number
    # The place after it is where a repeated record stands: after the last one there is no place.
    assert first_bad([*GOOD[: at + 1], GOOD[at], *GOOD[at + 1 :]]) == number + 1
    assert first_bad([*GOOD, GOOD[at]]) == 36


@pytest.mark.parametrize(("left", "right"), [(1, 2), (9, 10), (10, 11), (3, 30)])
def test_records_in_another_order_are_found(left, right) -> None:
    lines = list(GOOD)
    lines[place_of(left)], lines[place_of(right)] = lines[place_of(right)], lines[place_of(left)]
    assert first_bad(lines) == left


def test_a_cut_is_found_wherever_it_is() -> None:
    for end in range(1, len(GOOD)):
        documents = [orjson.loads(line) for line in GOOD[:end]]
        records = [document["number"] for document in documents if document["kind"] == "record"]
        assert first_bad(GOOD[:end]) == (records[-1] if records else 0) + 1
    assert first_bad([]) is None


def test_a_missing_segment_is_found() -> None:
    assert first_bad([GOOD[0], *GOOD[12:]]) == 1
    assert first_bad([*GOOD[:12], *GOOD[23:]]) == 11


def test_an_older_end_is_no_end() -> None:
    shorter = export_of(LOG[:20])
    assert verify_export(shorter).last == 20
    assert first_bad([GOOD[0], *shorter[1:]]) == 21
    assert first_bad([shorter[0], *GOOD[1:]]) == 21


@pytest.mark.parametrize("number", [1, 10, 11, 35])
def test_what_belongs_to_another_organization_is_found(number) -> None:
    at = place_of(number)
    assert first_bad([*GOOD[:at], OTHER[at], *GOOD[at + 1 :]]) == number
    assert first_bad([GOOD[0], *OTHER[1:]]) == 1
    assert first_bad([OTHER[0], *GOOD[1:]]) == 1
    assert first_bad([*GOOD[:12], OTHER[12], *GOOD[13:]]) == 11


def test_a_changed_header_is_found() -> None:
    header = orjson.loads(GOOD[0])
    for name in header:
        for value in (None, "x", 7, [], {}):
            if value != header[name]:
                assert first_bad([changed(GOOD[0], name, value), *GOOD[1:]]) is None


def test_a_key_that_is_not_trusted_is_refused() -> None:
    assert first_bad(GOOD, trusted_keys=[AuditSigner.generate().public_key.hex()]) is None


@settings(max_examples=300)
@given(st.integers(0, sum(map(len, GOOD)) - 1), st.integers(1, 255))
def test_no_byte_can_be_changed(at, flip) -> None:
    raw = bytearray(b"".join(GOOD))
    raw[at] ^= flip
    with pytest.raises(BadExport):
        verify_export(bytes(raw).splitlines(keepends=True))


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=60) | st.sampled_from(GOOD), max_size=6))
def test_no_input_makes_the_verifier_fail_otherwise(lines) -> None:
    with pytest.raises(BadExport):
        verify_export(lines)


def test_a_signer_does_not_show_its_key() -> None:
    assert SIGNER.private_bytes().hex() not in repr(SIGNER)
    with pytest.raises(TypeError):
        SIGNER.__reduce__()
