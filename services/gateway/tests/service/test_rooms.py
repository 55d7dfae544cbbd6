"""The same edge in front of doors in this process: what changes is where it runs, never what it does."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from strongroom_common.http.door import Door
from strongroom_common.http.endpoints import PUBLIC, Call, Routes
from strongroom_common.http.models import Body, QueryString, View
from strongroom_gateway.service import build_edge
from strongroom_gateway.settings import GatewaySettings


class Word(Body):
    word: str = ""


class Heard(View):
    word: str
    client: str
    request_id: str
    traceparent: str
    headers: Mapping[str, str] = {}


class Tone(Enum):
    LOUD = "loud"
    LOW = "low"


class Search(QueryString):
    tone: Tone = Tone.LOW


@dataclass
class Notes:
    words: list[str] = field(default_factory=list)


routes = Routes("Words")


def _heard(call: Call[Notes, Any, Any], word: str) -> Heard:
    call.service.words.append(word)
    arrival = call.arrival
    return Heard(
        word=word, client=arrival.client_address, request_id=arrival.request_id, traceparent=arrival.traceparent
    )


@routes.get("/api/v1/groups", returns=Heard, callers=PUBLIC)
async def read(call: Call[Notes, Any, Any]) -> Heard:
    """Read."""
    return _heard(call, "")


@routes.get("/api/v1/groups/search", returns=list[Heard], query=Search, callers=PUBLIC)
async def search(call: Call[Notes, Any, Search]) -> list[Heard]:
    """Search."""
    return [_heard(call, call.query.tone.value)]


@routes.post("/api/v1/groups/{groupId}", returns=Heard, body=Word, callers=PUBLIC)
async def write(call: Call[Notes, Word, Any]) -> Heard:
    """Write."""
    return _heard(call, call.body.word)


@pytest.fixture
async def gateway(visit: Any, clock: Any) -> Any:
    door = Door(name="identity", service=Notes(), endpoints=routes, clock=clock)
    settings = GatewaySettings(trusted_proxies=("127.0.0.1",), most_body_bytes=50_000)
    return await visit(build_edge(settings, clock, {"identity": door}))


async def test_a_request_passes_the_edge_and_the_door_without_a_second_hop(gateway) -> None:
    response = await gateway.ask(
        "POST",
        "/api/v1/groups/1/",
        json={"word": "hello"},
        headers={"X-Forwarded-For": "9.9.9.9, 1.2.3.4", "X-Request-Id": "req-forged"},
    )
    heard = response.json()

    assert (response.status, heard["word"], heard["client"]) == (200, "hello", "1.2.3.4")
    assert heard["requestId"] == response.headers["X-Request-Id"] != "req-forged"
    assert heard["traceparent"].startswith("00-")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["ETag"]


async def test_the_doors_refusals_keep_their_shape_and_the_edges_request_id(gateway) -> None:
    for method, path, status in (
        ("GET", "/api/v1/groups/unknown", 404),
        ("GET", "/api/v1/folders", 404),
        ("GET", "/api/v1/groups/a%00b", 400),
        ("POST", "/api/v1/groups/1", 413),
    ):
        response = await gateway.ask(method, path, data=b"x" * 60_000 if status == 413 else None)
        body = response.json()
        assert (response.status, body["statusCode"]) == (status, status)
        assert body["reqId"] == response.headers["X-Request-Id"]


async def test_an_upload_that_waits_to_be_asked_for_is_asked_for(gateway) -> None:
    answer = await gateway.raw(
        b"POST /api/v1/groups/1 HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Type: application/json\r\n"
        b'Expect: 100-continue\r\nContent-Length: 15\r\n\r\n{"word": "yes"}'
    )

    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert b'"word":"yes"' in answer


async def test_the_documents_come_from_the_doors(gateway) -> None:
    document = (await gateway.ask("GET", "/api/docs/json")).json()

    paths = {"/api/v1/groups", "/api/v1/groups/search", "/api/v1/groups/{groupId}"}
    assert set(document["paths"]) == paths | {"/api/status"}
    # Whatever is referred to is there, also what only a query or the items of a list refer to.
    schemas = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    named = set(re.findall(r'"\$ref": ?"([^"]+)"', json.dumps(document)))
    assert "#/components/schemas/identity.Tone" in named
    assert named <= schemas
    assert document["x-unavailable"] == []


async def test_what_only_the_gateway_may_say_does_not_reach_a_door(visit: Any, clock: Any) -> None:
    seen: list[dict[str, str]] = []

    class Watching(Door[Notes]):
        async def answer(self, request: Any, target: Any, arrival: Any) -> Any:
            seen.append({name.lower(): value for name, value in request.headers.items()})
            return await super().answer(request, target, arrival)

    door = Watching(name="identity", service=Notes(), endpoints=routes, clock=clock)
    gateway = await visit(build_edge(GatewaySettings(), clock, {"identity": door}))

    forged = {"X-Forwarded-For": "1.1.1.1", "X-Real-IP": "1", "X-Strongroom-Caller": "a", "X-Ssl-Client-Cert": "pem"}
    response = await gateway.ask(
        "POST", "/api/v1/groups/1", json={"word": "kept"}, headers={**forged, "Idempotency-Key": "k"}
    )

    assert response.json()["word"] == "kept"
    assert not {name.lower() for name in forged} & set(seen[0])
    assert seen[0]["idempotency-key"] == "k"
