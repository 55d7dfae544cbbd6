"""Refresh tokens: one use each, and two who have copies of one part sooner or later."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.testing.clock import MORNING
from strongroom_identity.domain.sessions import GRACE, REFRESH_LIFE, RefreshTokenReused, Session, longest_life


def a_session(user_agent: str = "browser") -> Session:
    return Session.new(UUID(int=1), "198.51.100.7", user_agent, MORNING)


@given(st.integers(1, 20), st.one_of(st.integers(-3, 30), st.none(), st.text(max_size=3), st.booleans()))
def test_only_the_newest_version_refreshes(rotations, presented) -> None:
    session, now = a_session(), MORNING
    for _ in range(rotations):
        now += timedelta(hours=1)
        session = session.refreshed(session.refresh_version, now)
    now += GRACE
    if presented == session.refresh_version:
        assert session.refreshed(presented, now).refresh_version == presented + 1
    else:
        with pytest.raises(RefreshTokenReused):
            session.refreshed(presented, now)


@given(st.lists(st.sampled_from(["owner", "thief"]), min_size=2, max_size=12))
def test_owner_and_thief_never_both_go_on(turns) -> None:
    session, now = a_session(), MORNING
    held = {"owner": 1, "thief": 1}
    used: set[str] = set()
    for who in turns:
        now += GRACE
        used.add(who)
        try:
            session = session.refreshed(held[who], now)
        except RefreshTokenReused:
            assert used == {"owner", "thief"}
            return
        held[who] = session.refresh_version
    assert len(used) == 1


def test_the_one_before_is_good_for_a_moment() -> None:
    session = a_session().refreshed(1, MORNING)
    assert session.refreshed(1, MORNING + GRACE / 2).refresh_version == 2
    with pytest.raises(RefreshTokenReused):
        session.refreshed(1, MORNING + GRACE)


@pytest.mark.parametrize(("agent", "rotates"), [("cli", False), ("CLI/1.2", False), ("client", True), ("", True)])
def test_only_the_tool_that_cannot_rotate_does_not(agent, rotates) -> None:
    assert a_session(agent).is_rotating is rotates


def test_a_session_that_does_not_rotate_refuses_any_other_version() -> None:
    session = a_session("cli")
    assert session.refreshed(1, MORNING + timedelta(days=1)).refresh_version == 1
    for version in (0, 2, None):
        with pytest.raises(RefreshTokenReused):
            session.refreshed(version, MORNING)


@pytest.mark.parametrize(
    ("setting", "life"),
    [
        (None, REFRESH_LIFE),
        ("", REFRESH_LIFE),
        ("2h", timedelta(hours=2)),
        ("nonsense", REFRESH_LIFE),
        ("9y", REFRESH_LIFE),
    ],
)
def test_an_organization_may_only_shorten(setting, life) -> None:
    assert longest_life(setting) == life
