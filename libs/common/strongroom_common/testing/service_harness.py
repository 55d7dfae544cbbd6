"""A whole service on a free port, as clients meet it: its own database, a bus in memory, real HTTP.

    async with running_service(build, settings_for(PkiSettings, url), clock=FakeClock()) as pki:
        answer = await pki.http.post("/api/v1/...", json={...}, token=token)
        assert answer.status == 200

The database is migrated before: `postgres_server.clone(postgres_server.template("pki", migrate))`. What the service
hears, and who answers it, is the test's choice: declare it on a `MemoryBus` and hand that in.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import aiohttp
import orjson
from yarl import URL

from strongroom_common.access.networks import TrustedProxies
from strongroom_common.bus.memory import MemoryBus
from strongroom_common.contracts.audit import AUDIT_TYPES, AuditRecord, AuditRecorded
from strongroom_common.contracts.envelopes import Envelope
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.http.door import Site
from strongroom_common.http.openapi import openapi_document
from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_common.kernel.secret import Secret
from strongroom_common.runtime.process import listening
from strongroom_common.runtime.services import Service
from strongroom_common.runtime.settings import ServiceSettings

S = TypeVar("S", bound=ServiceSettings)


class Build(Protocol):
    """A service's `service.build`."""

    def __call__(self, settings: Any, bus: Any, *, clock: Clock | None = None) -> Service:
        """Return the service, ready to be prepared and run."""
        ...


def settings_for(kind: type[S], database_url: Secret, **more: Any) -> S:
    """Return settings with fresh keys; `more` overrides any of them by its field's name."""
    values: dict[str, Any] = {
        "database_url": database_url,
        "bus_url": Secret("amqp://nobody@localhost/"),
        "master_keys": Keyring.generate().to_text(),
        "bus_keys": Keyring.generate().to_text(),
        # As in production the whole pool opens when it is needed; tests need few.
        "database_connections": 5,
        **more,
    }
    # A field with an alias is read by that name only.
    aliases = {name: found.validation_alias for name, found in kind.model_fields.items()}
    return kind(**{str(aliases.get(name) or name): value for name, value in values.items()})


@dataclass(frozen=True)
class Answer:
    """One answer of the service, read to its end."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.raw)

    @property
    def text(self) -> str:
        """The body as text, to look for what must not be in it."""
        return self.raw.decode()


class HttpClient:
    """Sends requests as a client of the API would; a path is sent as it is written."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self.base = base

    async def send(
        self,
        method: str,
        path: str,
        *,
        token: str | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        raw: bytes | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        address: str | None = None,
    ) -> Answer:
        """Send one request. `address` is where the client seems to be, as the hop in front of the service says."""
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token}")
        if address is not None:
            sent.setdefault("X-Forwarded-For", address)
        body: Any = raw
        if json is not None:
            body = orjson.dumps(json)
            sent.setdefault("Content-Type", "application/json")
        elif form is not None:
            body = aiohttp.FormData(dict(form))
        url = URL(self.base + path, encoded=True)
        async with self._session.request(method, url.update_query(params or {}), data=body, headers=sent) as response:
            return Answer(response.status, response.headers.copy(), await response.read())

    async def get(self, path: str, **more: Any) -> Answer:
        """Send a GET."""
        return await self.send("GET", path, **more)

    async def post(self, path: str, **more: Any) -> Answer:
        """Send a POST."""
        return await self.send("POST", path, **more)

    async def patch(self, path: str, **more: Any) -> Answer:
        """Send a PATCH."""
        return await self.send("PATCH", path, **more)

    async def delete(self, path: str, **more: Any) -> Answer:
        """Send a DELETE."""
        return await self.send("DELETE", path, **more)


@dataclass
class Overheard:
    """What the services on a bus have said, in the order in which it was published."""

    envelopes: list[Envelope] = field(default_factory=list)

    def of(self, message_type: str) -> list[Envelope]:
        """The messages of one type."""
        return [envelope for envelope in self.envelopes if envelope.type == message_type]

    @property
    def audit_records(self) -> list[AuditRecord]:
        """The audit records that were sent to identity."""
        return [
            record
            for envelope in self.envelopes
            if envelope.type.endswith(AUDIT_TYPES.removeprefix("*"))
            for record in AuditRecorded.model_validate(envelope.payload).records
        ]

    async def note(self, envelope: Envelope) -> None:
        """Remember a message."""
        self.envelopes.append(envelope)


@dataclass(frozen=True)
class RunningService:
    """A service that answers."""

    service: Service
    http: HttpClient
    bus: MemoryBus
    said: Overheard
    clock: Any


@asynccontextmanager
async def running_service(
    build: Build,
    settings: ServiceSettings,
    *,
    clock: Clock | None = None,
    bus: MemoryBus | None = None,
    overhear: Sequence[str] = ("*.*.*.v1",),
) -> AsyncIterator[RunningService]:
    """Build, prepare and run a service on a migrated database, and serve it on a free port."""
    clock = clock or SystemClock()
    bus = bus or MemoryBus(clock)
    said = Overheard()
    bus.overhear(overhear, said.note)
    service = build(settings, bus, clock=clock)
    site = Site(
        service.door, TrustedProxies(settings.trusted_proxies), openapi_document(service.name, service.door.endpoints)
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(service.prepared())
        await stack.enter_async_context(service.running())
        port = await stack.enter_async_context(listening(site, "127.0.0.1", 0))
        session = await stack.enter_async_context(
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
        )
        http = HttpClient(session, f"http://127.0.0.1:{port}")
        yield RunningService(service=service, http=http, bus=bus, said=said, clock=clock)
