"""Waiting for a fact instead of for a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def eventually(fact: Callable[[], T | Awaitable[T]], within: float = 5.0, every: float = 0.01) -> T:
    """Return the first true value that `fact` gives (or its awaitable); a failed assertion counts as not yet.

    Raises `AssertionError` after `within` seconds, from the last failure.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while True:
        failure: AssertionError | None = None
        try:
            found = fact()
            value = await found if isinstance(found, Awaitable) else found
            if value:
                return value
        except AssertionError as error:
            failure = error
        if loop.time() >= deadline:
            raise AssertionError(f"did not become true within {within} s") from failure
        await asyncio.sleep(every)
