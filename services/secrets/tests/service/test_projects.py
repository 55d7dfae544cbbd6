"""What we know of projects, whatever the order in which news arrives."""

from typing import Any

from strongroom_common.contracts.identity import EnvironmentState
from strongroom_common.kernel.ids import new_id
from strongroom_common.testing.identity_double import ADMIN

LEFT_OVERS = """
    SELECT 1 FROM secrets UNION ALL SELECT 1 FROM secret_versions UNION ALL SELECT 1 FROM folders
    UNION ALL SELECT 1 FROM environments UNION ALL SELECT 1 FROM data_keys
    """


def described(world: Any) -> int:
    return world.identity.asked.count("identity.project.describe.v1")


async def test_a_new_project_can_be_written_to_before_its_event_arrives(world: Any) -> None:
    for slug, selector in (("one", "projectSlug"), ("two", "workspaceId")):
        project = world.identity.add_project(slug=slug)
        world.identity.grant(world.admin, project, ADMIN)
        body = {selector: slug if selector == "projectSlug" else str(project.id), "environment": "dev"}
        made = await world.send("POST", "/api/v3/secrets/raw/KEY", json={**body, "secretValue": "v"})
        assert made.status == 200
        await world.identity.say_created(project)
        query = {"workspaceSlug": slug, "environment": "dev"}
        assert (await world.send("GET", "/api/v3/secrets/raw/KEY", params=query)).status == 200
    assert described(world) == 2


async def test_a_new_environment_can_be_used_before_its_event_arrives(world: Any) -> None:
    added = EnvironmentState(id=new_id(), name="Test", slug="test", position=4)
    world.identity.change_project(world.project, environments=[*world.project.environments, added])
    assert (await world.send("GET", "/api/v4/secrets", params={**world.place(), "environment": "test"})).status == 200
    assert described(world) == 1


async def test_an_environment_that_was_added_begins_with_its_root_folder(world: Any) -> None:
    added = EnvironmentState(id=new_id(), name="Test", slug="test", position=1)
    moved = [one.model_copy(update={"position": one.position + 1}) for one in world.project.environments]
    await world.identity.say_updated(world.identity.change_project(world.project, environments=[added, *moved]))
    rows = await world.rows("SELECT path, parent_id FROM folders WHERE environment_id = $1", added.id)
    assert [tuple(row) for row in rows] == [("/", None)]
    rows = await world.rows("SELECT slug, position FROM environments ORDER BY position")
    assert [tuple(row) for row in rows] == [("test", 1), ("dev", 2), ("staging", 3), ("prod", 4)]
    made = await world.send("POST", "/api/v4/secrets/KEY", json={**world.place(secretValue="v"), "environment": "test"})
    assert (made.status, described(world)) == (200, 0)


async def test_a_renamed_environment_keeps_its_folders_and_secrets(world: Any) -> None:
    await world.create("KEY", "kept")
    await world.add_folder("/a")
    dev, *others = world.project.environments
    renamed = dev.model_copy(update={"name": "Local", "slug": "local", "position": 9})
    await world.identity.say_updated(world.identity.change_project(world.project, environments=[*others, renamed]))
    place = {**world.place(), "environment": "local"}
    answer = await world.send("GET", "/api/v4/secrets/KEY", params=place)
    assert answer.json["secret"]["secretValue"] == "kept"
    assert (await world.get("KEY")).status == 404
    rows = await world.rows("SELECT path FROM folders WHERE environment_id = $1 ORDER BY path", dev.id)
    assert [row["path"] for row in rows] == ["/", "/a"]


async def test_settings_of_a_project_are_taken_over(world: Any) -> None:
    changed = world.identity.change_project(world.project, auto_capitalization=True, pit_version_limit=3)
    await world.identity.say_updated(changed)
    (row,) = await world.rows("SELECT auto_capitalization, pit_version_limit FROM projects")
    assert tuple(row) == (True, 3)
    refused = await world.send("POST", "/api/v4/secrets/lower", json=world.place(secretValue="v"))
    assert refused.status == 400


async def test_an_old_revision_changes_nothing(world: Any) -> None:
    changed = world.identity.change_project(world.project, slug="store", environments=world.project.environments[:1])
    await world.identity.say_updated(changed)
    await world.identity.say_updated(world.project)
    await world.identity.say_created(world.project)
    assert [row["slug"] for row in await world.rows("SELECT slug FROM projects")] == ["store"]
    assert [row["slug"] for row in await world.rows("SELECT slug FROM environments")] == ["dev"]


async def test_a_dropped_environment_takes_its_secrets_along(world: Any) -> None:
    await world.create("KEPT")
    prod = {**world.place(secretValue="v"), "environment": "prod"}
    await world.send("POST", "/api/v4/secrets/GONE", json=prod)
    changed = world.identity.change_project(world.project, environments=world.project.environments[:1])
    await world.identity.say_updated(changed)
    assert [row["name"] for row in await world.rows("SELECT name FROM secrets")] == ["KEPT"]
    assert [row["name"] for row in await world.rows("SELECT name FROM secret_versions")] == ["KEPT"]
    answer = await world.send("GET", "/api/v4/secrets/GONE", params={**world.place(), "environment": "prod"})
    assert answer.status == 404


async def test_environments_may_trade_slugs(world: Any) -> None:
    await world.create("KEY", "of dev")
    dev, staging, prod = world.project.environments
    traded = [dev.model_copy(update={"slug": "prod"}), staging, prod.model_copy(update={"slug": "dev"})]
    await world.identity.say_updated(world.identity.change_project(world.project, environments=traded))
    answer = await world.send("GET", "/api/v4/secrets/KEY", params={**world.place(), "environment": "prod"})
    assert answer.json["secret"]["secretValue"] == "of dev"
    assert (await world.get("KEY")).status == 404


async def test_a_slug_belongs_to_whom_it_was_heard_of_last(world: Any) -> None:
    heir = world.identity.add_project(slug="heir")
    world.identity.grant(world.admin, heir, ADMIN)
    await world.identity.say_created(heir)
    renamed = world.identity.change_project(world.project, slug="retired")
    heir = world.identity.change_project(heir, slug="shop")
    # The news of the two projects come in the wrong order.
    await world.identity.say_updated(heir)
    await world.identity.say_updated(renamed)
    rows = await world.rows("SELECT id, slug FROM projects")
    assert {row["id"]: row["slug"] for row in rows} == {heir.id: "shop", renamed.id: "retired"}


async def test_a_deleted_project_is_gone_for_good(world: Any) -> None:
    await world.create("KEY")
    await world.add_folder("/a")
    world.identity.remove_project(world.project)
    await world.identity.say_deleted(world.project)
    assert await world.rows(LEFT_OVERS) == []
    # A late event, and one that overtook it.
    await world.identity.say_updated(world.project.model_copy(update={"revision": 99}))
    await world.identity.say_deleted(world.project)
    assert await world.rows("SELECT 1 FROM environments") == []
    assert (await world.get("KEY")).status == 404
    early = world.identity.add_project(slug="early")
    await world.identity.say_deleted(early)
    await world.identity.say_created(early)
    assert await world.rows("SELECT 1 FROM environments WHERE project_id = $1", early.id) == []


async def test_a_project_of_another_house_is_not_learned(world: Any) -> None:
    foreign = world.identity.add_project(slug="foreign", organization_id=new_id())
    for query in ({"workspaceId": str(foreign.id)}, {"workspaceSlug": "foreign"}):
        answer = await world.send("GET", "/api/v3/secrets/raw", params={**query, "environment": "dev"})
        assert answer.status == 404
    assert await world.rows("SELECT 1 FROM projects WHERE id = $1", foreign.id) == []


async def test_equal_slugs_of_two_houses_do_not_meet(world: Any) -> None:
    other = new_id()
    twin = world.identity.add_project(slug="shop", organization_id=other)
    neighbour = world.identity.add_machine(organization_id=other)
    world.identity.grant(neighbour, twin, ADMIN)
    await world.identity.say_created(twin)
    await world.create("KEY", "ours")
    query = {"workspaceSlug": "shop", "environment": "dev"}
    assert (await world.send("GET", "/api/v3/secrets/raw", by=neighbour, params=query)).json["secrets"] == []
    assert len((await world.send("GET", "/api/v3/secrets/raw", params=query)).json["secrets"]) == 1


async def test_learning_of_a_project_does_not_use_up_an_idempotency_key(world: Any) -> None:
    project = world.identity.add_project(slug="fresh")
    machine = world.identity.add_machine()
    world.identity.grant(machine, project, [])
    body = {"projectId": str(project.id), "environment": "dev", "secretValue": "v"}
    keyed = {"Idempotency-Key": "once"}
    refused = await world.send("POST", "/api/v4/secrets/KEY", by=machine, json=body, headers=keyed)
    assert (refused.status, described(world)) == (403, 1)
    world.identity.grant(machine, project, ADMIN)
    await world.identity.say_access_changed()
    made = await world.send("POST", "/api/v4/secrets/KEY", by=machine, json=body, headers=keyed)
    again = await world.send("POST", "/api/v4/secrets/KEY", by=machine, json=body, headers=keyed)
    assert (made.status, again.status, again.raw) == (200, 200, made.raw)
