"""Nothing secret lies or leaves in the clear, and no seal opens anywhere but in its own place."""

import base64
import logging
from typing import Any

import pytest

from strongroom_common.testing.waiting import eventually

CANARY = "canary-7f3a9c"
READ_ALL = "SELECT to_jsonb(t)::text || encode(t::text::bytea, 'escape') FROM "
ENCODINGS = (CANARY, CANARY.encode().hex(), base64.b64encode(CANARY.encode()).decode().rstrip("="))


async def _journey(world: Any) -> None:
    metadata = [{"key": "pin", "value": f"{CANARY}-m", "isEncrypted": True}]
    secret = {"secretValue": f"{CANARY}-v", "secretComment": f"{CANARY}-c", "secretMetadata": metadata}
    user = world.user()
    await world.create("ONE", secret["secretValue"], secretComment=secret["secretComment"], secretMetadata=metadata)
    await world.create("ONE", f"{CANARY}-p", by=user, type="personal")
    batch = world.place(secrets=[{"secretKey": "TWO", **secret}])
    assert (await world.send("POST", "/api/v4/secrets/batch", json=batch)).status == 200
    assert (await world.send("PATCH", "/api/v4/secrets/batch", json=batch)).status == 200
    assert (await world.get("ONE")).status == 200
    assert (await world.find()).status == 200
    keyed = {"Idempotency-Key": "once"}
    body = world.place(**secret)
    first = await world.send("POST", "/api/v4/secrets/THREE", json=body, headers=keyed)
    again = await world.send("POST", "/api/v4/secrets/THREE", json=body, headers=keyed)
    assert (first.status, again.raw) == (200, first.raw)
    await world.send("DELETE", "/api/v4/secrets/TWO", json=world.place())


async def _refusals(world: Any) -> list[Any]:
    secret = {"secretValue": f"{CANARY}-v"}
    bodies: list[tuple[str, str, Any]] = [
        ("POST", "/api/v4/secrets/ONE", world.place(**secret)),
        ("POST", "/api/v4/secrets/a%3Ab", world.place(**secret)),
        ("POST", "/api/v4/secrets/X", world.place(secretValue=[f"{CANARY}"])),
        ("POST", "/api/v4/secrets/X", world.place(**secret, tagIds=["t"])),
        ("POST", "/api/v4/secrets/X", {**secret, "environment": "dev"}),
        ("POST", "/api/v4/secrets/batch", world.place(secrets=[{"secretKey": "ONE", **secret}])),
        ("POST", "/api/v4/secrets/batch", world.place(secrets=[{"secretKey": "a:b", **secret}, {"secretKey": 1}])),
        ("POST", "/api/v4/secrets/batch", world.place(secrets=f"{CANARY}")),
        ("PATCH", "/api/v4/secrets/NONE", world.place(**secret)),
        ("PATCH", "/api/v4/secrets/ONE", world.place(**secret, newSecretName="a:b")),
    ]
    return [await world.send(method, path, json=body) for method, path, body in bodies]


async def test_a_value_is_in_no_table_log_line_message_or_error(
    world: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    await _journey(world)
    refusals = await _refusals(world)
    assert all(answer.status >= 400 for answer in refusals)
    await world.audited("delete-secret")
    tables = await world.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    stored = [row[0] for table in tables for row in await world.rows(READ_ALL + table[0] + " t")]
    assert len(stored) > 10
    said = [envelope.encode().decode() for envelope in world.running.said.envelopes]
    assert len(said) > 5
    printed = capsys.readouterr()
    assert "request_refused" in printed.out + printed.err + caplog.text
    seen = "\n".join([*stored, *said, caplog.text, printed.out, printed.err, *(answer.text for answer in refusals)])
    for form in ENCODINGS:
        assert form not in seen


PUT = "UPDATE secrets s SET sealed_value = {} WHERE name = 'A'"
PLACES = {
    "another row": "(SELECT sealed_value FROM secrets WHERE name = 'B')",
    "its version": "(SELECT v.sealed_value FROM secret_versions v WHERE v.secret_id = s.id AND v.version = 1)",
    "another field": "sealed_comment",
    "a flipped bit": "set_bit(sealed_value, 500, 1 - get_bit(sealed_value, 500))",
    "cut short": "substr(sealed_value, 1, 40)",
    "in the clear": "'value-b'",
    "another project": "(SELECT sealed_value FROM secrets WHERE name = 'C')",
}


@pytest.mark.parametrize("source", PLACES.values(), ids=PLACES.keys())
async def test_a_sealed_value_opens_only_in_its_own_place(world: Any, source: str) -> None:
    await world.create("A", "value-a", secretComment="value-b")
    await world.create("B", "value-b")
    other = world.identity.add_project()
    world.identity.grant(world.admin, other, await _rules(world))
    body = {"projectId": str(other.id), "environment": "dev", "secretValue": "value-b"}
    await world.send("POST", "/api/v4/secrets/C", json=body)
    await world.rows(PUT.format(source))
    for answer in (await world.get("A"), await world.find()):
        assert answer.status == 500
        assert "value-b" not in answer.text
    assert (await world.get("B")).json["secret"]["secretValue"] == "value-b"


async def _rules(world: Any) -> Any:
    return [{"subject": "secrets", "action": ["describeSecret", "readValue", "create"]}]


async def test_versions_cannot_take_each_others_place(world: Any) -> None:
    await world.create("A", "one")
    await world.send("PATCH", "/api/v4/secrets/A", json=world.place(secretValue="two"))
    await world.rows(
        "UPDATE secret_versions SET sealed_value = (SELECT sealed_value FROM secret_versions WHERE version = 1)"
        " WHERE version = 2"
    )
    assert (await world.get("A", version="1")).status == 200
    assert (await world.get("A", version="2")).status == 500


async def test_no_value_leaves_while_the_audit_trail_cannot_be_written(world: Any) -> None:
    await world.create("KEY", CANARY)
    await eventually(lambda: world.rows("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM audit_spool)"))
    await world.rows("ALTER TABLE audit_spool ADD CONSTRAINT closed CHECK (false) NOT VALID")
    for answer in (await world.get("KEY"), await world.find()):
        assert answer.status == 503
        assert CANARY not in answer.text
    made = await world.send("POST", "/api/v4/secrets/NEW", json=world.place(secretValue="v"))
    assert made.status >= 500
    await world.rows("ALTER TABLE audit_spool DROP CONSTRAINT closed")
    assert await world.names() == ["KEY"]
