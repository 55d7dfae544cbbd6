"""Named places where a test may stop, fail or kill the process. Unarmed, `reach` does nothing.

Production never arms a fault: only `strongroom_common.testing.faults` does, from a test's own launcher.
"""

from collections.abc import Callable

_armed: dict[str, Callable[[], None]] = {}


def reach(name: str) -> None:
    """Pass a named place; whatever a test armed there happens now."""
    if _armed:
        action = _armed.get(name)
        if action is not None:
            action()


def arm(name: str, action: Callable[[], None]) -> None:
    """Let `action` run whenever the named place is reached."""
    _armed[name] = action


def disarm() -> None:
    """Forget every armed fault."""
    _armed.clear()
