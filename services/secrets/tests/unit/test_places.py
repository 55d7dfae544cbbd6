"""Paths and project references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.ids import new_id
from strongroom_secrets.domain.errors import ProjectNotFound, listed
from strongroom_secrets.domain.places import ProjectRef, ancestors, below, child, parent_and_name, parse_path

NAMES = st.text("abzAZ019-_", min_size=1, max_size=5)
PATHS = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names))


@given(PATHS, PATHS)
def test_the_bounds_hold_exactly_the_paths_below(path: str, other: str) -> None:
    first, last = below(path)
    is_below = other != path and other.startswith("/" if path == "/" else path + "/")
    is_within = first.encode() <= other.encode() < last.encode() and other != path
    assert is_within is is_below


@given(PATHS)
def test_a_path_is_the_child_of_its_parent(path: str) -> None:
    if path != "/":
        assert child(*parent_and_name(path)) == path
        assert ancestors(path) == [*ancestors(parent_and_name(path)[0]), path]


def test_ancestors_begin_with_the_root() -> None:
    assert ancestors("/") == ["/"]
    assert ancestors("/a/b") == ["/", "/a", "/a/b"]


@pytest.mark.parametrize(("sent", "path"), [("/a/b/", "/a/b"), ("a", "/a"), ("", "/"), ("/", "/"), (" /a ", "/a")])
def test_a_path_has_one_spelling(sent: str, path: str) -> None:
    assert parse_path(sent) == path


@pytest.mark.parametrize("sent", ["/a//b", "/..", "/a/./b", "/a b", "/a%2fb", "/ä", "/a*"])
def test_a_path_that_can_be_none_is_refused(sent: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_path(sent)
    assert not refused.value.issues


def test_a_project_is_named_by_id_before_slug() -> None:
    project_id = new_id()
    assert ProjectRef.of(str(project_id), "shop") == ProjectRef(id=project_id)
    assert ProjectRef.of(None, "Shop") == ProjectRef(slug="shop")
    with pytest.raises(InvalidInput):
        ProjectRef.of(None, None)
    with pytest.raises(ProjectNotFound):
        ProjectRef.of("no-uuid")


def test_a_message_names_many_but_not_thousands() -> None:
    assert listed(["A", "B"]) == "'A', 'B'"
    assert listed(str(number) for number in range(60)).endswith("'49' and 10 more")
