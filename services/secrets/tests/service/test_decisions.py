"""Refusals of this service can be explained by identity: what it takes goes there with the audit records."""

from typing import Any


async def test_a_refusal_is_on_its_way_to_identity_under_the_id_that_the_caller_got(world: Any) -> None:
    await world.create_many({"A": "canary-value"})
    rules = [
        {"subject": "secrets", "action": ["readValue", "describeSecret"]},
        {"subject": "secrets", "action": ["readValue"], "conditions": {"secretName": "A"}, "inverted": True},
    ]
    reader = world.member(rules)
    answer = await world.get("A", by=reader)
    assert answer.status == 403
    (record,) = await world.audited("deny-access")
    assert str(record.id) == answer.headers["X-Decision-Id"]
    refusal = record.refusal
    assert (refusal.action, refusal.subject, refusal.deciding_rule) == ("readValue", "secrets", 1)
    assert refusal.resource["secretName"] == "A"
    assert refusal.rules[1]["inverted"]
    assert "canary-value" not in record.model_dump_json()


async def test_what_is_allowed_leaves_no_decision(world: Any) -> None:
    await world.create_many({"A": "value"})
    answer = await world.get("A")
    assert answer.status == 200
    assert "X-Decision-Id" not in answer.headers
    await world.audited("get-secret")
    assert not [record for record in world.running.said.audit_records if record.refusal]
