"""Environments over the wire, in both families of paths."""

import asyncio
from uuid import uuid4

import pytest

from strongroom_common.testing.waiting import eventually

FIELDS = {"id", "name", "slug", "position", "projectId", "createdAt", "updatedAt"}

both_families = pytest.mark.parametrize(
    ("family", "key"), [("/api/v1/projects", "projectId"), ("/api/v1/workspace", "workspace")]
)


def path_of(project, environment_id: str = "", family: str = "/api/v1/projects") -> str:
    return f"{family}/{project['id']}/environments" + (f"/{environment_id}" if environment_id else "")


async def added(world, project, slug: str, **more):
    body = {"name": slug.title(), "slug": slug, **more}
    answer = await world.http.post(path_of(project), token=world.token, json=body)
    assert answer.status == 200, answer.text
    return answer.json["environment"]


async def moved(world, project, environment, **body):
    answer = await world.http.patch(path_of(project, environment["id"]), token=world.token, json=body)
    assert answer.status == 200, answer.text
    return answer.json["environment"]


async def places(world, project) -> dict[str, int]:
    rows = await world.rows("SELECT slug, position FROM environments ORDER BY position")
    read = (await world.http.get(f"/api/v1/projects/{project['id']}", token=world.token)).json["project"]
    assert [one["slug"] for one in read["environments"]] == [row["slug"] for row in rows]
    return {row["slug"]: row["position"] for row in rows}


@both_families
async def test_an_environment_is_made_read_changed_and_deleted(world, refusal, family: str, key: str) -> None:
    project = await world.project()
    path = path_of(project, family=family)
    body = {"name": " Quality ", "slug": " QA ", "canary": 1}
    made = await world.http.post(path, token=world.token, json=body)
    assert (made.status, made.json.keys()) == (200, {"message", key, "environment"})
    assert made.json[key] == project["id"]
    environment = made.json["environment"]
    assert environment == {
        "id": environment["id"],
        "name": "Quality",
        "slug": "qa",
        "position": 4,
        "projectId": project["id"],
        "createdAt": "2026-01-02T09:00:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
    }
    one = f"{path}/{environment['id']}"
    assert (await world.http.get(one, token=world.token)).json == {"environment": environment}

    changed = await world.http.patch(one, token=world.token, json={"name": "Tests", "slug": "tests"})
    assert (changed.status, changed.json.keys()) == (200, {"message", key, "environment"})
    assert changed.json["environment"] == {**environment, "name": "Tests", "slug": "tests"}

    deleted = await world.http.delete(one, token=world.token)
    assert (deleted.status, deleted.json.keys()) == (200, {"message", key, "environment"})
    assert deleted.json["environment"] == changed.json["environment"]
    for again in (
        await world.http.get(one, token=world.token),
        await world.http.patch(one, token=world.token, json={"name": "x"}),
        await world.http.delete(one, token=world.token),
    ):
        assert refusal(again) == (404, "NotFound")


async def test_an_environment_is_read_by_its_id_alone(world, refusal) -> None:
    project = await world.project()
    environment = await added(world, project, "qa")
    path = f"/api/v1/workspace/environments/{environment['id']}"
    assert (await world.http.get(path, token=world.token)).json == {"environment": environment}
    other = await world.another_tenant()
    assert refusal(await world.http.get(path, token=other.token)) == (404, "NotFound")
    stranger = await world.token_of(await world.machine())
    assert refusal(await world.http.get(path, token=stranger)) == (403, "ForbiddenError")
    unknown = await world.http.get(f"/api/v1/workspace/environments/{uuid4()}", token=world.token)
    assert refusal(unknown) == (404, "NotFound")


async def test_positions_as_clients_expect_them(world) -> None:
    project = await world.project()
    qa = await added(world, project, "qa")
    assert qa["position"] == 4
    assert (await moved(world, project, qa, position=1))["position"] == 1
    assert await places(world, project) == {"qa": 1, "dev": 2, "staging": 3, "prod": 4}
    assert (await world.http.delete(path_of(project, qa["id"]), token=world.token)).status == 200
    assert await places(world, project) == {"dev": 2, "staging": 3, "prod": 4}
    assert (await added(world, project, "last"))["position"] == 5
    assert (await added(world, project, "first", position=1))["position"] == 1
    assert (await added(world, project, "third", position=3))["position"] == 3
    expected = {"first": 1, "dev": 2, "third": 3, "staging": 4, "prod": 5, "last": 6}
    assert await places(world, project) == expected


async def test_a_slug_is_canonical_and_unique_within_the_project(world, refusal) -> None:
    project = await world.project()
    qa = await added(world, project, "qa")
    for spelling in ("dev", " DEV "):
        body = {"name": "Again", "slug": spelling}
        made = await world.http.post(path_of(project), token=world.token, json=body)
        assert refusal(made) == (400, "CreateEnvironment")
        renamed = await world.http.patch(path_of(project, qa["id"]), token=world.token, json={"slug": spelling})
        assert refusal(renamed) == (400, "UpdateEnvironment")
    assert await places(world, project) == {"dev": 1, "staging": 2, "prod": 3, "qa": 4}


async def test_a_bad_field_is_named_and_not_repeated(world, refusal) -> None:
    project = await world.project()
    qa = await added(world, project, "qa")
    cases = [
        ("name", ""),
        ("name", ["canary"]),
        ("slug", "canary_under"),
        ("slug", "canary" * 11),
        ("slug", "canary/../x"),
        ("position", 0),
        ("position", -1),
        ("position", "1"),
        ("position", 1.5),
        ("position", 1_000_001),
    ]
    for field, value in cases:
        body = {"name": "Fine", "slug": "fine", field: value}
        made = await world.http.post(path_of(project), token=world.token, json=body)
        changed = await world.http.patch(path_of(project, qa["id"]), token=world.token, json={field: value})
        for answer in (made, changed):
            assert refusal(answer) == (422, "ValidationFailure"), field
            assert [issue["path"] for issue in answer.json["message"]] == [[field]]
            assert "canary" not in answer.text
    for missing in ("name", "slug"):
        body = {name: "fine" for name in ("name", "slug") if name != missing}
        answer = await world.http.post(path_of(project), token=world.token, json=body)
        assert [issue["path"] for issue in answer.json["message"]] == [[missing]]
    bad_id = await world.http.get(path_of(project, "canary"), token=world.token)
    assert refusal(bad_id) == (422, "ValidationFailure")
    assert len(await places(world, project)) == 4


async def test_who_may_not_is_refused_and_nothing_changes(world, refusal) -> None:
    project, elsewhere = await world.project(), await world.project("Elsewhere")
    dev = project["environments"][0]["id"]
    viewer, nobody = await world.machine("viewer"), await world.machine("nobody")
    await world.join(project["id"], viewer, role="viewer")
    other = await world.another_tenant()

    async def calls(token: str, where):
        return [
            await world.http.get(path_of(where, dev), token=token),
            await world.http.post(path_of(where), token=token, json={"name": "X", "slug": "x"}),
            await world.http.patch(path_of(where, dev), token=token, json={"name": "X"}),
            await world.http.delete(path_of(where, dev), token=token),
        ]

    read, *writes = await calls(await world.token_of(viewer), project)
    assert read.status == 200
    assert [refusal(answer) for answer in writes] == [(403, "PermissionDenied")] * 3
    assert {refusal(answer) for answer in await calls(await world.token_of(nobody), project)} == {
        (403, "ForbiddenError")
    }
    assert {refusal(answer) for answer in await calls(other.token, project)} == {(404, "NotFound")}
    # An environment of another project does not exist in this one, whoever asks.
    read, _, *writes = await calls(world.token, elsewhere)
    assert {refusal(answer) for answer in (read, *writes)} == {(404, "NotFound")}
    rows = await world.rows("SELECT name FROM environments WHERE id = $1", dev)
    assert [row["name"] for row in rows] == ["Development"]


async def test_other_services_hear_of_each_change(world) -> None:
    project = await world.project()
    qa = await added(world, project, "qa", position=1)
    await moved(world, project, qa, slug="tests", position=4)
    await world.http.delete(path_of(project, qa["id"]), token=world.token)
    await eventually(lambda: len(world.identity.said.of("identity.project.updated.v1")) == 3)
    states = [event.payload["project"] for event in world.identity.said.of("identity.project.updated.v1")]
    assert [state["revision"] for state in states] == [2, 3, 4]
    assert [[one["slug"] for one in state["environments"]] for state in states] == [
        ["qa", "dev", "staging", "prod"],
        ["dev", "staging", "prod", "tests"],
        ["dev", "staging", "prod"],
    ]
    assert [one["position"] for one in states[1]["environments"]] == [1, 2, 3, 4]
    assert states[1]["environments"][3]["id"] == qa["id"]


async def test_every_change_is_audited(world) -> None:
    project = await world.project()
    qa = await added(world, project, "qa")
    await moved(world, project, qa, slug="tests")
    await world.http.delete(path_of(project, qa["id"]), token=world.token)
    for event in ("create-environment", "update-environment", "delete-environment"):
        (record,) = await eventually(lambda event=event: world.audited(event))
        assert str(record["project_id"]) == project["id"]
        assert record["metadata"]["environmentId"] == qa["id"]
    (record,) = await world.audited("update-environment")
    assert (record["metadata"]["oldSlug"], record["metadata"]["slug"]) == ("qa", "tests")


async def test_inserts_at_one_place_at_the_same_moment_end_one_behind_the_other(world) -> None:
    project = await world.project()
    slugs = [f"race-{number}" for number in range(8)]
    await asyncio.gather(*(added(world, project, slug, position=2) for slug in slugs))
    after = await places(world, project)
    assert sorted(after.values()) == list(range(1, 12))
    assert after["dev"] == 1
    assert {after[slug] for slug in slugs} == set(range(2, 10))
    assert (after["staging"], after["prod"]) == (10, 11)
    await eventually(lambda: len(world.identity.said.of("identity.project.updated.v1")) == 8)
    revisions = [e.payload["project"]["revision"] for e in world.identity.said.of("identity.project.updated.v1")]
    assert revisions == list(range(2, 10))


async def test_moves_and_deletions_at_the_same_moment_end_consistent(world) -> None:
    project = await world.project()
    extra = [await added(world, project, f"e{number}") for number in range(4)]

    async def drop(environment) -> None:
        answer = await world.http.delete(path_of(project, environment["id"]), token=world.token)
        assert answer.status == 200

    await asyncio.gather(
        moved(world, project, extra[0], position=1),
        moved(world, project, extra[1], position=1),
        drop(extra[2]),
        added(world, project, "new", position=3),
        moved(world, project, extra[3], position=2),
    )
    after = await places(world, project)
    assert len(set(after.values())) == len(after) == 7
    assert after["dev"] < after["staging"] < after["prod"]


async def test_of_many_with_one_slug_at_the_same_moment_one_is_made(world) -> None:
    project = await world.project()
    body = {"name": "Race", "slug": "race"}
    answers = await asyncio.gather(*(world.http.post(path_of(project), token=world.token, json=body) for _ in range(6)))
    assert sorted(answer.status for answer in answers) == [200] + [400] * 5


async def test_two_environments_trade_slugs_in_three_steps(world) -> None:
    project = await world.project()
    dev, _, prod = project["environments"]
    await moved(world, project, dev, slug="parked")
    await moved(world, project, prod, slug="dev")
    await moved(world, project, dev, slug="prod")
    assert await places(world, project) == {"prod": 1, "staging": 2, "dev": 3}
