"""When too many wrong credentials close a door, and when it opens again (wire-identity 4)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID


@dataclass(frozen=True)
class Lockout:
    """How strict a door is. Lengths in seconds."""

    is_enabled: bool = True
    threshold: int = 3
    duration: int = 300
    counter_reset: int = 30


@dataclass(frozen=True)
class Attempt:
    """What failures are counted under: a kind of login, whose it is, and what was presented, in its one spelling.

    `name` is whatever a stranger typed as a client id or user name; it is kept only as a keyed hash.
    """

    kind: str
    subject_id: UUID
    name: str


@dataclass(frozen=True)
class Failures:
    """The failures of late. They are forgotten at `ends_at`, and so is the lock that they led to."""

    count: int
    is_locked: bool
    ends_at: datetime

    def locks(self, now: datetime) -> bool:
        """Say whether nobody gets in right now, not even with the right credentials."""
        return self.is_locked and now < self.ends_at

    def failed(self, lockout: Lockout, now: datetime) -> "Failures":
        """Count one more. A failure restarts the window; while locked nothing changes, so that nobody is kept out."""
        if self.locks(now):
            return self
        count = self.count + 1 if not self.is_locked and now < self.ends_at else 1
        if count >= lockout.threshold:
            return Failures(count, True, now + timedelta(seconds=lockout.duration))
        return replace(self, count=count, is_locked=False, ends_at=now + timedelta(seconds=lockout.counter_reset))
