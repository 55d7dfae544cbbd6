"""Servers as processes of their own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, sleep

LONGEST_START = 120.0
"""Seconds."""
LONGEST_STOP = 20.0
"""Seconds."""


class DidNotStart(Exception):
    """A server ended before it was ready, or never was; holds what it said."""


def stop_in_order() -> None:
    """Let SIGTERM end this process as Ctrl-C does, so that no server of ours stays behind."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


class Server:
    """A running server of ours."""

    def __init__(self, process: "subprocess.Popen[bytes]", line: str) -> None:
        self.process = process
        self.line = line

    @property
    def url(self) -> str:
        """Where it is, if it said `ready: http://...`."""
        return self.line.partition("ready: ")[2]

    @property
    def port(self) -> int:
        """The port in its URL."""
        return int(self.url.rpartition(":")[2])


@contextmanager
def serving(*arguments: str, ready: str = "ready: ", environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run `python -m <arguments>`, yield when it writes a line with `ready` in it, and stop it on the way out."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        try:
            yield Server(process, _wait(process, output.fileno(), ready, arguments[0]))
        finally:
            process.terminate()
            try:
                process.wait(LONGEST_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: "subprocess.Popen[bytes]", output: int, ready: str, name: str) -> str:
    # A look every few milliseconds: a thread that reads a pipe would be woken by each line that is not the one.
    deadline = monotonic() + LONGEST_START
    while True:
        has_ended = process.poll() is not None
        text = os.pread(output, 1_000_000, 0).decode(errors="replace")
        for line in text.splitlines(keepends=True):
            if ready in line and line.endswith("\n"):
                return line.strip()
        if has_ended or monotonic() > deadline:
            raise DidNotStart(f"{name} did not start: {text[-3000:]}")
        sleep(0.003)
