"""The predefined roles say what the wire contract's tables say, in words the catalogues know."""

import pytest

from strongroom_common.access.catalogue import LEGACY, ORGANIZATION, PROJECT, Catalogue
from strongroom_common.access.roles import ORGANIZATION_ROLES, PROJECT_ROLES, RESERVED_SLUGS, PredefinedRole
from strongroom_common.access.rules import Ruleset, missing, parse_rules


@pytest.mark.parametrize(
    ("role", "catalogue"),
    [(role, PROJECT) for role in PROJECT_ROLES.values()]
    + [(role, ORGANIZATION) for role in ORGANIZATION_ROLES.values()],
    ids=lambda value: value.slug if isinstance(value, PredefinedRole) else "",
)
def test_a_predefined_role_could_be_sent_by_a_client(role: PredefinedRole, catalogue: Catalogue) -> None:
    assert parse_rules([rule.to_wire() for rule in role.rules], catalogue) == role.rules


@pytest.mark.parametrize(("roles", "catalogue"), [(PROJECT_ROLES, PROJECT), (ORGANIZATION_ROLES, ORGANIZATION)])
def test_the_admin_may_do_everything_and_others_no_more(roles: dict[str, PredefinedRole], catalogue: Catalogue) -> None:
    admin = Ruleset(roles["admin"].rules)
    for name, subject in catalogue.items():
        assert all(admin.may(action, name, {}) for action in subject.actions)
    for role in roles.values():
        assert missing(admin, role.rules) == []


def test_no_access_is_no_access() -> None:
    for roles, catalogue in ((PROJECT_ROLES, PROJECT), (ORGANIZATION_ROLES, ORGANIZATION)):
        nobody = Ruleset(roles["no-access"].rules)
        assert not any(nobody.may(action, name) for name, subject in catalogue.items() for action in subject.actions)


def test_a_viewer_changes_nothing_and_a_developer_manages_no_rights() -> None:
    viewer, developer = (Ruleset(PROJECT_ROLES[slug].rules) for slug in ("viewer", "member"))
    assert viewer.may("readValue", "secrets", {})
    assert developer.may("connect-app-connections", "app-connections", {})
    for action, subject in [("edit", "secrets"), ("lease", "dynamic-secrets"), ("read-private-key", "certificates")]:
        assert not viewer.may(action, subject)
    for action, subject in [
        ("edit", "role"),
        ("grant-privileges", "member"),
        ("delete", "workspace"),
        ("export-private-key", "cmek"),
    ]:
        assert not developer.may(action, subject)


def test_reserved_slugs_hold_all_predefined_ones() -> None:
    assert set(PROJECT_ROLES) | set(ORGANIZATION_ROLES) <= RESERVED_SLUGS


def test_old_actions_stand_for_known_ones() -> None:
    for (subject, old), new in LEGACY.items():
        assert {old, *new} <= set(PROJECT[subject].actions)
