"""A clock that a test moves by hand."""

from datetime import UTC, datetime, timedelta

MORNING = datetime(2026, 1, 2, 9, 0, 0, tzinfo=UTC)


class FakeClock:
    """Stands still until it is moved."""

    def __init__(self, start: datetime = MORNING) -> None:
        self._start = start
        self._passed = timedelta(0)

    def now(self) -> datetime:
        return self._start + self._passed

    def monotonic(self) -> float:
        return self._passed.total_seconds()

    def advance(self, length: timedelta) -> None:
        """Let time pass."""
        if length < timedelta(0):
            raise ValueError("time does not run backwards here")
        self._passed += length
