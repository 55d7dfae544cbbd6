"""The port: where a request can go, whichever way it gets there."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp.web import BaseRequest, StreamResponse

from strongroom_common.http.endpoints import Arrival
from strongroom_common.http.paths import Target
from strongroom_common.kernel.errors import StrongroomError


class UpstreamBroke(StrongroomError):
    """A service broke off before its answer was whole; what was asked of it may have been done (502)."""

    family = "bad_gateway"
    label = "BadGateway"


@dataclass(slots=True)
class Errand:
    """One request on its way to a service, with all that the gateway found out about it."""

    request: BaseRequest
    target: Target
    arrival: Arrival
    scheme: str
    host: str
    dropped: frozenset[str]
    """Further headers, in lower case, that this client may not send."""
    dress: Callable[[StreamResponse], None]
    """Adds the gateway's own headers to an answer; called once, before its first byte."""


class Destination(Protocol):
    """One service."""

    @property
    def name(self) -> str:
        """The service's name in the table of routes."""
        ...

    async def answer(self, errand: Errand) -> StreamResponse:
        """Let the service answer; raises an error of ours when it does not."""
        ...

    async def describe(self) -> Mapping[str, Any]:
        """Return the service's OpenAPI document; raises `Unavailable`."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Hold what is needed to reach the service."""
        ...
