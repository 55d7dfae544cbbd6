"""A refusal carries what it takes to explain it."""

from uuid import UUID

import pytest

from strongroom_common.access.callers import MOST_RULES_KEPT, Caller, Refused, Standing
from strongroom_common.access.rules import Rule, Ruleset
from strongroom_common.contracts.audit import DENIED
from strongroom_common.contracts.envelopes import Actor
from strongroom_common.contracts.identity import CallerAccess, ProjectAccess
from strongroom_common.kernel.errors import PermissionDenied
from strongroom_common.testing.clock import FakeClock

TENANT, PROJECT = UUID(int=1), UUID(int=2)


def caller(*rules: Rule) -> Caller:
    access = CallerAccess(
        token_id=UUID(int=3),
        kind="identity",
        subject_id=UUID(int=4),
        name="robot",
        auth_method="token-auth",
        organization_id=TENANT,
    )
    return Caller(access, Ruleset(rules), "192.0.2.1", Actor(kind="identity", id=access.subject_id, name="robot"))


def standing(*rules: Rule) -> Standing:
    project = ProjectAccess(project_id=PROJECT, organization_id=TENANT, name="One", slug="one", type="secret-manager")
    return Standing(caller(), project, Ruleset(rules))


def refused(judge: Caller | Standing, *question) -> tuple[PermissionDenied, Refused]:
    with pytest.raises(PermissionDenied) as denied:
        judge.require(*question)
    assert isinstance(denied.value.refused, Refused)
    return denied.value, denied.value.refused


def test_what_is_allowed_passes() -> None:
    caller(Rule("role", ("read",))).require("read", "role")
    standing(Rule("role", ("read",))).require("read", "role")


def test_a_refusal_names_the_rules_and_the_one_that_decided() -> None:
    rules = [Rule("role", ("read",)), Rule("member", ("read",)), Rule("role", ("read",), inverted=True)]
    error, facts = refused(standing(*rules), "read", "role")
    assert [rule["inverted"] for rule in error.details] == [False, True]
    assert list(facts.refusal.rules) == error.details
    assert (facts.refusal.deciding_rule, facts.project_id) == (1, PROJECT)
    assert facts.refusal.lacking == ["read"]


def test_without_a_matching_rule_none_decided() -> None:
    _, facts = refused(caller(), "read", "role")
    assert (facts.refusal.deciding_rule, facts.project_id, facts.refusal.rules) == (None, None, [])


def test_of_an_old_action_only_what_lacks_is_named() -> None:
    resource = {"environment": "dev", "secretPath": "/", "secretName": "KEY", "secretTags": ()}
    _, facts = refused(standing(Rule("secrets", ("describeSecret",))), "read", "secrets", resource)
    assert facts.refusal.lacking == ["readValue"]
    assert facts.refusal.resource == resource


@pytest.mark.parametrize("place", [0, 3, 60, 119])
def test_of_many_rules_the_one_that_decided_is_kept(place: int) -> None:
    never = {"environment": {"$eq": "prod"}}
    rules = [
        Rule("secret-imports", ("read",), {} if index == place else never, inverted=index == place)
        for index in range(120)
    ]
    error, facts = refused(standing(*rules), "read", "secret-imports", {"environment": "dev", "secretPath": "/"})
    assert len(error.details) == 120
    assert len(facts.refusal.rules) == MOST_RULES_KEPT
    assert facts.refusal.deciding_rule is not None
    assert facts.refusal.rules[facts.refusal.deciding_rule]["inverted"]


def test_the_record_keeps_the_resource_to_those_who_may_explain() -> None:
    clock = FakeClock()
    _, facts = refused(standing(), "read", "identity", {"identityId": "secret-name"})
    record = facts.to_record(clock, "curl")
    assert (record.event, record.organization_id, record.project_id) == (DENIED, TENANT, PROJECT)
    assert (record.occurred_at, record.client_address, record.user_agent) == (clock.now(), "192.0.2.1", "curl")
    assert record.metadata == {"action": "read", "subject": "identity"}
    assert record.refusal is not None
    assert record.refusal.resource == {"identityId": "secret-name"}
