"""Where a directory is, who is looked for there, and under which name failures count."""

import pytest

from strongroom_identity.domain.directories import (
    BadDirectoryUrl,
    DirectoryUrl,
    canonical_user_name,
    holds_all,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ldap://dir.example.com", DirectoryUrl("dir.example.com", 389, is_tls=False)),
        (" ldaps://dir.example.com/ ", DirectoryUrl("dir.example.com", 636, is_tls=True)),
        ("LDAPS://dir.example.com:1636", DirectoryUrl("dir.example.com", 1636, is_tls=True)),
        ("ldap://[2001:db8::1]:3389", DirectoryUrl("2001:db8::1", 3389, is_tls=False)),
    ],
)
def test_a_directory_is_a_host_and_a_port(text, expected):
    assert DirectoryUrl.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dir.example.com",
        "http://dir.example.com",
        "ldapi:///var/run/slapd.sock",
        "ldap://",
        "ldap://:389",
        "ldap://dir.example.com:0",
        "ldap://dir.example.com:99999",
        "ldap://dir.example.com:port",
        "ldap://user:password@dir.example.com",
        "ldap://dir.example.com/dc=example",
        "ldap://dir.example.com?uid",
        "ldap://dir.example.com#fragment",
        "ldap://[2001:db8::1",
    ],
)
def test_nothing_else_is_one_and_it_is_not_repeated(text):
    with pytest.raises(BadDirectoryUrl) as refusal:
        DirectoryUrl.parse(text)
    assert "example" not in str(refusal.value)
    assert "user" not in str(refusal.value)


@pytest.mark.parametrize(
    "variant",
    [
        "Ada Lovelace",
        "ADA LOVELACE",
        "  ada   lovelace ",
        "ada\tlovelace",
        "ada\u00a0lovelace",
        "ada\u3000lovelace",
        "a\u00adda love\u200blace",
        "ada lovelace\x00",
        "\uff41da lovelace",
        "ada love\ufe0flace",
        "\ufeffada lovelace",
    ],
)
def test_all_spellings_of_a_user_name_count_as_one(variant):
    assert canonical_user_name(variant) == "ada lovelace"


@pytest.mark.parametrize(
    ("one", "other"),
    [("stra\u00dfe", "STRASSE"), ("\u00e9va", "e\u0301va"), ("\ufb01n", "FIN"), ("\u212bke", "\u00e5ke")],
)
def test_case_and_composition_of_letters_do_not_make_another_name(one, other):
    assert canonical_user_name(one) == canonical_user_name(other)


def test_different_people_stay_different():
    assert len({canonical_user_name(name) for name in ("ada", "adá", "a da", "ada.", "ada2")}) == 5


def test_every_allowed_field_must_hold():
    person = {"mail": ["ada@example.com"], "ou": ["engines"]}
    both = [{"key": "mail", "value": "bob@example.com,ada@example.com"}, {"key": "OU", "value": "engines"}]
    assert holds_all(person, both)
    assert holds_all(person, [])
    assert not holds_all(person, [*both, {"key": "title", "value": "countess"}])


@pytest.mark.parametrize(
    "values", [[], ["Engines"], ["engines "], ["engine"], ["engines", "tables"], ["*"], ["x,engines"]]
)
def test_an_attribute_has_one_value_and_it_is_exactly_an_allowed_one(values):
    assert not holds_all({"ou": values}, [{"key": "ou", "value": "engines,tables2"}])
