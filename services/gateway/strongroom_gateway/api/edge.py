"""What every request passes on its way in, and every answer on its way out, whichever way the services are reached."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp.http import HttpVersion11
from aiohttp.web import BaseRequest, Response, StreamResponse

from strongroom_common.access.networks import TrustedProxies
from strongroom_common.http.door import refusal, route_not_found
from strongroom_common.http.endpoints import Arrival
from strongroom_common.http.paths import Target, parse_target
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import RateLimited, StrongroomError, TooLarge
from strongroom_common.kernel.ids import new_request_id
from strongroom_common.observability.logs import get_logger
from strongroom_common.observability.metrics import REQUEST_SECONDS
from strongroom_common.observability.traces import continue_trace
from strongroom_gateway.domain.limits import Reading
from strongroom_gateway.providers.destinations import Errand
from strongroom_gateway.usecases.forwarding import Forwarding

log = get_logger(__name__)

Page = Callable[[BaseRequest], Awaitable[Response]]

_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")

_ON_EVERY_ANSWER = {
    "Server": "strongroom",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
_POLICY = "default-src 'none'; frame-ancestors 'none'"
_HSTS = "max-age=31536000; includeSubDomains"

_CORS_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_CORS_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-None-Match, traceparent, tracestate"
_CORS_EXPOSED = (
    "ETag, X-Request-Id, X-Decision-Id, Idempotency-Replayed, Retry-After, "
    "x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset"
)


class _Visit:
    """One request's share of what goes onto its answer."""

    __slots__ = ("is_https", "origin", "reading", "request_id", "varies")

    def __init__(self, request_id: str, is_https: bool, origin: str | None, varies: bool) -> None:
        self.request_id = request_id
        self.is_https = is_https
        self.origin = origin
        self.varies = varies
        self.reading: Reading | None = None

    def dress(self, response: StreamResponse) -> None:
        headers = response.headers
        headers.update(_ON_EVERY_ANSWER)
        headers.setdefault("Content-Security-Policy", _POLICY)
        headers["X-Request-Id"] = self.request_id
        if self.is_https:
            headers["Strict-Transport-Security"] = _HSTS
        if self.varies:
            headers.add("Vary", "Origin")
        if self.origin is not None:
            headers["Access-Control-Allow-Origin"] = self.origin
            headers["Access-Control-Allow-Credentials"] = "true"
            headers["Access-Control-Expose-Headers"] = _CORS_EXPOSED
        if self.reading is not None:
            headers["x-ratelimit-limit"] = str(self.reading.limit)
            headers["x-ratelimit-remaining"] = str(self.reading.remaining)
            headers["x-ratelimit-reset"] = str(self.reading.reset)


class Edge:
    """The one way in. aiohttp's low-level server calls it for each request; it runs while `running` is entered."""

    def __init__(
        self,
        forwarding: Forwarding,
        clock: Clock,
        *,
        proxies: TrustedProxies,
        pages: Mapping[str, Page],
        cors_origins: Sequence[str],
        most_body_bytes: int,
        certificate_header: str,
    ) -> None:
        """`pages` are the gateway's own, by path. `certificate_header` is believed only from trusted proxies."""
        self._forwarding = forwarding
        self._clock = clock
        self._proxies = proxies
        self._pages = {parse_target(path).segments: page for path, page in pages.items()}
        self._page_names = {parse_target(path).segments: path for path in pages}
        self._cors_origins = frozenset(cors_origins)
        self._most_body_bytes = most_body_bytes
        self._dropped_from_strangers = frozenset({certificate_header.lower()} if certificate_header else ())
        self._timers: dict[tuple[str, str, int], Any] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold open what requests need."""
        async with self._forwarding.running():
            yield

    def reload(self) -> bool:
        """Read the tables anew; a bad file changes nothing."""
        return self._forwarding.reload()

    async def __call__(self, request: BaseRequest) -> StreamResponse:
        """Answer one request; every error of ours and every bug becomes an answer too."""
        started = self._clock.monotonic()
        method = request.method
        headers = request.headers
        peer = request.remote or ""
        is_vouched = self._proxies.believes(peer)
        scheme, host = "http", headers.get("Host", "")
        if is_vouched:
            scheme = _last(headers.getall("X-Forwarded-Proto", ())).lower() or scheme
            host = _last(headers.getall("X-Forwarded-Host", ())) or host
        origin = headers.get("Origin") if self._cors_origins else None
        visit = _Visit(
            new_request_id(),
            scheme == "https",
            origin if origin in self._cors_origins else None,
            bool(self._cors_origins),
        )
        route = "(none)"
        try:
            target = parse_target(request.raw_path)
            page = self._pages.get(target.segments)
            if visit.origin is not None and method == "OPTIONS" and "Access-Control-Request-Method" in headers:
                response: StreamResponse = _preflight()
            elif page is not None:
                route = self._page_names[target.segments]
                if method not in {"GET", "HEAD"}:
                    raise route_not_found(method, target.raw_path)
                response = await page(request)
            else:
                found = self._forwarding.route(method, target)
                if found is None:
                    raise route_not_found(method, target.raw_path)
                route = found.pattern
                arrival = Arrival(
                    request_id=visit.request_id,
                    client_address=self._proxies.client_of(peer, headers.getall("X-Forwarded-For", ())),
                    user_agent=headers.get("User-Agent", "")[:512],
                    traceparent=continue_trace(headers.get("traceparent")),
                )
                self._count(visit, request, target, arrival)
                await self._expect(request)
                response = await found.destination.answer(
                    Errand(
                        request=request,
                        target=target,
                        arrival=arrival,
                        scheme="https" if visit.is_https else "http",
                        host=host if _HOST.fullmatch(host) else "",
                        dropped=_NOTHING if is_vouched else self._dropped_from_strangers,
                        dress=visit.dress,
                    )
                )
        except StrongroomError as error:
            response = refusal(error, visit.request_id)
            log.info(
                "request_refused",
                request_id=visit.request_id,
                method=method,
                route=route,
                status=response.status,
                error=error.wire_label,
            )
        except Exception:
            log.exception("request_failed", request_id=visit.request_id, method=method, route=route)
            response = refusal(StrongroomError("something went wrong on our side"), visit.request_id)
        if not response.prepared:
            visit.dress(response)
        self._note(method, route, response.status, started)
        return response

    def _count(self, visit: _Visit, request: BaseRequest, target: Target, arrival: Arrival) -> None:
        reading = self._forwarding.count(
            request.method, target, arrival.client_address, request.headers.get("Authorization")
        )
        visit.reading = reading
        if reading is not None and reading.is_over:
            raise RateLimited(
                f"rate limit exceeded: try again in {reading.reset} seconds",
                retry_after=reading.reset,
            )

    async def _expect(self, request: BaseRequest) -> None:
        length = request.content_length
        if length is not None and length > self._most_body_bytes:
            raise TooLarge(f"the body is larger than {self._most_body_bytes} bytes")
        if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= HttpVersion11:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # Or the server would take it for the beginning of the answer.
            request.writer.output_size = 0

    def _note(self, method: str, route: str, status: int, started: float) -> None:
        key = (method, route, status)
        timer = self._timers.get(key)
        if timer is None:
            timer = self._timers[key] = REQUEST_SECONDS.labels("gateway", method, route, str(status))
        timer.observe(self._clock.monotonic() - started)


_NOTHING: frozenset[str] = frozenset()


def _last(lines: Sequence[str]) -> str:
    # The last word is the one that the proxy next to us wrote; what stands before it came from further away.
    return lines[-1].rpartition(",")[2].strip() if lines else ""


def _preflight() -> Response:
    return Response(
        status=204,
        headers={
            "Access-Control-Allow-Methods": _CORS_METHODS,
            "Access-Control-Allow-Headers": _CORS_HEADERS,
            "Access-Control-Max-Age": "600",
        },
    )
