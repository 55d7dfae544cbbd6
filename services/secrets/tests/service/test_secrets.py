"""Secrets, one at a time: from the request to the row and back."""

from datetime import timedelta
from typing import Any

import pytest

from strongroom_common.testing.waiting import eventually

BASE = {
    "id", "_id", "workspace", "environment", "version", "type", "secretKey", "secretValue", "secretComment",
    "secretReminderNote", "secretReminderRepeatDays", "skipMultilineEncoding", "createdAt", "updatedAt", "actor",
    "isRotatedSecret", "rotationId",
}  # fmt: skip

PEM = "-----BEGIN KEY-----\nMC4CAQAw\nBQYDK2Vw\n-----END KEY-----\n"


async def test_a_secret_is_created_and_read_back_by_name_and_by_id(world: Any) -> None:
    made = await world.create(
        "API_KEY", "s3cret", secretComment=" why ", secretReminderNote="renew", secretReminderRepeatDays=30
    )
    assert set(made) == BASE
    assert made["_id"] == made["id"]
    assert made["workspace"] == str(world.project.id)
    assert (made["environment"], made["version"], made["type"]) == ("dev", 1, "shared")
    assert (made["secretKey"], made["secretValue"], made["secretComment"]) == ("API_KEY", "s3cret", "why")
    assert (made["secretReminderNote"], made["secretReminderRepeatDays"]) == ("renew", 30)
    assert made["createdAt"] == made["updatedAt"] == "2026-01-02T09:00:00.000Z"
    assert made["actor"]["actorId"] == str(world.admin.id)
    assert (made["isRotatedSecret"], made["rotationId"]) == (False, None)

    by_name = (await world.get("API_KEY")).json["secret"]
    more = {"secretPath": "/", "secretMetadata": [], "tags": []}
    assert by_name == {**made, **more, "secretValueHidden": False}
    for version in ("v3/secrets/raw", "v4/secrets"):
        by_id = await world.send("GET", f"/api/{version}/id/{made['id']}")
        assert by_id.json == {"secret": {**made, **more}}
    (record,) = await world.audited("create-secret")
    assert record.actor.id == world.admin.id
    assert record.project_id == world.project.id
    assert record.metadata["secretKey"] == "API_KEY"
    assert len(await world.audited("get-secret", 3)) == 3


async def test_the_old_routes_do_the_same_by_slug_or_id(world: Any) -> None:
    place = {"projectSlug": "shop", "environment": "dev", "secretPath": "/"}
    made = await world.send("POST", "/api/v3/secrets/raw/KEY", json={**place, "secretValue": "1", "type": "shared"})
    assert made.status == 200
    body = {"workspaceId": str(world.project.id), "projectSlug": "nothing", "environment": "dev"}
    changed = await world.send(
        "PATCH", "/api/v3/secrets/raw/KEY", json={**body, "secretName": "KEY", "secretValue": "2"}
    )
    assert changed.json["secret"]["version"] == 2
    query = {"workspaceId": "", "workspaceSlug": "SHOP ", "environment": " dev ", "include_imports": "False"}
    read = await world.send("GET", "/api/v3/secrets/raw/KEY", params=query)
    assert read.json["secret"]["secretValue"] == "2"
    listed = await world.send("GET", "/api/v3/secrets/raw", params=query)
    assert [secret["secretKey"] for secret in listed.json["secrets"]] == ["KEY"]
    assert listed.json["imports"] == []
    gone = await world.send("DELETE", "/api/v3/secrets/raw/KEY", json=place)
    assert gone.json["secret"]["secretValueHidden"] is False
    assert (await world.send("GET", "/api/v3/secrets/raw/KEY", params=query)).status == 404


@pytest.mark.parametrize(
    "value",
    [PEM, "Grüße 🔑 \u202e\u0000 ende", "x" * 65_536, "null", "{}", "${OTHER}", "'\"\\", "a\r\nb", "0", "e\u0301"],
    ids=["pem", "unicode", "64KiB", "null", "braces", "reference", "quotes", "crlf", "zero", "decomposed"],
)
async def test_a_value_survives_byte_for_byte(world: Any, value: str) -> None:
    assert (await world.create("KEY", value, secretComment=value))["secretValue"] == value
    assert (await world.get("KEY")).json["secret"]["secretValue"] == value
    assert (await world.get("KEY", version="1")).json["secret"]["secretValue"] == value
    (listed,) = (await world.find()).json["secrets"]
    assert (listed["secretValue"], listed["secretComment"]) == (value, value.strip())
    gone = await world.send("DELETE", "/api/v4/secrets/KEY", json=world.place())
    assert gone.json["secret"]["secretValue"] == value


async def test_a_value_is_trimmed_as_the_contract_says(world: Any) -> None:
    assert (await world.create("A", "  one \n\n"))["secretValue"] == "one\n"
    changed = await world.send("PATCH", "/api/v4/secrets/A", json=world.place(secretValue="\ttwo "))
    assert changed.json["secret"]["secretValue"] == "two"
    (batch,) = await world.create_many({"B": " three "})
    assert batch["secretValue"] == "three"


async def test_an_update_changes_what_it_mentions_and_keeps_the_old_version(world: Any) -> None:
    metadata = [{"key": "team", "value": "a"}, {"key": "pin", "value": "1234", "isEncrypted": True}]
    await world.create("KEY", "one", secretComment="c", secretMetadata=metadata, skipMultilineEncoding=True)
    world.running.clock.advance(timedelta(minutes=1))
    changed = (await world.send("PATCH", "/api/v4/secrets/KEY", json=world.place(secretComment=""))).json["secret"]
    assert set(changed) == BASE | {"secretValueHidden"}
    assert (changed["version"], changed["secretValue"], changed["secretComment"]) == (2, "one", "")
    assert (changed["skipMultilineEncoding"], changed["secretValueHidden"]) == (True, False)
    assert changed["updatedAt"] > changed["createdAt"]
    await world.send("PATCH", "/api/v4/secrets/KEY", json=world.place(secretValue="", secretMetadata=[]))

    now = (await world.get("KEY")).json["secret"]
    assert (now["version"], now["secretValue"], now["secretMetadata"]) == (3, "", [])
    first = (await world.get("KEY", version="1")).json["secret"]
    assert (first["id"], first["version"], first["secretValue"], first["secretComment"]) == (now["id"], 1, "one", "c")
    assert first["secretMetadata"] == [
        {"key": "team", "value": "a", "isEncrypted": False},
        {"key": "pin", "value": "1234", "isEncrypted": True},
    ]
    assert (await world.get("KEY", version="4")).status == 404
    assert (await world.get("KEY", version="0")).status == 422
    records = await world.audited("update-secret", 2)
    assert records[0].metadata["secretMetadata"][1] == {"key": "pin", "value": "", "isEncrypted": True}


async def test_a_rename_keeps_id_and_history(world: Any) -> None:
    made = await world.create("OLD", "one")
    await world.create("TAKEN")
    changed = await world.send("PATCH", "/api/v4/secrets/OLD", json=world.place(newSecretName=" NEW "))
    assert (changed.json["secret"]["id"], changed.json["secret"]["version"]) == (made["id"], 2)
    assert (await world.get("OLD")).status == 404
    assert (await world.get("OLD", version="1")).json["secret"]["id"] == made["id"]
    assert (await world.get("NEW", version="2")).json["secret"]["secretValue"] == "one"
    for name, status in (("TAKEN", 400), ("", 400), ("a/b", 422)):
        answer = await world.send("PATCH", "/api/v4/secrets/NEW", json=world.place(newSecretName=name))
        assert answer.status == status
    (event,) = await eventually(
        lambda: [
            e for e in world.running.said.of("secrets.secret.changed.v1") if e.payload["secrets"][0]["previous_key"]
        ]
    )
    assert event.payload["secrets"][0]["previous_key"] == "OLD"


async def test_a_deleted_secret_is_gone_but_its_versions_can_be_read(world: Any) -> None:
    made = await world.create("KEY", "one")
    gone = (await world.send("DELETE", "/api/v4/secrets/KEY", json=world.place())).json["secret"]
    assert (gone["id"], gone["secretValue"], gone["secretValueHidden"]) == (made["id"], "one", False)
    assert (await world.get("KEY")).status == 404
    assert (await world.get("KEY", version="1")).json["secret"]["secretValue"] == "one"
    assert (await world.send("DELETE", "/api/v4/secrets/KEY", json=world.place())).status == 404
    assert (await world.create("KEY", "two"))["id"] != made["id"]
    assert len(await world.audited("delete-secret")) == 1


async def test_names_are_case_sensitive_and_odd_ones_are_reachable(world: Any) -> None:
    await world.create("key", "lower")
    await world.create("KEY", "upper")
    await world.create("with%20blank", "blank")
    await world.create("e%CC%81", "composed")
    assert (await world.get("key")).json["secret"]["secretValue"] == "lower"
    assert (await world.get("with%20blank")).json["secret"]["secretKey"] == "with blank"
    assert (await world.get("%C3%A9")).json["secret"]["secretValue"] == "composed"
    assert (await world.get("a%3Ab")).status == 404


@pytest.mark.parametrize("name", ["a%3Ab", "x" * 501])
async def test_a_new_name_out_of_rule_is_unprocessable(world: Any, name: str) -> None:
    answer = await world.send("POST", f"/api/v4/secrets/{name}", json=world.place(secretValue="v"))
    assert answer.status == 422
    assert answer.json["message"][0]["path"] == ["secretName"]
    assert await world.names() == []


async def test_a_project_may_demand_upper_case_names(world: Any) -> None:
    await world.create("lower")
    strict = world.identity.change_project(world.project, auto_capitalization=True)
    await world.identity.say_updated(strict)
    answer = await world.send("POST", "/api/v4/secrets/other", json=world.place(secretValue="v"))
    assert (answer.status, "other" in answer.json["message"]) == (400, True)
    renamed = await world.send("PATCH", "/api/v4/secrets/lower", json=world.place(newSecretName="Lower"))
    assert renamed.status == 400
    assert (await world.send("PATCH", "/api/v4/secrets/lower", json=world.place(secretValue="2"))).status == 200
    items = [{"secretKey": "GOOD", "secretValue": "v"}, {"secretKey": "bad", "secretValue": "v"}]
    batch = await world.send("POST", "/api/v4/secrets/batch", json=world.place(secrets=items))
    assert (batch.status, "'bad'" in batch.json["message"], "GOOD" in batch.json["message"]) == (400, True, False)
    assert await world.names() == ["lower"]


async def test_an_unknown_tag_is_not_found_and_filters_everything_out(world: Any) -> None:
    await world.create("KEY")
    tagged = {"secretValue": "v", "tagIds": ["no-such-tag"]}
    assert (await world.send("POST", "/api/v4/secrets/OTHER", json=world.place(**tagged))).status == 404
    assert (await world.send("PATCH", "/api/v4/secrets/KEY", json=world.place(**tagged))).status == 404
    assert await world.names(tagSlugs="a, b") == []
    assert await world.names(tagSlugs=" , ") == ["KEY"]


async def test_a_rotated_secret_keeps_its_value_and_name(world: Any) -> None:
    made = await world.create("KEY", "one")
    await world.rows("UPDATE secrets SET rotation_id = $1 WHERE id = $2", world.project.id, made["id"])
    read = (await world.get("KEY")).json["secret"]
    assert (read["isRotatedSecret"], read["rotationId"]) == (True, str(world.project.id))
    for change in ({"secretValue": "two"}, {"newSecretName": "OTHER"}):
        assert (await world.send("PATCH", "/api/v4/secrets/KEY", json=world.place(**change))).status == 400
    assert (await world.send("PATCH", "/api/v4/secrets/KEY", json=world.place(secretComment="fine"))).status == 200
    assert (await world.send("DELETE", "/api/v4/secrets/KEY", json=world.place())).status == 400
    batch = world.place(secrets=[{"secretKey": "KEY"}])
    assert (await world.send("DELETE", "/api/v4/secrets/batch", json=batch)).status == 400


async def test_a_masked_read_shows_everything_but_the_value(world: Any) -> None:
    metadata = [{"key": "pin", "value": "1234", "isEncrypted": True}]
    await world.create("KEY", "s3cret", secretComment="why", secretMetadata=metadata)
    for answer in (await world.get("KEY", viewSecretValue="false"), await world.find(viewSecretValue="FALSE")):
        found = answer.json.get("secret") or answer.json["secrets"][0]
        assert (found["secretValue"], found["secretValueHidden"]) == ("<hidden-by-infisical>", True)
        assert (found["secretComment"], found["secretKey"]) == ("why", "KEY")
        assert "1234" not in answer.text


async def test_lists_are_sorted_and_have_an_etag(world: Any) -> None:
    await world.add_folder("/b")
    await world.add_folder("/a/deep")
    await world.add_folder("/a-b")
    for path in ("/b", "/a/deep", "/a-b", "/"):
        await world.create_many({"Z": "1", "a": "2", "A": "3"}, secretPath=path)
    answer = await world.find(recursive="true")
    places = [(secret["secretPath"], secret["secretKey"]) for secret in answer.json["secrets"]]
    assert places == [(path, name) for path in ("/", "/a-b", "/a/deep", "/b") for name in ("A", "Z", "a")]
    below = await world.find(recursive="true", secretPath="/a/")
    assert {secret["secretPath"] for secret in below.json["secrets"]} == {"/a/deep"}
    assert await world.names(secretPath="/a") == []
    assert await world.names(secretPath="/nowhere") == []
    etag = answer.headers["ETag"]
    again = await world.send(
        "GET", "/api/v4/secrets", params=world.place(recursive="true"), headers={"If-None-Match": f"W/{etag}"}
    )
    assert (again.status, again.raw) == (304, b"")
    assert len(await world.audited("get-secrets", 5)) == 5


async def test_a_list_can_be_filtered_by_metadata(world: Any) -> None:
    await world.create("A", secretMetadata=[{"key": "team", "value": "red"}, {"key": "tier", "value": "1"}])
    await world.create("B", secretMetadata=[{"key": "team", "value": "red"}])
    await world.create("C", secretMetadata=[{"key": "team", "value": "red", "isEncrypted": True}])
    assert await world.names(metadataFilter="key=team,value=red") == ["A", "B"]
    assert await world.names(metadataFilter="key=team,value=red|key=tier,value=1") == ["A"]
    assert await world.names(metadataFilter="key=team") == ["A", "B", "C"]
    assert (await world.find(metadataFilter="|" * 11)).status == 422


async def test_a_read_tolerates_a_body_and_a_trailing_slash(world: Any) -> None:
    await world.create("KEY", "v")
    answer = await world.send(
        "GET",
        "/api/v4/secrets/KEY/",
        params=world.place(),
        raw=b'{"secretName": "OTHER"}',
        headers={"Content-Type": "application/json"},
    )
    assert (answer.status, answer.json["secret"]["secretKey"]) == (200, "KEY")
