"""Requests are counted per caller and window, in bounded memory."""

import pytest

from strongroom_gateway.domain.limits import Bucket, Reading, Windows, caller_of

THREE = Bucket("three", 3, 60)


def test_a_caller_has_so_many_requests_in_a_window_and_then_again() -> None:
    windows = Windows()

    first = [windows.count(THREE, "a", 100.0) for _ in range(5)]
    later = windows.count(THREE, "a", 130.5)
    next_window = windows.count(THREE, "a", 160.0)

    assert [reading.is_over for reading in first] == [False, False, False, True, True]
    assert [reading.remaining for reading in first] == [2, 1, 0, 0, 0]
    assert later == Reading(limit=3, remaining=0, reset=30, is_over=True)
    assert next_window == Reading(limit=3, remaining=2, reset=60, is_over=False)


def test_callers_and_buckets_do_not_share() -> None:
    windows = Windows()
    for _ in range(4):
        windows.count(THREE, "a", 0.0)

    assert not windows.count(THREE, "b", 0.0).is_over
    assert not windows.count(Bucket("other", 3, 60), "a", 0.0).is_over


def test_refused_requests_do_not_prolong_the_window() -> None:
    windows = Windows()
    for second in range(60):
        windows.count(THREE, "a", float(second))

    assert not windows.count(THREE, "a", 60.0).is_over


def test_memory_is_bounded_and_what_has_ended_is_forgotten() -> None:
    windows = Windows(most_callers=100)
    for number in range(1000):
        windows.count(THREE, str(number), 0.0)
    assert len(windows) == 100

    for number in range(60):
        windows.count(THREE, f"later {number}", 61.0)
    assert len(windows) == 60


@pytest.mark.parametrize(
    ("address", "caller"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("", ""),
        ("nonsense", "nonsense"),
    ],
)
def test_a_whole_ipv6_network_is_one_caller(address: str, caller: str) -> None:
    assert caller_of(address) == caller
