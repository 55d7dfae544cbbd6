"""Bodies pass both ways as they come, time is bounded, and nothing is repeated that may have been done."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from io import BytesIO
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from strongroom_common.testing.waiting import eventually

PATH = "/api/v1/projects"
MEGABYTE = 1024 * 1024


@asynccontextmanager
async def rough_service(talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]) -> AsyncIterator[str]:
    """A service that speaks bytes rather than HTTP."""
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def verify_error(response: Any, body: dict[str, object], status: int, error: str) -> None:
    assert response.status == status
    assert {key: body[key] for key in ("statusCode", "error")} == {"statusCode": status, "error": error}
    assert body["reqId"] == response.headers["X-Request-Id"]
    # The service is named, its address is not.
    assert "127.0.0.1" not in str(body["message"])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("size", [0, 1, 70_000, MEGABYTE])
async def test_a_body_of_known_length_arrives_whole(gateway, method: str, size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    got = await gateway.echoed(method, PATH, data=body)

    assert got["body"].encode("latin-1") == body
    assert got["headers"].get("content-length", "0") == str(size)
    assert "transfer-encoding" not in got["headers"]


async def test_a_chunked_body_arrives_while_it_is_being_sent(open_gateway, serve) -> None:
    arrived = asyncio.Event()

    async def read(request: web.BaseRequest) -> web.StreamResponse:
        first = await request.content.readany()
        arrived.set()
        return web.Response(body=first + await request.content.read())

    async def chunks() -> AsyncIterator[bytes]:
        yield b"first "
        await arrived.wait()
        yield b"second"

    gateway = await open_gateway(identity=await serve(read))
    response = await gateway.ask("POST", PATH, data=chunks())

    assert response.body == b"first second"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_body_where_none_belongs_is_left_out(gateway, identity, method: str) -> None:
    response = await gateway.ask(method, PATH, data=b"{}")

    assert response.status == 200
    assert identity.seen == [f"{method} {PATH}"]
    if method != "HEAD":
        assert (response.json())["body"] == ""


async def test_the_connection_stays_usable_after_a_body_was_left_out(gateway) -> None:
    answer = await gateway.raw(
        b"GET /api/v1/projects HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\n{}"
        b"GET /api/status HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n"
    )

    assert answer.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_body_over_the_limit_is_413(open_gateway, identity, is_chunked: bool) -> None:
    gateway = await open_gateway(identity=identity, most_body_bytes=100_000)

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 10_000

    response = await gateway.ask("POST", PATH, data=chunks() if is_chunked else b"x" * 100_001)

    verify_error(response, response.json(), 413, "PayloadTooLarge")
    if not is_chunked:
        assert identity.seen == []
    assert (await gateway.ask("POST", PATH, data=b"x" * 100_000)).status == 200


async def test_a_service_that_answers_before_the_body_is_through_is_heard(open_gateway, serve) -> None:
    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"statusCode": 401}, status=401)

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 10_000
            await asyncio.sleep(0)

    gateway = await open_gateway(identity=await serve(refuse))

    for _ in range(5):
        response = await gateway.ask("POST", PATH, data=chunks())
        assert (response.status, response.json()) == (401, {"statusCode": 401})


async def test_a_body_that_breaks_off_is_not_an_answer_of_the_service(gateway, identity) -> None:
    answer = await gateway.raw(
        b"POST /api/v1/projects HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"nonsense\r\n",
    )

    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))


@pytest.mark.parametrize("length", ["Content-Length: 100", "Content-Length: 100000", "Transfer-Encoding: chunked"])
async def test_a_body_that_does_not_come_is_not_waited_for(open_gateway, identity, length: str) -> None:
    gateway = await open_gateway(identity=identity, request_seconds=0.3)

    answer = await gateway.first(f"POST {PATH} HTTP/1.1\r\nHost: g\r\n{length}\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"the body did not arrive within 0.3 seconds" in answer


async def test_a_head_that_does_not_come_is_not_waited_for(open_gateway, identity) -> None:
    gateway = await open_gateway(identity=identity, keep_alive=0.3)

    assert await gateway.raw(b"GET /api/v1/projects HTTP/1.1\r\nHost: g\r\nX: ") == b""
    assert identity.seen == []


@pytest.mark.parametrize(
    "header", [f"X-Large: {'a' * 9000}", "\r\n".join(f"X-{number}: 1" for number in range(200))], ids=["long", "many"]
)
async def test_headers_are_limited(gateway, identity, header: str) -> None:
    answer = await gateway.raw(f"GET {PATH} HTTP/1.1\r\nHost: g\r\n{header}\r\n\r\n".encode())

    assert b" 400 " in answer.split(b"\r\n")[0]
    assert identity.seen == []


async def test_an_upload_that_waits_to_be_asked_for_is_asked_for(gateway) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    with closing(writer):
        writer.write(f"POST {PATH} HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"hello")
        head = await reader.readuntil(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 200 OK")


async def test_an_upload_that_is_too_large_is_not_asked_for(gateway) -> None:
    answer = await gateway.first(
        f"POST {PATH} HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n".encode()
    )

    assert answer.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("size", [0, 5, 65_536, 65_537, 3 * MEGABYTE])
@pytest.mark.parametrize("is_chunked", [False, True])
async def test_an_answer_arrives_whole(open_gateway, serve, size: int, is_chunked: bool) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if not is_chunked:
            return web.Response(body=b"y" * size)
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, size, 50_000):
            await response.write(b"y" * min(50_000, size - start))
        return response

    gateway = await open_gateway(identity=await serve(answer))
    response = await gateway.ask("GET", PATH)

    assert response.body == b"y" * size
    assert response.headers.get("Content-Length") == (None if is_chunked else str(size))


async def test_status_headers_and_cookies_of_the_service_are_kept(open_gateway, serve) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(status=404, body=b"{}", content_type="application/json")
        response.headers.add("Set-Cookie", "jid=1; Path=/; HttpOnly")
        response.headers.add("Set-Cookie", "other=2")
        response.headers.update(
            {
                "ETag": '"e"',
                "Cache-Control": "no-store",
                "Server": "inside/1",
                "X-Request-Id": "theirs",
                "Access-Control-Allow-Origin": "*",
                "Connection": "X-Inside",
                "X-Inside": "1",
            }
        )
        return response

    gateway = await open_gateway(identity=await serve(answer))
    response = await gateway.ask("GET", PATH)

    assert response.status == 404
    assert response.headers.getall("Set-Cookie") == ["jid=1; Path=/; HttpOnly", "other=2"]
    assert (response.headers["ETag"], response.headers["Cache-Control"]) == ('"e"', "no-store")
    assert response.headers["Server"] == "strongroom"
    assert response.headers["X-Request-Id"].startswith("req-")
    assert not {"Access-Control-Allow-Origin", "X-Inside"} & set(response.headers)


async def test_a_cookie_of_one_caller_is_not_sent_for_another(open_gateway, serve) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(text=request.headers.get("Cookie", "none"))
        response.headers["Set-Cookie"] = "jid=secret; Path=/"
        return response

    gateway = await open_gateway(identity=await serve(answer))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        for _ in range(2):
            async with session.get(f"http://127.0.0.1:{gateway.port}{PATH}") as response:
                assert await response.text() == "none"


async def test_compression_passes_untouched_both_ways(open_gateway, serve) -> None:
    packed = gzip.compress(b"z" * 10_000)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        # The service's own server has unpacked it.
        assert await request.read() == b"z" * 10_000
        assert request.headers["Content-Length"] == str(len(packed))
        return web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"})

    gateway = await open_gateway(identity=await serve(answer))
    response = await gateway.ask("POST", PATH, data=packed, headers={"Content-Encoding": "gzip"})

    assert response.headers["Content-Encoding"] == "gzip"
    assert response.body == packed


async def test_a_redirect_is_passed_on_and_never_followed(open_gateway, serve) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/elsewhere"})

    service = await serve(answer)
    response = await (await open_gateway(identity=service)).ask("GET", PATH)

    assert (response.status, response.headers["Location"]) == (302, "http://127.0.0.1:1/elsewhere")
    assert len(service.seen) == 1


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body_stays_without_one(open_gateway, serve, status: int) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, headers={"ETag": '"e"'})

    response = await (await open_gateway(identity=await serve(answer))).ask("GET", PATH)

    assert (response.status, response.headers["ETag"], response.body) == (status, '"e"', b"")


async def test_a_head_request_gets_the_length_and_no_body(open_gateway, serve) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"x" * 123)

    response = await (await open_gateway(identity=await serve(answer))).ask("HEAD", PATH)

    assert (response.status, response.headers["Content-Length"], response.body) == (200, "123", b"")


async def test_events_arrive_while_the_service_is_still_speaking(open_gateway, serve) -> None:
    heard, is_over = asyncio.Event(), asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        await heard.wait()
        # The silence is what is tested: it is longer than anything but events may stand still.
        await asyncio.sleep(0.4)
        await response.write(b"data: 2\n\n")
        is_over.set()
        return response

    gateway = await open_gateway(identity=await serve(answer), request_seconds=0.2)
    async with gateway.session.get(f"http://127.0.0.1:{gateway.port}{PATH}") as response:
        assert await response.content.readuntil(b"\n\n") == b"data: 1\n\n"
        assert not is_over.is_set()
        heard.set()
        assert await response.content.read() == b"data: 2\n\n"


async def test_a_client_that_leaves_takes_the_call_to_the_service_with_it(open_gateway) -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        assert await reader.read() == b""
        left.set()
        writer.close()

    async with rough_service(talk) as url:
        gateway = await open_gateway(identity=url)
        _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(f"GET {PATH} HTTP/1.1\r\nHost: g\r\n\r\n".encode())
        await asyncio.wait_for(arrived.wait(), 3)
        writer.close()

        await asyncio.wait_for(left.wait(), 3)


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
async def test_a_client_that_leaves_an_open_answer_ends_it(open_gateway, content_type: str) -> None:
    left = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n".encode())
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        assert await reader.read() == b""
        left.set()
        writer.close()

    async with rough_service(talk) as url:
        gateway = await open_gateway(identity=url)
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(f"GET {PATH} HTTP/1.1\r\nHost: g\r\n\r\n".encode())
        await reader.readuntil(b"abc")
        writer.close()

        await asyncio.wait_for(left.wait(), 3)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_service_that_is_away_is_503(open_gateway, method: str) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        gateway = await open_gateway(identity=f"http://127.0.0.1:{taken.getsockname()[1]}")
        response = await gateway.ask(method, PATH, data=b"x" if method == "POST" else None)

    body = response.json()
    verify_error(response, body, 503, "ServiceUnavailable")
    assert body["message"] == "the identity service cannot be reached"


async def test_a_service_that_cannot_be_connected_to_in_time_is_503(open_gateway) -> None:
    # A listener that never accepts, with its queue full, lets a connection hang.
    with closing(socket.socket()) as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        waiting = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
            waiting.append(filler)
        gateway = await open_gateway(
            identity=f"http://127.0.0.1:{deaf.getsockname()[1]}", connect_seconds=0.2, request_seconds=8
        )
        response = await gateway.ask("POST", PATH, data=b"x")
        for filler in waiting:
            filler.close()

    verify_error(response, response.json(), 503, "ServiceUnavailable")


async def test_a_service_that_takes_too_long_is_504(open_gateway, serve) -> None:
    async def never(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    gateway = await open_gateway(identity=await serve(never), request_seconds=0.2)
    response = await gateway.ask("GET", PATH)

    body = response.json()
    verify_error(response, body, 504, "GatewayTimeoutError")
    assert body["message"] == "the identity service did not answer within 0.2 seconds"


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_service_that_does_not_read_a_body_is_504_and_not_the_clients_fault(
    open_gateway, is_chunked: bool
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()
        await released.wait()
        writer.close()

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b"x" * MEGABYTE

    released = asyncio.Event()
    async with rough_service(talk) as url:
        gateway = await open_gateway(identity=url, request_seconds=0.5)
        response = await gateway.ask("POST", PATH, data=chunks() if is_chunked else BytesIO(b"x" * 9 * MEGABYTE))
        released.set()

    verify_error(response, response.json(), 504, "GatewayTimeoutError")


class Flaky:
    """Breaks the connection after so many bytes of the answer, as often as told, and then answers."""

    def __init__(self, breaks: int, says: bytes = b"") -> None:
        self.breaks = breaks
        self.says = says
        self.requests = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                await reader.readexactly(int(line.split(b":")[1]))
        self.requests += 1
        if self.requests <= self.breaks:
            writer.write(self.says)
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()


@pytest.mark.parametrize(
    ("method", "breaks", "status", "requests"),
    [
        ("GET", 1, 200, 2),
        ("HEAD", 1, 200, 2),
        ("GET", 2, 502, 2),
        ("POST", 1, 502, 1),
        ("PUT", 1, 502, 1),
        ("PATCH", 1, 502, 1),
        ("DELETE", 1, 502, 1),
        ("OPTIONS", 1, 502, 1),
    ],
)
async def test_only_a_read_is_repeated_after_the_connection_broke(
    open_gateway, method: str, breaks: int, status: int, requests: int
) -> None:
    flaky = Flaky(breaks)
    async with rough_service(flaky) as url:
        gateway = await open_gateway(identity=url)
        response = await gateway.ask(method, PATH, data=b"x" if method in {"POST", "PUT", "PATCH"} else None)

    assert (response.status, flaky.requests) == (status, requests)
    if status == 502:
        verify_error(response, response.json(), 502, "BadGateway")


async def test_a_kept_connection_that_breaks_does_not_repeat_a_write(open_gateway) -> None:
    requests = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        # The second request on this connection is read, and then the service dies.
        requests.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[0])
        writer.close()

    async with rough_service(talk) as url:
        gateway = await open_gateway(identity=url)
        assert (await gateway.ask("GET", PATH)).status == 200
        assert (await gateway.ask("DELETE", PATH)).status == 502

    assert requests == [b"GET", b"DELETE"]


@pytest.mark.parametrize(
    "says",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    ],
)
async def test_an_answer_that_breaks_off_before_it_was_passed_on_is_502(open_gateway, says: bytes) -> None:
    flaky = Flaky(9, says)
    async with rough_service(flaky) as url:
        response = await (await open_gateway(identity=url)).ask("POST", PATH)

    verify_error(response, response.json(), 502, "BadGateway")
    assert flaky.requests == 1


@pytest.mark.parametrize(
    "says",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
    ids=["length", "chunked"],
)
async def test_an_answer_that_breaks_off_midway_breaks_off_for_the_client_too(open_gateway, says: bytes) -> None:
    async with rough_service(Flaky(9, says)) as url:
        gateway = await open_gateway(identity=url)
        with pytest.raises(aiohttp.ClientError):
            await gateway.ask("GET", PATH)
        # And the gateway is none the worse for it.
        assert (await gateway.ask("GET", "/api/status")).status == 200


async def test_an_answer_that_stands_still_midway_is_cut(open_gateway, serve) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b"[")
        await asyncio.Event().wait()
        return response

    gateway = await open_gateway(identity=await serve(answer), request_seconds=0.3)
    with pytest.raises(aiohttp.ClientError):
        await gateway.ask("GET", PATH)


async def test_connections_to_a_service_are_kept_and_limited(open_gateway, serve) -> None:
    ports: set[object] = set()
    at_once = most = 0
    three = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal at_once, most
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername"))
        at_once += 1
        most = max(most, at_once)
        if at_once == 3:
            three.set()
        await three.wait()
        at_once -= 1
        return web.Response()

    gateway = await open_gateway(identity=await serve(answer), upstream_connections=3)
    await asyncio.gather(*(gateway.ask("GET", PATH) for _ in range(30)))

    assert most == 3
    assert len(ports) == 3


async def test_a_service_that_restarts_is_found_again(open_gateway, serve) -> None:
    service = await serve()
    gateway = await open_gateway(identity=service)
    broken = asyncio.Event()

    async def close(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        broken.set()
        return web.Response()

    assert (await gateway.ask("GET", PATH)).status == 200
    service.answer = close
    assert (await gateway.ask("POST", PATH, data=b"x")).status == 502
    assert broken.is_set()

    async def fine(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response()

    service.answer = fine

    async def works() -> bool:
        return (await gateway.ask("POST", PATH, data=b"x")).status == 200

    assert await eventually(works)
