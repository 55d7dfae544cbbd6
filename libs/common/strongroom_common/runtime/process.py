"""The one way in which a process lives: start, ready, drain, stop."""

import asyncio
import gc
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

import uvloop
from aiohttp import web

from strongroom_common.http.door import refusal
from strongroom_common.kernel.errors import InvalidInput, Unavailable
from strongroom_common.kernel.ids import new_request_id
from strongroom_common.observability.logs import get_logger

log = get_logger(__name__)

R = TypeVar("R")
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

PATIENCE_AT_START = timedelta(seconds=60)
"""How long a starting process waits for its database and its broker."""


class CannotStart(Exception):
    """Why, in one line, and what to do about it."""


def run(main: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    """Run a process until SIGINT or SIGTERM sets the event and `main` returns; the exit status is the result."""

    async def live() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, stop.set)
        await main(stop)

    status = 0
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(live())
    except* CannotStart as group:
        for error in _leaves(group):
            sys.stderr.write(f"cannot start: {error}\n")
        status = 1
    return status


def _leaves(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    leaves: list[BaseException] = []
    for error in group.exceptions:
        leaves += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return leaves


class _Connection(web.RequestHandler):
    """Answers what is not well-formed HTTP. aiohttp would quote the bytes to the sender and to the log, and a broken
    header may be the one that holds a token."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Called for every request that cannot be parsed, and for a handler that raised."""
        if status != 400:
            return super().handle_error(request, status, exc, message)
        log.info("request_malformed", client_address=request.remote, reason=type(exc).__name__)
        response = refusal(
            InvalidInput("the request is not well-formed HTTP, or a header is too long"), new_request_id()
        )
        response.force_close()
        return response


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


@asynccontextmanager
async def listening(
    handler: Handler,
    host: str,
    port: int,
    *,
    drain: float = 0.0,
    keep_alive: float = 75.0,
    forwards: bool = False,
) -> AsyncIterator[int]:
    """Serve HTTP and yield the port; on the way out refuse new connections and let requests in hand finish.

    `keep_alive` is longer than any client of ours keeps a connection, so that it is the client who lets go first; it
    also bounds how long a request's head may take to arrive. A handler that `forwards` gets bodies as they were sent,
    compressed or not, and is cancelled when its client leaves; any other one finishes what it began.
    """
    server = _Server(
        handler,
        keepalive_timeout=keep_alive,
        access_log=None,
        auto_decompress=not forwards,
        handler_cancellation=forwards,
    )
    # aiohttp takes zero for "as long as it takes".
    runner = web.ServerRunner(server, shutdown_timeout=max(drain, 0.01))
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=512)
        try:
            await site.start()
        except OSError as error:
            reason = "the port is in use" if error.errno == 98 else (error.strerror or "it cannot be opened")
            raise CannotStart(f"cannot listen on {host}:{port}: {reason}; choose another port") from None
        yield next(int(address[1]) for address in runner.addresses if isinstance(address, tuple))
    finally:
        await runner.cleanup()


def settle() -> None:
    """Tune the garbage collector for serving, once everything is started.

    What is loaded by now lives as long as the process: it is taken out of the collector's sight, and what requests make
    is looked through less often. Python's defaults cost a list of 1,000 secrets more than half of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


async def patiently(enter: Callable[[], Awaitable[R]], what: str, stop: asyncio.Event) -> R:
    """Do something that needs a server which may still be starting; give up with one clear line."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_AT_START.total_seconds()
    while True:
        try:
            return await enter()
        except Unavailable as error:
            if loop.time() >= deadline or stop.is_set():
                raise CannotStart(f"{what}: {error.message}") from None
            log.warning("waiting_for", what=what, reason=error.message)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 1.0)
