"""A service in the same process: its door is called, nothing is sent."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

from aiohttp.web import StreamResponse

from strongroom_common.http.door import Door
from strongroom_common.http.openapi import openapi_document
from strongroom_gateway.domain.headers import is_ours
from strongroom_gateway.providers.destinations import Errand


class Room:
    """The door of one service in this process."""

    def __init__(self, name: str, door: Door[Any]) -> None:
        self._name = name
        self._door = door

    @property
    def name(self) -> str:
        return self._name

    async def answer(self, errand: Errand) -> StreamResponse:
        request = errand.request
        # What the gateway found out reaches the service as the arrival; a header that claims it must not get there.
        if any((lower := name.lower()) in errand.dropped or is_ours(lower) for name in request.headers):
            kept = request.headers.copy()
            for name in set(kept):
                if (lower := name.lower()) in errand.dropped or is_ours(lower):
                    kept.popall(name, None)
            request = request.clone(headers=kept)
        return await self._door.answer(request, errand.target, errand.arrival)

    async def describe(self) -> Mapping[str, Any]:
        return self._document

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        yield

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        return openapi_document(self._name, self._door.endpoints)
