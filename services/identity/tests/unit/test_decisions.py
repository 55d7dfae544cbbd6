"""The smallest grant: it allows what was refused, and nothing beside it."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.access.catalogue import PROJECT
from strongroom_common.access.rules import Rule, Ruleset, parse_rules
from strongroom_common.contracts.audit import Refusal
from strongroom_common.contracts.envelopes import Actor
from strongroom_identity.domain.decisions import Decision

PROJECT_ID = UUID(int=1)


def refused(subject, action, resource, *, lacking=None, project_id=PROJECT_ID) -> Decision:
    refusal = Refusal(action=action, subject=subject, lacking=lacking or [action], resource=resource)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Decision(UUID(int=2), UUID(int=3), project_id, Actor(kind="identity"), refusal, now)


SECRET = {"environment": "dev", "secretPath": "/app", "secretName": "KEY", "secretTags": ()}

# Characters that mean something in patterns and templates, and some that mean nothing.
names = st.text(st.sampled_from("aB_ *?[]{}()|!\\,.-+é"), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text
)
paths = st.lists(st.sampled_from(["app", "a-b", "x_1", "_"]), max_size=3).map(lambda parts: "/" + "/".join(parts))


@given(names, paths, st.lists(st.sampled_from(["red", "blue", "{{identity.id}}"]), max_size=2, unique=True))
def test_the_grant_allows_what_was_refused_and_no_other_name(name: str, path: str, tags: list[str]) -> None:
    resource = {"environment": "dev", "secretPath": path, "secretName": name, "secretTags": tags}
    deny = Rule("secrets", ("edit",), inverted=True)
    grant = refused("secrets", "edit", resource).smallest_grant()
    if any("{{" in tag for tag in tags):
        assert grant is None
        return
    assert grant is not None
    parse_rules([grant.to_wire()], PROJECT)
    rules = Ruleset([deny, grant], {"identity.id": "7"})
    assert rules.may("edit", "secrets", resource)
    assert not rules.may("delete", "secrets", resource)
    assert not rules.may("edit", "secrets", {**resource, "secretName": name + "x"})
    assert not rules.may("edit", "secrets", {**resource, "secretPath": path.rstrip("/") + "/deeper"})
    assert not rules.may("edit", "secrets", {**resource, "environment": "prod"})


@pytest.mark.parametrize("name", ["{{identity.id}}", "a{{ identity.name }}", "{{{identity.id}}}"])
def test_a_name_that_reads_like_a_template_is_taken_literally(name: str) -> None:
    grant = refused("secrets", "edit", {**SECRET, "secretName": name}).smallest_grant()
    assert grant is not None
    rules = Ruleset([grant], {"identity.id": "7", "identity.name": "robot"})
    assert rules.may("edit", "secrets", {**SECRET, "secretName": name})
    assert not rules.may("edit", "secrets", {**SECRET, "secretName": "7"})


def test_an_old_action_is_granted_by_the_new_ones_that_lack() -> None:
    grant = refused("secrets", "read", SECRET, lacking=["readValue"]).smallest_grant()
    assert grant is not None
    assert grant.action == ("readValue",)


def test_without_a_resource_the_grant_has_no_conditions() -> None:
    grant = refused("role", "create", None).smallest_grant()
    assert grant == Rule("role", ("create",))
    assert refused("groups", "create", None, project_id=None).smallest_grant() == Rule("groups", ("create",))


def test_elements_and_lists_are_named_too() -> None:
    lease = {"environment": "dev", "secretPath": "/", "metadata": [{"key": "team", "value": "blue"}]}
    grant = refused("dynamic-secrets", "lease", lease).smallest_grant()
    assert grant is not None
    assert Ruleset([grant]).may("lease", "dynamic-secrets", lease)
    assert not Ruleset([grant]).may("lease", "dynamic-secrets", {**lease, "metadata": [{"key": "team", "value": "x"}]})
    certificate = {"commonName": "a.example", "altNames": ["a.example", "b.example"], "status": "active"}
    grant = refused("certificates", "read", certificate).smallest_grant()
    assert grant is not None
    assert Ruleset([grant]).may("read", "certificates", certificate)


def test_what_rules_cannot_name_has_no_grant() -> None:
    assert refused("no-such-subject", "read", None).smallest_grant() is None
    assert refused("identity", "read", {"identityId": "{{identity.id}}"}).smallest_grant() is None
    assert refused("identity", "read", {"identityId": 7}).smallest_grant() is None
    assert refused("role", "paint", None).smallest_grant() is None
