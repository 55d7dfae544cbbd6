"""The journey of people: log in, choose an organization, work, invite, be told no, leave; all in the audit log."""

import asyncio
from typing import Any

import pytest
import requests
from journey.houses import Client, Standalone, bootstrap

from strongroom_common.testing.waiting import eventually

pytestmark = pytest.mark.timeout(120)

AGENT = {"User-Agent": "journey"}


@pytest.fixture(scope="module")
def admin(running: Standalone) -> Client:
    return bootstrap(running.url)


def _log_in(url: str, email: str, password: str) -> tuple[Client, requests.Session]:
    session = requests.Session()
    session.headers.update(AGENT)
    answer = session.post(f"{url}/api/v3/auth/login", json={"email": email, "password": password}, timeout=20)
    assert answer.status_code == 200, answer.text
    first = answer.json()["accessToken"]
    bearer = {"Authorization": f"Bearer {first}"}
    organizations = session.get(f"{url}/api/v1/organization", headers=bearer, timeout=20).json()["organizations"]
    chosen = session.post(
        f"{url}/api/v3/auth/select-organization",
        json={"organizationId": organizations[0]["id"]},
        headers=bearer,
        timeout=20,
    )
    assert chosen.status_code == 200, chosen.text
    return Client(url, chosen.json()["token"]), session


def test_people_work_beside_machines(running: Standalone, admin: Client) -> None:
    url = running.url
    ada, session = _log_in(url, " Ada@Example.com", "correct horse battery")
    organization = ada.get_ok("/api/v1/organization")["organizations"][0]

    project = ada.post_ok("/api/v1/projects", projectName="ours")["project"]
    place = {"workspaceId": project["id"], "environment": "dev"}
    ada.post_ok("/api/v3/secrets/raw/KEY", secretValue="shared", **place)
    ada.post_ok("/api/v3/secrets/raw/KEY", secretValue="mine", type="personal", **place)
    listed = ada.get_ok("/api/v3/secrets/raw", params=place)["secrets"]
    assert {secret["type"]: secret["secretValue"] for secret in listed} == {"shared": "shared", "personal": "mine"}

    invited = ada.post_ok(
        "/api/v1/invite-org/signup",
        inviteeEmails=["eve@example.com"],
        organizationId=organization["id"],
        organizationRoleSlug="member",
        projects=[{"id": project["id"], "projectRoleSlug": ["viewer"]}],
    )
    assert [link["email"] for link in invited["completeInviteLinks"]] == ["eve@example.com"]

    role = ada.post_ok(
        f"/api/v1/projects/{project['id']}/roles",
        slug="reader",
        name="Reader",
        permissions=[{"subject": "secrets", "action": ["describeSecret", "readValue"]}],
    )["role"]
    assert role["slug"] == "reader"
    environment = ada.post_ok(f"/api/v1/projects/{project['id']}/environments", name="Load test", slug="load-test")
    assert environment["environment"]["position"] == 4

    machine = _machine(ada, organization["id"])
    login = {key: machine[key] for key in ("clientId", "clientSecret")}
    reader = Client(url, Client(url).post_ok("/api/v1/auth/universal-auth/login", **login)["accessToken"])
    ada.post_ok(f"/api/v1/projects/{project['id']}/memberships/identities/{machine['id']}", roles=[{"role": "reader"}])
    assert reader.get_ok("/api/v3/secrets/raw/KEY", params=place)["secret"]["secretValue"] == "shared"
    refused = requests.post(
        f"{url}/api/v3/secrets/raw/NEW",
        json={**place, "secretValue": "x"},
        headers={"Authorization": f"Bearer {reader.token}"},
        timeout=20,
    )
    assert (refused.status_code, refused.json()["error"]) == (403, "PermissionDenied")
    decision = f"/api/v1/access/decisions/{refused.headers['X-Decision-Id']}"
    asyncio.run(eventually(lambda: admin("GET", decision)[0] == 200, within=20))
    assert reader("GET", decision)[0] == 200

    refreshed = session.post(f"{url}/api/v1/auth/token", timeout=20)
    assert refreshed.status_code == 200
    session.post(f"{url}/api/v1/auth/logout", headers={"Authorization": f"Bearer {ada.token}"}, timeout=20)
    assert session.post(f"{url}/api/v1/auth/token", timeout=20).status_code >= 400
    assert ada("GET", "/api/v1/projects")[0] in {401, 403}


def _machine(ada: Client, organization_id: str) -> dict[str, Any]:
    identity = ada.post_ok("/api/v1/identities", name="robot", organizationId=organization_id)["identity"]
    base = f"/api/v1/auth/universal-auth/identities/{identity['id']}"
    return {
        "id": identity["id"],
        "clientId": ada.post_ok(base)["identityUniversalAuth"]["clientId"],
        "clientSecret": ada.post_ok(f"{base}/client-secrets")["clientSecret"],
    }


def test_what_was_done_is_in_the_audit_log(admin: Client) -> None:
    def is_recorded() -> bool:
        logs = admin.get_ok("/api/v1/organization/audit-logs", params={"limit": "1000"})["auditLogs"]
        events = {record["event"]["type"] for record in logs}
        return {"create-project", "create-identity", "add-identity-universal-auth"} <= events

    asyncio.run(eventually(is_recorded, within=20))
    assert admin("GET", "/api/v1/organization/audit-logs", params={"limit": "1001"})[0] == 422
