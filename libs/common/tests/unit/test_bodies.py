"""Threats class 9: depth and width are bounded before anything is parsed."""

from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.http.bodies import MOST_DEPTH, MOST_ITEMS, check_json_bounds, parse_form, parse_query
from strongroom_common.kernel.errors import InvalidInput

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_ordinary_json_passes(document: object) -> None:
    check_json_bounds(orjson.dumps(document))


def test_brackets_inside_strings_do_not_count() -> None:
    check_json_bounds(orjson.dumps({"value": '[{"' * 1000 + "\\" * 7, "other": "}]" * 1000}))


def test_the_deepest_allowed_passes_and_one_more_does_not() -> None:
    check_json_bounds(b"[" * MOST_DEPTH + b"]" * MOST_DEPTH)
    with pytest.raises(InvalidInput, match="nested"):
        check_json_bounds(b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1))


@pytest.mark.parametrize("bomb", [b"[" * 5_000_000, b'{"a":' * 1_000_000, b"[" * 100_000 + b"]" * 100_000])
def test_a_deep_bomb_is_refused_quickly(bomb: bytes) -> None:
    with pytest.raises(InvalidInput):
        check_json_bounds(bomb)


def test_a_wide_body_is_refused() -> None:
    with pytest.raises(InvalidInput, match="items"):
        check_json_bounds(b"[" + b"1," * (2 * MOST_ITEMS) + b"1]")


@given(st.binary(max_size=200))
def test_the_bounds_never_crash_on_bytes(raw: bytes) -> None:
    with suppress(InvalidInput):
        check_json_bounds(raw)


def test_a_form_and_a_query_are_read_alike() -> None:
    assert parse_form(b"clientId=a&clientSecret=b%20c&empty=") == {"clientId": "a", "clientSecret": "b c", "empty": ""}
    assert parse_query("a=1&a=2&b=") == {"a": "2", "b": ""}


@pytest.mark.parametrize("raw", [b"\xff", b"&".join(b"a=1" for _ in range(300))])
def test_a_bad_form_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidInput):
        parse_form(raw)
