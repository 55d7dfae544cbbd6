"""Where time comes from. Nothing else in the product reads a clock, so a test can move time by hand."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The wall clock and the stop-watch."""

    def now(self) -> datetime:
        """Return the aware UTC instant."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards; only differences mean anything."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is the Clock that the rule points to

    def monotonic(self) -> float:
        return time.monotonic()


def wire_instant(instant: datetime) -> str:
    """Write an aware instant as clients expect it: ISO 8601, UTC, milliseconds, `Z`."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
