"""The product as its user has it: processes, ports, folders. Nothing here reaches inside."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import requests


class Process:
    """A process of the product, whose output is kept."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
        self.output = folder / f"{arguments[0].rpartition('.')[2]}-{len(list(folder.glob('*.out')))}.out"
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})},
            )

    def text(self) -> str:
        """All it has said so far."""
        return self.output.read_text(errors="replace")

    def wait_for(self, word: str, within: float = 40.0) -> str:
        """Return the first whole line with this word; fails when the process ends first."""

        async def look() -> str:
            while True:
                for line in self.text().splitlines(keepends=True):
                    if word in line and line.endswith("\n"):
                        return line.strip()
                assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.text()}"
                await asyncio.sleep(0.02)

        return asyncio.run(asyncio.wait_for(look(), within))

    def stop(self, how: int = signal.SIGTERM, within: float = 10.0) -> int:
        """Stop it as a person would, and return its status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(within)

    def kill(self) -> None:
        """End it without a word."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)


class Standalone:
    """`standalone` on one data folder, started as often as a test likes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.url = ""
        self._processes: list[Process] = []

    def start(self, **environment: str) -> Process:
        """Start it on a free port and return when it says that it is ready."""
        process = self.launch(environment=environment)
        self.url = process.wait_for("ready: ").removeprefix("ready: ")
        return process

    def launch(self, *arguments: str, environment: dict[str, str] | None = None) -> Process:
        """Start it and do not wait."""
        given = arguments or ("--port", "0", "--data", str(self.data))
        process = Process(["strongroom_standalone", *given], self.folder, environment)
        self._processes.append(process)
        return process

    def adopt(self, process: Process) -> None:
        """Take care of a process that was started otherwise."""
        self._processes.append(process)

    def close(self) -> None:
        """End what still runs, the database of a killed process included."""
        for process in self._processes:
            if process.process.poll() is None:
                process.stop()
        pid_file = self.data / "postgres" / "data" / "postmaster.pid"
        if pid_file.exists():
            # Left by a process that a test killed and did not start again: a start takes it over, a stop ends it.
            self.start()
            self._processes[-1].stop()


class Client:
    """HTTP as a person with curl has it."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.token = token

    def __call__(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        response = requests.request(
            method, self.url + path, headers={**headers, **more.pop("headers", {})}, timeout=20, **more
        )
        return response.status_code, response.json() if response.content else None

    def get_ok(self, path: str, **more: Any) -> Any:
        """GET and expect 200."""
        status, body = self("GET", path, **more)
        assert status == 200, body
        return body

    def post_ok(self, path: str, **body: Any) -> Any:
        """POST JSON and expect 200."""
        status, answer = self("POST", path, json=body)
        assert status == 200, answer
        return answer


def bootstrap(url: str) -> Client:
    """Bootstrap a fresh instance and return a client with the admin identity's token."""
    answer = Client(url).post_ok(
        "/api/v1/admin/bootstrap", email="ada@example.com", password="correct horse battery", organization="Acme"
    )
    return Client(url, answer["identity"]["credentials"]["token"])
