"""The same journey through gateway, identity and secrets as processes of their own, on a real RabbitMQ."""

import asyncio
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import requests
from journey.houses import Client, Process, bootstrap

from strongroom_common.crypto.keyring import Keyring
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.postgres import PostgresServer
from strongroom_common.testing.rabbitmq import RabbitServer
from strongroom_common.testing.waiting import eventually

pytestmark = pytest.mark.timeout(180)

SERVICES = ("identity", "secrets")


class Cluster:
    """Services as processes; each reports its port in its log."""

    def __init__(self, folder: Path, postgres: PostgresServer, rabbit_url: Secret) -> None:
        self.folder = folder
        self._bus_keys = Keyring.generate().to_text().reveal()
        self._rabbit_url = rabbit_url.reveal()
        self._environments = {
            name: {
                f"STRONGROOM_{name.upper()}_DATABASE_URL": postgres.create_database().reveal(),
                f"STRONGROOM_{name.upper()}_BUS_URL": self._rabbit_url,
                f"STRONGROOM_{name.upper()}_MASTER_KEYS": Keyring.generate().to_text().reveal(),
                "STRONGROOM_BUS_KEYS": self._bus_keys,
            }
            for name in SERVICES
        }
        self.processes: dict[str, Process] = {}
        self.ports: dict[str, int] = {}
        self.internal_ports: dict[str, int] = {}

    def command(self, name: str, *arguments: str) -> Process:
        """Run one command of a service."""
        return Process([f"strongroom_{name}", *arguments], self.folder, self._environments[name])

    def start(self, name: str) -> None:
        """Start a service, on the port that it had before if any."""
        environment = self._environments[name]
        if name in self.ports:
            environment[f"STRONGROOM_{name.upper()}_PORT"] = str(self.ports[name])
        process = Process([f"strongroom_{name}", "serve"], self.folder, environment)
        self.processes[name] = process
        facts = json.loads(process.wait_for('"event": "ready"'))
        self.ports[name], self.internal_ports[name] = facts["port"], facts["internal_port"]

    def start_gateway(self) -> None:
        """Start the gateway in front of the services."""
        self._environments["gateway"] = {
            "STRONGROOM_GATEWAY_PORT": "0",
            **{
                f"STRONGROOM_GATEWAY_{name.upper()}_URL": f"http://127.0.0.1:{port}"
                for name, port in self.ports.items()
            },
        }
        process = Process(["strongroom_gateway", "serve"], self.folder, self._environments["gateway"])
        self.processes["gateway"] = process
        self.ports["gateway"] = json.loads(process.wait_for('"event": "ready"'))["port"]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports['gateway']}"

    async def count(self, name: str, table: str, project_id: str) -> int:
        """How many rows of a project a service's database has, whether the service runs or not."""
        connection = await asyncpg.connect(self._environments[name][f"STRONGROOM_{name.upper()}_DATABASE_URL"])
        try:
            statement = f"SELECT count(*) FROM {table} WHERE project_id = $1"  # noqa: S608 - the test's own word
            found: int = await connection.fetchval(statement, UUID(project_id))
            return found
        finally:
            await connection.close()


@pytest.fixture(scope="module")
def rabbit(rabbit_server: RabbitServer) -> Secret:
    return rabbit_server.add_virtual_host()


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, rabbit: Secret
) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), postgres_server, rabbit)
    try:
        for name in SERVICES:
            unmigrated = cluster.command(name, "check")
            assert unmigrated.process.wait(30) == 1
            assert "run migrate" in unmigrated.text()
            migrated = cluster.command(name, "migrate")
            assert migrated.process.wait(30) == 0, migrated.text()
            checked = cluster.command(name, "check")
            assert checked.process.wait(30) == 0, checked.text()
            cluster.start(name)
        cluster.start_gateway()
        yield cluster
    finally:
        for process in reversed(cluster.processes.values()):
            process.stop(within=20)


@pytest.fixture(scope="module")
def admin(cluster: Cluster) -> Client:
    return bootstrap(cluster.url)


@pytest.fixture
def place(admin: Client, request: pytest.FixtureRequest) -> dict[str, str]:
    project = admin.post_ok("/api/v1/projects", projectName=request.node.name[:60])["project"]
    return {"workspaceId": project["id"], "environment": "dev"}


def _values(client: Client, place: dict[str, str]) -> dict[str, str]:
    secrets = client.get_ok("/api/v3/secrets/raw", params=place)["secrets"]
    return {secret["secretKey"]: secret["secretValue"] for secret in secrets}


def _soon(fact: Any, within: float = 30.0) -> None:
    asyncio.run(eventually(fact, within=within, every=0.1))


def test_the_journey_goes_through_the_gateway(admin: Client, place: dict[str, str]) -> None:
    items = [{"secretKey": f"KEY_{n}", "secretValue": f"v{n}"} for n in range(3)]
    admin.post_ok("/api/v3/secrets/batch/raw", **place, secrets=items)
    assert _values(admin, place) == {"KEY_0": "v0", "KEY_1": "v1", "KEY_2": "v2"}

    details = admin.get_ok("/api/v1/identities/details")["identityDetails"]
    identity = admin.post_ok(
        "/api/v1/identities", name="ci", organizationId=details["organization"]["id"], role="no-access"
    )["identity"]
    base = f"/api/v1/auth/universal-auth/identities/{identity['id']}"
    login = {
        "clientId": admin.post_ok(base)["identityUniversalAuth"]["clientId"],
        "clientSecret": admin.post_ok(f"{base}/client-secrets")["clientSecret"],
    }
    machine = Client(admin.url, Client(admin.url).post_ok("/api/v1/auth/universal-auth/login", **login)["accessToken"])
    assert machine("GET", "/api/v3/secrets/raw", params=place)[0] == 403
    admin.post_ok(
        f"/api/v1/projects/{place['workspaceId']}/memberships/identities/{identity['id']}", roles=[{"role": "viewer"}]
    )
    _soon(lambda: machine("GET", "/api/v3/secrets/raw", params=place)[0] == 200)
    assert _values(machine, place)["KEY_1"] == "v1"
    assert machine("POST", "/api/v3/secrets/raw/NEW", json={**place, "secretValue": "x"})[0] == 403


def test_a_revoked_token_is_dead_everywhere_within_a_second(admin: Client, place: dict[str, str]) -> None:
    details = admin.get_ok("/api/v1/identities/details")["identityDetails"]
    identity = admin.post_ok(
        "/api/v1/identities", name="brief", organizationId=details["organization"]["id"], role="admin"
    )["identity"]
    base = f"/api/v1/auth/universal-auth/identities/{identity['id']}"
    login = {
        "clientId": admin.post_ok(base)["identityUniversalAuth"]["clientId"],
        "clientSecret": admin.post_ok(f"{base}/client-secrets")["clientSecret"],
    }
    token = Client(admin.url).post_ok("/api/v1/auth/universal-auth/login", **login)["accessToken"]
    admin.post_ok(
        f"/api/v1/projects/{place['workspaceId']}/memberships/identities/{identity['id']}", roles=[{"role": "viewer"}]
    )
    machine = Client(admin.url, token)
    _soon(lambda: machine("GET", "/api/v3/secrets/raw", params=place)[0] == 200)

    Client(admin.url).post_ok("/api/v1/auth/token/revoke", accessToken=token)
    started = time.monotonic()
    _soon(lambda: machine("GET", "/api/v3/secrets/raw", params=place)[0] == 401, within=5)
    assert time.monotonic() - started < 5


def test_status_documents_and_probes_answer(cluster: Cluster) -> None:
    client = Client(cluster.url)
    assert client.get_ok("/api/status")["message"] == "Ok"
    document = client.get_ok("/api/docs/json")
    assert {"/api/v1/projects", "/api/v3/secrets/raw"} <= set(document["paths"])
    assert requests.get(f"{cluster.url}/internal/openapi.json", timeout=5).status_code == 404
    for name in SERVICES:
        base = f"http://127.0.0.1:{cluster.internal_ports[name]}"
        assert requests.get(f"{base}/livez", timeout=5).status_code == 200
        assert requests.get(f"{base}/readyz", timeout=5).status_code == 200
        assert "strongroom_request_seconds" in requests.get(f"{base}/metrics", timeout=5).text


def test_without_rabbitmq_known_callers_read_and_write_and_nothing_is_lost(
    cluster: Cluster, admin: Client, place: dict[str, str], rabbit_server: RabbitServer
) -> None:
    admin.post_ok("/api/v3/secrets/raw/KEY", **place, secretValue="before")
    rabbit_server.stop()
    try:
        assert _values(admin, place) == {"KEY": "before"}
        admin.post_ok("/api/v3/secrets/raw/OTHER", **place, secretValue="meanwhile")
        late = admin.post_ok("/api/v1/projects", projectName="made while the broker was away")["project"]
        stranger = requests.get(f"http://127.0.0.1:{cluster.internal_ports['secrets']}/readyz", timeout=5)
        assert stranger.status_code == 503
    finally:
        rabbit_server.start()

    def is_back() -> bool:
        status, _ = admin(
            "POST",
            "/api/v3/secrets/raw/KEY",
            json={"workspaceId": late["id"], "environment": "dev", "secretValue": "after"},
        )
        return status in {200, 400}

    _soon(is_back, within=60)
    assert _values(admin, place) == {"KEY": "before", "OTHER": "meanwhile"}


def test_without_identity_known_callers_go_on_and_unknown_ones_get_503(
    cluster: Cluster, admin: Client, place: dict[str, str]
) -> None:
    admin.post_ok("/api/v3/secrets/raw/KEY", **place, secretValue="known")
    other = admin.post_ok("/api/v1/projects", projectName="never seen by secrets")["project"]
    cluster.processes["identity"].kill()

    assert _values(admin, place) == {"KEY": "known"}
    status, body = admin("GET", "/api/v3/secrets/raw", params={"workspaceId": other["id"], "environment": "dev"})
    assert (status, body["statusCode"]) == (503, 503)
    status, body = admin("GET", "/api/v1/projects")
    assert status in {502, 503}
    assert "identity" in body["message"]

    cluster.start("identity")
    _soon(
        lambda: admin("GET", "/api/v3/secrets/raw", params={"workspaceId": other["id"], "environment": "dev"})[0] == 200
    )


def test_a_killed_secrets_service_comes_back_with_everything(
    cluster: Cluster, admin: Client, place: dict[str, str]
) -> None:
    admin.post_ok("/api/v3/secrets/raw/KEY", **place, secretValue="kept")
    cluster.processes["secrets"].kill()
    assert admin("GET", "/api/v3/secrets/raw", params=place)[0] in {502, 503}
    while_away = admin.post_ok("/api/v1/projects", projectName="made while secrets was away")["project"]

    cluster.start("secrets")
    assert _values(admin, place) == {"KEY": "kept"}
    admin.post_ok(
        "/api/v3/secrets/raw/KEY", workspaceId=while_away["id"], environment="dev", secretValue="there at once"
    )


def test_a_project_deleted_while_secrets_is_away_is_gone_everywhere_when_it_comes_back(
    cluster: Cluster, admin: Client, place: dict[str, str]
) -> None:
    project_id = place["workspaceId"]
    admin.post_ok("/api/v3/secrets/raw/KEY", **place, secretValue="doomed")
    identity = admin.post_ok(f"/api/v1/projects/{project_id}/identities", name="resident")["identity"]
    base = f"/api/v1/auth/universal-auth/identities/{identity['id']}"
    login = {
        "clientId": admin.post_ok(base)["identityUniversalAuth"]["clientId"],
        "clientSecret": admin.post_ok(f"{base}/client-secrets")["clientSecret"],
    }
    membership = f"/api/v1/projects/{project_id}/memberships/identities/{identity['id']}"
    assert admin("PATCH", membership, json={"roles": [{"role": "viewer"}]})[0] == 200
    token = Client(admin.url).post_ok("/api/v1/auth/universal-auth/login", **login)["accessToken"]
    resident = Client(admin.url, token)
    _soon(lambda: resident("GET", "/api/v3/secrets/raw", params=place)[0] == 200)
    environment = admin.post_ok(f"/api/v1/projects/{project_id}/environments", name="QA", slug="qa")["environment"]
    admin.post_ok("/api/v3/secrets/raw/KEY", workspaceId=project_id, environment="qa", secretValue="doomed too")

    cluster.processes["secrets"].kill()
    path = f"/api/v1/projects/{project_id}"
    assert admin("DELETE", f"{path}/environments/{environment['id']}")[0] == 200
    assert admin("DELETE", path)[0] == 200
    assert resident("GET", "/api/v1/projects")[0] == 401
    assert Client(admin.url)("POST", "/api/v1/auth/universal-auth/login", json=login)[0] == 401
    assert asyncio.run(cluster.count("secrets", "secret_versions", project_id)) > 0

    async def is_empty(table: str) -> bool:
        return await cluster.count("secrets", table, project_id) == 0

    cluster.start("secrets")
    for table in ("secrets", "secret_versions", "folders", "environments"):
        _soon(partial(is_empty, table))
    assert admin("GET", "/api/v3/secrets/raw", params=place)[0] == 404
    assert resident("GET", "/api/v3/secrets/raw", params=place)[0] == 401


def test_wrong_settings_stop_the_start_with_one_line_each(cluster: Cluster) -> None:
    broken = Process(
        ["strongroom_secrets", "serve"],
        cluster.folder,
        {"STRONGROOM_SECRETS_PORT": "canary", "STRONGROOM_BUS_KEYS": "x", "STRONGROOM_SECRETS_BUS_URL": "amqp://x"},
    )
    assert broken.process.wait(20) == 2
    lines = broken.text().strip().splitlines()
    assert {line.split(":")[1].strip() for line in lines} == {
        "STRONGROOM_SECRETS_PORT",
        "STRONGROOM_SECRETS_DATABASE_URL",
        "STRONGROOM_SECRETS_MASTER_KEYS",
    }
    assert "canary" not in broken.text()
