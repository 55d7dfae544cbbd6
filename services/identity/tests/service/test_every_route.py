"""Every route of the service, called as it must not be called: threats classes 3, 10, 17, 18 and practice 9.

What a route needs for that is in `route_examples`; a route without an example fails here.
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import jwt
import pytest
import pytest_asyncio
from services.identity.tests.service.conftest import Actions, error_of
from services.identity.tests.service.route_examples import CANARY, Cast, RouteExample, Sent, all_examples, machines

from strongroom_common.db.migrations import Migrations
from strongroom_common.http.endpoints import USER, Endpoint
from strongroom_common.http.models import NoBody, NoQuery
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.clock import FakeClock
from strongroom_common.testing.postgres import PostgresServer
from strongroom_common.testing.service_harness import Answer, running_service, settings_for
from strongroom_identity.service import MIGRATIONS, build, endpoints
from strongroom_identity.settings import IdentitySettings

EXAMPLES = all_examples()
ENDPOINTS = {(endpoint.method, endpoint.template): endpoint for endpoint in endpoints()}
BOTH = [
    pytest.param(EXAMPLES[key], ENDPOINTS[key], id=" ".join(key)) for key in sorted(EXAMPLES.keys() & ENDPOINTS.keys())
]

# What moves by itself, or is written by a refusal on purpose.
UNSTEADY_TABLES = {
    "access_decisions",
    "alembic_version",
    "audit_checkpoints",
    "audit_heads",
    "audit_records",
    "audit_spool",
    "idempotency_keys",
    "inbox",
    "outbox",
    "throttles",
    "verification_keys",
}
UNSTEADY_COLUMNS = ["uses", "last_used_at", "updated_at"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(postgres_server: PostgresServer) -> AsyncIterator[Actions]:
    """One instance for all routes: they are many, and starting takes longer than calling."""

    async def migrate(url: Secret) -> None:
        await Migrations(MIGRATIONS, url).migrate()

    url = postgres_server.clone(postgres_server.template("identity", migrate))
    async with running_service(build, settings_for(IdentitySettings, url), clock=FakeClock()) as identity:
        actions = Actions(identity)
        assert (await actions.bootstrap()).status == 200
        yield actions
    postgres_server.drop(url)


def test_every_route_has_an_example_and_every_example_a_route() -> None:
    assert sorted(ENDPOINTS.keys() ^ EXAMPLES.keys()) == []


def test_an_example_says_how_a_body_and_a_query_are_malformed() -> None:
    for key, example in EXAMPLES.items():
        endpoint = ENDPOINTS[key]
        assert example.bad != "" or endpoint.body is NoBody, f"{key}: which field of the body is bad?"
        assert example.bad_query != "" or endpoint.query is NoQuery, f"{key}: which field of the query is bad?"


@pytest.mark.timeout(60)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("example", "endpoint"), BOTH)
async def test_a_route_refuses_whom_it_must(world: Actions, example: RouteExample, endpoint: Endpoint) -> None:
    sent = await example.make(world)
    cast = await example.cast(world)
    if endpoint.is_public:
        if not endpoint.is_bearer_ignored:
            await refuses_bad_bearers(world, example, sent, cast)
        await refuses_malformed(world, example, endpoint, sent, None)
        await knows_no_unknown_ids(world, example, sent, None)
        await answers_well(world, example, endpoint, sent, None)
        return
    assert error_of(await send(world, example, sent, None)) == (401, "UnauthorizedError")
    await refuses_bad_bearers(world, example, sent, cast)
    if endpoint.callers == USER:
        machine = (await machines(world)).able
        assert error_of(await send(world, example, sent, machine)) == (403, "ForbiddenError")
    await shows_nothing_to_another_organization(world, example, sent, cast)
    await refuses_who_has_no_rights(world, example, endpoint, sent, cast)
    await refuses_malformed(world, example, endpoint, sent, cast.able)
    await knows_no_unknown_ids(world, example, sent, cast.able)
    await answers_well(world, example, endpoint, sent, cast.able)


async def refuses_bad_bearers(world: Actions, example: RouteExample, sent: Sent, cast: Cast) -> None:
    """Not a token, one signed by somebody else, one that has expired: no matter what the route is."""
    claims = jwt.decode(cast.able, options={"verify_signature": False})
    now = int(world.identity.clock.now().timestamp())
    expired = world.context.secrets.signing_key.sign({**claims, "iat": now - 60, "exp": now - 1})
    body, _, signature = cast.able.rpartition(".")
    for bearer in ("garbage", f"{body}.{signature[::-1]}", expired):
        assert error_of(await send(world, example, sent, bearer)) == (403, "TokenError")


async def shows_nothing_to_another_organization(world: Actions, example: RouteExample, sent: Sent, cast: Cast) -> None:
    """An all-powerful caller of another organization neither sees what is ours nor changes it."""
    if not example.ids:
        answer = await send(world, example, sent, cast.foreign)
        assert answer.status < 500
        assert world.tenants[0].organization_id not in answer.text
        return
    before = await state_of(world)
    answer = await send(world, example, sent, cast.foreign)
    assert answer.status in {403, 404}, answer.text
    error_of(answer)
    assert await state_of(world) == before, "another organization's caller changed something"


async def refuses_who_has_no_rights(
    world: Actions, example: RouteExample, endpoint: Endpoint, sent: Sent, cast: Cast
) -> None:
    """A member without rights gets 403, or an empty list; and changes nothing."""
    if example.anyone:
        return
    before = await state_of(world)
    answer = await send(world, example, sent, cast.powerless)
    if example.filtered:
        assert answer.status == 200, answer.text
        assert [answer.json[name] for name in example.filtered] == [[] for _ in example.filtered]
    else:
        assert answer.status == 403, answer.text
        assert error_of(answer)[1] in {"PermissionDenied", "ForbiddenError", "PermissionBoundaryError"}
    assert await state_of(world) == before, "a caller without rights changed something"
    project_id = sent.path.get("projectId") or (sent.body or sent.query).get("projectId")
    if endpoint.permission.startswith("project:") and project_id and cast.bystander and not example.filtered:
        # Now a member of the project, with a role that gives nothing.
        identity_id, token = cast.bystander
        path = f"/api/v1/projects/{project_id}/memberships/identities/{identity_id}"
        assert (await world.http.post(path, token=world.token, json={"role": "no-access"})).status == 200
        assert error_of(await send(world, example, sent, token)) == (403, "PermissionDenied")


async def refuses_malformed(
    world: Actions, example: RouteExample, endpoint: Endpoint, sent: Sent, token: str | None
) -> None:
    """The field is named, what was sent in it is not repeated."""
    if endpoint.body is not NoBody and example.bad is not None:
        malformed = {**(sent.body or {}), example.bad: example.bad_value}
        names_the_field(await send(world, example, replace(sent, body=malformed), token), example.bad)
        for raw in (f'{{"{example.bad}": "{CANARY}'.encode(), f'["{CANARY}"]'.encode(), f'"{CANARY}"'.encode()):
            answer = await send(world, example, sent, token, raw=raw)
            assert answer.status in {400, 422}, answer.text
            error_of(answer)
            assert CANARY not in answer.text
    if endpoint.query is not NoQuery and example.bad_query is not None:
        query = {**sent.query, example.bad_query: example.bad_query_value}
        names_the_field(await send(world, example, replace(sent, query=query), token), example.bad_query)


def names_the_field(answer: Answer, name: str) -> None:
    assert error_of(answer) == (422, "ValidationFailure"), answer.text
    assert {issue["path"][0] for issue in answer.json["message"]} == {name}
    assert CANARY not in answer.text


async def knows_no_unknown_ids(world: Actions, example: RouteExample, sent: Sent, token: str | None) -> None:
    """A well-formed id of nothing, in place of each of the others."""
    for name in example.ids:
        value = example.unknown_value.get(name) or str(uuid4())
        answer = await send(world, example, with_id(sent, name, value), token)
        assert error_of(answer)[0] == example.unknown.get(name, 404), f"{name}: {answer.text}"


async def answers_well(
    world: Actions, example: RouteExample, endpoint: Endpoint, sent: Sent, token: str | None
) -> None:
    """The good call is good, so that the refusals above mean something; and it is recorded as declared."""
    before = await count_recorded(world, endpoint)
    answer = await send(world, example, sent, token)
    assert answer.status == example.status, answer.text
    if endpoint.audit and answer.status == 200:
        assert await count_recorded(world, endpoint) > before, f"no record of {endpoint.audit}"


async def send(
    world: Actions, example: RouteExample, sent: Sent, token: str | None, raw: bytes | None = None
) -> Answer:
    path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: quote(sent.path[found[1]], safe=""), example.template)
    if sent.query:
        path += "?" + urlencode(sent.query)
    headers = dict(sent.headers)
    if raw is not None:
        headers["Content-Type"] = "application/json"
    body = sent.body if raw is None else None
    return await world.http.send(example.method, path, token=token, json=body, raw=raw, headers=headers)


def with_id(sent: Sent, name: str, value: str) -> Sent:
    parts: Mapping[str, Mapping[str, Any]] = {"path": sent.path, "query": sent.query, "body": sent.body or {}}
    (part,) = [part for part, values in parts.items() if name in values]
    changed: Any = {part: {**parts[part], name: value}}
    return replace(sent, **changed)


async def state_of(world: Actions) -> dict[str, str]:
    """A digest of every table that only a change of somebody's moves."""
    tables = await world.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    digests = {}
    for name in sorted({row["tablename"] for row in tables} - UNSTEADY_TABLES):
        # The table's name comes from the catalogue.
        statement = f"SELECT md5(coalesce(string_agg(t, ',' ORDER BY t), '')) AS digest FROM (SELECT (to_jsonb(r) - $1::text[])::text AS t FROM {name} r) s"  # noqa: E501, S608
        (row,) = await world.rows(statement, UNSTEADY_COLUMNS)
        digests[name] = row["digest"]
    return digests


async def count_recorded(world: Actions, endpoint: Endpoint) -> int:
    """How often an event of the route stands in the spool, or in what has left it: rows of the outbox stay a while."""
    found = 0
    for event in re.split(r",\s*", endpoint.audit):
        (row,) = await world.rows(
            """
            SELECT coalesce(sum((length(t) - length(replace(t, $1, ''))) / length($1)), 0) AS many FROM (
                SELECT convert_from(records, 'UTF8') AS t FROM audit_spool
                UNION ALL SELECT convert_from(envelope, 'UTF8') FROM outbox
            ) s
            """,
            f'"event":"{event}"',
        )
        found += row["many"]
    return found
