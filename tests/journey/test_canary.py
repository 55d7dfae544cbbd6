"""Threats classes 10 and 11: a canary goes in through every door, and is found in no log, error, table or file."""

import asyncio
import base64
import re
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
import requests
from journey.houses import Client, Standalone, bootstrap

from strongroom_common.http.endpoints import Endpoint
from strongroom_common.http.models import NoBody
from strongroom_common.runtime.postgres import EmbeddedPostgres
from strongroom_standalone.house import SERVICES, service_doors

pytestmark = pytest.mark.timeout(180)

CANARY = "canary-7f3a9c51e2d8"
FORMS = {
    CANARY.encode(),
    CANARY.encode().hex().encode(),
    *(base64.b64encode(b"x" * shift + CANARY.encode())[4 if shift else 0 : -4] for shift in range(3)),
}


def _holds(raw: bytes) -> bool:
    return any(form in raw for form in FORMS)


@pytest.fixture(scope="module")
def admin(running: Standalone) -> Client:
    return bootstrap(running.url)


@pytest.fixture(scope="module")
def place(admin: Client) -> dict[str, str]:
    project = admin.post_ok("/api/v1/projects", projectName="canary cage")["project"]
    return {"workspaceId": project["id"], "environment": "dev"}


def _write_endpoints() -> Iterator[Endpoint]:
    for door in service_doors().values():
        yield from (endpoint for endpoint in door.endpoints if endpoint.is_write and endpoint.body is not NoBody)


def test_no_error_repeats_what_was_sent(admin: Client) -> None:
    for endpoint in _write_endpoints():
        path = re.sub(r"\{\w+(:uuid)?\}", "0190c1d2-0000-7000-8000-000000000001", endpoint.template)
        fields = [field.alias or name for name, field in endpoint.body.model_fields.items()]
        for wrong in ([CANARY], {"deep": CANARY}, 7):
            _, body = admin(endpoint.method, path, json=dict.fromkeys(fields, wrong))
            assert CANARY not in str(body), f"{endpoint.method} {path}"
        for raw in (f'{{"a": "{CANARY}', f'"{CANARY}"', f"[{CANARY}]", "{" * 100 + CANARY):
            status, body = admin(endpoint.method, path, data=raw, headers={"Content-Type": "application/json"})
            # 401 and 403: some routes are not for machines, and say so before they look at a body.
            assert status in {400, 401, 403, 404, 422}, f"{endpoint.method} {path}: {status}"
            assert CANARY not in str(body), f"{endpoint.method} {path}"


def test_wrong_credentials_are_not_repeated(admin: Client) -> None:
    nobody = Client(admin.url)
    attempts = [
        ("/api/v1/auth/universal-auth/login", {"clientId": CANARY, "clientSecret": CANARY}),
        ("/api/v1/auth/token/renew", {"accessToken": CANARY}),
        ("/api/v1/auth/token/revoke", {"accessToken": CANARY}),
        ("/api/v1/admin/bootstrap", {"email": "x@example.com", "password": CANARY, "organization": "x"}),
    ]
    for path, body in attempts:
        status, answer = nobody("POST", path, json=body)
        assert 400 <= status < 500
        assert CANARY not in str(answer)
    for bearer in (CANARY, f"eyJ.{CANARY}.x", f"st.{CANARY}"):
        status, answer = Client(admin.url, bearer)("GET", "/api/v1/projects")
        assert status in {401, 403}
        assert CANARY not in str(answer)


def _journey(admin: Client, place: dict[str, str]) -> None:
    admin.post_ok("/api/v3/secrets/raw/ONE", **place, secretValue=CANARY, secretComment=CANARY)
    admin.post_ok(
        "/api/v3/secrets/batch/raw",
        **place,
        secrets=[
            {
                "secretKey": f"MANY_{n}",
                "secretValue": CANARY,
                "secretComment": CANARY,
                "secretMetadata": [{"key": "k", "value": CANARY, "isEncrypted": True}],
            }
            for n in range(3)
        ],
    )
    status, _ = admin("PATCH", "/api/v3/secrets/raw/ONE", json={**place, "secretValue": CANARY + "2"})
    assert status == 200
    assert CANARY in str(admin.get_ok("/api/v3/secrets/raw", params=place))
    masked = admin.get_ok("/api/v3/secrets/raw", params={**place, "viewSecretValue": "false"})
    assert all(secret["secretValue"] == "<hidden-by-infisical>" for secret in masked["secrets"])
    for method, path, body in (
        ("POST", "/api/v3/secrets/raw/ONE", {**place, "secretValue": CANARY}),
        ("POST", "/api/v3/secrets/raw/A:B", {**place, "secretValue": CANARY}),
        ("POST", "/api/v3/secrets/raw/X", {**place, "environment": "none", "secretValue": CANARY}),
        ("DELETE", "/api/v3/secrets/batch/raw", {**place, "secrets": [{"secretKey": "ABSENT"}]}),
    ):
        status, answer = admin(method, path, json=body)
        assert 400 <= status < 500
        assert CANARY not in str(answer)


async def _dump(data: Path) -> bytes:
    parts: list[bytes] = []
    for service in SERVICES:
        url = EmbeddedPostgres.url_of_running(data / "postgres", service)
        connection = await asyncpg.connect(url.reveal())
        try:
            tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            for table in tables:
                for row in await connection.fetch(f'SELECT * FROM "{table["tablename"]}"'):  # noqa: S608 - own names
                    parts += [value if isinstance(value, bytes) else str(value).encode() for value in row]
        finally:
            await connection.close()
    return b"\n".join(parts)


def test_the_canary_rests_nowhere_in_the_clear(standalone: Standalone) -> None:
    process = standalone.start(STRONGROOM_STANDALONE_LOG_LEVEL="debug", STRONGROOM_STANDALONE_INTERNAL_PORT="0")
    admin = bootstrap(standalone.url)
    project = admin.post_ok("/api/v1/projects", projectName="p")["project"]
    _journey(admin, {"workspaceId": project["id"], "environment": "dev"})
    assert not _holds(asyncio.run(_dump(standalone.data)))
    assert process.stop() == 0
    assert not _holds(process.output.read_bytes())
    # Everything the database server ever wrote: tables, indexes, its log and the write-ahead log.
    files = [path for path in standalone.data.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert [str(path) for path in files if _holds(path.read_bytes())] == []


def test_metrics_and_documents_know_nothing(admin: Client, place: dict[str, str], running: Standalone) -> None:
    _journey(admin, place)
    for path in ("/api/docs/json", "/api/docs", "/api/status"):
        assert CANARY not in requests.get(running.url + path, timeout=10).text
    assert CANARY not in running_output(running)


def running_output(running: Standalone) -> str:
    """All that the running instance has said."""
    return "".join(path.read_text() for path in running.folder.glob("*.out"))
