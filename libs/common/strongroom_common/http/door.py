"""The pipeline every request walks: find the endpoint, know the caller, parse, call, render. Errors become the body."""

import asyncio
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import orjson
from aiohttp.web import BaseRequest, Response, StreamResponse
from pydantic import BaseModel, ValidationError

from strongroom_common.access.callers import Caller, Refused
from strongroom_common.access.doorkeeper import Doorkeeper
from strongroom_common.access.networks import TrustedProxies
from strongroom_common.audit.trail import ReadTrail
from strongroom_common.http.bodies import check_json_bounds, parse_form, parse_query, read_body
from strongroom_common.http.endpoints import Arrival, Call, Endpoint, Reply
from strongroom_common.http.errors import error_body, error_headers, invalid, status_of
from strongroom_common.http.models import NoBody, NoQuery
from strongroom_common.http.paths import Target, parse_target
from strongroom_common.http.replays import Claim, KeptAnswer, Replays
from strongroom_common.http.router import Router
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    PermissionDenied,
    StrongroomError,
    TimedOut,
    TokenRefused,
    Unauthenticated,
    Unavailable,
)
from strongroom_common.kernel.ids import new_request_id
from strongroom_common.observability.logs import get_logger
from strongroom_common.observability.metrics import REQUEST_SECONDS
from strongroom_common.observability.traces import continue_trace

S = TypeVar("S")

log = get_logger(__name__)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
OPENAPI_SEGMENTS = ("internal", "openapi.json")
"""Where a service's process shows its OpenAPI document to the gateway; the gateway's table leads nobody else there."""
LONGEST_BEARER = 8_192
PATIENCE_WITH_TRAIL = 5.0
"""How many seconds a refusal waits for its record; after that it goes out unexplained."""

# Answers may hold secrets: no cache between us and the client keeps one. ETag and If-None-Match work all the same.
_HEADERS = {"Content-Type": JSON, "Cache-Control": "no-store"}


class Door(Generic[S]):
    """One service's way in."""

    def __init__(
        self,
        *,
        name: str,
        service: S,
        endpoints: Iterable[Endpoint],
        clock: Clock,
        doorkeeper: Doorkeeper | None = None,
        replays: Replays | None = None,
        trail: ReadTrail | None = None,
        most_body_bytes: int = 10 * 1024 * 1024,
        patience: float = 60.0,
    ) -> None:
        self.name = name
        self.endpoints = tuple(endpoints)
        self._service = service
        self._clock = clock
        self._doorkeeper = doorkeeper
        self._replays = replays
        self._trail = trail
        self._most_body_bytes = most_body_bytes
        self._patience = patience
        self._timers: dict[tuple[str, str, int], Any] = {}
        self._router: Router[Endpoint] = Router()
        for endpoint in self.endpoints:
            if not endpoint.is_public and doorkeeper is None:
                raise ValueError(f"{endpoint.method} {endpoint.template} needs a caller, but there is no doorkeeper")
            self._router.add(endpoint.method, endpoint.template, endpoint)

    async def answer(self, request: BaseRequest, target: Target, arrival: Arrival) -> StreamResponse:
        """Answer one request; every error of ours and every bug becomes an answer too."""
        started = self._clock.monotonic()
        template = "(none)"
        try:
            found = self._router.find("GET" if request.method == "HEAD" else request.method, target.segments)
            if found is None:
                raise route_not_found(request.method, target.raw_path)
            endpoint, path = found
            template = endpoint.template
            try:
                async with asyncio.timeout(self._patience):
                    response = await self._pass(request, target, arrival, endpoint, path)
            except TimeoutError:
                raise TimedOut(f"the request took longer than {self._patience:g} seconds") from None
        except StrongroomError as error:
            if isinstance(error, PermissionDenied):
                await self._write_down(error, arrival)
            response = refusal(error, arrival.request_id)
            log.info(
                "request_refused",
                request_id=arrival.request_id,
                method=request.method,
                route=template,
                status=response.status,
                error=error.wire_label,
            )
        except Exception:
            log.exception("request_failed", request_id=arrival.request_id, method=request.method, route=template)
            response = refusal(StrongroomError("something went wrong on our side"), arrival.request_id)
        self._note(request.method, template, response.status, started)
        return response

    async def _pass(
        self, request: BaseRequest, target: Target, arrival: Arrival, endpoint: Endpoint, path: Mapping[str, str]
    ) -> StreamResponse:
        headers = request.headers
        caller = await self._identify(headers.get("Authorization"), headers, endpoint, arrival)
        query: BaseModel = _NO_QUERY
        if endpoint.query is not NoQuery:
            try:
                query = endpoint.query.model_validate(parse_query(target.query))
            except ValidationError as error:
                raise invalid(error, "the query") from None
        raw = b""
        body: BaseModel = _NO_BODY
        if endpoint.is_write:
            # Read even where no body is expected, so that its size is bounded and its bytes are off the connection.
            raw = await read_body(request, self._most_body_bytes)
            if endpoint.body is not NoBody:
                body = _parse_body(endpoint.body, raw, request.content_type)
        call: Call[Any, Any, Any] = Call(
            service=self._service,
            arrival=arrival,
            path=path,
            query=query,
            body=body,
            known_caller=caller,
            headers=headers,
        )
        key = headers.get("Idempotency-Key") if endpoint.is_write else None
        if key is None or caller is None or self._replays is None:
            return _render(await endpoint.handler(call), request)
        async with self._replays.once(
            caller=str(caller.access.subject_id),
            method=request.method,
            path=target.raw_path,
            key=key,
            query=target.query,
            body=raw,
        ) as outcome:
            if isinstance(outcome, KeptAnswer):
                return _json_response(outcome.body, outcome.status, {"Idempotency-Replayed": "true"})
            return await self._first(endpoint, call, request, outcome)

    async def _first(
        self, endpoint: Endpoint, call: Call[Any, Any, Any], request: BaseRequest, claim: Claim
    ) -> StreamResponse:
        try:
            response = _render(await endpoint.handler(call), request)
        except StrongroomError as error:
            if status_of(error) in {400, 404, 422}:
                claim.answer = KeptAnswer(status_of(error), error_body(error, call.arrival.request_id))
            raise
        if isinstance(response, Response) and isinstance(response.body, bytes):
            claim.answer = KeptAnswer(response.status, response.body)
        return response

    async def _identify(
        self, authorization: str | None, headers: Mapping[str, str], endpoint: Endpoint, arrival: Arrival
    ) -> Caller | None:
        if "X-API-Key" in headers:
            raise InvalidInput("API keys are no longer supported: use a machine identity's access token")
        if endpoint.is_bearer_ignored or self._doorkeeper is None:
            return None
        if authorization is None:
            if endpoint.is_public:
                return None
            raise Unauthenticated("log in first: this route needs a bearer token")
        scheme, _, bearer = authorization.partition(" ")
        bearer = bearer.strip()
        if scheme.lower() != "bearer" or not bearer or not bearer.isascii() or len(bearer) > LONGEST_BEARER:
            raise TokenRefused("the Authorization header must be 'Bearer' and a token")
        if bearer.startswith("st."):
            raise Unauthenticated("service tokens are not supported here: use a machine identity's access token")
        if endpoint.is_public:
            await self._doorkeeper.verify(bearer)
            return None
        caller = await self._doorkeeper.admit(bearer, arrival.client_address)
        if caller.access.kind not in endpoint.callers:
            raise Forbidden(f"this route does not take a caller of kind {caller.access.kind}")
        if endpoint.needs_organization:
            _ = caller.organization_id
        return caller

    async def _write_down(self, error: PermissionDenied, arrival: Arrival) -> None:
        """Give a refusal an id by which it can be explained. Without a record it is a refusal all the same."""
        refused = error.refused
        if self._trail is None or not isinstance(refused, Refused) or refused.caller.access.organization_id is None:
            return
        record = refused.to_record(self._clock, arrival.user_agent)
        try:
            async with asyncio.timeout(PATIENCE_WITH_TRAIL):
                await self._trail.note(record)
        except (Unavailable, TimeoutError):
            log.warning("refusal_not_recorded", request_id=arrival.request_id)
            return
        error.decision_id = record.id

    def _note(self, method: str, template: str, status: int, started: float) -> None:
        key = (method, template, status)
        timer = self._timers.get(key)
        if timer is None:
            timer = self._timers[key] = REQUEST_SECONDS.labels(self.name, method, template, str(status))
        timer.observe(self._clock.monotonic() - started)


class Site:
    """A service's port in its own process: behind the gateway, whose forwarding headers it believes."""

    def __init__(self, door: Door[Any], proxies: TrustedProxies, document: Mapping[str, Any] | None = None) -> None:
        """`document` is the OpenAPI document, which the gateway asks for and merges."""
        self._door = door
        self._proxies = proxies
        self._document = orjson.dumps(document) if document is not None else None

    async def __call__(self, request: BaseRequest) -> StreamResponse:
        """aiohttp's low-level server calls this for each request."""
        headers = request.headers
        is_forwarded = self._proxies.believes(request.remote or "")
        request_id = (headers.get("X-Request-Id") if is_forwarded else None) or new_request_id()
        arrival = Arrival(
            request_id=request_id,
            client_address=self._proxies.client_of(request.remote or "", headers.getall("X-Forwarded-For", ())),
            user_agent=headers.get("User-Agent", "")[:512],
            traceparent=continue_trace(headers.get("traceparent")),
            is_forwarded=is_forwarded,
        )
        try:
            target = parse_target(request.raw_path)
        except StrongroomError as error:
            return refusal(error, request_id)
        if target.segments == OPENAPI_SEGMENTS and self._document is not None and is_forwarded:
            return _json_response(self._document, 200, {})
        return await self._door.answer(request, target, arrival)


def route_not_found(method: str, path: str) -> NotFound:
    """No such route; the message names method and path without the query (wire-identity 16.13)."""
    return NotFound(f"Route {method}:{path} not found", label="Not Found")


def refusal(error: StrongroomError, request_id: str) -> Response:
    """An error of ours as an answer."""
    return Response(
        body=error_body(error, request_id),
        status=status_of(error),
        headers={**_HEADERS, **error_headers(error), "X-Request-Id": request_id},
    )


def _parse_body(model: type[BaseModel], raw: bytes, content_type: str) -> BaseModel:
    try:
        if not raw.strip():
            return model.model_validate({})
        if content_type == FORM:
            return model.model_validate(parse_form(raw))
        # aiohttp says octet-stream where the client says nothing.
        if content_type not in {JSON, "application/octet-stream"}:
            raise InvalidInput(f"send the body as {JSON} or {FORM}")
        check_json_bounds(raw)
        return model.model_validate_json(raw, strict=True)
    except ValidationError as error:
        raise invalid(error, "the body") from None


def _render(answer: Any, request: BaseRequest) -> StreamResponse:
    if isinstance(answer, StreamResponse):
        return answer
    headers: Mapping[str, str] = {}
    content_type = JSON
    if isinstance(answer, Reply):
        headers, content_type, answer = answer.headers, answer.content_type, answer.body
    if isinstance(answer, BaseModel):
        body = answer.model_dump_json(by_alias=True).encode()
    elif isinstance(answer, bytes):
        body = answer
    else:
        body = orjson.dumps(answer)
    etag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    wanted = request.headers.get("If-None-Match")
    if wanted is not None and request.method in {"GET", "HEAD"} and _matches(etag, wanted):
        return Response(status=304, headers={"ETag": etag, "Cache-Control": "no-store"})
    return Response(
        body=body, headers={"Content-Type": content_type, "Cache-Control": "no-store", "ETag": etag, **headers}
    )


def _matches(etag: str, wanted: str) -> bool:
    return wanted.strip() == "*" or any(part.strip().removeprefix("W/") == etag for part in wanted.split(","))


def _json_response(body: bytes, status: int, headers: Mapping[str, str]) -> Response:
    return Response(body=body, status=status, headers={**_HEADERS, **headers})


_NO_BODY = NoBody()
_NO_QUERY = NoQuery()
