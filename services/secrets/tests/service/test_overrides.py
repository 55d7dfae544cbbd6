"""Personal overrides: a user's own value of a shared secret."""

from typing import Any

from strongroom_common.testing.waiting import eventually


async def test_an_override_is_its_users_alone(world: Any) -> None:
    one, other = world.user(), world.user()
    await world.create("KEY", "shared")
    made = await world.create("KEY", "mine", by=one, type="personal")
    assert made["type"] == "personal"
    assert (await world.get("KEY", by=one, type="personal")).json["secret"]["secretValue"] == "mine"
    assert (await world.get("KEY", by=one)).json["secret"]["secretValue"] == "shared"
    assert (await world.get("KEY", by=other, type="personal")).status == 404
    assert (await world.send("GET", f"/api/v4/secrets/id/{made['id']}", by=one)).json["secret"]["secretValue"] == "mine"
    assert (await world.send("GET", f"/api/v4/secrets/id/{made['id']}", by=other)).status == 403
    assert (await world.get("KEY", by=one, type="personal", viewSecretValue="false")).json["secret"][
        "secretValue"
    ] == "mine"


async def test_lists_show_overrides_beside_or_instead(world: Any) -> None:
    user = world.user()
    await world.create_many({"A": "shared", "B": "shared"})
    await world.create("A", "mine", by=user, type="personal")
    place = {"workspaceId": str(world.project.id), "environment": "dev"}
    old = await world.send("GET", "/api/v3/secrets/raw", by=user, params=place)
    assert [(s["secretKey"], s["type"], s["secretValue"]) for s in old.json["secrets"]] == [
        ("A", "personal", "mine"),
        ("A", "shared", "shared"),
        ("B", "shared", "shared"),
    ]
    new = (await world.find(by=user)).json["secrets"]
    assert [(s["secretKey"], s["type"]) for s in new] == [("A", "shared"), ("B", "shared")]
    instead = (await world.find(by=user, includePersonalOverrides="true")).json["secrets"]
    assert [(s["secretKey"], s["type"]) for s in instead] == [("A", "personal"), ("B", "shared")]


async def test_an_override_needs_a_user_and_a_shared_secret(world: Any) -> None:
    user = world.user()
    body = world.place(secretValue="v", type="personal")
    assert (await world.send("POST", "/api/v4/secrets/KEY", by=user, json=body)).status == 400
    await world.create("KEY")
    for method in ("POST", "PATCH", "DELETE"):
        assert (await world.send(method, "/api/v4/secrets/KEY", json=body)).status == 400
    assert (await world.send("POST", "/api/v4/secrets/KEY", by=user, json=body)).status == 200
    assert (await world.send("POST", "/api/v4/secrets/KEY", by=user, json=body)).status == 400


async def test_an_override_changes_and_goes_without_touching_the_shared_one(world: Any) -> None:
    user = world.user()
    await world.create("KEY", "shared")
    await world.create("KEY", "mine", by=user, type="personal")
    await eventually(lambda: len(world.running.said.of("secrets.secret.changed.v1")) == 1)
    body = world.place(type="personal", secretValue="changed")
    assert (await world.send("PATCH", "/api/v4/secrets/KEY", by=user, json=body)).json["secret"]["version"] == 2
    renamed = world.place(type="personal", newSecretName="OTHER")
    assert (await world.send("PATCH", "/api/v4/secrets/KEY", by=user, json=renamed)).status == 400
    await world.send("PATCH", "/api/v4/secrets/KEY", json=world.place(newSecretName="NEW"))
    assert (await world.get("NEW", by=user, type="personal")).json["secret"]["secretValue"] == "changed"
    gone = await world.send("DELETE", "/api/v4/secrets/NEW", by=user, json=world.place(type="personal"))
    assert gone.json["secret"]["type"] == "personal"
    assert (await world.get("NEW")).json["secret"]["secretValue"] == "shared"
    await world.audited("delete-secret")
    assert len(world.running.said.of("secrets.secret.changed.v1")) == 2


async def test_deleting_the_shared_secret_removes_its_overrides(world: Any) -> None:
    user = world.user()
    await world.create("KEY")
    await world.create("KEY", "mine", by=user, type="personal")
    await world.send("DELETE", "/api/v4/secrets/KEY", json=world.place())
    assert (await world.get("KEY", by=user, type="personal")).status == 404
    assert await world.rows("SELECT 1 FROM secrets") == []
