"""Threats classes 4, 13, 14: a name has one spelling, made at the edge."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.kernel import names


@pytest.mark.parametrize(
    ("sent", "path"),
    [("", "/"), ("/", "/"), (" /a/ ", "/a"), ("a/b", "/a/b"), ("/a/b/", "/a/b"), ("/A-1/b_2", "/A-1/b_2")],
)
def test_a_folder_path_has_one_spelling(sent: str, path: str) -> None:
    assert names.canonical_folder_path(sent) == path


@pytest.mark.parametrize("sent", ["//", "/a//b", "/a/../b", "/.", "/a b", "/ä", "/a\x00", "/a%2fb", "/a\\b", "/" * 3])
def test_a_tricky_folder_path_is_refused(sent: str) -> None:
    with pytest.raises(names.BadName):
        names.canonical_folder_path(sent)


def test_a_folder_path_is_bounded_in_depth() -> None:
    names.canonical_folder_path("/a" * 32)
    with pytest.raises(names.BadName):
        names.canonical_folder_path("/a" * 33)


@pytest.mark.parametrize("sent", ["Admin", " admin ", "ADMIN", "admin\n"])
def test_a_reserved_slug_cannot_hide_behind_its_spelling(sent: str) -> None:
    assert names.canonical_slug(sent) == "admin"


@pytest.mark.parametrize(
    "sent", ["", "-a", "a-", "a--b", "a b", "\u0430dmin", "a_b", "a" * 65, "admin\x00", "admin\u200b"]
)
def test_a_bad_slug_is_refused(sent: str) -> None:
    with pytest.raises(names.BadName):
        names.canonical_slug(sent)


@pytest.mark.parametrize("sent", ["Ann@Example.com", " ann@example.com", "ann@EXAMPLE.COM ", "\uff41nn@example.com"])
def test_a_mailbox_has_one_spelling(sent: str) -> None:
    assert names.canonical_email(sent) == "ann@example.com"


@pytest.mark.parametrize(
    "sent", ["", "ann", "@example.com", "ann@", "ann@example", "a b@example.com", "a@@example.com"]
)
def test_a_bad_mailbox_is_refused(sent: str) -> None:
    with pytest.raises(names.BadName):
        names.canonical_email(sent)


@pytest.mark.parametrize("sent", ["", " ", "A:B", "A/B", "A\x00B", "A\nB", "x" * 501])
def test_a_secret_name_out_of_rule_is_refused(sent: str) -> None:
    with pytest.raises(names.BadName):
        names.canonical_secret_name(sent)


@given(st.text(max_size=80))
def test_canonical_forms_are_stable(text: str) -> None:
    for canonical in (
        names.canonical_slug,
        names.canonical_email,
        names.canonical_folder_path,
        names.canonical_secret_name,
    ):
        with suppress(names.BadName):
            once = canonical(text)
            assert canonical(once) == once


def test_a_slug_can_be_made_of_any_title() -> None:
    assert names.slug_from("  Ärger & Söhne GmbH!") == "arger-sohne-gmbh"
    assert names.slug_from("日本") == ""
