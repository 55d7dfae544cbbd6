"""The pipeline that every request walks, over real HTTP, with a small service behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import aiohttp
import orjson
import pytest
from pydantic import Field
from sqlalchemy import text

from strongroom_common.access.networks import TrustedProxies
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.db.database import Database
from strongroom_common.http.door import Door, Site
from strongroom_common.http.endpoints import MACHINE, PUBLIC, USER, Call, Reply, Routes
from strongroom_common.http.models import Body, Flag, QueryString, SecretName, View
from strongroom_common.http.openapi import inventory, openapi_document
from strongroom_common.http.replays import Replays
from strongroom_common.kernel import faults
from strongroom_common.kernel.errors import Conflict
from strongroom_common.runtime.process import listening
from strongroom_common.testing.doorkeeping import House

routes = Routes("Things")


class ThingBody(Body):
    secret_key: SecretName
    count: int = Field(default=1, ge=0, le=10)
    ref: UUID | None = None
    kind: str = Field(default="a", pattern="^[ab]$")


class ThingQuery(QueryString):
    is_loud: Flag = Field(default=False)


class ThingView(View):
    secret_key: str
    is_loud: bool = False


@routes.get("/api/v1/things/{thingId:uuid}", query=ThingQuery, returns=ThingView, permission="things:read")
async def get(call: Call[Database, Any, ThingQuery]) -> ThingView:
    return ThingView(secret_key=call.path["thingId"], is_loud=call.query.is_loud)


@routes.post("/api/v1/things", body=ThingBody, returns=ThingView, callers=MACHINE, permission="things:create")
async def create(call: Call[Database, ThingBody, Any]) -> ThingView:
    async with call.service.begin(call.origin) as work:
        number = await work.row(
            text("INSERT INTO things (id, name) SELECT count(*) + 1, :name FROM things RETURNING id"),
            {"name": call.body.secret_key},
        )
        await work.commit()
    if call.body.secret_key == "FAIL_AFTER":
        raise RuntimeError("canary: a bug after the commit")
    if call.body.secret_key == "REFUSED":
        raise Conflict("no")
    return ThingView(secret_key=f"{call.body.secret_key}-{number.id if number else 0}")


@routes.post("/api/v1/login", body=ThingBody, returns=ThingView, callers=PUBLIC, is_bearer_ignored=True)
async def login(call: Call[Database, ThingBody, Any]) -> ThingView:
    return ThingView(secret_key=call.body.secret_key)


@routes.get("/api/v1/open", returns=dict, callers=PUBLIC)
async def anyone(call: Call[Database, Any, Any]) -> dict[str, str]:
    return {"address": call.arrival.client_address, "requestId": call.arrival.request_id}


@routes.get("/api/v1/people", returns=dict, callers=USER)
async def people(call: Call[Database, Any, Any]) -> dict[str, str]:
    return {}


@routes.get("/api/v1/slow", returns=dict, callers=PUBLIC)
async def slow(call: Call[Database, Any, Any]) -> dict[str, str]:
    await asyncio.Event().wait()
    return {}


@routes.get("/api/v1/text", returns=str, callers=PUBLIC)
async def plain(call: Call[Database, Any, Any]) -> Reply:
    return Reply(b"hello", headers={"X-More": "1"}, content_type="text/plain")


class Client:
    def __init__(self, session: aiohttp.ClientSession, base: str, token: str) -> None:
        self.session, self.base, self.token = session, base, token

    async def __call__(self, method: str, path: str, *, token: str | None = "", **more: Any) -> tuple[int, Any, Any]:
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers.setdefault("Authorization", f"Bearer {token or self.token}")
        async with self.session.request(method, self.base + path, headers=headers, **more) as response:
            raw = await response.read()
            is_json = response.content_type == "application/json" and raw
            return response.status, orjson.loads(raw) if is_json else raw, response.headers


@asynccontextmanager
async def _client(database: Database, **more: Any) -> AsyncIterator[tuple[Client, House]]:
    house = House(database)
    token = house.caller()
    replays = Replays(database, Keyring.generate(), house.clock)
    door = Door(
        name="things",
        service=database,
        endpoints=routes,
        clock=house.clock,
        doorkeeper=house.doorkeeper,
        replays=replays,
        most_body_bytes=10_000,
        **more,
    )
    site = Site(door, TrustedProxies(["127.0.0.1"]), openapi_document("things", routes))
    async with listening(site, "127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
        yield Client(session, f"http://127.0.0.1:{port}", token), house
    faults.disarm()


@pytest.fixture
async def client(database: Database) -> AsyncIterator[Client]:
    async with _client(database) as (client, _):
        yield client


THING = "/api/v1/things/0190c1d2-0000-7000-8000-000000000001"


async def test_an_answer_has_an_etag_and_repeats_as_304(client: Client) -> None:
    status, body, headers = await client("GET", THING + "?isLoud=TRUE")
    assert (status, body["isLoud"]) == (200, True)
    assert headers["Cache-Control"] == "no-store"
    for form in (headers["ETag"], "W/" + headers["ETag"], f'"other", {headers["ETag"]}', "*"):
        assert (await client("GET", THING + "?isLoud=true", headers={"If-None-Match": form}))[:2] == (304, b"")
    assert (await client("GET", THING, headers={"If-None-Match": headers["ETag"]}))[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "more", "status", "error"),
    [
        ("GET", THING, {"token": None}, 401, "UnauthorizedError"),
        ("GET", THING, {"token": "a.b.c"}, 403, "TokenError"),
        ("GET", THING, {"headers": {"Authorization": "Basic eA=="}}, 403, "TokenError"),
        ("GET", THING, {"token": "st.a.b"}, 401, "UnauthorizedError"),
        ("GET", THING, {"headers": {"X-API-Key": "x"}}, 400, "BadRequest"),
        ("GET", "/api/v1/people", {}, 403, "ForbiddenError"),
        ("GET", "/api/v1/open", {"token": "a.b.c"}, 403, "TokenError"),
        ("GET", "/api/v1/nowhere?x=1", {}, 404, "Not Found"),
        ("DELETE", THING, {}, 404, "Not Found"),
        ("GET", "/api/v1/things/nonsense", {}, 422, "ValidationFailure"),
        ("GET", THING + "?isLoud=yes", {}, 422, "ValidationFailure"),
        ("GET", THING + "?isLoud=%ff", {}, 400, "BadRequest"),
        ("POST", "/api/v1/things", {"data": b"{"}, 400, "BadRequest"),
        ("POST", "/api/v1/things", {"data": b"[" * 5000}, 400, "BadRequest"),
        ("POST", "/api/v1/things", {"data": b'{"secretKey": "' + b"x" * 20_000}, 413, "PayloadTooLarge"),
        ("POST", "/api/v1/things", {"json": ["x"]}, 422, "ValidationFailure"),
        ("POST", "/api/v1/things", {"data": b"<x/>", "headers": {"Content-Type": "text/xml"}}, 400, "BadRequest"),
        ("POST", "/api/v1/things", {"data": b""}, 422, "ValidationFailure"),
    ],
)
async def test_what_is_wrong_gets_its_status_and_the_contracts_body(
    client: Client, method: str, path: str, more: dict[str, Any], status: int, error: str
) -> None:
    if "data" in more:
        more = {"headers": {"Content-Type": "application/json"}} | more
    found, body, _ = await client(method, path, **more)

    assert (found, body["statusCode"], body["error"]) == (status, status, error)
    assert body["reqId"].startswith("req-")
    assert set(body) <= {"reqId", "statusCode", "error", "message", "details"}
    assert isinstance(body["message"], list) == (status == 422)


async def test_an_unknown_route_is_named_without_its_query(client: Client) -> None:
    _, body, _ = await client("GET", "/api/v1/nowhere?token=canary")
    assert body["message"] == "Route GET:/api/v1/nowhere not found"


@pytest.mark.parametrize(
    ("sent", "path", "code"),
    [
        ({}, ["secretKey"], "invalid_type"),
        ({"secretKey": 7}, ["secretKey"], "invalid_type"),
        ({"secretKey": "a/canary"}, ["secretKey"], "custom"),
        ({"secretKey": "A", "count": 11}, ["count"], "too_big"),
        ({"secretKey": "A", "count": -1}, ["count"], "too_small"),
        ({"secretKey": "A", "count": "canary"}, ["count"], "invalid_type"),
        ({"secretKey": "A", "ref": "canary"}, ["ref"], "invalid_string"),
        ({"secretKey": "A", "kind": "canary"}, ["kind"], "invalid_string"),
    ],
)
async def test_a_422_names_the_field_and_never_what_was_sent(
    client: Client, sent: dict[str, Any], path: list[str], code: str
) -> None:
    status, body, _ = await client("POST", "/api/v1/things", json=sent)
    assert status == 422
    assert (body["message"][0]["path"], body["message"][0]["code"]) == (path, code)
    assert "canary" not in str(body)


async def test_unknown_keys_are_dropped_forms_are_read_and_trailing_slashes_ignored(client: Client) -> None:
    status, body, _ = await client("POST", "/api/v1/login/?x=1", token="expired", json={"secretKey": "A", "more": [1]})
    assert (status, body["secretKey"]) == (200, "A")
    status, body, _ = await client("POST", "/api/v1/login", token=None, data={"secretKey": " B ", "count": "2"})
    assert (status, body["secretKey"]) == (200, "B")


async def test_a_get_with_a_body_and_a_json_type_without_one_are_fine(client: Client) -> None:
    json = {"Content-Type": "application/json"}
    assert (await client("GET", THING, data=b'{"x": 1}', headers=json))[0] == 200
    assert (await client("GET", THING, headers=json))[0] == 200


async def test_no_query_changes_which_authentication_a_route_demands(client: Client) -> None:
    """Threats class 2."""
    for trick in ("?/api/v1/login", "?x=/api/v1/login", "?path=/api/v1/open&", "?%2fapi%2fv1%2flogin"):
        assert (await client("GET", THING + trick, token=None))[0] == 401


async def test_a_bug_is_a_bare_500(client: Client) -> None:
    status, body, _ = await client("POST", "/api/v1/things", json={"secretKey": "FAIL_AFTER"})
    assert (status, body["error"]) == (500, "InternalServerError")
    assert "canary" not in str(body)


async def test_a_request_that_takes_too_long_is_a_504(database: Database) -> None:
    async with _client(database, patience=0.05) as (client, _):
        assert (await client("GET", "/api/v1/slow"))[0] == 504


async def test_head_answers_without_a_body(client: Client) -> None:
    status, body, headers = await client("HEAD", THING)
    assert (status, body) == (200, b"")
    assert headers["ETag"]


async def test_only_a_trusted_hop_names_the_client_and_the_request(client: Client) -> None:
    forwarded = {"X-Forwarded-For": "198.51.100.7", "X-Request-Id": "req-abcdefghijklmn"}
    _, body, _ = await client("GET", "/api/v1/open", headers=forwarded)
    assert body == {"address": "198.51.100.7", "requestId": "req-abcdefghijklmn"}


async def test_other_content_leaves_as_it_is(client: Client) -> None:
    status, body, headers = await client("GET", "/api/v1/text", token=None)
    assert (status, body, headers["Content-Type"], headers["X-More"]) == (200, b"hello", "text/plain", "1")


async def _things(database: Database) -> int:
    return len(await database.fetch("SELECT FROM things"))


async def test_a_write_sent_twice_with_a_key_happens_once(client: Client, database: Database) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key)
    again = await client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key)

    assert first[:2] == again[:2]
    assert again[2]["Idempotency-Replayed"] == "true"
    assert await _things(database) == 1
    other = await client("POST", "/api/v1/things", json={"secretKey": "B"}, headers=key)
    assert (other[0], other[1]["message"][0]["path"]) == (422, ["Idempotency-Key"])
    assert await _things(database) == 1


async def test_twenty_at_once_with_one_key_are_one_write(client: Client, database: Database) -> None:
    key = {"Idempotency-Key": "k1"}
    answers = await asyncio.gather(
        *(client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key) for _ in range(20))
    )
    assert {status for status, _, _ in answers} <= {200, 409}
    assert await _things(database) == 1


async def test_a_refusal_is_kept_too_but_only_when_it_is_final(client: Client, database: Database) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await client("POST", "/api/v1/things", json={"secretKey": "REFUSED"}, headers=key)
    again = await client("POST", "/api/v1/things", json={"secretKey": "REFUSED"}, headers=key)
    assert (first[0], again[0]) == (400, 400)
    assert await _things(database) == 1


async def test_a_lost_answer_is_said_to_be_lost_and_nothing_happens_twice(client: Client, database: Database) -> None:
    key = {"Idempotency-Key": "k1"}
    assert (await client("POST", "/api/v1/things", json={"secretKey": "FAIL_AFTER"}, headers=key))[0] == 500
    status, body, _ = await client("POST", "/api/v1/things", json={"secretKey": "FAIL_AFTER"}, headers=key)
    assert (status, body["error"]) == (409, "Conflict")
    assert "carried out" in body["message"]
    assert await _things(database) == 1


async def test_a_failure_before_the_commit_frees_the_key(client: Client, database: Database) -> None:
    key = {"Idempotency-Key": "k1"}

    def fail() -> None:
        raise RuntimeError

    faults.arm("work.before_commit", fail)
    assert (await client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key))[0] == 500
    faults.disarm()
    assert (await client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key))[0] == 200
    assert await _things(database) == 1


async def test_a_dead_processes_claim_is_taken_over_and_an_old_answer_forgotten(database: Database) -> None:
    async with _client(database) as (client, house):
        key = {"Idempotency-Key": "k1"}
        await client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key)
        await database.execute("UPDATE idempotency_keys SET committed_at = NULL, status = NULL, answer = NULL")
        assert (await client("POST", "/api/v1/things", json={"secretKey": "B"}, headers=key))[0] == 422
        assert (await client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key))[0] == 409
        house.clock.seconds = 200
        assert (await client("POST", "/api/v1/things", json={"secretKey": "B"}, headers=key))[0] == 200
        house.clock.seconds = 200 + 25 * 3600
        assert (await client("POST", "/api/v1/things", json={"secretKey": "C"}, headers=key))[0] == 200


async def test_one_callers_key_is_not_anothers(database: Database) -> None:
    async with _client(database) as (client, house):
        key = {"Idempotency-Key": "k1"}
        await client("POST", "/api/v1/things", json={"secretKey": "A"}, headers=key)
        other = house.caller()
        status, body, _ = await client("POST", "/api/v1/things", token=other, json={"secretKey": "B"}, headers=key)
        assert (status, body["secretKey"]) == (200, "B-2")


async def test_a_kept_answer_is_sealed(client: Client, database: Database) -> None:
    await client("POST", "/api/v1/things", json={"secretKey": "CANARY"}, headers={"Idempotency-Key": "k1"})
    row = await database.fetch_row("SELECT answer FROM idempotency_keys")
    assert row is not None
    assert b"CANARY" not in row["answer"]


async def test_the_document_and_the_inventory_come_from_the_declarations(client: Client) -> None:
    _, document, _ = await client("GET", "/internal/openapi.json")

    assert document["openapi"] == "3.1.0"
    operation = document["paths"]["/api/v1/things/{thingId}"]["get"]
    assert [parameter["name"] for parameter in operation["parameters"]] == ["thingId", "isLoud"]
    assert operation["security"] == [{"bearer": []}]
    assert document["paths"]["/api/v1/login"]["post"]["security"] == []
    assert "secretKey" in document["components"]["schemas"]["ThingBody"]["properties"]
    assert "POST\t/api/v1/things\tthings\tidentity\tthings:create\t-\twrite" in inventory("things", routes)
    assert "GET\t/api/v1/open\tthings\tPUBLIC\t-\t-\tread" in inventory("things", routes)
