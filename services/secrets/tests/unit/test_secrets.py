"""The rules about one secret."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.contracts.envelopes import Actor
from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.clock import MORNING
from strongroom_secrets.domain.metadata import MetadataEntry
from strongroom_secrets.domain.secrets import (
    SHARED,
    NewSecret,
    SecretChange,
    SecretState,
    is_upper_case,
    parse_new_name,
    tidy_value,
)

ROBOT = Actor(kind="identity", id=new_id(), name="robot")
HUMAN = Actor(kind="user", id=new_id(), name="human")

# What ECMAScript calls white space or a line end (ECMA-262, 12.2 and 12.3), as code points.
WHITE = [0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F]
WHITE += [0x3000, 0xFEFF]
BLANKS = st.text(st.sampled_from([chr(point) for point in WHITE]), max_size=6)
SOLID = st.text(min_size=1).filter(lambda text: ord(text[0]) not in WHITE and ord(text[-1]) not in WHITE)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("value", "value"),
        ("  value \t", "value"),
        ("value\n", "value\n"),
        ("value\n\n\n", "value\n"),
        ("value \n", "value\n"),
        ("value\n ", "value"),
        ("value\r\n", "value\n"),
        ("\n", "\n"),
        ("   ", ""),
        ("", ""),
        ("a\n\n b", "a\n\n b"),
        ("\ufeffvalue", "value"),
        ("\x1fvalue\x85", "\x1fvalue\x85"),
        ("null", "null"),
        ("\x00", "\x00"),
    ],
)
def test_a_value_loses_the_white_space_around_it_but_keeps_one_last_line_break(sent: str, kept: str) -> None:
    assert tidy_value(sent) == kept


@given(BLANKS, SOLID, BLANKS)
def test_whatever_is_inside_a_value_stays_as_it_is(before: str, inside: str, after: str) -> None:
    assert tidy_value(before + inside + after) == inside + ("\n" if after.endswith("\n") else "")


@given(st.text())
def test_a_tidy_value_is_not_changed_again(value: str) -> None:
    assert tidy_value(tidy_value(value)) == tidy_value(value)


@pytest.mark.parametrize("name", ["", "  ", "a:b", "a/b", "x" * 501, "line\nbreak"])
def test_a_new_name_out_of_rule_is_refused_and_the_field_named(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_new_name(name, ["secrets", 3, "secretKey"])
    assert refused.value.issues[0]["path"] == ["secrets", 3, "secretKey"]


@pytest.mark.parametrize("name", ["KEY", "key with blanks", "Ключ", "a.b-c_d", "x" * 500, "1"])
def test_any_other_new_name_is_kept(name: str) -> None:
    assert parse_new_name(f" {name} ", []) == name


def test_one_name_has_one_spelling_whatever_its_unicode_form() -> None:
    assert parse_new_name("e\u0301", []) == "\u00e9"


@pytest.mark.parametrize(("name", "is_upper"), [("KEY_1", True), ("Key", False), ("ÄRGER", True), ("1-2", True)])
def test_upper_case_means_that_no_lower_case_letter_is_in_it(name: str, is_upper: bool) -> None:
    assert is_upper_case(name) is is_upper


def a_secret() -> SecretState:
    new = NewSecret("KEY", Secret("one"), "why", (MetadataEntry("team", "a", False),), True, "note", 7)
    return SecretState.new(new_id(), new_id(), SHARED, new, ROBOT, MORNING)


def test_what_a_change_does_not_mention_stays() -> None:
    before = a_secret()
    after = before.after(SecretChange("KEY", "/"), HUMAN, MORNING + timedelta(hours=1))
    assert (after.value, after.comment, after.metadata) == (before.value, before.comment, before.metadata)
    assert (after.reminder_note, after.reminder_repeat_days, after.skip_multiline_encoding) == ("note", 7, True)
    assert (after.version, after.actor, after.created_at) == (2, HUMAN, MORNING)
    assert after.updated_at > before.updated_at


def test_an_empty_text_replaces_and_an_empty_list_clears() -> None:
    change = SecretChange("KEY", "/", value=Secret(""), comment="", metadata=(), reminder_note=None)
    after = a_secret().after(change, HUMAN, MORNING)
    assert (after.value.reveal(), after.comment, after.metadata, after.reminder_note) == ("", "", (), None)
    assert after.reminder_repeat_days == 7


def test_a_change_to_the_same_name_renames_nothing() -> None:
    assert SecretChange("KEY", "/", new_name="KEY").renamed_to is None
    assert SecretChange("KEY", "/", new_name="OTHER").renamed_to == "OTHER"


def test_no_text_form_of_a_secret_shows_what_is_secret() -> None:
    state = a_secret()
    change = SecretChange("KEY", "/", value=Secret("canary"), metadata=(MetadataEntry("k", "canary", True),))
    after = state.after(change, HUMAN, MORNING)
    assert "canary" not in repr(change) + repr(after) + str(after) + repr(change.as_new("KEY"))
