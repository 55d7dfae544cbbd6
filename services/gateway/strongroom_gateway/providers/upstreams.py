"""A service behind HTTP: bodies are passed on as they come, connections are kept, nothing is repeated that may have
been done."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientOSError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
    DummyCookieJar,
    ServerDisconnectedError,
    TCPConnector,
    hdrs,
)
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import BaseRequest, RequestPayloadError, Response, StreamResponse
from multidict import CIMultiDict
from yarl import URL

from strongroom_common.http.door import OPENAPI_SEGMENTS
from strongroom_common.kernel.errors import InvalidInput, StrongroomError, TimedOut, TooLarge, Unavailable
from strongroom_common.observability.logs import get_logger
from strongroom_gateway.domain.headers import HOP_BY_HOP, is_ours, named_in
from strongroom_gateway.providers.destinations import Errand, UpstreamBroke

log = get_logger(__name__)

SMALL = 64 * 1024
"""A body of a known length up to this is read whole before it is passed on: one write is cheaper than many."""
DESCRIBE_SECONDS = 5.0

# The client library would add these where the caller sent none.
_NOT_ADDED = (hdrs.USER_AGENT, hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.CONTENT_TYPE)
# `Expect` is answered here, `Host` belongs to the connection, the length to the body that is really sent.
_NOT_SENT = HOP_BY_HOP | {"host", "expect", "content-length"}
# The gateway alone says who may read its answers from another site, which request this was and what answers it.
_NOT_RETURNED = HOP_BY_HOP | {"content-length", "server", "x-request-id"}
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_REPEATED = frozenset({"GET", "HEAD"})


class Upstream:
    """One service by its address."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        connect_seconds: float,
        answer_seconds: float,
        most_connections: int,
        most_body_bytes: int,
    ) -> None:
        self._name = name
        self._origin = url
        self._answer_seconds = answer_seconds
        self._most_connections = most_connections
        self._most_body_bytes = most_body_bytes
        self._timeout = ClientTimeout(total=None, sock_connect=connect_seconds)
        self._session: ClientSession | None = None

    @property
    def name(self) -> str:
        return self._name

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        session = ClientSession(
            # A service keeps an idle connection for longer than this, so it is never the one who lets go first.
            connector=TCPConnector(limit=self._most_connections, keepalive_timeout=30.0),
            # One caller's cookies are not another's.
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            timeout=self._timeout,
        )
        # Left alone, aiohttp sends PUT and DELETE again on a new connection. Whether they had already been carried out
        # is not known then, and there is no public switch; a test holds this one.
        session._retry_connection = False
        async with session:
            self._session = session
            try:
                yield
            finally:
                self._session = None

    async def answer(self, errand: Errand) -> StreamResponse:
        upload: _Upload | None = None
        try:
            async with asyncio.timeout(self._answer_seconds) as limit:
                body: bytes | _Upload | None = None
                request = errand.request
                if request.method not in _WITHOUT_BODY and request.body_exists:
                    length = request.content_length
                    if length is not None and length <= SMALL:
                        upload = _Upload(request, SMALL)
                        body = b"".join([chunk async for chunk in upload])
                    else:
                        body = upload = _Upload(request, self._most_body_bytes)
                answer = await self._ask(errand, body, upload)
                try:
                    return await self._return(errand, answer, limit)
                finally:
                    answer.close()
        except TimeoutError:
            if upload is not None and upload.is_waiting:
                raise InvalidInput(f"the body did not arrive within {self._answer_seconds:g} seconds") from None
            raise TimedOut(f"the {self._name} service did not answer within {self._answer_seconds:g} seconds") from None
        finally:
            if upload is not None:
                await upload.stop()

    async def describe(self) -> Mapping[str, Any]:
        try:
            async with (
                asyncio.timeout(DESCRIBE_SECONDS),
                self._open_session().get("/".join((self._origin, *OPENAPI_SEGMENTS)), allow_redirects=False) as answer,
            ):
                answer.raise_for_status()
                document = orjson.loads(await answer.read())
        except (ClientError, TimeoutError, ValueError) as error:
            log.info("document_unavailable", service=self._name, reason=type(error).__name__)
            raise Unavailable(f"the {self._name} service does not describe itself") from None
        return document if isinstance(document, dict) else {}

    def _open_session(self) -> ClientSession:
        if self._session is None:
            raise Unavailable(f"the way to the {self._name} service is not open")
        return self._session

    async def _ask(self, errand: Errand, body: "bytes | _Upload | None", upload: "_Upload | None") -> ClientResponse:
        method = errand.request.method
        url = self._url_of(errand)
        headers = _request_headers(errand)
        if isinstance(body, _Upload) and errand.request.content_length is not None:
            headers[hdrs.CONTENT_LENGTH] = str(errand.request.content_length)
        not_added = [name for name in _NOT_ADDED if name not in headers] or None
        session = self._open_session()
        attempt = 1
        while True:
            try:
                return await session.request(
                    method, url, headers=headers, data=body, allow_redirects=False, skip_auto_headers=not_added
                )
            except (ClientConnectorError, ConnectionTimeoutError) as error:
                # Nothing has been sent: this may be repeated whatever it is.
                self._note("upstream_unreachable", errand, attempt, error)
                if attempt == 2:
                    raise Unavailable(f"the {self._name} service cannot be reached") from None
            except (ClientOSError, ServerDisconnectedError) as error:
                if upload is not None and upload.failure is not None:
                    raise upload.failure from None
                self._note("upstream_broke", errand, attempt, error)
                if attempt == 2 or method not in _REPEATED:
                    raise UpstreamBroke(
                        f"the {self._name} service broke the connection before it answered"
                        + ("" if method in _REPEATED else "; the request may have been carried out")
                    ) from None
            except ClientError as error:
                if upload is not None and upload.failure is not None:
                    raise upload.failure from None
                self._note("upstream_broke", errand, attempt, error)
                raise UpstreamBroke(f"the {self._name} service did not answer with well-formed HTTP") from None
            attempt += 1

    async def _return(self, errand: Errand, answer: ClientResponse, limit: asyncio.Timeout) -> StreamResponse:
        headers = _answer_headers(answer)
        length = answer.headers.get(hdrs.CONTENT_LENGTH)
        if errand.request.method == "HEAD" or answer.status in {204, 304}:
            if length is not None:
                headers[hdrs.CONTENT_LENGTH] = length
            return Response(status=answer.status, reason=answer.reason, headers=headers)
        if length is not None and int(length) <= SMALL:
            try:
                body = await answer.read()
            except ClientError as error:
                self._note("upstream_broke", errand, 1, error)
                raise UpstreamBroke(f"the {self._name} service broke off in the middle of its answer") from None
            return Response(body=body, status=answer.status, reason=answer.reason, headers=headers)
        return await self._stream(errand, answer, headers, length, limit)

    async def _stream(
        self,
        errand: Errand,
        answer: ClientResponse,
        headers: CIMultiDict[str],
        length: str | None,
        limit: asyncio.Timeout,
    ) -> StreamResponse:
        request = errand.request
        if length is not None:
            headers[hdrs.CONTENT_LENGTH] = length
        response = StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
        errand.dress(response)
        # Events may be hours apart; anything else that stands still for so long has died.
        patience = None if answer.content_type == "text/event-stream" else self._answer_seconds
        limit.reschedule(None)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(patience) as standstill:
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                    if patience is not None:
                        standstill.reschedule(loop.time() + patience)
        except (ClientError, ConnectionError, TimeoutError) as error:
            # The answer has begun, so all that is left is to break it off where the client can see it.
            if request.transport is not None:
                request.transport.abort()
                self._note("answer_cut", errand, 1, error)
        return response

    def _url_of(self, errand: Errand) -> URL:
        target = errand.target
        query = f"?{target.query}" if target.query else ""
        return URL(f"{self._origin}{target.raw_path}{query}", encoded=True)

    def _note(self, event: str, errand: Errand, attempt: int, error: BaseException) -> None:
        # Not the error's own words: some of them quote the address with its query.
        log.warning(
            event,
            service=self._name,
            request_id=errand.arrival.request_id,
            method=errand.request.method,
            attempt=attempt,
            reason=type(error).__name__,
        )


class _Upload:
    """A request's body, passed on chunk by chunk and cut off beyond the limit."""

    def __init__(self, request: BaseRequest, most_bytes: int) -> None:
        self._content = request.content
        self._most_bytes = most_bytes
        self._size = 0
        self._is_over = False
        self._is_quiet = asyncio.Event()
        self._is_quiet.set()
        self.is_waiting = False
        """It is the client who keeps us waiting, or did when we gave up."""
        self.failure: StrongroomError | None = None

    def __aiter__(self) -> "_Upload":
        return self

    async def __anext__(self) -> bytes:
        if self._is_over:
            raise StopAsyncIteration
        self._is_quiet.clear()
        self.is_waiting = True
        try:
            chunk = await self._content.readany()
        except (RequestPayloadError, HttpProcessingError, ConnectionError):
            self.failure = InvalidInput("the body broke off or is not well-formed")
            raise self.failure from None
        finally:
            self._is_quiet.set()
        self.is_waiting = False
        if not chunk:
            raise StopAsyncIteration
        self._size += len(chunk)
        if self._size > self._most_bytes:
            self.failure = TooLarge(f"the body is larger than {self._most_bytes} bytes")
            raise self.failure
        return chunk

    async def stop(self) -> None:
        """Read no more: the server reads the rest of the request, and must be the only one who does."""
        self._is_over = True
        await self._is_quiet.wait()


def _request_headers(errand: Errand) -> CIMultiDict[str]:
    incoming = errand.request.headers
    dropped = errand.dropped
    if hdrs.CONNECTION in incoming:
        dropped = dropped | named_in(incoming.getall(hdrs.CONNECTION))
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in incoming.items():
        lower = name.lower()
        if lower in _NOT_SENT or lower in dropped or is_ours(lower):
            continue
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InvalidInput("a header is not UTF-8 text") from None
        headers.add(name, value)
    arrival = errand.arrival
    headers["X-Request-Id"] = arrival.request_id
    headers["X-Forwarded-For"] = arrival.client_address
    headers["X-Forwarded-Proto"] = errand.scheme
    if errand.host:
        headers["X-Forwarded-Host"] = errand.host
    headers["traceparent"] = arrival.traceparent
    return headers


def _answer_headers(answer: ClientResponse) -> CIMultiDict[str]:
    incoming = answer.headers
    dropped = _NOT_RETURNED
    if hdrs.CONNECTION in incoming:
        dropped = dropped | named_in(incoming.getall(hdrs.CONNECTION))
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in incoming.items():
        lower = name.lower()
        if lower not in dropped and not lower.startswith("access-control-"):
            headers.add(name, value)
    return headers
