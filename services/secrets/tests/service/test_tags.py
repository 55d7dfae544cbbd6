"""Tags: made in a project, given to secrets, asked for by lists and by rules."""

import asyncio
from typing import Any

import pytest

from strongroom_common.kernel.ids import new_id
from strongroom_common.testing.identity_double import ADMIN
from strongroom_secrets.usecases import tags as usecases

FIELDS = {"id", "slug", "name", "color", "createdAt", "updatedAt", "createdBy", "createdByActorType", "projectId"}
ALL = ("describeSecret", "readValue", "create", "edit", "delete")


def at(world: Any, more: str = "", prefix: str = "projects") -> str:
    return f"/api/v1/{prefix}/{world.project.id}/tags{more}"


async def tag(world: Any, slug: str, color: str = "#f00") -> str:
    answer = await world.send("POST", at(world), json={"slug": slug, "color": color})
    assert answer.status == 200, answer.text
    return answer.json["tag"]["id"]


async def tags_of(world: Any, name: str, **more: Any) -> list[str]:
    return [one["slug"] for one in (await world.get(name, **more)).json["secret"]["tags"]]


def on_tag(*actions: str, inverted: bool = False) -> dict[str, Any]:
    conditions = {"secretTags": {"$in": ["locked"]}}
    return {"subject": "secrets", "action": list(actions), "conditions": conditions, "inverted": inverted}


@pytest.mark.parametrize("prefix", ["projects", "workspace"])
async def test_a_tag_from_its_making_to_its_end(world: Any, prefix: str) -> None:
    made = await world.send("POST", at(world, prefix=prefix), json={"name": "x", "slug": "team-b", "color": "#f00"})
    one = made.json["tag"]
    assert (made.status, set(one)) == (200, FIELDS)
    assert (one["slug"], one["name"], one["color"]) == ("team-b", "team-b", "#f00")
    assert (one["createdBy"], one["createdByActorType"]) == (str(world.admin.id), "identity")
    assert one["projectId"] == str(world.project.id)
    await tag(world, "team-a", "")
    listed = await world.send("GET", at(world, prefix=prefix))
    assert [found["slug"] for found in listed.json["tags"]] == ["team-a", "team-b"]
    for path in (f"/{one['id']}", "/slug/team-b"):
        assert (await world.send("GET", at(world, path, prefix))).json == {"tag": one}
    changed = await world.send("PATCH", at(world, f"/{one['id']}", prefix), json={"slug": "team-c", "color": ""})
    assert (changed.json["tag"]["name"], changed.json["tag"]["color"]) == ("team-c", "")
    gone = await world.send("DELETE", at(world, f"/{one['id']}", prefix))
    assert gone.json == changed.json
    assert (await world.send("GET", at(world, f"/{one['id']}", prefix))).status == 404
    for event, slug in (("create-tag", "team-b"), ("update-tag", "team-c"), ("delete-tag", "team-c")):
        record = (await world.audited(event))[0]
        assert (record.metadata, record.project_id) == ({"tagId": one["id"], "tagSlug": slug}, world.project.id)


async def test_a_slug_is_had_once_in_a_project(world: Any) -> None:
    first, second = await tag(world, "a"), await tag(world, "b")
    body = {"slug": "a", "color": ""}
    assert (await world.send("POST", at(world), json=body)).status == 400
    assert (await world.send("PATCH", at(world, f"/{second}"), json=body)).status == 400
    assert (await world.send("PATCH", at(world, f"/{first}"), json=body)).status == 200
    crowd = [world.send("POST", at(world), json={"slug": "c", "color": ""}) for _ in range(5)]
    assert sorted(answer.status for answer in await asyncio.gather(*crowd)) == [200] + [400] * 4


async def test_what_is_not_there_is_not_found_and_what_is_malformed_is_refused(world: Any) -> None:
    body = {"slug": "a", "color": ""}
    for tag_id in (str(new_id()), "none"):
        for method in ("GET", "PATCH", "DELETE"):
            assert (await world.send(method, at(world, f"/{tag_id}"), json=body)).status == 404
    assert (await world.send("GET", at(world, "/slug/none"))).status == 404
    for project in (str(new_id()), "none"):
        for method, path in (("GET", ""), ("POST", ""), ("DELETE", f"/{new_id()}")):
            assert (await world.send(method, f"/api/v1/projects/{project}/tags{path}", json=body)).status == 404
    for bad in ({"slug": "A", "color": ""}, {"slug": "a"}, {"color": ""}, {"slug": "a", "color": "x" * 65}):
        assert (await world.send("POST", at(world), json=bad)).status == 422
    assert (await world.send("GET", at(world))).json == {"tags": []}


async def test_a_project_has_no_more_tags_than_a_list_may_show(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usecases, "MOST_TAGS", 1)
    await tag(world, "a")
    assert (await world.send("POST", at(world), json={"slug": "b", "color": ""})).status == 400


@pytest.mark.parametrize("action", ["read", "create", "edit", "delete"])
async def test_each_action_needs_its_own_right(world: Any, action: str) -> None:
    one = await tag(world, "a")
    method = {"read": "GET", "create": "POST", "edit": "PATCH", "delete": "DELETE"}[action]
    path = at(world) if action == "create" else at(world, f"/{one}")
    rest = [other for other in ("read", "create", "edit", "delete") if other != action]
    body = {"slug": "b", "color": ""}
    without = world.member([{"subject": "tags", "action": rest}])
    refused = await world.send(method, path, by=without, json=body)
    assert (refused.status, refused.json["error"]) == (403, "PermissionDenied")
    if action == "read":
        for more in ("", "/slug/a"):
            assert (await world.send("GET", at(world, more), by=without)).status == 403
    only = world.member([{"subject": "tags", "action": [action]}])
    assert (await world.send(method, path, by=only, json=body)).status == 200


async def test_a_tag_can_be_made_before_the_projects_event_arrives(world: Any) -> None:
    fresh = world.identity.add_project(slug="fresh")
    world.identity.grant(world.admin, fresh, ADMIN)
    path = f"/api/v1/projects/{fresh.id}/tags"
    assert (await world.send("GET", path)).json == {"tags": []}
    assert (await world.send("POST", path, json={"slug": "a", "color": ""})).status == 200


async def test_secrets_are_tagged_retagged_and_cleared(world: Any) -> None:
    red, blue = await tag(world, "red"), await tag(world, "blue", "#00f")
    made = await world.create("KEY", tagIds=[red, red.upper(), blue])
    assert "tags" not in made
    shown = [
        {"id": blue, "slug": "blue", "color": "#00f", "name": "blue"},
        {"id": red, "slug": "red", "color": "#f00", "name": "red"},
    ]
    assert (await world.get("KEY")).json["secret"]["tags"] == shown
    assert (await world.find()).json["secrets"][0]["tags"] == shown
    assert (await world.send("GET", f"/api/v4/secrets/id/{made['id']}")).json["secret"]["tags"] == shown
    for version, (sent, kept) in enumerate(
        [
            ({}, ["blue", "red"]),
            ({"tagIds": None}, ["blue", "red"]),
            ({"tagIds": [red]}, ["red"]),
            ({"tagIds": []}, []),
        ],
        start=2,
    ):
        assert (await world.send("PATCH", "/api/v4/secrets/KEY", json=world.place(**sent))).status == 200
        assert await tags_of(world, "KEY") == kept
        assert await tags_of(world, "KEY", version=str(version)) == kept
    assert await tags_of(world, "KEY", version="1") == ["blue", "red"]


async def test_batches_tag_each_item_for_itself(world: Any) -> None:
    red, blue = await tag(world, "red"), await tag(world, "blue")

    async def batch(method: str, *items: dict[str, Any], **more: Any) -> int:
        body = world.place(secrets=[{"secretValue": "v", **item} for item in items], **more)
        return (await world.send(method, "/api/v4/secrets/batch", json=body)).status

    assert await batch("POST", {"secretKey": "A", "tagIds": [red]}, {"secretKey": "B"}) == 200
    assert [await tags_of(world, name) for name in "AB"] == [["red"], []]
    items = [{"secretKey": "A", "tagIds": []}, {"secretKey": "B", "tagIds": [blue, red]}, {"secretKey": "C"}]
    items[2]["tagIds"] = [blue]
    assert await batch("PATCH", *items, mode="upsert") == 200
    assert [await tags_of(world, name) for name in "ABC"] == [[], ["blue", "red"], ["blue"]]
    for method in ("POST", "PATCH"):
        unknown = [{"secretKey": "A" if method == "PATCH" else "D"}, {"secretKey": "B", "tagIds": [str(new_id())]}]
        assert await batch(method, *unknown) == 404
    assert await world.names() == ["A", "B", "C"]
    assert (await world.get("A")).json["secret"]["version"] == 2


async def test_a_foreign_tag_does_not_exist(world: Any) -> None:
    await world.create("KEY")
    house = new_id()
    for organization, owner in ((None, world.admin), (house, world.identity.add_machine(organization_id=house))):
        other = world.identity.add_project(slug="other", organization_id=organization)
        world.identity.grant(owner, other, ADMIN)
        path = f"/api/v1/projects/{other.id}/tags"
        made = await world.send("POST", path, by=owner, json={"slug": "theirs", "color": ""})
        theirs = made.json["tag"]["id"]
        for method, name in (("POST", "NEW"), ("PATCH", "KEY")):
            body = world.place(secretValue="x", tagIds=[theirs])
            assert (await world.send(method, f"/api/v4/secrets/{name}", json=body)).status == 404
        for method in ("GET", "PATCH", "DELETE"):
            answer = await world.send(method, at(world, f"/{theirs}"), json={"slug": "mine", "color": ""})
            assert answer.status == 404
        if organization is not None:
            assert (await world.send("GET", path)).status in {403, 404}
            assert (await world.send("GET", f"{path}/{theirs}")).status in {403, 404}
    assert (await world.get("KEY")).json["secret"]["version"] == 1


async def test_lists_are_filtered_by_any_of_some_slugs(world: Any) -> None:
    red, blue = await tag(world, "red"), await tag(world, "blue")
    for name, tag_ids in (("A", [red]), ("B", [blue]), ("C", [red, blue]), ("D", [])):
        await world.create(name, tagIds=tag_ids)
    assert await world.names(tagSlugs="red") == ["A", "C"]
    assert await world.names(tagSlugs=" red , blue,none") == ["A", "B", "C"]
    assert await world.names(tagSlugs="none", recursive="true") == []
    old = {"workspaceId": str(world.project.id), "environment": "dev", "tagSlugs": "blue"}
    answer = await world.send("GET", "/api/v3/secrets/raw", params=old)
    assert [secret["secretKey"] for secret in answer.json["secrets"]] == ["B", "C"]


async def test_a_renamed_tag_is_renamed_everywhere_and_a_deleted_one_gone(world: Any) -> None:
    red = await tag(world, "red")
    await world.create("KEY", tagIds=[red])
    await world.send("PATCH", at(world, f"/{red}"), json={"slug": "green", "color": ""})
    assert (await tags_of(world, "KEY"), await tags_of(world, "KEY", version="1")) == (["green"], ["green"])
    await world.send("DELETE", at(world, f"/{red}"))
    assert (await tags_of(world, "KEY"), await tags_of(world, "KEY", version="1")) == ([], [])
    assert (await world.get("KEY")).json["secret"]["version"] == 1
    assert await world.rows("SELECT 1 FROM secret_tags") == []


async def test_tags_go_with_their_secret_and_with_their_project(world: Any) -> None:
    red = await tag(world, "red")
    await world.create("A", tagIds=[red])
    await world.create("B", tagIds=[red])
    await world.send("DELETE", "/api/v4/secrets/A", json=world.place())
    assert len(await world.rows("SELECT 1 FROM secret_tags")) == 1
    await world.identity.say_deleted(world.project)
    assert await world.rows("SELECT 1 FROM secret_tags UNION ALL SELECT 1 FROM tags") == []


@pytest.fixture
async def mixed(world: Any) -> Any:
    """One secret with the tag that rules ask for, one with another, one with none; and the tags' ids."""
    world.locked, world.other = await tag(world, "locked"), await tag(world, "other")
    await world.create("LOCKED", tagIds=[world.locked, world.other])
    await world.create("OTHER", tagIds=[world.other])
    await world.create("PLAIN")
    return world


async def test_a_rule_about_tags_shows_what_has_one_of_them(mixed: Any) -> None:
    reader = mixed.member([on_tag(*ALL)])
    assert await mixed.names(by=reader) == ["LOCKED"]
    assert (await mixed.get("LOCKED", by=reader)).status == 200
    for name in ("OTHER", "PLAIN", "NONE"):
        assert (await mixed.get(name, by=reader)).status == 403
        found = [secret["id"] for secret in (await mixed.find()).json["secrets"] if secret["secretKey"] == name]
        for secret_id in found:
            assert (await mixed.send("GET", f"/api/v4/secrets/id/{secret_id}", by=reader)).status == 403


async def test_a_rule_may_forbid_what_has_a_tag(mixed: Any) -> None:
    everything = {"subject": "secrets", "action": list(ALL)}
    reader = mixed.member([everything, on_tag("describeSecret", "readValue", inverted=True)])
    assert await mixed.names(by=reader) == ["OTHER", "PLAIN"]
    assert (await mixed.get("LOCKED", by=reader)).status == 403
    values = mixed.member([everything, on_tag("readValue", inverted=True)])
    assert (await mixed.find(by=values)).status == 403
    assert await mixed.names(by=values, viewSecretValue="false") == ["LOCKED", "OTHER", "PLAIN"]


async def test_an_old_version_is_as_closed_as_the_secret(mixed: Any) -> None:
    reader = mixed.member([{"subject": "secrets", "action": list(ALL)}, on_tag("readValue", inverted=True)])
    assert (await mixed.get("PLAIN", by=reader, version="1")).status == 200
    await mixed.send("PATCH", "/api/v4/secrets/PLAIN", json=mixed.place(tagIds=[mixed.locked]))
    assert (await mixed.get("PLAIN", by=reader, version="1")).status == 403
    await mixed.send("DELETE", "/api/v4/secrets/PLAIN", json=mixed.place())
    assert (await mixed.get("PLAIN", by=reader, version="1")).status == 403


@pytest.mark.parametrize("path", ["/api/v4/secrets/{}", "/api/v4/secrets/batch"])
async def test_writes_are_judged_by_the_tags_that_are_and_that_shall_be(mixed: Any, path: str) -> None:
    keeper = mixed.member([on_tag(*ALL)])
    visitor = mixed.member(
        [{"subject": "secrets", "action": list(ALL)}, on_tag("create", "edit", "delete", inverted=True)]
    )

    async def status(by: Any, method: str, name: str, **more: Any) -> int:
        item = {"secretValue": "v", **more}
        body = {"secrets": [{"secretKey": name, **item}]} if path.endswith("batch") else item
        return (await mixed.send(method, path.format(name), by=by, json=mixed.place(**body))).status

    locked, other = [mixed.locked], [mixed.other]
    assert await status(keeper, "POST", "NEW") == 403
    assert await status(keeper, "POST", "NEW", tagIds=other) == 403
    assert await status(visitor, "POST", "NEW", tagIds=locked) == 403
    assert await status(keeper, "POST", "NEW", tagIds=locked) == 200
    assert await status(visitor, "POST", "FREE", tagIds=other) == 200

    assert await status(keeper, "PATCH", "PLAIN", tagIds=locked) == 403
    assert await status(keeper, "PATCH", "NEW", tagIds=[]) == 403
    assert await status(keeper, "PATCH", "NONE") == 403
    assert await status(visitor, "PATCH", "LOCKED", tagIds=[]) == 403
    assert await status(visitor, "PATCH", "PLAIN", tagIds=locked) == 403
    assert await status(keeper, "PATCH", "NEW", tagIds=[*locked, *other]) == 200
    assert await status(visitor, "PATCH", "FREE", tagIds=[]) == 200

    assert await status(keeper, "DELETE", "PLAIN") == 403
    assert await status(visitor, "DELETE", "NEW") == 403
    assert await mixed.names() == ["FREE", "LOCKED", "NEW", "OTHER", "PLAIN"]
    assert await status(keeper, "DELETE", "NEW") == 200
    assert await status(visitor, "DELETE", "FREE") == 200


async def test_a_tag_that_is_just_given_is_not_deleted_under_the_secret(world: Any) -> None:
    red = await tag(world, "red")
    answers = await asyncio.gather(
        *(
            world.send("POST", f"/api/v4/secrets/KEY_{number}", json=world.place(secretValue="v", tagIds=[red]))
            for number in range(8)
        ),
        world.send("DELETE", at(world, f"/{red}")),
    )
    assert {answer.status for answer in answers} <= {200, 404}
    assert await world.rows("SELECT 1 FROM secret_tags") == []


async def test_a_read_with_tags_is_one_statement(world: Any, statements: list[str]) -> None:
    red = await tag(world, "red")
    made = await world.create("KEY", tagIds=[red])
    for path, query in (
        ("/api/v4/secrets/KEY", world.place()),
        ("/api/v4/secrets/KEY", world.place(version="1")),
        (f"/api/v4/secrets/id/{made['id']}", {}),
        ("/api/v4/secrets", world.place(tagSlugs="red")),
        (at(world), {}),
    ):
        # The first reading may have to ask for keys.
        for _ in range(2):
            statements.clear()
            assert (await world.send("GET", path, params=query)).status == 200
        assert len([text for text in statements if text.startswith("SELECT")]) == 1
