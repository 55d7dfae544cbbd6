"""The internal port: /livez (the process answers), /readyz (requests have a chance), /metrics."""

from collections.abc import Awaitable, Callable

from aiohttp.web import BaseRequest, Response, StreamResponse

from strongroom_common.observability.metrics import render_metrics

IsReady = Callable[[], Awaitable[bool]]


class Health:
    """Answers the probes. `is_draining` turns /readyz off before anything is closed."""

    def __init__(self, is_ready: IsReady) -> None:
        self._is_ready = is_ready
        self.is_draining = False

    async def __call__(self, request: BaseRequest) -> StreamResponse:
        """aiohttp's low-level server calls this for each request."""
        path = request.path.rstrip("/")
        if path == "/livez":
            return Response(text="ok\n")
        if path == "/readyz":
            is_ready = not self.is_draining and await self._is_ready()
            return Response(text="ready\n" if is_ready else "not ready\n", status=200 if is_ready else 503)
        if path == "/metrics":
            return Response(body=render_metrics(), headers={"Content-Type": "text/plain; version=0.0.4"})
        return Response(text="try /livez, /readyz or /metrics\n", status=404)
