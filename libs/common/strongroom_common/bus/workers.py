"""What both transports share: tasks that the bus owns, and one message at a time per aggregate."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

AT_ONCE: Final = 16
"""How many messages of one queue a process handles at the same time."""


class InHand:
    """The tasks under way. They live as long as the bus is open and are waited for when it closes."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task and keep it."""
        task = asyncio.create_task(work)  # noqa: TID251 - a TaskGroup cannot span open() and close()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, grace: timedelta) -> None:
        """Wait for all of them within the grace, then cancel the rest."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace.total_seconds())
        rest = list(self._tasks)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


class Turns:
    """Lets one through at a time per key, in the order of arrival."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, key: str) -> AsyncIterator[None]:
        """Wait for one's turn."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            yield


def was_cancelled(task: asyncio.Task[Any] | None = None) -> bool:
    """Say whether this task itself is being cancelled; a `CancelledError` may also come out of what it waited for."""
    task = task or asyncio.current_task()
    return task is not None and task.cancelling() > 0


def matches(patterns: Sequence[str], message_type: str) -> bool:
    """Say whether one of the patterns fits; `*` stands for one word, as in a topic exchange."""
    words = message_type.split(".")
    return any(_fits(pattern.split("."), words) for pattern in patterns)


def _fits(pattern: list[str], words: list[str]) -> bool:
    return len(pattern) == len(words) and all(p in ("*", w) for p, w in zip(pattern, words, strict=True))
