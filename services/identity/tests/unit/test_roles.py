"""Several roles of one member are one list of rules."""

from strongroom_common.access.roles import ORGANIZATION_ROLES, PROJECT_ROLES
from strongroom_common.access.rules import Ruleset
from strongroom_identity.domain.roles import predefined, rules_together


def test_rules_of_several_roles_stand_in_the_order_of_the_roles() -> None:
    forbidden = [{"subject": "secrets", "action": ["readValue"], "inverted": True}]
    viewer_then_ban = Ruleset.from_wire(rules_together([("viewer", None), ("custom", forbidden)], PROJECT_ROLES))
    ban_then_viewer = Ruleset.from_wire(rules_together([("custom", forbidden), ("viewer", None)], PROJECT_ROLES))
    assert not viewer_then_ban.may("readValue", "secrets")
    assert ban_then_viewer.may("readValue", "secrets")


def test_an_unknown_role_gives_nothing() -> None:
    assert rules_together([("of-a-later-release", None)], PROJECT_ROLES) == []


def test_a_custom_role_without_rules_gives_nothing() -> None:
    assert rules_together([("custom", [])], ORGANIZATION_ROLES) == []


def test_a_role_of_one_project_type_is_unknown_to_the_others() -> None:
    assert predefined("cryptographic-operator", "kms") is not None
    assert predefined("cryptographic-operator", "secret-manager") is None
    assert predefined("viewer", None) is None, "an organization has no viewers"
    assert predefined("custom", "secret-manager") is None
