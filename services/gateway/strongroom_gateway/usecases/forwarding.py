"""Which service a request belongs to, whether its caller may knock again, and what happens when the tables change."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from strongroom_common.http.paths import Target
from strongroom_common.kernel.clock import Clock
from strongroom_common.observability.logs import get_logger
from strongroom_gateway.domain.limits import Bucket, Reading, Windows, caller_of
from strongroom_gateway.domain.prefixes import BadTable, Prefixes
from strongroom_gateway.providers.destinations import Destination
from strongroom_gateway.store.files import METHODS, Limited, read_limits, read_routes

log = get_logger(__name__)

SERVICES = ("identity", "secrets", "pki", "automation")
"""Whom a table may name. One that is not part of this installation has no routes."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What the files say."""

    routes: Prefixes[str]
    limits: Mapping[str, Prefixes[Bucket]]

    @classmethod
    def read(cls, routes_file: Path, limits_file: Path, limited: Limited) -> "Tables":
        """Read both files; raises `BadTable`."""
        return cls(read_routes(routes_file, SERVICES), read_limits(limits_file, limited))


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes; `pattern` is the entry of the table that led there."""

    pattern: str
    destination: Destination


class Forwarding:
    """The tables in force and the destinations they lead to."""

    def __init__(
        self,
        destinations: Sequence[Destination],
        clock: Clock,
        *,
        routes_file: Path,
        limits_file: Path,
        limited: Limited,
    ) -> None:
        """Raises `BadTable`."""
        self._destinations = {destination.name: destination for destination in destinations}
        self._clock = clock
        self._sources = (routes_file, limits_file, limited)
        self._windows = Windows()
        self._tables = Tables.read(*self._sources)

    @property
    def destinations(self) -> Sequence[Destination]:
        """Every service of this installation."""
        return tuple(self._destinations.values())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold the ways to all services open."""
        async with AsyncExitStack() as stack:
            for destination in self.destinations:
                await stack.enter_async_context(destination.running())
            yield

    def reload(self) -> bool:
        """Read the files anew; a bad one changes nothing."""
        try:
            self._tables = Tables.read(*self._sources)
        except BadTable as error:
            log.error("tables_refused", reason=str(error))
            return False
        log.info("tables_reloaded", routes=len(list(self._tables.routes)))
        return True

    def route(self, method: str, target: Target) -> Route | None:
        """Find where a request goes."""
        if method not in METHODS:
            return None
        match = self._tables.routes.find(target.segments)
        if match is None:
            return None
        destination = self._destinations.get(match.value)
        return Route(match.pattern, destination) if destination is not None else None

    def count(self, method: str, target: Target, client_address: str, authorization: str | None) -> Reading | None:
        """Count the request against its bucket; None where nothing is limited."""
        match = self._tables.limits[method].find(target.segments)
        if match is None:
            return None
        bucket = match.value
        caller = caller_of(client_address)
        if bucket.key == "bearer" and authorization is not None:
            caller = sha256(authorization.encode("utf-8", "surrogateescape")).hexdigest()
        return self._windows.count(bucket, caller, self._clock.monotonic())
