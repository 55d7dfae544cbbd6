"""A lean closed-loop load generator: each connection sends the next request when it has the answer to the last one.

`python -m bench.load` reads plans from standard input, a JSON object a line, and writes a result for each. It has a
process of its own, so that its work is not done at the measured server's expense, and it knows of HTTP only what it
needs, so that it is several times faster than any server it meets: `python -m bench` measures that too. It connects to
127.0.0.1 and nowhere else.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from time import perf_counter, process_time
from types import TracebackType
from typing import Any, Self

import orjson
import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+) *\r\n", re.IGNORECASE)
_WITHOUT_BODY = frozenset({204, 304})
_LONGEST = 120.0
"""Seconds that a plan may take."""


class LoadFailed(Exception):
    """The server did not answer as it should; says what it did instead."""


@dataclass(frozen=True)
class Plan:
    """What to send. The requests are whole, as `request` writes them."""

    port: int
    requests: Sequence[str]
    connections: int = 16
    seconds: float = 1.0
    """How long to go round the requests: until then, and until there are as many answers as connections."""
    is_once: bool = False
    """Send each request once instead, however long it takes: for requests that cannot be repeated."""
    expected_status: int = 200


@dataclass(frozen=True)
class Result:
    """What came back."""

    answers: int
    seconds: float
    per_second: float
    p50: float
    """Milliseconds."""
    p99: float
    """Milliseconds."""
    body_bytes: float
    """Of an answer, on average."""
    busy: float
    """The share of one core that the load generator itself needed. Near 1 it has measured itself."""
    statuses: Mapping[str, int]


def request(method: str, path: str, *, token: str = "", body: str = "") -> str:
    """Write a request. The body is JSON."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "User-Agent: bench", "Accept: */*"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body.encode())}"]
    return "\r\n".join([*lines, "", body])


class _Run:
    """One plan being carried out."""

    def __init__(self, plan: Plan) -> None:
        requests = [text.encode() for text in plan.requests]
        self._plan = plan
        self._requests: Iterator[bytes] = iter(requests) if plan.is_once else cycle(requests)
        self._at_work = plan.connections
        self._is_time_up = False
        self._is_over = False
        self._started = perf_counter()
        self.elapsed = 0.0
        """Seconds until the last answer that is counted, or until the time was up."""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.latencies: list[float] = []
        self.body_bytes = 0
        self.statuses: dict[int, int] = {}

    def next(self) -> bytes | None:
        """Return the next request, or None when the connection has done its part."""
        following = None if self._is_over else next(self._requests, None)
        if following is None:
            self._at_work -= 1
            if self._at_work == 0 and not self.done.done():
                if self._plan.is_once:
                    self.end()
                self.done.set_result(None)
        return following

    def note(self, status: int, latency: float, length: int, head: bytes) -> None:
        """Count an answer. What came after the end is not counted."""
        if status != self._plan.expected_status:
            self.fail(f"expected status {self._plan.expected_status}, got: {head[:2000].decode(errors='replace')}")
        if not self._is_over:
            self.latencies.append(latency)
            self.body_bytes += length
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if self._is_time_up:
                self.end()

    def start(self, connections: "Sequence[_Connection]") -> None:
        """Let all of them send."""
        self._started = perf_counter()
        for connection in connections:
            connection.send()

    def end(self) -> None:
        """Time is up, or all is sent and answered."""
        self._is_time_up = True
        # With fewer answers than connections, the time before the first of them would count for too much.
        if self._plan.is_once or len(self.latencies) >= self._plan.connections:
            self._is_over = True
            self.elapsed = perf_counter() - self._started

    def fail(self, reason: str) -> None:
        """Give up."""
        self._is_over = True
        if not self.done.done():
            self.done.set_exception(LoadFailed(reason))


class _Connection(asyncio.Protocol):
    def __init__(self, run: _Run) -> None:
        self._run = run
        self._transport: Any = None
        self._sent_at = 0.0
        self._head = b""
        self._status = 0
        self._length = 0
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def send(self) -> None:
        following = self._run.next()
        if following is not None:
            self._sent_at = perf_counter()
            self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            if self._head:
                data = self._head + data
            if not self._begin(data):
                return
        if self._missing == 0:
            self._run.note(self._status, perf_counter() - self._sent_at, self._length, self._head)
            self._head = b""
            self.send()
        elif self._missing < 0:
            self._run.fail(f"more bytes than announced: {data[:200]!r}")

    def connection_lost(self, error: Exception | None) -> None:
        self._run.fail(f"the server closed the connection: {error or 'without a word'}")

    def close(self) -> None:
        self._transport.abort()

    def _begin(self, data: bytes) -> bool:
        """Read the head of an answer; False while it is not all there. Kept with it is what has come of the body."""
        self._head = data
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return False
        self._status = int(data[9:12])
        self._length = 0
        if self._status not in _WITHOUT_BODY:
            length = _LENGTH.search(data, 0, end + 2)
            if length is None:
                self._run.fail(f"an answer without Content-Length: {data[:end].decode(errors='replace')}")
                return False
            self._length = int(length[1])
        self._missing = end + 4 + self._length - len(data)
        return True


async def apply(plan: Plan) -> Result:
    """Carry out a plan. Raises `LoadFailed` at the first answer that has not the expected status."""
    loop = asyncio.get_running_loop()
    run = _Run(plan)
    connections: list[_Connection] = []
    try:
        for _ in range(plan.connections):
            _, connection = await loop.create_connection(lambda: _Connection(run), "127.0.0.1", plan.port)
            connections.append(connection)
        if not plan.is_once:
            loop.call_later(plan.seconds, run.end)
        started, worked = perf_counter(), process_time()
        run.start(connections)
        async with asyncio.timeout(_LONGEST):
            await run.done
        busy = (process_time() - worked) / (perf_counter() - started)
    except TimeoutError:
        raise LoadFailed(f"not all requests were answered within {_LONGEST:g} seconds") from None
    except OSError as error:
        raise LoadFailed(f"cannot connect to port {plan.port}: {error}") from None
    finally:
        for connection in connections:
            connection.close()
    latencies, answers = sorted(run.latencies), len(run.latencies)
    return Result(
        answers=answers,
        seconds=run.elapsed,
        per_second=answers / run.elapsed,
        p50=1000 * latencies[answers // 2],
        p99=1000 * latencies[answers * 99 // 100],
        body_bytes=run.body_bytes / answers,
        busy=busy,
        statuses={str(status): count for status, count in run.statuses.items()},
    )


class LoadGenerator:
    """The process, as the one who measures sees it. Use it as `with`."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def measure(self, plan: Plan) -> Result:
        """Carry out a plan over there. Raises `LoadFailed`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(orjson.dumps(plan) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise LoadFailed("the load generator has ended")
        answer = orjson.loads(line)
        if "failed" in answer:
            raise LoadFailed(answer["failed"])
        return Result(**answer)


def main() -> None:
    """Carry out the plans on standard input."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for line in sys.stdin.buffer:
            try:
                answer = asdict(runner.run(apply(Plan(**orjson.loads(line)))))
            except LoadFailed as error:
                answer = {"failed": str(error)}
            sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
