"""Folders, v1 and v2."""

from datetime import timedelta
from typing import Any

import pytest

from strongroom_common.kernel.ids import new_id

FOLDER = {
    "id", "name", "version", "createdAt", "updatedAt", "envId", "parentId", "isReserved", "description",
    "lastSecretModified",
}  # fmt: skip


async def test_a_folder_is_made_with_the_ones_above_it(world: Any) -> None:
    made = await world.add_folder("/a/b/c", description="why")
    assert set(made) == FOLDER | {"path"}
    assert (made["name"], made["path"], made["description"], made["version"]) == ("c", "/a/b/c", "why", 1)
    assert made["envId"] == str(world.project.environments[0].id)
    found = (await world.send("GET", f"/api/v2/folders/{made['id']}")).json["folder"]
    assert found == {
        **made,
        "projectId": str(world.project.id),
        "environment": {"envId": made["envId"], "envName": "Dev", "envSlug": "dev"},
    }
    assert (await world.send("GET", f"/api/v1/folders/{made['id']}")).json["folder"] == found
    again = await world.send("POST", "/api/v2/folders", json=world.place(name="c", path="/a/b"))
    assert again.status == 400
    assert len(await world.audited("create-folder", 3)) == 3


async def test_lists_are_sorted_and_recursive_ones_say_where(world: Any) -> None:
    for path in ("/b", "/a/z", "/a/y/x"):
        await world.add_folder(path)
    place = world.place(path="/")
    flat = (await world.send("GET", "/api/v2/folders", params=place)).json["folders"]
    assert [folder["name"] for folder in flat] == ["a", "b"]
    assert set(flat[0]) == FOLDER
    deep = (await world.send("GET", "/api/v2/folders", params={**place, "recursive": "True"})).json["folders"]
    assert [folder["relativePath"] for folder in deep] == ["/a", "/a/y", "/a/y/x", "/a/z", "/b"]
    below = (await world.send("GET", "/api/v2/folders", params={**place, "path": "a/", "recursive": "1"})).json[
        "folders"
    ]
    assert [folder["relativePath"] for folder in below] == ["/y", "/y/x", "/z"]
    for off in ("", "0", "False"):
        assert (
            len((await world.send("GET", "/api/v2/folders", params={**place, "recursive": off})).json["folders"]) == 2
        )
    lost = await world.send("GET", "/api/v2/folders", params={**place, "path": "/nowhere"})
    assert (lost.status, lost.json) == (200, {"folders": []})


async def test_the_old_routes_say_workspace_and_directory(world: Any) -> None:
    place = {"workspaceId": str(world.project.id), "environment": "dev"}
    made = await world.send("POST", "/api/v1/folders", json={**place, "name": "b", "directory": "/a"})
    assert made.json["folder"]["path"] == "/a/b"
    assert (await world.send("POST", "/api/v1/folders", json={**place, "name": "b", "path": "/a"})).status == 400
    listed = await world.send("GET", "/api/v1/folders", params={**place, "directory": "/a"})
    assert [folder["name"] for folder in listed.json["folders"]] == ["b"]
    assert len((await world.send("GET", "/api/v1/folders", params=place)).json["folders"]) == 1
    await world.create("KEY", secretPath="/a/b")
    gone = await world.send("DELETE", "/api/v1/folders/a", json=place)
    assert (gone.status, gone.json["folder"]["name"]) == (200, "a")
    assert await world.rows("SELECT 1 FROM secrets") == []


async def test_only_a_forced_delete_takes_what_is_inside(world: Any) -> None:
    folder = await world.add_folder("/a/b")
    await world.create("KEY", secretPath="/a/b")
    for name, path in (("a", "/"), ("b", "/a")):
        answer = await world.send("DELETE", f"/api/v2/folders/{name}", json=world.place(path=path))
        assert answer.status == 400
    await world.send("DELETE", "/api/v4/secrets/KEY", json=world.place(secretPath="/a/b"))
    gone = await world.send("DELETE", f"/api/v2/folders/{folder['id']}", json=world.place(path="/a"))
    assert (gone.status, set(gone.json["folder"])) == (200, FOLDER)
    assert (await world.send("GET", f"/api/v2/folders/{folder['id']}")).status == 404
    assert (await world.send("DELETE", "/api/v2/folders/b", json=world.place(path="/a"))).status == 404
    assert (await world.send("DELETE", "/api/v2/folders/a", json=world.place())).status == 200
    assert len(await world.audited("delete-folder", 2)) == 2


async def test_a_forced_delete_tells_which_secrets_went(world: Any) -> None:
    await world.add_folder("/a/b")
    await world.create("ONE", secretPath="/a")
    await world.create("TWO", secretPath="/a/b")
    await world.send("DELETE", "/api/v2/folders/a", json=world.place(forceDelete=True))
    (record,) = await world.audited("delete-folder")
    assert [secret["secretKey"] for secret in record.metadata["deletedSecrets"]] == ["ONE", "TWO"]
    events = world.running.said.of("secrets.secret.changed.v1")[-2:]
    assert [(e.payload["path"], e.payload["secrets"][0]["change"]) for e in events] == [
        ("/a", "deleted"),
        ("/a/b", "deleted"),
    ]


async def test_the_root_folder_stays(world: Any) -> None:
    (root,) = await world.rows(
        "SELECT id FROM folders WHERE path = '/' AND environment_id = $1", world.project.environments[0].id
    )
    answer = await world.send("DELETE", f"/api/v2/folders/{root['id']}", json=world.place(forceDelete=True))
    assert answer.status == 400
    elsewhere = await world.send(
        "DELETE", f"/api/v2/folders/{root['id']}", json={**world.place(forceDelete=True), "environment": "prod"}
    )
    assert elsewhere.status == 404


async def test_a_name_wins_over_an_id(world: Any) -> None:
    first = await world.add_folder("/first")
    await world.add_folder(f"/{first['id']}")
    gone = await world.send("DELETE", f"/api/v2/folders/{first['id']}", json=world.place())
    assert gone.json["folder"]["name"] == first["id"]
    gone = await world.send("DELETE", f"/api/v2/folders/{first['id']}", json=world.place())
    assert gone.json["folder"]["name"] == "first"


async def test_a_folder_knows_when_its_secrets_changed(world: Any) -> None:
    await world.add_folder("/a")
    await world.add_folder("/b")
    world.running.clock.advance(timedelta(hours=1))
    await world.create("KEY", secretPath="/a")
    place = world.place(path="/")
    folders = (await world.send("GET", "/api/v2/folders", params=place)).json["folders"]
    assert [folder["lastSecretModified"] for folder in folders] == ["2026-01-02T10:00:00.000Z", None]
    for since, names in (("2026-01-02T10:00:00.000Z", ["a"]), ("2026-01-02T10:00:00.001Z", [])):
        recent = await world.send("GET", "/api/v2/folders", params={**place, "lastSecretModified": since})
        assert [folder["name"] for folder in recent.json["folders"]] == names
    assert (await world.send("GET", "/api/v2/folders", params={**place, "lastSecretModified": "x"})).status == 422


async def test_the_error_matrix_of_folders(world: Any) -> None:
    good: dict[str, Any] = world.place(name="x", path="/")

    async def statuses(**changes: Any) -> tuple[int, int, int]:
        body = {name: value for name, value in {**good, **changes}.items() if value is not None}
        query = {name: value for name, value in body.items() if name != "name"}
        return (
            (await world.send("POST", "/api/v2/folders", json=body)).status,
            (await world.send("GET", "/api/v2/folders", params=query)).status,
            (await world.send("DELETE", "/api/v2/folders/none", json=body)).status,
        )

    assert await statuses(projectId=None) == (422, 422, 422)
    assert await statuses(projectId=str(new_id())) == (404, 404, 404)
    assert await statuses(environment=None) == (422, 422, 422)
    assert await statuses(environment="nowhere") == (404, 404, 404)
    assert await statuses(path="/a b") == (400, 400, 400)
    assert (await world.send("GET", "/api/v2/folders", params=world.place())).status == 422
    for name in ("", "a b", "..", "a/b", "ä", "x" * 256):
        assert (await world.send("POST", "/api/v2/folders", json={**good, "name": name})).status == 422
    for unknown in (str(new_id()), "no-uuid"):
        assert (await world.send("GET", f"/api/v2/folders/{unknown}")).status == 404
    assert (await world.send("GET", "/api/v1/folders", params={"environment": "dev"})).status == 422


@pytest.mark.parametrize("path", ["/", "/open"])
async def test_folders_need_their_own_rights(world: Any, path: str) -> None:
    await world.add_folder("/open/inner")
    await world.add_folder("/inner")
    everything = {"subject": "secret-folders", "action": ["create", "delete"]}
    inside = world.member([{**everything, "conditions": {"secretPath": {"$glob": "/open/**"}}}])
    made = await world.send("POST", "/api/v2/folders", by=inside, json=world.place(name="new", path=path))
    gone = await world.send("DELETE", "/api/v2/folders/inner", by=inside, json=world.place(path=path))
    assert (made.status, gone.status) == ((200, 200) if path == "/open" else (403, 403))
    listed = await world.send("GET", "/api/v2/folders", by=inside, params=world.place(path="/"))
    assert listed.status == 200


async def test_a_forced_delete_does_not_go_around_the_rights_on_secrets(world: Any) -> None:
    await world.add_folder("/a")
    await world.create_many({"A": "1", "B": "2"}, secretPath="/a")
    gardener = world.member(
        [
            {"subject": "secret-folders", "action": ["delete"]},
            {"subject": "secrets", "action": ["delete"]},
            {"subject": "secrets", "action": ["delete"], "conditions": {"secretName": "B"}, "inverted": True},
        ]
    )
    answer = await world.send("DELETE", "/api/v2/folders/a", by=gardener, json=world.place(forceDelete=True))
    assert answer.status == 403
    assert await world.names(secretPath="/a") == ["A", "B"]
