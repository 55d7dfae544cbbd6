"""Threats class 14: rules see the resolved resource. However a name is spelled, the decision is the same."""

from typing import Any
from urllib.parse import quote

import pytest

NAME = "CAF\u00c9"
NAMES = [NAME, "CAFE\u0301", f" {NAME}", f"{NAME} ", f"\u00a0{NAME}"]
PATHS = ["/private", "/private/", " /private", "/private ", " /private/ "]
ENVIRONMENTS = ["dev", " dev", "dev ", "DEV"]
ALL = ["describeSecret", "readValue", "create", "edit", "delete"]


def _denying(**conditions: Any) -> list[dict[str, Any]]:
    """Everything but what the conditions name."""
    return [
        {"subject": "secrets", "action": ALL},
        {"subject": "secret-folders", "action": ["create"]},
        {"subject": "secrets", "action": ALL, "inverted": True, "conditions": conditions},
    ]


@pytest.mark.parametrize("name", NAMES)
async def test_a_denied_name_stays_denied_in_every_spelling(world: Any, name: str) -> None:
    await world.create(quote(NAME))
    denied = world.member(_denying(secretName=NAME))

    for method in ("GET", "PATCH", "DELETE", "POST"):
        more: dict[str, Any] = (
            {"params": world.place()} if method == "GET" else {"json": world.place(secretValue="canary")}
        )
        answer = await world.send(method, f"/api/v4/secrets/{quote(name)}", by=denied, **more)
        assert answer.status == 403, (method, answer.text)
    for method in ("POST", "PATCH", "DELETE"):
        body = world.place(secrets=[{"secretKey": name, "secretValue": "canary"}])
        answer = await world.send(method, "/api/v4/secrets/batch", by=denied, json=body)
        assert answer.status == 403, (method, answer.text)
    renamed = world.place(newSecretName=name)
    await world.create("OTHER")
    assert (await world.send("PATCH", "/api/v4/secrets/OTHER", by=denied, json=renamed)).status in {400, 403}
    assert (await world.get(quote(NAME))).json["secret"]["secretValue"] == "v"


@pytest.mark.parametrize("path", PATHS)
async def test_a_denied_path_stays_denied_in_every_spelling(world: Any, path: str) -> None:
    await world.add_folder("/private")
    await world.create("KEY", secretPath="/private")
    denied = world.member(_denying(secretPath={"$glob": "/private{,/**}"}))

    assert (await world.get("KEY", by=denied, secretPath=path)).status == 403
    assert "KEY" not in (await world.find(by=denied, secretPath=path)).text
    body = world.place(secretPath=path, secretValue="canary")
    assert (await world.send("POST", "/api/v4/secrets/NEW", by=denied, json=body)).status == 403
    assert (await world.send("PATCH", "/api/v4/secrets/KEY", by=denied, json=body)).status == 403
    assert (await world.send("DELETE", "/api/v4/secrets/KEY", by=denied, json=body)).status == 403
    assert await world.names(secretPath="/private") == ["KEY"]


@pytest.mark.parametrize("path", ["/private/../private", "//private", "/./private", "/private%2f", "/privat\u0435"])
async def test_a_path_with_a_second_reading_is_refused(world: Any, path: str) -> None:
    await world.add_folder("/private")
    await world.create("KEY", secretPath="/private")

    assert (await world.get("KEY", secretPath=path)).status in {400, 422}
    assert (await world.find(secretPath=path)).status in {400, 422}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
async def test_a_denied_environment_stays_denied_in_every_spelling(world: Any, environment: str) -> None:
    await world.create("KEY")
    denied = world.member(_denying(environment="dev"))

    place = {"projectId": str(world.project.id), "environment": environment}
    assert (await world.send("GET", "/api/v4/secrets/KEY", by=denied, params=place)).status in {403, 404, 422}
    listed = await world.send("GET", "/api/v4/secrets", by=denied, params=place)
    assert "KEY" not in listed.text
    body = {**place, "secretValue": "canary"}
    assert (await world.send("PATCH", "/api/v4/secrets/KEY", by=denied, json=body)).status in {403, 404, 422}
    assert (await world.get("KEY")).json["secret"]["secretValue"] == "v"
