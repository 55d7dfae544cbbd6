"""The first journey of a stranger: bootstrap, project, secrets, machine login; by hand and with the Python SDK."""

from typing import Any

import pytest
from infisical_sdk import InfisicalSDKClient
from infisical_sdk.infisical_requests import APIError
from journey.houses import Client, Standalone, bootstrap

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def admin(running: Standalone) -> Client:
    return bootstrap(running.url)


@pytest.fixture
def project(admin: Client, request: pytest.FixtureRequest) -> Any:
    return admin.post_ok("/api/v1/projects", projectName=request.node.name[:60])["project"]


@pytest.fixture(scope="module")
def credentials(admin: Client) -> dict[str, str]:
    """A universal-auth client of the admin identity, made over HTTP."""
    token_identity = admin.get_ok("/api/v1/identities/details")
    assert token_identity["identityDetails"]["organization"]["name"] == "Acme"
    organization = token_identity["identityDetails"]["organization"]["id"]
    identity = admin.post_ok("/api/v1/identities", name="ci", organizationId=organization, role="admin")["identity"]
    base = f"/api/v1/auth/universal-auth/identities/{identity['id']}"
    client_id = admin.post_ok(base)["identityUniversalAuth"]["clientId"]
    secret = admin.post_ok(f"{base}/client-secrets")["clientSecret"]
    return {"identityId": identity["id"], "clientId": client_id, "clientSecret": secret}


def test_the_whole_journey_over_http(admin: Client, project: Any, credentials: dict[str, str]) -> None:
    assert [environment["slug"] for environment in project["environments"]] == ["dev", "staging", "prod"]
    listed = admin.get_ok("/api/v1/projects", params={"includeRoles": "true", "type": "secret-manager"})["projects"]
    assert project["id"] in {found["id"] for found in listed}
    assert {"admin", "member", "viewer", "no-access"} <= {role["slug"] for found in listed for role in found["roles"]}
    assert admin.get_ok("/api/v1/projects", params={"type": "kms"})["projects"] == []

    made = admin.post_ok(
        "/api/v3/secrets/batch/raw",
        workspaceId=project["id"],
        environment="dev",
        secretPath="/",
        secrets=[{"secretKey": f"KEY_{n}", "secretValue": f"value {n}"} for n in range(3)],
    )["secrets"]
    assert [secret["secretKey"] for secret in made] == ["KEY_0", "KEY_1", "KEY_2"]

    admin.post_ok(
        f"/api/v1/projects/{project['id']}/memberships/identities/{credentials['identityId']}",
        roles=[{"role": "member"}],
    )
    login = {key: credentials[key] for key in ("clientId", "clientSecret")}
    for way in ({"json": login}, {"data": login}):
        status, answer = Client(admin.url)("POST", "/api/v1/auth/universal-auth/login/", **way)
        assert (status, answer["tokenType"]) == (200, "Bearer")
        machine = Client(admin.url, answer["accessToken"])
        query = {"workspaceId": project["id"], "environment": "dev"}
        secrets = machine.get_ok("/api/v3/secrets/raw", params=query)["secrets"]
        assert [(secret["secretKey"], secret["secretValue"]) for secret in secrets] == [
            ("KEY_0", "value 0"),
            ("KEY_1", "value 1"),
            ("KEY_2", "value 2"),
        ]
        one = machine.get_ok("/api/v3/secrets/raw/KEY_1", params=query)["secret"]
        assert (one["secretValue"], one["workspace"], one["version"]) == ("value 1", project["id"], 1)

    status, gone = admin(
        "DELETE",
        "/api/v3/secrets/batch/raw",
        json={
            "projectSlug": project["slug"],
            "environment": "dev",
            "secrets": [{"secretKey": "KEY_0", "type": "shared"}],
        },
    )
    assert (status, [secret["secretKey"] for secret in gone["secrets"]]) == (200, ["KEY_0"])
    status, gone = admin(
        "DELETE",
        "/api/v4/secrets/batch",
        json={"projectId": project["id"], "environment": "dev", "secrets": [{"secretKey": "KEY_1"}]},
    )
    assert (status, [secret["secretKey"] for secret in gone["secrets"]]) == (200, ["KEY_1"])
    left = admin.get_ok("/api/v3/secrets/raw", params={"workspaceSlug": project["slug"], "environment": "dev"})
    assert [secret["secretKey"] for secret in left["secrets"]] == ["KEY_2"]
    again = {"email": "eve@example.com", "password": "x", "organization": "y"}
    status, body = Client(admin.url)("POST", "/api/v1/admin/bootstrap", json=again)
    assert (status, body["error"], body["message"]) == (400, "BadRequest", "Instance has already been set up")


def test_the_python_sdk_works_unchanged(admin: Client, project: Any, credentials: dict[str, str]) -> None:
    admin.post_ok(
        f"/api/v1/projects/{project['id']}/memberships/identities/{credentials['identityId']}",
        roles=[{"role": "admin"}],
    )
    with InfisicalSDKClient(host=admin.url, cache_ttl=None) as sdk:
        sdk.auth.universal_auth.login(credentials["clientId"], credentials["clientSecret"])
        place = {"project_id": project["id"], "environment_slug": "dev", "secret_path": "/"}

        created = sdk.secrets.create_secret_by_name(
            secret_name="DATABASE_URL", secret_value="postgres://db", secret_comment="main", **place
        )
        assert (created.secretKey, created.secretValue, created.version) == ("DATABASE_URL", "postgres://db", 1)
        assert [secret.secretKey for secret in sdk.secrets.list_secrets(**place).secrets] == ["DATABASE_URL"]
        found = sdk.secrets.get_secret_by_name(secret_name="DATABASE_URL", **place)
        assert (found.secretValue, found.secretComment, found.secretPath) == ("postgres://db", "main", "/")
        changed = sdk.secrets.update_secret_by_name(
            current_secret_name="DATABASE_URL", new_secret_name="DB_URL", secret_value="postgres://db2", **place
        )
        assert (changed.secretKey, changed.version) == ("DB_URL", 2)
        deleted = sdk.secrets.delete_secret_by_name(secret_name="DB_URL", **place)
        assert deleted.secretKey == "DB_URL"
        with pytest.raises(APIError) as missing:
            sdk.secrets.get_secret_by_name(secret_name="DB_URL", **place)
        assert missing.value.status_code == 404


def test_writing_to_a_new_project_in_the_next_request_works_every_time(admin: Client) -> None:
    for number in range(25):
        project = admin.post_ok("/api/v1/projects", projectName=f"fresh {number}")["project"]
        selector = {"workspaceId": project["id"]} if number % 2 else {"projectSlug": project["slug"]}
        admin.post_ok("/api/v3/secrets/raw/KEY", environment="prod", secretValue="v", **selector)
