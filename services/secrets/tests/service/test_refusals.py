"""Who and what is refused, with the contract's status and body, and nothing changed."""

from datetime import timedelta
from typing import Any

import pytest

from strongroom_common.kernel.ids import new_id

OLD_GET, NEW_GET = "/api/v3/secrets/raw/KEY", "/api/v4/secrets/KEY"


@pytest.mark.parametrize("version", ["v3", "v4"])
async def test_the_error_matrix_of_reads(world: Any, version: str) -> None:
    await world.create("KEY")
    is_old = version == "v3"
    key = "workspaceId" if is_old else "projectId"
    good = {key: str(world.project.id), "environment": "dev"}
    base = "/api/v3/secrets/raw" if is_old else "/api/v4/secrets"

    async def statuses(**changes: str | None) -> tuple[int, int]:
        query = {name: value for name, value in {**good, **changes}.items() if value is not None}
        listed = await world.send("GET", base, params=query)
        read = await world.send("GET", f"{base}/KEY", params=query)
        return listed.status, read.status

    missing = 400 if is_old else 422
    assert await statuses() == (200, 200)
    assert await statuses(**{key: None}) == (missing, missing)
    assert await statuses(**{key: " "}) == (missing, missing)
    assert await statuses(environment=None) == (400, 400)
    assert await statuses(**{key: str(new_id())}) == (404, 404)
    assert await statuses(environment="nowhere") == (404, 404)
    assert await statuses(secretPath="/nowhere") == (200, 404)
    assert await statuses(secretPath="/a/../b") == (400, 400)
    assert await statuses(viewSecretValue="maybe") == (422, 422)
    assert await statuses(expandSecretReferences="1") == (422, 422)
    assert await statuses(include_imports="") == (422, 422)
    assert await statuses(unknown="field") == (200, 200)
    if is_old:
        assert await statuses(workspaceId=None, workspaceSlug="unknown") == (404, 404)
    assert (await world.send("GET", f"{base}/NONE", params=good)).status == 404
    assert (await world.send("GET", f"{base}/KEY", params={**good, "version": "x"})).status == 422
    assert (await world.send("GET", f"{base}/KEY", params={**good, "version": "99999999999"})).status == 422
    assert (await world.send("GET", f"{base}/KEY", params={**good, "type": "other"})).status == 422
    for unknown in (str(new_id()), "no-uuid"):
        assert (await world.send("GET", f"{base}/id/{unknown}")).status == 404


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", [OLD_GET, NEW_GET])
async def test_the_error_matrix_of_writes(world: Any, method: str, path: str) -> None:
    if method != "POST":
        await world.create("KEY")
    key, is_old = ("workspaceId", True) if "v3" in path else ("projectId", False)
    good = {key: str(world.project.id), "environment": "dev", "secretValue": "v"}

    async def status(at: str = path, **changes: Any) -> int:
        body = {name: value for name, value in {**good, **changes}.items() if value is not None}
        return (await world.send(method, at, json=body)).status

    assert await status(**{key: None}) == (400 if is_old else 422)
    assert await status(**{key: str(new_id())}) == 404
    assert await status(environment=None) == 422
    assert await status(environment="nowhere") == 404
    assert await status(secretPath="/nowhere") == 404
    assert await status(secretPath="/a*") == 400
    assert await status(type="personal") == 400
    assert await status(type="other") == 422
    if method != "DELETE":
        assert await status(secretValue=7) == 422
        assert await status(secretReminderNote="x" * 1025) == 422
        assert await status(secretMetadata=[{"value": "v"}]) == 422
        assert await status(secretMetadata=[{"key": "x" * 256}]) == 422
        assert await status(secretMetadata=[{"key": "x", "value": "y" * 1021}]) == 422
    if method == "POST":
        assert await status(secretValue=None) == 422
        assert await status() == 200
        assert await status() == 400
    else:
        assert await status(path.replace("KEY", "NONE")) == 404
    assert len(await world.rows("SELECT 1 FROM secret_versions")) == 1


async def test_who_is_nobody_or_of_another_house_gets_nothing(world: Any) -> None:
    made = await world.create("KEY", "s3cret")
    folder = await world.add_folder("/a")
    stranger = world.identity.add_machine()
    foreigner = world.identity.add_machine(organization_id=new_id())
    project_id = str(world.project.id)
    place = {"projectId": project_id, "environment": "dev"}
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/api/v4/secrets", {"params": place}),
        ("GET", "/api/v4/secrets/KEY", {"params": place}),
        ("GET", f"/api/v4/secrets/id/{made['id']}", {}),
        ("GET", "/api/v3/secrets/raw", {"params": {"workspaceSlug": "shop", "environment": "dev"}}),
        ("GET", "/api/v3/secrets/raw", {"params": {"workspaceSlug": "shop", "environment": "nowhere"}}),
        ("POST", "/api/v4/secrets/NEW", {"json": {**place, "secretValue": "v"}}),
        ("PATCH", "/api/v4/secrets/KEY", {"json": {**place, "secretValue": "v"}}),
        ("DELETE", "/api/v4/secrets/KEY", {"json": place}),
        ("POST", "/api/v4/secrets/batch", {"json": {**place, "secrets": [{"secretKey": "N", "secretValue": "v"}]}}),
        ("PATCH", "/api/v4/secrets/batch", {"json": {**place, "secrets": [{"secretKey": "KEY"}], "mode": "upsert"}}),
        ("DELETE", "/api/v4/secrets/batch", {"json": {**place, "secrets": [{"secretKey": "KEY"}]}}),
        ("GET", "/api/v2/folders", {"params": {**place, "path": "/"}}),
        ("GET", f"/api/v2/folders/{folder['id']}", {}),
        ("POST", "/api/v2/folders", {"json": {**place, "name": "b"}}),
        ("DELETE", f"/api/v2/folders/{folder['id']}", {"json": {**place, "forceDelete": True}}),
    ]
    for method, path, more in calls:
        for bearer, status in ((stranger, 403), (foreigner, 404)):
            answer = await world.send(method, path, by=bearer, **more)
            assert (answer.status, method, path) == (status, method, path)
            assert "s3cret" not in answer.text
        assert (await world.running.http.send(method, path, **more)).status == 401
        bad = await world.running.http.send(method, path, token="not.a.token", **more)
        assert (bad.status, bad.json["error"]) == (403, "TokenError")
    assert await world.names() == ["KEY"]
    assert (await world.get("KEY")).json["secret"]["version"] == 1


async def test_a_revoked_and_an_expired_token_are_refused(world: Any) -> None:
    machine = world.member(({"subject": "secrets", "action": ["read"]},))
    assert (await world.find(by=machine)).status == 200
    await world.identity.revoke(machine)
    assert (await world.find(by=machine)).status == 401
    expired = world.identity.sign(
        {
            "authTokenType": "identityAccessToken",
            "identityAccessTokenId": str(new_id()),
            "exp": (world.running.clock.now() - timedelta(seconds=1)).timestamp(),
        }
    )
    answer = await world.running.http.get("/api/v4/secrets", token=expired, params=world.place())
    assert (answer.status, answer.json["error"]) == (403, "TokenError")


async def test_without_identity_nothing_new_is_decided(world: Any) -> None:
    machine = world.member(({"subject": "secrets", "action": ["read"]},))
    await world.create("KEY")
    world.identity.is_away = True
    assert (await world.get("KEY")).status == 200
    assert (await world.get("KEY", by=machine)).status == 503


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"{", 400),
        (b"[]", 422),
        (b'"canary-4711"', 422),
        (b'{"projectId": "canary-4711" "environment"}', 400),
        (b"\xff\xfe", 400),
        (b"[" * 100 + b"]" * 100, 400),
        (b'{"secretValue": {"canary-4711": 1}, "environment": "dev", "projectId": "x"}', 422),
        (b'{"secretValue": ["canary-4711"], "environment": 4711, "projectId": true}', 422),
        (b'{"secretValue": "\\ud800", "environment": "dev", "projectId": "x"}', 400),
    ],
)
async def test_a_malformed_body_changes_and_repeats_nothing(world: Any, raw: bytes, status: int) -> None:
    for method, path in (("POST", NEW_GET), ("PATCH", NEW_GET), ("POST", "/api/v4/secrets/batch")):
        answer = await world.send(method, path, raw=raw, headers={"Content-Type": "application/json"})
        assert answer.status == status
        assert set(answer.json) >= {"reqId", "statusCode", "error", "message"}
        assert "canary" not in answer.text
        assert "4711" not in answer.text
    assert await world.names() == []


async def test_an_oversized_body_is_refused_before_it_is_read(world: Any) -> None:
    length = {"Content-Type": "application/json", "Content-Length": str(100 * 1024 * 1024)}
    answer = await world.send("POST", NEW_GET, raw=b"{", headers=length)
    assert (answer.status, answer.json["error"]) == (413, "PayloadTooLarge")


async def test_a_text_that_cannot_be_stored_is_refused(world: Any) -> None:
    for body in ({"secretReminderNote": "a\x00b"}, {"secretMetadata": [{"key": "a", "value": "b\x00"}]}):
        answer = await world.send("POST", NEW_GET, json=world.place(secretValue="v", **body))
        assert answer.status in {400, 422}
    assert await world.names() == []
