"""The order of environments."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.kernel.errors import Conflict
from strongroom_identity.domain.environments import (
    MOST_ENVIRONMENTS,
    Environment,
    Environments,
    EnvironmentWish,
    added,
    changed,
    get_one,
    last_position,
)
from strongroom_identity.domain.errors import EnvironmentNotFound, EnvironmentSlugTaken

NOW = datetime(2026, 1, 2, tzinfo=UTC)
LATER = datetime(2026, 1, 3, tzinfo=UTC)
PROJECT = uuid4()


def an_environment(slug: str, position: int) -> Environment:
    return Environment.new(PROJECT, slug.title(), slug, position, NOW)


def environments(*slugs: str) -> Environments:
    return tuple(an_environment(slug, position) for position, slug in enumerate(slugs, 1))


def places(present: Environments) -> dict[str, int]:
    return {one.slug: one.position for one in present}


def order(present: Environments) -> list[str]:
    return [one.slug for one in present]


def test_a_taken_place_moves_that_one_and_all_later_ones_up() -> None:
    after = added(environments("a", "b", "c"), an_environment("new", 2))
    assert places(after) == {"a": 1, "new": 2, "b": 3, "c": 4}
    assert order(after) == ["a", "new", "b", "c"]


def test_a_free_place_moves_nobody() -> None:
    present = (an_environment("a", 1), an_environment("b", 4))
    assert places(added(present, an_environment("new", 2))) == {"a": 1, "new": 2, "b": 4}
    assert places(added(present, an_environment("new", 9))) == {"a": 1, "b": 4, "new": 9}


def test_the_last_place_is_the_highest_not_the_count() -> None:
    assert last_position(()) == 0
    assert last_position((an_environment("a", 2), an_environment("b", 7))) == 7


@pytest.mark.parametrize(
    ("moved", "to", "expected"),
    [
        ("d", 1, ["d", "a", "b", "c"]),
        ("a", 4, ["b", "c", "d", "a"]),
        ("b", 3, ["a", "c", "b", "d"]),
        ("b", 2, ["a", "b", "c", "d"]),
    ],
)
def test_a_move_closes_up_between_the_old_and_the_new_place(moved: str, to: int, expected: list[str]) -> None:
    present = environments("a", "b", "c", "d")
    one = next(one for one in present if one.slug == moved)
    new, after = changed(present, one.id, EnvironmentWish(position=to), LATER)
    assert order(after) == expected
    assert sorted(places(after).values()) == [1, 2, 3, 4]
    assert (new.position, new.updated_at, new.name) == (to, LATER, one.name)


def test_a_new_name_or_slug_leaves_the_place() -> None:
    present = environments("a", "b")
    new, after = changed(present, present[0].id, EnvironmentWish(name="Alpha", slug="alpha"), LATER)
    assert (new.name, new.slug, new.position) == ("Alpha", "alpha", 1)
    assert order(after) == ["alpha", "b"]


def test_a_slug_is_taken_once() -> None:
    present = environments("a", "b")
    with pytest.raises(EnvironmentSlugTaken) as refused:
        added(present, an_environment("a", 3))
    assert refused.value.wire_label == "CreateEnvironment"
    with pytest.raises(EnvironmentSlugTaken) as refused:
        changed(present, present[0].id, EnvironmentWish(slug="b"), LATER)
    assert refused.value.wire_label == "UpdateEnvironment"
    new, _ = changed(present, present[0].id, EnvironmentWish(slug="a"), LATER)
    assert new.slug == "a"


def test_there_is_a_most() -> None:
    present = environments(*(f"e{number}" for number in range(MOST_ENVIRONMENTS)))
    with pytest.raises(Conflict, match="at most"):
        added(present, an_environment("one-more", 1))


def test_an_unknown_one_is_not_found() -> None:
    present = environments("a")
    with pytest.raises(EnvironmentNotFound):
        get_one(present, uuid4())
    with pytest.raises(EnvironmentNotFound):
        changed(present, uuid4(), EnvironmentWish(), LATER)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "move", "drop"]), st.integers(1, 12), st.integers(0, 11)), max_size=25
)


@given(STEPS)
def test_whatever_happens_no_two_are_at_one_place_and_the_order_of_the_others_stays(
    steps: list[tuple[str, int, int]],
) -> None:
    present: Environments = ()
    for number, (kind, position, which) in enumerate(steps):
        before = order(present)
        touched = ""
        if kind == "add":
            touched = f"e{number}"
            present = added(present, an_environment(touched, position))
            assert places(present)[touched] == position
        elif present and kind == "move":
            one = present[which % len(present)]
            touched = one.slug
            _, present = changed(present, one.id, EnvironmentWish(position=position), LATER)
            assert places(present)[touched] == position
        elif present:
            touched = present[which % len(present)].slug
            present = tuple(one for one in present if one.slug != touched)
        assert len({one.position for one in present}) == len(present)
        assert [slug for slug in order(present) if slug != touched] == [slug for slug in before if slug != touched]
