"""Batches: all or nothing, and a refusal names each bad item. Endpoints 19, 20 and 21 of the base specification."""

from typing import Any

import pytest

from strongroom_common.kernel.ids import new_id


def items(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"secretKey": name, **more} for name in names]


async def test_many_are_created_at_once_field_for_field(world: Any) -> None:
    body = {
        "environment": "dev",
        "workspaceId": str(world.project.id),
        "secretPath": "/",
        "secrets": [
            {
                "secretKey": "A",
                "secretValue": "1",
                "secretComment": "c",
                "skipMultilineEncoding": True,
                "metadata": {"legacy": "map"},
                "secretMetadata": [{"key": "k", "value": "v"}],
                "tagIds": [],
            },
            {"secretKey": "B", "secretValue": ""},
        ],
    }
    answer = await world.send("POST", "/api/v3/secrets/batch/raw", json=body)
    assert answer.status == 200
    first, second = answer.json["secrets"]
    assert set(first) == {
        "id", "_id", "workspace", "environment", "type", "secretKey", "secretValue", "secretComment",
        "secretReminderNote", "version", "secretReminderRepeatDays", "createdAt", "updatedAt",
        "skipMultilineEncoding", "isRotatedSecret", "rotationId", "actor",
    }  # fmt: skip
    assert set(first["actor"]) == {"actorId", "actorType", "name", "membershipId", "groupId"}
    assert (first["secretKey"], first["secretValue"], first["secretComment"]) == ("A", "1", "c")
    assert (second["secretKey"], second["secretValue"], second["secretComment"]) == ("B", "", "")
    (record,) = await world.audited("create-secrets")
    assert [secret["secretKey"] for secret in record.metadata["secrets"]] == ["A", "B"]
    (event,) = world.running.said.of("secrets.secret.changed.v1")
    assert [secret["change"] for secret in event.payload["secrets"]] == ["created", "created"]
    assert event.actor.id == world.admin.id


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/api/v3/secrets/batch/raw"), ("DELETE", "/api/v4/secrets/batch")]
)
async def test_many_are_deleted_at_once_field_for_field(world: Any, method: str, path: str) -> None:
    made = await world.create_many({"A": "1", "B": "2", "C": "3"})
    project = {"projectId": str(world.project.id)} if "v4" in path else {"projectSlug": "shop"}
    body = {**project, "environment": "dev", "secrets": [{"secretKey": "B", "type": "shared"}, {"secretKey": "A"}]}
    answer = await world.send(method, path, json=body)
    assert answer.status == 200
    assert answer.json["secrets"] == [{**made[1], "secretValueHidden": False}, {**made[0], "secretValueHidden": False}]
    assert await world.names() == ["C"]
    assert len(await world.audited("delete-secrets")) == 1


async def test_a_create_with_one_taken_name_writes_nothing_and_names_it(world: Any) -> None:
    await world.create_many({"A": "1", "B": "2"})
    body = world.place(secrets=items("X", "A", "B", secretValue="new"))
    answer = await world.send("POST", "/api/v4/secrets/batch", json=body)
    assert answer.status == 400
    assert "'A'" in answer.json["message"]
    assert "'B'" in answer.json["message"]
    assert "'X'" not in answer.json["message"]
    assert [(s["secretKey"], s["secretValue"]) for s in (await world.find()).json["secrets"]] == [
        ("A", "1"),
        ("B", "2"),
    ]
    assert len(await world.rows("SELECT 1 FROM secret_versions")) == 2


async def test_a_name_twice_in_one_request_is_refused(world: Any) -> None:
    await world.create("A")
    for method in ("POST", "PATCH", "DELETE"):
        body = world.place(secrets=items("A", "B", "A", secretValue="v"))
        answer = await world.send(method, "/api/v4/secrets/batch", json=body)
        assert (answer.status, "'A'" in answer.json["message"]) == (400, True)


async def test_an_update_of_missing_names_follows_the_mode(world: Any) -> None:
    await world.create_many({"A": "1"})
    body = world.place(secrets=items("A", "GONE", "LOST", secretValue="2"))
    strict = await world.send("PATCH", "/api/v4/secrets/batch", json=body)
    assert strict.status == 404
    assert all(word in strict.json["message"] for word in ("'GONE'", "'LOST'", "/"))
    assert "'A'" not in strict.json["message"]
    assert (await world.get("A")).json["secret"]["version"] == 1

    ignored = await world.send("PATCH", "/api/v4/secrets/batch", json={**body, "mode": "ignore"})
    assert [(s["secretKey"], s["version"]) for s in ignored.json["secrets"]] == [("A", 2)]
    upserted = await world.send(
        "PATCH", "/api/v3/secrets/batch/raw", json={**body, "workspaceId": str(world.project.id), "mode": "upsert"}
    )
    assert [(s["secretKey"], s["version"]) for s in upserted.json["secrets"]] == [("A", 3), ("GONE", 1), ("LOST", 1)]
    assert {secret["secretValueHidden"] for secret in upserted.json["secrets"]} == {False}
    nothing = await world.send("PATCH", "/api/v4/secrets/batch", json=world.place(secrets=items("NO"), mode="ignore"))
    assert nothing.json == {"secrets": []}
    assert (await world.send("PATCH", "/api/v4/secrets/batch", json={**body, "mode": "other"})).status == 422


async def test_an_update_may_span_folders(world: Any) -> None:
    await world.add_folder("/a")
    await world.create("KEY", "root")
    await world.create("KEY", "deep", secretPath="/a")
    secrets = [{"secretKey": "KEY", "secretValue": "1"}, {"secretKey": "KEY", "secretPath": "/a/", "secretValue": "2"}]
    answer = await world.send("PATCH", "/api/v4/secrets/batch", json=world.place(secrets=secrets))
    assert answer.status == 200
    assert (await world.get("KEY")).json["secret"]["secretValue"] == "1"
    assert (await world.get("KEY", secretPath="/a")).json["secret"]["secretValue"] == "2"
    lost = [*secrets, {"secretKey": "KEY", "secretPath": "/nowhere"}]
    refused = await world.send("PATCH", "/api/v4/secrets/batch", json=world.place(secrets=lost, mode="upsert"))
    assert (refused.status, "/nowhere" in refused.json["message"]) == (404, True)
    assert (await world.get("KEY")).json["secret"]["version"] == 2
    await world.audited("update-secrets")
    events = world.running.said.of("secrets.secret.changed.v1")
    assert sorted(event.payload["path"] for event in events[-2:]) == ["/", "/a"]


async def test_new_names_of_a_batch_must_be_free(world: Any) -> None:
    await world.create_many({"A": "1", "B": "2", "C": "3"})
    for changes in (
        [{"secretKey": "A", "newSecretName": "B"}, {"secretKey": "B", "newSecretName": "A"}],
        [{"secretKey": "A", "newSecretName": "X"}, {"secretKey": "B", "newSecretName": "X"}],
        [{"secretKey": "A", "newSecretName": "X"}, {"secretKey": "X", "secretValue": "v"}],
    ):
        body = world.place(secrets=changes, mode="upsert")
        assert (await world.send("PATCH", "/api/v4/secrets/batch", json=body)).status == 400
    assert await world.names() == ["A", "B", "C"]
    bad = world.place(secrets=[{"secretKey": "A"}, {"secretKey": "B", "newSecretName": "x:y"}])
    answer = await world.send("PATCH", "/api/v4/secrets/batch", json=bad)
    assert (answer.status, answer.json["message"][0]["path"]) == (422, ["secrets", 1, "newSecretName"])
    made = world.place(secrets=items("A", "x:y"), mode="upsert")
    answer = await world.send("PATCH", "/api/v4/secrets/batch", json=made)
    assert (answer.status, answer.json["message"][0]["path"]) == (422, ["secrets", 1, "secretKey"])


async def test_a_delete_with_one_missing_name_deletes_nothing(world: Any) -> None:
    await world.create_many({"A": "1", "B": "2"})
    answer = await world.send("DELETE", "/api/v4/secrets/batch", json=world.place(secrets=items("A", "GONE")))
    assert (answer.status, "'GONE'" in answer.json["message"]) == (404, True)
    assert await world.names() == ["A", "B"]
    personal = world.place(secrets=[{"secretKey": "A", "type": "personal"}])
    assert (await world.send("DELETE", "/api/v4/secrets/batch", json=personal)).status == 400


async def test_a_thousand_secrets_are_one_handful_of_statements(world: Any, statements: list[str]) -> None:
    # The first reading and the first writing make and find keys.
    await world.create("FIRST")
    await world.create("SECOND")
    statements.clear()
    made = await world.create_many({f"KEY_{number:04}": f"value {number}" for number in range(1000)})
    assert len(made) == 1000
    # Find the place, lock it, see what is there, write secrets and versions, write the audit record. The event is one
    # more, but a job may just then send another.
    assert len([statement for statement in statements if "INTO outbox" not in statement]) == 5, statements
    assert len(await world.names()) == 1002


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/api/v3/secrets/batch/raw", "/api/v4/secrets/batch"])
async def test_the_error_matrix_of_batches(world: Any, method: str, path: str) -> None:
    await world.create("A")
    key, is_old = ("workspaceId", True) if "v3" in path else ("projectId", False)
    good = {key: str(world.project.id), "environment": "dev", "secrets": items("Z", secretValue="v")}

    async def status(**changes: Any) -> int:
        body = {name: value for name, value in {**good, **changes}.items() if value is not None}
        return (await world.send(method, path, json=body)).status

    assert await status(**{key: None}) == (400 if is_old else 422)
    assert await status(**{key: ""}) == (400 if is_old else 422)
    assert await status(**{key: str(new_id())}) == 404
    assert await status(**{key: "no-uuid"}) == 404
    if is_old:
        assert await status(workspaceId=None, projectSlug="unknown") == 404
    assert await status(environment=None) == 422
    assert await status(environment="") == 422
    assert await status(environment="nowhere") == 404
    assert await status(secretPath="/nowhere") == 404
    assert await status(secretPath="/a b") == 400
    assert await status(secretPath="/a/../b") == 400
    assert await status(secrets=[]) == 422
    assert await status(secrets=None) == 422
    assert await status(secrets="A") == 422
    assert await status(secrets=[{"secretValue": "v"}]) == 422
    assert await status(secrets=[{"secretKey": "", "secretValue": "v"}]) == 422
    assert await world.names() == ["A"]
