"""The longest pattern wins, and only whole segments match."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_gateway.domain.prefixes import BadTable, Prefixes


@pytest.fixture
def table() -> Prefixes[str]:
    return Prefixes(
        {
            "/api/v1/projects": "identity",
            "/api/v1/projects/*/tags": "secrets",
            "/api/v1/projects/slug/*": "identity, by slug",
            "/api/v1/secret": "secrets",
        }
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/api/v1/projects", "identity"),
        ("/api/v1/projects/1", "identity"),
        ("/api/v1/projects/1/tags", "secrets"),
        ("/api/v1/projects/1/tags/2", "secrets"),
        ("/api/v1/projects/1/tagsx", "identity"),
        ("/api/v1/projects/slug/tags", "identity, by slug"),
        ("/api/v1/projectsx", None),
        ("/api/v1/secret/1", "secrets"),
        ("/api/v1/secrets", None),
        ("/api/v1", None),
        ("/", None),
    ],
)
def test_the_longest_pattern_of_whole_segments_wins(table: Prefixes[str], path: str, value: str | None) -> None:
    match = table.find([segment for segment in path.split("/") if segment])

    assert (match.value if match else None) == value


@given(
    st.dictionaries(st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=4).map(tuple), st.none()),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=5),
)
def test_the_trie_agrees_with_trying_every_pattern(patterns: dict[tuple[str, ...], None], path: list[str]) -> None:
    match = Prefixes({"/" + "/".join(pattern): pattern for pattern in patterns}).find(path)

    fitting = [pattern for pattern in patterns if len(pattern) <= len(path) and all(map(fnmatchcase, path, pattern))]
    expected = max(fitting, key=lambda pattern: (len(pattern), [segment != "*" for segment in pattern]), default=None)
    assert (match.value if match else None) == expected


@pytest.mark.parametrize(
    "pattern",
    ["", "api", "/api/", "//api", "/api/../x", "/api/.", "/api/x*", "/a%2f", "/a?b", "/a b", "/ä", "/a\\b", "/a/{id}"],
)
def test_a_pattern_that_no_canonical_path_begins_with_is_refused(pattern: str) -> None:
    with pytest.raises(BadTable):
        Prefixes({pattern: "x"})


def test_a_table_can_be_listed(table: Prefixes[str]) -> None:
    assert sorted(match.pattern for match in table) == [
        "/api/v1/projects",
        "/api/v1/projects/*/tags",
        "/api/v1/projects/slug/*",
        "/api/v1/secret",
    ]
