"""What goes onto every answer, who may read it from another site, and how often one may knock."""

import pytest

PATH = "/api/v1/projects"
LOGIN = "/api/v1/auth/universal-auth/login"
ORIGIN = "https://app.example.com"


async def test_status_answers_in_the_shape_of_the_contract_when_nothing_else_does(open_gateway, clock) -> None:
    gateway = await open_gateway(clock=clock, identity="http://127.0.0.1:1", email_configured=True)

    response = await gateway.ask("GET", "/api/status")

    assert response.status == 200
    assert response.json() == {
        "date": "2026-01-02T03:04:05.678Z",
        "message": "Ok",
        "emailConfigured": True,
        "redisConfigured": False,
        "secretScanningConfigured": False,
        "auditLogStorageDisabled": False,
    }


@pytest.mark.parametrize("path", ["/api/status", "/api/status/", "/healthcheck", "/healthcheck?x=1"])
async def test_the_pages_that_say_that_we_are_there(gateway, path: str) -> None:
    assert (await gateway.ask("GET", path)).status == 200
    assert (await gateway.ask("HEAD", path)).status == 200
    assert (await gateway.ask("POST", path)).status == 404


@pytest.mark.parametrize("path", [PATH, "/nope", "/api/status", "/api/v1/projects/a%00b"])
async def test_every_answer_tells_browsers_to_be_careful(gateway, path: str) -> None:
    headers = (await gateway.ask("GET", path)).headers

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["Server"] == "strongroom"
    assert headers["X-Request-Id"].startswith("req-")
    assert "Strict-Transport-Security" not in headers


async def test_a_page_of_an_allowed_origin_may_read_answers_and_errors(open_gateway, identity) -> None:
    gateway = await open_gateway(identity=identity, cors_origins=(ORIGIN,))

    for path in (PATH, "/nope", "/api/status"):
        headers = (await gateway.ask("GET", path, headers={"Origin": ORIGIN})).headers
        assert headers["Access-Control-Allow-Origin"] == ORIGIN
        assert headers["Access-Control-Allow-Credentials"] == "true"
        assert "ETag" in headers["Access-Control-Expose-Headers"]
        assert "Origin" in headers["Vary"]


async def test_a_preflight_of_an_allowed_origin_is_answered_here(open_gateway, identity) -> None:
    gateway = await open_gateway(identity=identity, cors_origins=(ORIGIN,))

    response = await gateway.ask("OPTIONS", PATH, headers={"Origin": ORIGIN, "Access-Control-Request-Method": "PATCH"})

    assert response.status == 204
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "PATCH" in response.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in response.headers["Access-Control-Allow-Headers"]
    assert identity.seen == []


@pytest.mark.parametrize(
    ("allowed", "origin"),
    [
        ((), ORIGIN),
        ((ORIGIN,), "https://app.example.com.evil.example"),
        ((ORIGIN,), "http://app.example.com"),
        ((ORIGIN,), "https://APP.example.com"),
        ((ORIGIN,), "null"),
    ],
)
async def test_no_other_origin_may_read_anything(open_gateway, identity, allowed: tuple[str, ...], origin: str) -> None:
    gateway = await open_gateway(identity=identity, cors_origins=allowed)

    for method in ("GET", "OPTIONS"):
        headers = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        answer = await gateway.ask(method, PATH, headers=headers)
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


async def test_machine_logins_are_limited_per_caller_and_window(open_gateway, identity, clock) -> None:
    gateway = await open_gateway(clock=clock, identity=identity)

    for number in range(200):
        allowed = await gateway.ask("POST", LOGIN, data=b"{}")
        assert allowed.status == 200
        assert allowed.headers["x-ratelimit-remaining"] == str(199 - number)
        assert "Retry-After" not in allowed.headers
    clock.offset = 20.5
    refused = await gateway.ask("POST", LOGIN + "/", data=b"{}")

    assert refused.status == 429
    assert refused.json()["error"] == "RateLimitExceeded"
    assert refused.json()["message"] == "rate limit exceeded: try again in 40 seconds"
    assert refused.headers["Retry-After"] == "40"
    assert [refused.headers[f"x-ratelimit-{name}"] for name in ("limit", "remaining", "reset")] == ["200", "0", "40"]
    assert len(identity.seen) == 200

    clock.offset = 60.0
    again = await gateway.ask("POST", LOGIN, data=b"{}")
    assert (again.status, again.headers["x-ratelimit-remaining"]) == (200, "199")


@pytest.mark.parametrize(
    ("path", "most"), [("/api/v3/auth/login", 60), ("/api/v3/auth/login2", 60), ("/api/v2/auth/mfa/verify", 20)]
)
async def test_other_logins_have_their_own_limits(open_gateway, identity, clock, path: str, most: int) -> None:
    gateway = await open_gateway(clock=clock, identity=identity)

    statuses = [(await gateway.ask("POST", path)).status for _ in range(most + 2)]

    assert statuses == [200] * most + [429, 429]


async def test_other_routes_are_not_limited_unless_all_are(open_gateway, identity, clock) -> None:
    by_default = await open_gateway(clock=clock, identity=identity)
    everywhere = await open_gateway(clock=clock, identity=identity, rate_limits="all")

    free = [await by_default.ask("GET", PATH) for _ in range(61)]
    limited = [await everywhere.ask("GET", PATH) for _ in range(61)]

    assert {answer.status for answer in free} == {200}
    assert "x-ratelimit-limit" not in free[0].headers
    assert [answer.status for answer in limited] == [200] * 60 + [429]
    for page in ("/api/status", "/healthcheck"):
        assert {(await everywhere.ask("GET", page)).status for _ in range(61)} == {200}


async def test_limits_can_be_turned_off(open_gateway, identity, clock) -> None:
    gateway = await open_gateway(clock=clock, identity=identity, rate_limits="off")

    assert {(await gateway.ask("POST", "/api/v3/auth/login")).status for _ in range(70)} == {200}


async def test_a_caller_is_the_address_that_a_trusted_proxy_saw(open_gateway, identity, clock) -> None:
    stranger = await open_gateway(clock=clock, identity=identity)
    vouched = await open_gateway(clock=clock, identity=identity, trusted_proxies=("127.0.0.1",))

    async def last_of_61(gateway, addresses: list[str]) -> int:
        for number in range(60):
            headers = {"X-Forwarded-For": addresses[number % len(addresses)]}
            assert (await gateway.ask("POST", "/api/v3/auth/login", headers=headers)).status == 200
        return (await gateway.ask("POST", "/api/v3/auth/login", headers={"X-Forwarded-For": addresses[-1]})).status

    # A forged header gives a stranger no new life; a believed one tells callers apart.
    assert await last_of_61(stranger, [f"1.1.1.{number}" for number in range(61)]) == 429
    assert await last_of_61(vouched, ["2001:db8::1", "2001:db8::2"]) == 429
    assert await last_of_61(vouched, [f"1.1.1.{number}" for number in range(61)]) == 200


async def test_second_factors_are_counted_by_bearer(open_gateway, identity, clock) -> None:
    gateway = await open_gateway(clock=clock, identity=identity)

    async def verify(bearer: str) -> int:
        headers = {"Authorization": f"Bearer {bearer}"}
        return (await gateway.ask("POST", "/api/v2/auth/mfa/verify", headers=headers)).status

    assert [await verify("a") for _ in range(21)] == [200] * 20 + [429]
    assert await verify("b") == 200
