"""The benchmarks start, and their load generator counts right. How fast anything is, no test asks."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

# Each test starts an interpreter.
pytestmark = pytest.mark.timeout(60)

ROOT = Path(__file__).resolve().parents[2]
Answer = Callable[[web.BaseRequest], web.Response]


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[tuple[int, list[str]]]:
    """Serve on a free port; yield it, and the requests that arrive there."""
    seen: list[str] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        seen.append(f"{request.method} {request.path} {await request.text()}".strip())
        return answer(request)

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1], seen
    finally:
        await runner.cleanup()


async def load(*plans: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Let the load generator carry out these plans."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load", cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate(b"".join(orjson.dumps(plan) + b"\n" for plan in plans))
    assert process.returncode == 0
    return [orjson.loads(line) for line in output.splitlines()]


def asking(*lines: str) -> Sequence[str]:
    """Write requests from `GET /path` or `POST /path body`."""
    requests = []
    for line in lines:
        method, path, body = (*line.split(" ", 2), "")[:3]
        requests.append(f"{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    return requests


async def test_each_request_is_sent_once_and_each_answer_is_counted() -> None:
    lines = [f"POST /{number} {'x' * number}" for number in range(100)]
    # Larger than one read, so that answers come in pieces.
    async with serving(lambda request: web.Response(body=b"a" * 300_000)) as (port, seen):
        (result,) = await load({"port": port, "requests": asking(*lines), "connections": 7, "is_once": True})

    assert sorted(seen) == sorted(line.strip() for line in lines)
    assert result["answers"] == 100
    assert result["statuses"] == {"200": 100}
    assert result["body_bytes"] == 300_000
    assert result["p50"] <= result["p99"]


async def test_requests_are_repeated_for_as_long_as_the_plan_says() -> None:
    async with serving(lambda request: web.Response(body=b"{}")) as (port, seen):
        (result,) = await load({"port": port, "requests": asking("GET /a", "GET /b"), "seconds": 0.1})

    assert set(seen) == {"GET /a", "GET /b"}
    # Those under way when the time is up are answered, and not counted.
    assert 16 <= result["answers"] <= len(seen) <= result["answers"] + 16


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body_ends_with_its_head(status: int) -> None:
    async with serving(lambda request: web.Response(status=status)) as (port, _):
        (result,) = await load({"port": port, "requests": asking("GET /"), "expected_status": status, "is_once": True})

    assert (result["answers"], result["body_bytes"]) == (1, 0)


async def test_a_refusal_stops_the_plan_and_is_quoted() -> None:
    def refuse(request: web.BaseRequest) -> web.Response:
        return web.Response(status=500 if request.path == "/bad" else 200, text="something went wrong")

    async with serving(refuse) as (port, _):
        plan = {"port": port, "connections": 1, "seconds": 8}
        bad, good = await load(
            {**plan, "requests": asking("GET /", "GET /bad")},
            {**plan, "requests": asking("GET /"), "is_once": True},
        )

    assert "500" in bad["failed"]
    assert "something went wrong" in bad["failed"]
    assert good["answers"] == 1


async def test_a_server_that_hangs_up_fails_the_plan() -> None:
    def hang_up(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with serving(hang_up) as (port, _):
        (result,) = await load({"port": port, "requests": asking("GET /"), "seconds": 8})

    assert "closed the connection" in result["failed"]


@pytest.mark.parametrize("module", ["bench", "bench.start", "bench.floors"])
def test_a_benchmark_says_what_it_can_do(module: str) -> None:
    shown = subprocess.run([sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True)

    assert shown.returncode == 0, shown.stderr
    assert "Usage" in shown.stdout
