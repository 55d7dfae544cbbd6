"""A fresh `standalone` to be measured, and what is put into it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson

from bench.load import LoadGenerator, Plan, request
from bench.processes import serving

BATCH = 1_000
"""How many secrets one batch makes."""
LOGIN = "/api/v1/auth/universal-auth/login"
_BATCHES_AT_ONCE = 50


class Refused(Exception):
    """The product did not answer 200; says what it answered."""


class Product:
    """A bootstrapped instance with one project."""

    def __init__(self, port: int, data: Path) -> None:
        self.port = port
        self.data = data
        self.token = ""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._login: str | None = None
        admin = self.call(
            "POST",
            "/api/v1/admin/bootstrap",
            {"email": "bench@example.com", "password": "correct horse battery", "organization": "Bench"},
        )
        self.token = admin["identity"]["credentials"]["token"]
        self.identity: str = admin["identity"]["id"]
        self._organization = admin["organization"]["id"]
        self.project: str = self.call("POST", "/api/v1/projects", {"projectName": "bench"})["project"]["id"]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request of the preparations. Raises `Refused`."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        self._connection.request(method, path, orjson.dumps(body) if body is not None else None, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise Refused(f"{method} {path}: {answer.status} {content[:1000].decode(errors='replace')}")
        return orjson.loads(content)

    def reading(self, name: str, environment: str, path: str = "/", token: str = "") -> str:
        """Write the request for one secret."""
        return request("GET", f"/api/v3/secrets/raw/{name}?{self._place(environment, path)}", token=token or self.token)

    def listing(self, environment: str, path: str = "/") -> str:
        """Write the request for all secrets of a folder."""
        return request("GET", f"/api/v3/secrets/raw?{self._place(environment, path)}", token=self.token)

    def writing(self, environment: str, path: str = "/", count: int = BATCH) -> str:
        """Write the request that makes so many secrets at once."""
        return request("POST", "/api/v3/secrets/batch/raw", token=self.token, body=self.batch(environment, path, count))

    def batch(self, environment: str, path: str = "/", count: int = BATCH) -> str:
        """Write the body of that request."""
        body = {
            "workspaceId": self.project,
            "environment": environment,
            "secretPath": path,
            "secrets": [
                {"secretKey": name(number), "secretValue": f"value {number:06} of 32 characters, 32"}
                for number in range(count)
            ],
        }
        return orjson.dumps(body).decode()

    def add_folders(self, environment: str, prefix: str, count: int) -> Sequence[str]:
        """Make empty folders; return their paths."""
        names = [f"{prefix}-{number}" for number in range(count)]
        for folder in names:
            self.call(
                "POST", "/api/v2/folders", {"projectId": self.project, "environment": environment, "name": folder}
            )
        return [f"/{folder}" for folder in names]

    def fill(self, load: LoadGenerator, environment: str, paths: Sequence[str], count: int = BATCH) -> None:
        """Put so many secrets into each of these folders."""
        for start in range(0, len(paths), _BATCHES_AT_ONCE):
            requests = [self.writing(environment, path, count) for path in paths[start : start + _BATCHES_AT_ONCE]]
            load.measure(Plan(self.port, requests, connections=4, is_once=True))

    def tokens(self, count: int) -> list[str]:
        """Log in so many times; no service but identity has seen these tokens."""
        if self._login is None:
            self._login = self._client(self.identity)
        body = orjson.loads(self._login)
        return [self.call("POST", LOGIN, body)["accessToken"] for _ in range(count)]

    def clients(self, count: int) -> list[str]:
        """Make so many identities that may nothing but log in; return the bodies of their logins."""
        made = [
            self.call(
                "POST",
                "/api/v1/identities",
                {"name": f"client-{number}", "organizationId": self._organization, "role": "no-access"},
            )
            for number in range(count)
        ]
        return [self._client(each["identity"]["id"]) for each in made]

    def _client(self, identity: str) -> str:
        base = f"/api/v1/auth/universal-auth/identities/{identity}"
        client_id = self.call("POST", base, {})["identityUniversalAuth"]["clientId"]
        secret = self.call("POST", f"{base}/client-secrets", {})["clientSecret"]
        return orjson.dumps({"clientId": client_id, "clientSecret": secret}).decode()

    def _place(self, environment: str, path: str) -> str:
        return urlencode({"workspaceId": self.project, "environment": environment, "secretPath": path})


def name(number: int) -> str:
    """Return the name of a folder's n-th secret."""
    return f"KEY_{number:06}"


@contextmanager
def standalone(folder: Path) -> Iterator[Product]:
    """Run the product on a new data folder."""
    # Many logins are part of the preparations; their limit is not what is measured.
    off = {"STRONGROOM_GATEWAY_RATE_LIMITS": "off"}
    data = folder / "data"
    with serving("strongroom_standalone", "--port", "0", "--data", str(data), environment=off) as server:
        yield Product(server.port, data)
