"""When a door closes, and when it opens again."""

from datetime import UTC, datetime, timedelta

from strongroom_identity.domain.lockouts import Failures, Lockout

NOW = datetime(2026, 1, 2, 9, 0, tzinfo=UTC)
RULES = Lockout(threshold=3, duration=300, counter_reset=30)
NONE = Failures(0, False, NOW)


def seconds(number: int) -> timedelta:
    return timedelta(seconds=number)


def test_the_threshold_closes_the_door_for_the_duration() -> None:
    failures = NONE
    for _ in range(2):
        failures = failures.failed(RULES, NOW)
        assert not failures.locks(NOW)
    failures = failures.failed(RULES, NOW)
    assert failures.locks(NOW + seconds(299))
    assert not failures.locks(NOW + seconds(300))


def test_each_failure_restarts_the_window() -> None:
    failures = NONE.failed(RULES, NOW)
    failures = failures.failed(RULES, NOW + seconds(29))
    failures = failures.failed(RULES, NOW + seconds(58))
    assert failures.locks(NOW + seconds(58))


def test_failures_apart_are_counted_apart() -> None:
    failures = NONE
    for number in range(10):
        failures = failures.failed(RULES, NOW + seconds(30 * number))
        assert failures == Failures(1, False, NOW + seconds(30 * number + 30))


def test_attempts_while_locked_do_not_extend_it() -> None:
    locked = Failures(3, True, NOW + seconds(300))
    assert locked.failed(RULES, NOW + seconds(299)) == locked


def test_after_a_lock_counting_begins_anew() -> None:
    locked = Failures(3, True, NOW)
    assert locked.failed(RULES, NOW) == Failures(1, False, NOW + seconds(30))


def test_a_threshold_of_one_closes_at_once() -> None:
    assert NONE.failed(Lockout(threshold=1), NOW).locks(NOW)
