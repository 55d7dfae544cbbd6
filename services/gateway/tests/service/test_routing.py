"""Threats classes 2, 13 and 14: one canonical path decides, and nothing else of the address does."""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def request(target: str, *headers: str, method: str = "GET") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: gateway", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def body_of(answer: bytes) -> Any:
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])


async def test_each_path_goes_to_its_owner(open_gateway, serve) -> None:
    identity, secrets = await serve(), await serve()
    gateway = await open_gateway(identity=identity, secrets=secrets)

    await gateway.ask("GET", "/api/v1/projects/1")
    await gateway.ask("GET", "/api/v1/projects/1/tags/?a=b")
    await gateway.ask("POST", "/api/v1/auth/universal-auth/login/")

    assert identity.seen == ["GET /api/v1/projects/1", "POST /api/v1/auth/universal-auth/login"]
    assert secrets.seen == ["GET /api/v1/projects/1/tags?a=b"]


@pytest.mark.parametrize(
    "path", ["/", "/nope", "/api", "/api/v1/projectsx", "/internal/openapi.json", "/INTERNAL/x", "/api/v1/pki/ca"]
)
async def test_an_unknown_route_is_404_in_the_shape_of_the_contract(gateway, identity, path: str) -> None:
    response = await gateway.ask("GET", f"{path}?a=b")
    body = response.json()

    assert response.status == 404
    assert body == {
        "reqId": response.headers["X-Request-Id"],
        "statusCode": 404,
        "error": "Not Found",
        "message": f"Route GET:{path} not found",
    }
    assert re.fullmatch(r"req-[A-Za-z0-9]{14}", body["reqId"])
    assert identity.seen == []


TRICKS = [
    "/api/v1/projects/../admin",
    "/api/v1/projects/./x",
    "/api/v1/projects/%2e%2e/admin",
    "/api/v1/projects/.%2E/admin",
    "/api/v1/projects/%252e%252e/admin",
    "/api/v1/projects/%2fx",
    "/api/v1/projects/a%2Fb",
    "/api/v1/projects/a%255cb",
    "/api/v1/projects/a%5Cb",
    "/api/v1/projects\\..\\admin",
    "/api/v1//projects",
    "//api/v1/projects",
    "/api/v1/projects//",
    "/api/v1/projects/%00",
    "/api/v1/projects/a\x00b",
    "/api/v1/projects/a\x01b",
    "/api/v1/projects/%",
    "/api/v1/projects/%zz",
    "/api/v1/projects/%ff",
    "/api/v1/projects/\xff",
    "/api/v1/projects?x=\xff",
    "/api/v1/projects/a b",
    "/api/v1/projects#/x",
    "http://gateway/api/v1/projects",
    "https://elsewhere/api/v1/projects",
    "api/v1/projects",
    "*",
    "/api/v1/projects/" + "a" * 8000,
    "/internal/../api/v1/projects",
    "/api/v1/projects/%2e%2e/%2e%2e/%2e%2e/internal/openapi.json",
]


@pytest.mark.parametrize("target", TRICKS, ids=lambda target: target[:60].encode("unicode_escape").decode())
async def test_a_path_with_a_trick_is_refused_before_routing(gateway, identity, target: str) -> None:
    answer = await gateway.raw(request(target))

    assert status_of(answer) == 400
    assert set(body_of(answer)) == {"reqId", "statusCode", "error", "message"}
    assert identity.seen == []


async def test_an_escaped_letter_is_the_same_segment_here_and_there(gateway, identity) -> None:
    answer = await gateway.raw(request("/api/v1/%70rojects/A%20B"))

    assert status_of(answer) == 200
    assert identity.seen == ["GET /api/v1/%70rojects/A%20B"]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "LOCK"])
async def test_a_method_that_no_route_has_is_not_forwarded(gateway, identity, method: str) -> None:
    answer = await gateway.raw(request("/api/v1/projects", method=method))

    assert status_of(answer) in {400, 404}
    assert identity.seen == []


async def test_the_query_never_changes_where_a_request_goes(open_gateway, serve) -> None:
    identity, secrets = await serve(), await serve()
    gateway = await open_gateway(identity=identity, secrets=secrets)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(alphabet="abc/?&=%25e.;#@:\\", max_size=30))
    def collect(query: str) -> None:
        queries.append(query)

    queries: list[str] = ["/api/v3/auth/login", "/../api/v3/secrets", "x=/api/v3/secrets/raw", "#/api/v3/secrets"]
    collect()
    for query in queries:
        assert status_of(await gateway.raw(request(f"/api/v1/projects?{query}"))) == 200
    assert len(identity.seen) == len(queries)
    assert all(line.startswith("GET /api/v1/projects") for line in identity.seen)
    assert secrets.seen == []


async def test_a_new_table_is_taken_over_and_a_bad_one_is_not(open_gateway, identity, routes_file: Path) -> None:
    gateway = await open_gateway(identity=identity, routes_file=routes_file)
    assert (await gateway.ask("GET", "/api/v1/groups")).status == 404

    routes_file.write_text('[services]\nidentity = ["/api/v1/groups"]\n')
    assert gateway.edge.reload()
    assert (await gateway.ask("GET", "/api/v1/groups")).status == 200
    assert (await gateway.ask("GET", "/api/v1/projects")).status == 404

    routes_file.write_text("[services]\nidentity = 1\n")
    assert not gateway.edge.reload()
    assert (await gateway.ask("GET", "/api/v1/groups")).status == 200


@pytest.mark.timeout(60)
async def test_the_process_serves_reloads_on_sighup_and_stops(identity, routes_file: Path, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "strongroom_gateway",
        "serve",
        stderr=asyncio.subprocess.PIPE,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "STRONGROOM_GATEWAY_PORT": "0",
            "STRONGROOM_GATEWAY_IDENTITY_URL": identity.url,
            "STRONGROOM_GATEWAY_ROUTES_FILE": str(routes_file),
        },
    )
    assert process.stderr is not None
    events: list[dict[str, Any]] = []

    async def hear(event: str) -> dict[str, Any]:
        while True:
            events.append(json.loads(await process.stderr.readline()))
            if events[-1]["event"] == event:
                return events[-1]

    try:
        ready = await hear("ready")
        url = f"http://127.0.0.1:{ready['port']}"
        async with aiohttp.ClientSession() as session:

            async def status(path: str) -> int:
                async with session.get(url + path) as response:
                    return response.status

            assert await status("/api/v1/projects") == 200
            assert await status("/api/v1/groups") == 404

            routes_file.write_text("nonsense")
            process.send_signal(signal.SIGHUP)
            refused = await hear("tables_refused")
            assert str(routes_file) in refused["reason"]
            assert await status("/api/v1/projects") == 200

            routes_file.write_text('[services]\nidentity = ["/api/v1/groups"]\n')
            process.send_signal(signal.SIGHUP)
            await hear("tables_reloaded")
            assert await status("/api/v1/groups") == 200

            async with session.get(f"http://127.0.0.1:{ready['internal_port']}/readyz") as response:
                assert response.status == 200
        process.terminate()
        await hear("stopped")
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _run(*arguments: str, **environment: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "strongroom_gateway",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )
    output, _ = await process.communicate()
    return await process.wait(), output.decode()


@pytest.mark.timeout(60)
async def test_the_other_commands_say_what_they_find(serve, tmp_path: Path) -> None:
    async def describe(request: web.BaseRequest) -> web.Response:
        return web.json_response({"paths": {}})

    service = await serve(describe)
    urls = {f"STRONGROOM_GATEWAY_{name}_URL": service.url for name in ("IDENTITY", "SECRETS", "PKI")}
    here = {**urls, "STRONGROOM_GATEWAY_AUTOMATION_URL": ""}

    code, output = await _run("routes")
    assert code == 0
    assert "/api/v1/projects/*/tags\tsecrets" in output.splitlines()

    code, output = await _run("settings")
    assert code == 0
    assert "STRONGROOM_GATEWAY_TRUSTED_PROXIES" in output

    code, output = await _run("check", **here)
    assert (code, "identity answers" in output) == (0, True)

    code, output = await _run("check", **{**here, "STRONGROOM_GATEWAY_PKI_URL": "http://127.0.0.1:1"})
    assert (code, "no answer from pki" in output) == (1, True)

    code, output = await _run("serve", STRONGROOM_GATEWAY_TRUSTED_PROXIES="x", STRONGROOM_GATEWAY_PORT="a")
    assert code == 2
    assert "wrong setting: STRONGROOM_GATEWAY_PORT: " in output
    assert "wrong setting: STRONGROOM_GATEWAY_TRUSTED_PROXIES: " in output

    code, output = await _run("serve", STRONGROOM_GATEWAY_ROUTES_FILE=str(tmp_path / "none.toml"))
    assert (code, "cannot start: " in output) == (1, True)


async def test_a_malformed_request_is_answered_in_shape_and_never_quoted(gateway, identity, caplog, capfd) -> None:
    """Threats class 10: what is malformed may hold a secret."""
    answer = await gateway.raw(
        b"GET /api/v1/projects HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer CANARY\x00VALUE\r\n\r\n"
    )

    assert status_of(answer) == 400
    assert set(body_of(answer)) == {"reqId", "statusCode", "error", "message"}
    assert b"CANARY" not in answer
    said = caplog.text + "".join(capfd.readouterr())
    assert "request_malformed" in said
    assert "CANARY" not in said
    assert identity.seen == []


SMUGGLING = [
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: 5, 6",
    "Content-Length: +5",
    "Content-Length: -5",
    "Content-Length: 0x5",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:\x0bchunked",
    "X: a\nTransfer-Encoding: chunked\x00",
    " Folded: x",
]


@pytest.mark.parametrize("headers", SMUGGLING, ids=lambda text: text.encode("unicode_escape").decode())
async def test_a_request_whose_end_is_in_doubt_is_refused(gateway, identity, headers: str) -> None:
    head = f"POST /api/v1/projects HTTP/1.1\r\nHost: gateway\r\n{headers}\r\n\r\n".encode("latin-1")

    answer = await gateway.raw(head + b"0\r\n\r\nGET /api/v1/admin HTTP/1.1\r\nHost: gateway\r\n\r\n")

    assert status_of(answer) == 400
    assert not any("admin" in line for line in identity.seen)


async def test_an_upgrade_is_not_passed_on(gateway, identity) -> None:
    answer = await gateway.raw(
        request("/api/v1/projects").replace(b"Connection: close", b"Connection: Upgrade, close\r\nUpgrade: h2c")
    )

    assert status_of(answer) == 200
    assert "upgrade" not in dict(body_of(answer)["headers"])
