"""The services' OpenAPI documents as one, asked for when somebody reads it and remembered for a little while."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import orjson

from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import StrongroomError
from strongroom_gateway.domain.documents import merge
from strongroom_gateway.providers.destinations import Destination

REMEMBERED = 60.0
"""Seconds. A document that lacks a service is made anew much sooner."""
REMEMBERED_INCOMPLETE = 2.0


class Documents:
    """One document for all services."""

    def __init__(self, destinations: Sequence[Destination], own: Mapping[str, Any], clock: Clock) -> None:
        """`own` is the gateway's own document."""
        self._destinations = destinations
        self._own = own
        self._clock = clock
        self._lock = asyncio.Lock()
        self._document = b""
        self._stale_at = float("-inf")

    async def read(self) -> bytes:
        """Return the merged document as JSON; a service that does not answer is named in `x-unavailable`."""
        # One asks, the others wait for what it gets.
        async with self._lock:
            if self._clock.monotonic() >= self._stale_at:
                await self._merge()
            return self._document

    async def _merge(self) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = {destination.name: group.create_task(_described(destination)) for destination in self._destinations}
        documents: dict[str, Mapping[str, Any]] = {"gateway": self._own}
        missing: list[str] = []
        for name, task in tasks.items():
            document = task.result()
            if document is None:
                missing.append(name)
            else:
                documents[name] = document
        self._document = orjson.dumps(merge("Strongroom", _version(), documents, missing))
        self._stale_at = self._clock.monotonic() + (REMEMBERED_INCOMPLETE if missing else REMEMBERED)


async def _described(destination: Destination) -> Mapping[str, Any] | None:
    try:
        return await destination.describe()
    except StrongroomError:
        return None


def _version() -> str:
    try:
        return version("strongroom-gateway")
    except PackageNotFoundError:
        return "0"
