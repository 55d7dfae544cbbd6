"""The limits of a project template."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from strongroom_common.kernel.errors import Conflict, InvalidInput
from strongroom_identity.domain.project_templates import BUILT_IN_ID, ProjectTemplate, built_in

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def a_template(project_type: str = "secret-manager", **more: Any) -> ProjectTemplate:
    return ProjectTemplate.new(uuid4(), project_type, NOW, name="ours", **more)


def faults(**more: Any) -> list[list[str | int]]:
    with pytest.raises(InvalidInput) as refused:
        a_template(**more).verify()
    return [list(issue["path"]) for issue in refused.value.issues]


def role(slug: str, name: str = "") -> dict[str, Any]:
    return {"slug": slug, "name": name or slug, "permissions": []}


def environment(slug: str, position: int) -> dict[str, Any]:
    return {"slug": slug, "name": slug, "position": position}


def test_a_template_for_secrets_begins_with_the_usual_environments_and_others_with_none() -> None:
    template = a_template()
    template.verify()
    assert template.stages() == [("Development", "dev"), ("Staging", "staging"), ("Production", "prod")]
    other = a_template("kms")
    other.verify()
    assert (other.environments, other.stages()) == (None, [])


def test_stages_are_in_the_order_of_their_positions() -> None:
    template = a_template(environments=[environment("b", 2), environment("a", 1)])
    template.verify()
    assert [slug for _, slug in template.stages()] == ["a", "b"]


def test_environments_are_for_secrets_only_and_there_they_must_be() -> None:
    with pytest.raises(Conflict):
        a_template("kms", environments=[]).verify()
    with pytest.raises(Conflict):
        a_template().changed({"environments": None}, NOW).verify()


@pytest.mark.parametrize("slug", ["admin", "member", "viewer", "no-access", "custom", "cryptographic-operator"])
def test_slugs_of_predefined_roles_are_reserved(slug: str) -> None:
    assert faults(roles=[role(slug, "Fine")]) == [["roles", 0, "slug"]]


@pytest.mark.parametrize(
    "name",
    [
        "admin",
        "ADMIN",
        " Admin ",
        "Viewer",
        "developer",
        "Custom",
        "No Access",
        "no\u00a0 access",
        "\uff21dmin",
        "ad\u200bmin",
    ],
)
def test_names_of_predefined_roles_are_reserved_in_every_spelling(name: str) -> None:
    assert faults(roles=[role("fine", name)]) == [["roles", 0, "name"]]


def test_nothing_is_twice() -> None:
    assert faults(roles=[role("a", "A"), role("a", "B")]) == [["roles", 1, "slug"]]
    assert faults(roles=[role("a", "A"), role("b", "A")]) == [["roles", 1, "name"]]
    twice = [environment("a", 1), {**environment("b", 2), "slug": "a"}]
    assert faults(environments=twice) == [["environments", 1, "slug"]]
    twice = [environment("a", 1), {**environment("b", 2), "name": "a"}]
    assert faults(environments=twice) == [["environments", 1, "name"]]
    user = {"username": "u@example.com", "roles": ["viewer"]}
    assert faults(users=[user, user]) == [["users", 1, "username"]]
    group = {"groupSlug": "staff", "roles": ["viewer"]}
    assert faults(groups=[group, group]) == [["groups", 1, "groupSlug"]]


@pytest.mark.parametrize("positions", [[2], [0], [1, 3], [1, 1], [1, 2, 4]])
def test_positions_are_one_to_n(positions: list[int]) -> None:
    wrong = [environment(f"e{number}", position) for number, position in enumerate(positions)]
    assert faults(environments=wrong) == [["environments"]]


@pytest.mark.parametrize(("part", "name"), [("users", "username"), ("groups", "groupSlug")])
def test_who_is_named_gets_roles_that_there_are(part: str, name: str) -> None:
    one = {name: "somebody", "roles": ["viewer", "deployer"]}
    assert faults(**{part: [one]}) == [[part, 0, "roles", 1]]
    a_template(**{part: [one]}, roles=[role("deployer")]).verify()
    operator = {part: [{name: "somebody", "roles": ["cryptographic-operator"]}]}
    assert faults(**operator) == [[part, 0, "roles", 0]]
    a_template("kms", **operator).verify()


def test_every_type_but_ssh_has_a_built_in_template() -> None:
    found = {template.type: template for template in built_in(uuid4(), None, NOW)}
    assert set(found) == {"secret-manager", "cert-manager", "kms", "secret-scanning", "pam"}
    assert {template.id for template in found.values()} == {BUILT_IN_ID}
    assert {template.name for template in found.values()} == {"default"}
    assert [one for one in found if found[one].environments is not None] == ["secret-manager"]
    assert [one.type for one in built_in(uuid4(), ["pam"], NOW)] == ["pam"]
    assert list(built_in(uuid4(), ["ssh"], NOW)) == []


def test_each_type_has_its_predefined_roles() -> None:
    usual = ["admin", "member", "viewer", "no-access"]
    assert [role.slug for role in a_template().predefined_roles()] == usual
    assert [role.slug for role in a_template("kms").predefined_roles()] == [*usual, "cryptographic-operator"]
    assert [role.slug for role in a_template("ssh").predefined_roles()] == [*usual, "ssh-host-bootstrapper"]
