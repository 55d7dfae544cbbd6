"""What must be true of a foreign token before its bearer is one of ours."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_identity.domain.assertions import (
    Bounds,
    NotWithin,
    claim_at,
    claim_text,
    fits,
    verify_in_force,
    verify_within,
)

NOW = datetime(2026, 1, 2, 9, tzinfo=UTC)
MOMENT = int(NOW.timestamp())
CLAIMS = {
    "iss": "https://issuer.example.com",
    "sub": "repo:acme/shop:ref:refs/heads/main",
    "aud": ["strongroom", "other"],
    "environment": "production",
    "attempt": 3,
    "is_protected": True,
    "kubernetes": {"namespace": "shop"},
    "groups": ["a", "b"],
}


@pytest.mark.parametrize("times", [{}, {"exp": MOMENT + 1}, {"exp": MOMENT - 9}, {"nbf": MOMENT + 10, "iat": MOMENT}])
def test_a_token_in_force_is_taken_with_a_little_leeway(times):
    verify_in_force(times, NOW, needs_end=False)


@pytest.mark.parametrize(
    "times",
    [
        {"exp": MOMENT - 10},
        {"exp": 0},
        {"nbf": MOMENT + 11},
        {"iat": MOMENT + 11},
        {"exp": "tomorrow"},
        {"exp": None},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": 1e300},
        {"nbf": [1]},
    ],
)
def test_a_token_out_of_force_is_refused(times):
    with pytest.raises(NotWithin):
        verify_in_force(times, NOW, needs_end=False)


def test_a_token_without_end_is_refused_where_one_must_have_an_end():
    with pytest.raises(NotWithin, match="no end"):
        verify_in_force({"iat": MOMENT}, NOW, needs_end=True)


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(),
        Bounds(issuer="https://issuer.example.com"),
        Bounds(subject="repo:acme/shop:ref:refs/heads/main"),
        Bounds(subject="repo:acme/*/heads/*"),
        Bounds(audiences="strongroom"),
        Bounds(audiences="nobody, strongroom"),
        Bounds(claims={"environment": "prod*", "attempt": "3", "is_protected": "true", "groups": "b"}),
        Bounds(claims={"kubernetes.namespace": "shop"}),
        Bounds(claims={"environment": "staging, production"}),
    ],
)
def test_a_token_within_its_bounds_is_taken(bounds):
    verify_within(CLAIMS, bounds)


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(issuer="https://issuer.example.com/"),
        Bounds(issuer="https://*.example.com"),
        Bounds(subject="repo:acme/*"),
        Bounds(subject="repo:acme/other, repo:acme/shop:ref:refs/heads/main"),
        Bounds(audiences="Strongroom"),
        Bounds(claims={"environment": "staging"}),
        Bounds(claims={"environment": ""}),
        Bounds(claims={"absent": "*"}),
        Bounds(claims={"kubernetes": "*"}),
        Bounds(claims={"is_protected": "True"}),
        Bounds(claims={"environment": "production", "attempt": "4"}),
    ],
)
def test_one_bound_that_does_not_hold_refuses(bounds):
    with pytest.raises(NotWithin):
        verify_within(CLAIMS, bounds)


def test_a_claim_is_found_by_its_name_or_by_the_dots_in_it():
    claims = {"a.b": "whole", "a": {"b": "deep", "c": {"d": 1}}}
    assert claim_at(claims, "a.b") == "whole"
    assert claim_text(claims, "a.c.d") == "1"
    assert claim_text(claims, "a.c") is None
    assert claim_at(claims, "a.x") is None
    assert claim_at(claims, "a.c.d.e") is None


@given(st.text(max_size=30))
def test_a_claim_is_never_read_as_a_pattern(value):
    assert fits("production", value) == (value == "production")


@given(st.text(max_size=30), st.text(max_size=30))
def test_an_odd_bound_refuses_and_never_breaks(bound, value):
    assert fits(bound, value) in {True, False}
