"""Threats class 13: whatever could be read in two ways is refused before routing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.http.paths import parse_target
from strongroom_common.kernel.errors import InvalidInput


@pytest.mark.parametrize(
    ("raw", "segments", "query"),
    [
        ("/", (), ""),
        ("/api/v1/projects", ("api", "v1", "projects"), ""),
        ("/api/v1/projects/", ("api", "v1", "projects"), ""),
        ("/api/v3/secrets/raw/A%20B?x=%2f..", ("api", "v3", "secrets", "raw", "A B"), "x=%2f.."),
        ("/api/%C3%A4", ("api", "ä"), ""),
        ("/api/100%25", ("api", "100%"), ""),
        ("/api/...a", ("api", "...a"), ""),
    ],
)
def test_a_plain_path_becomes_its_decoded_segments(raw: str, segments: tuple[str, ...], query: str) -> None:
    target = parse_target(raw)

    assert (target.segments, target.query) == (segments, query)


@pytest.mark.parametrize(
    "raw",
    [
        "/api/../admin",
        "/api/./admin",
        "/api/..",
        "/api/.%2e/admin",
        "/api/%2e%2e/admin",
        "/api/%2E/admin",
        "/api/%252e%252e/admin",
        "/api/%252e/admin",
        "/api//admin",
        "//api",
        "/api//",
        "/api/a%2fb",
        "/api/a%2Fb",
        "/api/a%5cb",
        "/api/a%255cb",
        "/api/a%252fb",
        "/api\\admin",
        "/api/a%00b",
        "/api/a\x00b",
        "/api/a%0ab",
        "/api/a%7fb",
        "/api/a%zz",
        "/api/a%",
        "/api/%ff",
        "/api/%20",
        "/api/a#b",
        "/api/a b",
        "http://host/api",
        "api",
        "*",
        "",
        "/" + "a" * 9000,
    ],
)
def test_an_ambiguous_path_is_refused(raw: str) -> None:
    with pytest.raises(InvalidInput):
        parse_target(raw)


@given(st.text(max_size=60))
def test_the_parser_never_crashes_and_never_lets_a_trick_through(text: str) -> None:
    try:
        target = parse_target("/" + text)
    except InvalidInput:
        return
    for segment in target.segments:
        assert segment.strip(". ")
        assert not set("/\\\x00") & set(segment)


@given(st.text(alphabet="ab/?&=%2e.#", max_size=30))
def test_a_query_never_changes_the_segments(query: str) -> None:
    assert parse_target("/api/v1/projects?" + query).segments == ("api", "v1", "projects")
