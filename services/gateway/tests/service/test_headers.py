"""Threats class 1: only the hop that our configuration names is believed."""

import re

import pytest

from strongroom_common.access.networks import TrustedProxies

FORGED = {"Forwarded": "for=9.9.9.9;proto=https", "X-Real-IP": "9.9.9.9", "X-Client-IP": "9.9.9.9", "Via": "1.1 x"}

MATRIX = [
    # the proxies we name, the chain as it arrives, who the client is
    ((), [], "127.0.0.1"),
    ((), ["1.1.1.1"], "127.0.0.1"),
    ((), ["1.1.1.1, 2.2.2.2"], "127.0.0.1"),
    (("127.0.0.1",), [], "127.0.0.1"),
    (("127.0.0.1",), ["1.1.1.1"], "1.1.1.1"),
    (("127.0.0.1",), ["9.9.9.9, 1.1.1.1"], "1.1.1.1"),
    (("127.0.0.1",), ["9.9.9.9", "1.1.1.1"], "1.1.1.1"),
    (("127.0.0.1",), ["9.9.9.9, nonsense"], "127.0.0.1"),
    (("127.0.0.1", "10.0.0.2"), ["9.9.9.9, 1.1.1.1, 10.0.0.2"], "1.1.1.1"),
    (("127.0.0.1", "10.0.0.2"), ["9.9.9.9, 10.0.0.2, 1.1.1.1"], "1.1.1.1"),
    (("127.0.0.1", "10.0.0.2", "10.0.0.3"), ["9.9.9.9, 1.1.1.1, 10.0.0.3, 10.0.0.2"], "1.1.1.1"),
    (("127.0.0.1", "10.0.0.0/8"), ["9.9.9.9, 1.1.1.1, 10.0.0.3", "10.0.0.2"], "1.1.1.1"),
    (("127.0.0.1", "10.0.0.0/8"), ["1.1.1.1, ::ffff:10.0.0.3"], "1.1.1.1"),
    (("127.0.0.1",), ["2001:db8::1"], "2001:db8::1"),
    (("10.0.0.1",), ["1.1.1.1"], "127.0.0.1"),
]


@pytest.mark.parametrize(("proxies", "chain", "client"), MATRIX)
@pytest.mark.parametrize("forged", [{}, FORGED], ids=["plain", "forged"])
async def test_the_client_is_whom_the_named_hops_saw(
    open_gateway, identity, proxies: tuple[str, ...], chain: list[str], client: str, forged: dict[str, str]
) -> None:
    gateway = await open_gateway(identity=identity, trusted_proxies=proxies)
    headers = [("X-Forwarded-For", line) for line in chain] + list(forged.items())

    got = (await gateway.echoed("GET", "/api/v1/projects", headers=headers))["headers"]

    assert got["x-forwarded-for"] == client
    # The service behind, which trusts the gateway, comes to the same answer.
    assert TrustedProxies(("127.0.0.1",)).client_of("127.0.0.1", [got["x-forwarded-for"]]) == client
    assert not set(got) & {name.lower() for name in FORGED}


@pytest.mark.parametrize(
    ("proxies", "scheme", "host"), [((), "http", "api.example.com:81"), (("127.0.0.1",), "https", "vault.example.com")]
)
async def test_scheme_and_host_are_believed_from_a_trusted_proxy_only(
    open_gateway, identity, proxies: tuple[str, ...], scheme: str, host: str
) -> None:
    gateway = await open_gateway(identity=identity, trusted_proxies=proxies)

    response = await gateway.ask(
        "GET",
        "/api/v1/projects",
        headers={
            "Host": "api.example.com:81",
            "X-Forwarded-Proto": "http, https",
            "X-Forwarded-Host": "evil, vault.example.com",
            "X-Forwarded-Prefix": "/x",
        },
    )
    got = dict((response.json())["headers"])

    assert (got["x-forwarded-proto"], got["x-forwarded-host"]) == (scheme, host)
    assert "x-forwarded-prefix" not in got
    assert ("Strict-Transport-Security" in response.headers) is (scheme == "https")


@pytest.mark.parametrize("host", ["a b", "evil/path", "x@y", "", "a" * 300])
async def test_a_host_that_is_none_is_not_passed_on(open_gateway, identity, host: str) -> None:
    gateway = await open_gateway(identity=identity, trusted_proxies=("127.0.0.1",))

    got = (await gateway.echoed("GET", "/api/v1/projects", headers={"Host": host}))["headers"]

    assert "x-forwarded-host" not in got


async def test_what_only_the_gateway_may_say_is_dropped_and_the_rest_arrives(gateway) -> None:
    sent = {
        "X-Request-Id": "req-forged",
        "X-Strongroom-Caller": "admin",
        "X-Original-URL": "/api/v1/admin",
        "X-Rewrite-URL": "/api/v1/admin",
        "X-HTTP-Method-Override": "DELETE",
        "X-Forwarded-Port": "1",
        "X-Ssl-Client-Cert": "forged",
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
        "Keep-Alive": "timeout=5",
        "TE": "trailers",
        "Proxy-Authorization": "Basic x",
        "Authorization": "Bearer token",
        "Cookie": "jid=1",
        "User-Agent": "test",
        "Accept-Encoding": "br",
        "If-None-Match": '"x"',
        "Idempotency-Key": "k",
        "X-Custom": "kept",
    }
    got = (await gateway.echoed("GET", "/api/v1/projects", headers=sent))["headers"]

    assert set(got) - {"host", "accept"} == {
        "authorization",
        "cookie",
        "user-agent",
        "accept-encoding",
        "if-none-match",
        "idempotency-key",
        "x-custom",
        "x-request-id",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-forwarded-host",
        "traceparent",
    }
    assert re.fullmatch(r"req-[A-Za-z0-9]{14}", got["x-request-id"])
    assert got["user-agent"] == "test"


async def test_a_client_certificate_is_believed_from_a_trusted_proxy_only(open_gateway, identity) -> None:
    stranger = await open_gateway(identity=identity)
    vouched = await open_gateway(identity=identity, trusted_proxies=("127.0.0.1",))
    headers = {"X-SSL-Client-Cert": "pem"}

    assert "x-ssl-client-cert" not in (await stranger.echoed("GET", "/api/v1/projects", headers=headers))["headers"]
    assert (await vouched.echoed("GET", "/api/v1/projects", headers=headers))["headers"]["x-ssl-client-cert"] == "pem"


async def test_nothing_is_added_that_the_client_did_not_say(gateway) -> None:
    got = (await gateway.echoed("POST", "/api/v1/projects", data=b"x", skip_auto_headers=("Content-Type", "Accept")))[
        "headers"
    ]

    assert not set(got) & {"user-agent", "content-type", "accept"}


async def test_a_trace_is_continued_and_a_broken_one_begun_anew(gateway) -> None:
    incoming = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    continued = (await gateway.echoed("GET", "/api/v1/projects", headers={"traceparent": incoming}))["headers"]
    begun = (await gateway.echoed("GET", "/api/v1/projects", headers={"traceparent": "00-0-0-0"}))["headers"]

    assert continued["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert continued["traceparent"] != incoming
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-00", begun["traceparent"])


async def test_the_request_id_of_the_answer_is_the_one_that_the_service_got(gateway) -> None:
    response = await gateway.ask("GET", "/api/v1/projects")

    assert dict((response.json())["headers"])["x-request-id"] == response.headers["X-Request-Id"]


async def test_a_header_that_is_not_text_is_refused(gateway, identity) -> None:
    answer = await gateway.raw(
        b"GET /api/v1/projects HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer a\xffb\r\n\r\n"
    )

    assert answer.startswith(b"HTTP/1.1 400")
    assert identity.seen == []


async def test_a_header_in_another_script_arrives(gateway) -> None:
    got = (await gateway.echoed("GET", "/api/v1/projects", headers={"X-Name": "Zoë"}))["headers"]

    assert got["x-name"] == "Zoë"
