"""Rules about names and paths, applied to reads, lists, writes and their answers."""

from typing import Any

import pytest

MASK = "<hidden-by-infisical>"


def allow(*actions: str, **conditions: Any) -> dict[str, Any]:
    return {"subject": "secrets", "action": list(actions), "conditions": conditions}


def forbid(*actions: str, **conditions: Any) -> dict[str, Any]:
    return {**allow(*actions, **conditions), "inverted": True}


ALL = ("describeSecret", "readValue", "create", "edit", "delete")


@pytest.fixture
async def tree(world: Any) -> Any:
    for path in ("/open", "/open/deep", "/shut"):
        await world.add_folder(path)
    for path in ("/", "/open", "/open/deep", "/shut"):
        await world.create_many({"A": "value-a", "B": "value-b"}, secretPath=path)
    return world


async def test_a_path_rule_shows_that_path_and_nothing_else(tree: Any) -> None:
    reader = tree.member([allow(*ALL, secretPath={"$glob": "/open/**"})])
    answer = await tree.find(by=reader, recursive="true")
    assert {secret["secretPath"] for secret in answer.json["secrets"]} == {"/open", "/open/deep"}
    assert (await tree.find(by=reader, secretPath="/shut")).json["secrets"] == []
    assert (await tree.get("A", by=reader, secretPath="/open/deep")).status == 200
    for path in ("/", "/shut"):
        refused = await tree.get("A", by=reader, secretPath=path)
        assert (refused.status, refused.json["error"]) == (403, "PermissionDenied")
        assert refused.json["details"][0]["subject"] == "secrets"
        # Whether it exists is nobody's business without the right to see it.
        assert (await tree.get("NONE", by=reader, secretPath=path)).status == 403
    record = (await tree.audited("get-secrets"))[0]
    assert record.metadata["numberOfSecrets"] == 4


async def test_a_name_rule_hides_one_secret_everywhere(tree: Any) -> None:
    reader = tree.member([allow(*ALL), forbid("describeSecret", "readValue", secretName="B")])
    assert await tree.names(by=reader, recursive="true") == ["A"] * 4
    assert (await tree.get("B", by=reader)).status == 403
    assert (await tree.get("B", by=reader, version="1")).status == 403
    assert "value-b" not in (await tree.find(by=reader, recursive="true")).text


async def test_an_unreadable_value_refuses_the_folder_and_is_left_out_below_it(tree: Any) -> None:
    reader = tree.member([allow(*ALL), forbid("readValue", secretName="B", secretPath="/open/deep")])
    assert (await tree.find(by=reader, secretPath="/open/deep")).status == 403
    below = (await tree.find(by=reader, secretPath="/open", recursive="true")).json["secrets"]
    assert [(s["secretPath"], s["secretKey"]) for s in below] == [("/open", "A"), ("/open", "B"), ("/open/deep", "A")]
    masked = (await tree.find(by=reader, secretPath="/open/deep", viewSecretValue="false")).json["secrets"]
    assert [(s["secretKey"], s["secretValue"]) for s in masked] == [("A", MASK), ("B", MASK)]
    assert (await tree.get("B", by=reader, secretPath="/open/deep")).status == 403
    assert (await tree.get("B", by=reader, secretPath="/open/deep", viewSecretValue="false")).status == 200


async def test_who_may_describe_nothing_may_not_list(tree: Any) -> None:
    writer = tree.member([allow("create", "edit", "delete")])
    assert (await tree.find(by=writer)).status == 403
    nobody = tree.member([])
    assert (await tree.find(by=nobody)).status == 403


async def test_a_writer_who_may_not_read_is_answered_with_a_mask(tree: Any) -> None:
    writer = tree.member([allow("describeSecret", "create", "edit", "delete")])
    changed = await tree.send("PATCH", "/api/v4/secrets/A", by=writer, json=tree.place(secretComment="c"))
    assert (changed.json["secret"]["secretValue"], changed.json["secret"]["secretValueHidden"]) == (MASK, True)
    secrets = [{"secretKey": "A", "secretComment": "d"}, {"secretKey": "NEW", "secretValue": "x"}]
    batch = await tree.send(
        "PATCH", "/api/v4/secrets/batch", by=writer, json=tree.place(secrets=secrets, mode="upsert")
    )
    assert {(s["secretValue"], s["secretValueHidden"]) for s in batch.json["secrets"]} == {(MASK, True)}
    gone = await tree.send("DELETE", "/api/v4/secrets/A", by=writer, json=tree.place())
    assert (gone.json["secret"]["secretValue"], "value-a" in gone.text) == (MASK, False)
    blind = tree.member([allow("edit")])
    answer = await tree.send("PATCH", "/api/v4/secrets/B", by=blind, json=tree.place(secretComment="seen"))
    assert answer.json["secret"]["secretComment"] == ""


@pytest.mark.parametrize("action", ["create", "edit", "delete"])
async def test_each_write_needs_its_own_right_on_each_item(tree: Any, action: str) -> None:
    method = {"create": "POST", "edit": "PATCH", "delete": "DELETE"}[action]
    names = ["N1", "N2"] if action == "create" else ["A", "B"]
    others = [name for name in ALL if name != action]
    without = tree.member([allow(*others)])
    partly = tree.member([allow(*ALL), forbid(action, secretName=names[1])])
    batch = tree.place(secrets=[{"secretKey": name, "secretValue": "v"} for name in names])
    before = (await tree.find()).raw
    for bearer in (without, partly):
        answer = await tree.send(method, "/api/v4/secrets/batch", by=bearer, json=batch)
        assert (answer.status, answer.json["error"]) == (403, "PermissionDenied")
        one = await tree.send(method, f"/api/v4/secrets/{names[1]}", by=bearer, json=tree.place(secretValue="v"))
        assert one.status == 403
    assert (await tree.find()).raw == before
    assert (await tree.send(method, "/api/v4/secrets/batch", json=batch)).status == 200


async def test_an_upsert_needs_the_right_to_create_what_is_missing(tree: Any) -> None:
    editor = tree.member([allow("describeSecret", "readValue", "edit")])
    creator = tree.member([allow("describeSecret", "readValue", "create")])
    body = tree.place(secrets=[{"secretKey": "A"}, {"secretKey": "NEW"}], mode="upsert")
    for bearer in (editor, creator):
        assert (await tree.send("PATCH", "/api/v4/secrets/batch", by=bearer, json=body)).status == 403
    assert (await tree.get("A")).json["secret"]["version"] == 1


async def test_a_rename_needs_the_right_on_both_names(tree: Any) -> None:
    editor = tree.member([allow(*ALL), forbid("edit", secretName="PROTECTED")])
    body = tree.place(newSecretName="PROTECTED")
    assert (await tree.send("PATCH", "/api/v4/secrets/A", by=editor, json=body)).status == 403
    assert (await tree.get("A")).status == 200


async def test_rules_about_another_environment_do_not_count(tree: Any) -> None:
    reader = tree.member([allow(*ALL, environment="prod")])
    assert (await tree.get("A", by=reader)).status == 403
    assert await tree.names(by=reader) == []


async def test_a_changed_rule_counts_from_the_next_request_on(tree: Any) -> None:
    reader = tree.member([allow(*ALL)])
    assert (await tree.get("A", by=reader)).status == 200
    tree.identity.grant(reader, tree.project, [allow("create")])
    await tree.identity.say_access_changed()
    assert (await tree.get("A", by=reader)).status == 403
