"""Patterns: what they match, how fast, and what may be said of two of them."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strongroom_common.access.globs import MOST_ALTERNATIVES, BadGlob, Glob, MissingFact
from strongroom_common.testing.reference_rules import reference_glob

letters = st.sampled_from("aAb.-1é*?[{\\\n")
values = st.lists(st.text(letters, max_size=4), max_size=4).map("/".join)
pieces = st.sampled_from(
    [
        "a",
        "b",
        "A",
        ".",
        "é",
        "/",
        "/",
        "*",
        "*",
        "**",
        "/**/",
        "?",
        "[ab]",
        "[!a]",
        "[^b-z]",
        "[a-b.]",
        "\\*",
        "\\[",
        "{a,b}",
        "{*,b/a}",
        "{,a}",
    ]
)
patterns = st.lists(pieces, max_size=7).map("".join)


@pytest.mark.parametrize(
    ("pattern", "value", "matches"),
    [
        ("/", "/", True),
        ("/", "/a", False),
        ("/*", "/a", True),
        ("/*", "/", False),
        ("/*", "/a/b", False),
        ("/*/c", "/a/c", True),
        ("/**", "/", True),
        ("/**", "/a/b/c", True),
        ("**", "/a/b", True),
        ("**/c", "/a/b/c", True),
        ("/a/**", "/a", True),
        ("/a/**", "/a/b/c", True),
        ("/a/**", "/ab", False),
        ("/a/**/c", "/a/c", True),
        ("/a/**/c", "/a/b/b/c", True),
        ("/a/**/c", "/a/b/c/d", False),
        ("/**/b/**/b", "/b", False),
        ("/**/b/**/b", "/a/b/b", True),
        ("/a**", "/a/b", False),
        ("/a**", "/ab", True),
        ("a", "/a", False),
        ("dev-*", "dev-", True),
        ("dev-*", "dev-1", True),
        ("dev-?", "dev-12", False),
        ("*", ".hidden", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[]]", "]", True),
        ("[!b]", "/", False),
        ("a[^b]c", "a/c", False),
        ("{dev,prod}-*", "prod-1", True),
        ("{dev,prod}-*", "stage-1", False),
        ("/{a/b,c}/d", "/a/b/d", True),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("A", "a", False),
        ("*", "a\nb", True),
        ("", "", True),
    ],
)
def test_a_pattern_matches_what_its_table_says(pattern: str, value: str, matches: bool) -> None:
    assert Glob(pattern).matches(value) is matches
    assert reference_glob(pattern, value) is matches


@given(pattern=patterns, value=values)
@example(pattern="/**/a*b/**/*", value="/ab/x/aab/c")
def test_it_agrees_with_the_plain_matcher(pattern: str, value: str) -> None:
    try:
        glob = Glob(pattern)
    except BadGlob:
        return
    assert glob.matches(value) is reference_glob(pattern, value)


@given(data=st.data(), pattern=patterns)
def test_it_agrees_with_the_plain_matcher_on_values_made_to_fit(data: st.DataObject, pattern: str) -> None:
    fitting = {
        "*": st.sampled_from(["", "a", "ab"]),
        "**": st.sampled_from(["a", "a/b", ""]),
        "?": st.sampled_from("ab"),
    }
    value, place = "", 0
    while place < len(pattern):
        key = pattern[place : place + 2] if pattern.startswith("**", place) else pattern[place]
        value += data.draw(fitting.get(key, st.just(key)))
        place += len(key)
    try:
        glob = Glob(pattern)
    except BadGlob:
        return
    assert glob.matches(value) is reference_glob(pattern, value)


@given(pattern=st.text(st.sampled_from("ab/*?[]{}!^-\\,.()|é"), max_size=30) | st.text(max_size=30), value=values)
def test_reading_a_pattern_never_crashes(pattern: str, value: str) -> None:
    try:
        Glob(pattern).matches(value)
    except (BadGlob, MissingFact):
        return


@pytest.mark.parametrize(
    "pattern",
    [
        "!a",
        "@(a|b)",
        "!(a)",
        "(a)",
        "a|b",
        "{a",
        "a}",
        "{a}",
        "{}",
        "{1..3}",
        "{a,{b,c}}",
        "[a",
        "[",
        "[!",
        "[]",
        "[z-a]",
        "[a/b]",
        "[[:alpha:]]",
        "a\\",
        "a\\/b",
        "{{name}",
    ],
)
def test_what_other_dialects_mean_by_more_is_refused(pattern: str) -> None:
    with pytest.raises(BadGlob):
        Glob(pattern)


def test_alternatives_are_few() -> None:
    assert Glob("{a,b}" * 5).matches("ababa")
    with pytest.raises(BadGlob, match=str(MOST_ALTERNATIVES)):
        Glob("{a,b}" * 6)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("*a" * 300 + "b", "a" * 2000),
        ("?*" * 300 + "b", "a" * 2000),
        ("/**/a" * 200 + "/b", "/a" * 1000),
        ("/**/*a*" * 100 + "/b", "/aaaa" * 500),
        ("/**/a*a*a*b" * 60 + "/c", "/aaab" * 500),
        ("/**/*" * 100 + "/**/b", "/a" * 1000),
    ],
)
def test_no_pattern_takes_long(pattern: str, value: str) -> None:
    glob = Glob(pattern)
    started = time.perf_counter()
    assert not glob.matches(value)
    assert time.perf_counter() - started < 1


def test_a_template_is_one_plain_piece() -> None:
    glob = Glob("/teams/{{ identity.metadata.team }}/*", {"identity.metadata.team": "a*"})
    assert glob.matches("/teams/a*/x")
    assert not glob.matches("/teams/ab/x")


@pytest.mark.parametrize("value", [None, "", "a/b", "/", ".", ".."])
def test_a_fact_that_would_move_the_pattern_is_missing(value: str | None) -> None:
    with pytest.raises(MissingFact):
        Glob("/teams/{{team}}/**", {} if value is None else {"team": value})


@given(fact=st.text(letters | st.just(","), min_size=1, max_size=6), value=values)
def test_filling_a_template_never_matches_more_than_the_text_itself(fact: str, value: str) -> None:
    try:
        glob = Glob("/teams/{{team}}/**", {"team": fact})
    except MissingFact:
        return
    assert glob.matches(f"/teams/{fact}/{value}")
    assert glob.matches(f"/teams/{value}") is (value == fact or value.startswith(fact + "/"))


@given(one=patterns, other=patterns, value=values)
@example(one="/a/**", other="/a/b/*", value="/a/b/c")
@example(one="/a/b", other="/a", value="/a")
def test_what_is_said_of_two_patterns_is_true(one: str, other: str, value: str) -> None:
    try:
        left, right = Glob(one), Glob(other)
    except BadGlob:
        return
    if left.covers(right) and right.matches(value):
        assert left.matches(value)
    if left.excludes(right):
        assert not (left.matches(value) and right.matches(value))


@pytest.mark.parametrize(
    ("one", "other", "covers", "excludes"),
    [
        ("**", "/a/*", True, False),
        ("/a/**", "/a/b/*", True, False),
        ("/a/**", "/a", True, False),
        ("/a/**", "/a/**", True, False),
        ("/a*/**", "/a*/b", True, False),
        ("/a*/**", "/ab/b", False, False),
        ("/a/**", "/ab/**", False, True),
        ("/prod/**", "/dev/**", False, True),
        ("/a", "/a/b", False, True),
        ("/a/*", "/a/b", False, False),
        ("{dev,test}", "dev", True, False),
        ("{dev,test}", "{test,dev}", True, False),
        ("{dev,test}", "{test,prod}", False, False),
        ("{dev,test}", "{stage,prod}", False, True),
    ],
)
def test_simple_proofs_are_found(one: str, other: str, covers: bool, excludes: bool) -> None:
    assert Glob(one).covers(Glob(other)) is covers
    assert Glob(one).excludes(Glob(other)) is excludes
