"""Real services on free ports, and a real gateway in front of them."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDictProxy

from strongroom_common.kernel.clock import SystemClock
from strongroom_common.runtime.process import listening
from strongroom_gateway.api.edge import Edge
from strongroom_gateway.service import build
from strongroom_gateway.settings import GatewaySettings

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class MovableClock:
    """A clock whose hands a test moves."""

    def __init__(self) -> None:
        self.offset = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC) + timedelta(seconds=self.offset)

    def monotonic(self) -> float:
        return 1000.0 + self.offset


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    """Say what arrived."""
    return web.json_response(
        {
            "method": request.method,
            "path": request.raw_path,
            "headers": [[name.lower(), value] for name, value in request.headers.items()],
            "body": (await request.read()).decode("latin-1"),
        }
    )


@dataclass
class Backend:
    """A service: it answers as a test says, and counts."""

    url: str = ""
    answer: Answer = echo
    seen: list[str] = field(default_factory=list)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(f"{request.method} {request.raw_path}")
        return await self.answer(request)


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Gateway:
    """A gateway and a client for it."""

    edge: Edge
    port: int
    session: aiohttp.ClientSession

    async def ask(self, method: str, path: str, **more: Any) -> Reply:
        """Send a request and read the whole answer."""
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self.session.request(method, url, allow_redirects=False, **more) as response:
            return Reply(response.status, response.headers, await response.read())

    async def echoed(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """Send a request to an echo and return what it got; headers of one name are joined by `|`."""
        response = await self.ask(method, path, **more)
        assert response.status == 200, response.body
        got: dict[str, Any] = response.json()
        headers: dict[str, str] = {}
        for name, value in got["headers"]:
            headers[name] = f"{headers[name]}|{value}" if name in headers else value
        return {**got, "headers": headers}

    async def raw(self, *parts: bytes) -> bytes:
        """Send bytes as they are, and return all that comes back until the gateway closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await asyncio.wait_for(reader.read(), 8)
        finally:
            writer.close()

    async def first(self, *parts: bytes) -> bytes:
        """Send bytes as they are, and return one answer, without waiting for the gateway to close."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 8)
            length = re.search(rb"(?i)content-length: (\d+)", head)
            return head + await reader.readexactly(int(length[1]) if length else 0)
        finally:
            writer.close()


Start = Callable[..., Awaitable[Gateway]]
Visit = Callable[..., Awaitable[Gateway]]
Serve = Callable[..., Awaitable[Backend]]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def serve(stack: AsyncExitStack) -> Serve:
    """Start a service: `await serve(answer)`."""

    async def start(answer: Answer = echo) -> Backend:
        backend = Backend(answer=answer)
        backend.url = f"http://127.0.0.1:{await stack.enter_async_context(listening(backend, '127.0.0.1', 0))}"
        return backend

    return start


@pytest.fixture
def visit(stack: AsyncExitStack) -> Visit:
    """Open an edge to visitors: `await visit(edge)`."""

    async def start(edge: Edge, **options: Any) -> Gateway:
        await stack.enter_async_context(edge.running())
        port = await stack.enter_async_context(listening(edge, "127.0.0.1", 0, **options))
        session = aiohttp.ClientSession(skip_auto_headers=("User-Agent",), auto_decompress=False)
        return Gateway(edge, port, await stack.enter_async_context(session))

    return start


@pytest.fixture
def open_gateway(visit: Visit) -> Start:
    """Start a gateway: `await open_gateway(identity=backend, connect_seconds=0.1)`."""

    async def start(clock: Any = None, keep_alive: float = 75.0, **settings: Any) -> Gateway:
        services = {name: settings.pop(name, "") for name in ("identity", "secrets", "pki", "automation")}
        urls = {f"{name}_url": getattr(service, "url", service) for name, service in services.items()}
        edge = build(GatewaySettings(**urls, **settings), clock or SystemClock())
        return await visit(edge, forwards=True, keep_alive=keep_alive)

    return start


@pytest.fixture
async def identity(serve: Serve) -> Backend:
    return await serve()


@pytest.fixture
async def gateway(open_gateway: Start, identity: Backend) -> Gateway:
    return await open_gateway(identity=identity)


@pytest.fixture
def routes_file(tmp_path: Path) -> Path:
    """A table of one's own."""
    path = tmp_path / "routes.toml"
    path.write_text('[services]\nidentity = ["/api/v1/projects"]\n')
    return path
