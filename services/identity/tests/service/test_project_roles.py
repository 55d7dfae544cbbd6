"""A project's own roles: what they may hold, who may make them, and that a change of one counts at once."""

from uuid import uuid4

import pytest

from strongroom_common.testing.waiting import eventually
from strongroom_identity.domain.roles import placeholder_id

READER = [{"subject": "secrets", "action": "describeSecret", "conditions": {"environment": "dev"}}]


def roles_of(project: dict[str, str]) -> str:
    return f"/api/v1/projects/{project['id']}/roles"


async def make(world, project, slug="reader", rules=READER, token=None, **more):
    body = {"slug": slug, "name": slug.title(), "permissions": rules, **more}
    return await world.http.post(roles_of(project), token=token or world.token, json=body)


async def test_a_role_is_made_read_changed_and_deleted(world) -> None:
    project = await world.project()
    made = (await make(world, project, description="Reads")).json["role"]
    assert set(made) == {
        "id", "name", "slug", "description", "projectId", "createdAt", "updatedAt", "permissions",
    }  # fmt: skip
    assert made["projectId"] == project["id"]
    (rule,) = made["permissions"]
    assert rule["action"] == ["describeSecret"], "one form for all, whatever was sent"
    assert rule["subject"] == "secrets"
    path = f"{roles_of(project)}/{made['id']}"
    changed = await world.http.patch(path, token=world.token, json={"slug": "looker", "permissions": []})
    assert changed.json["role"] == {
        **made,
        "slug": "looker",
        "permissions": [],
        "updatedAt": changed.json["role"]["updatedAt"],
    }
    found = await world.http.get(f"{roles_of(project)}/slug/looker", token=world.token)
    assert found.json == changed.json
    assert (await world.http.delete(path, token=world.token)).json == changed.json
    assert (await world.http.get(f"{roles_of(project)}/slug/looker", token=world.token)).status == 404
    for event in ("create-project-role", "update-project-role", "delete-project-role"):
        assert await eventually(lambda event=event: world.audited(event))


async def test_predefined_roles_are_listed_and_read_but_are_nobodys_to_change(world, refusal) -> None:
    project, keys = await world.project(), await world.project("Keys", type="kms")
    await make(world, project)
    listed = (await world.http.get(roles_of(project), token=world.token)).json["roles"]
    assert [role["slug"] for role in listed] == ["admin", "member", "viewer", "no-access", "reader"]
    assert {"permissions", "version"}.isdisjoint(listed[0])
    assert listed[0]["id"] == str(placeholder_id("admin"))
    found = (await world.http.get(f"{roles_of(project)}/slug/admin", token=world.token)).json["role"]
    assert {rule["subject"] for rule in found["permissions"]} >= {"secrets", "kms"}
    here, there = "cryptographic-operator", roles_of(keys)
    assert (await world.http.get(f"{roles_of(project)}/slug/{here}", token=world.token)).status == 404
    assert (await world.http.get(f"{there}/slug/{here}", token=world.token)).status == 200
    path = f"{roles_of(project)}/{placeholder_id('admin')}"
    for answer in (
        await world.http.patch(path, token=world.token, json={"name": "Mine"}),
        await world.http.delete(path, token=world.token),
    ):
        assert refusal(answer) == (404, "NotFound")


@pytest.mark.parametrize(
    "slug",
    ["admin", "Admin", " ADMIN ", "no-access", "No-Access", "custom", "viewer\t", "cryptographic-operator", "MEMBER"],
)
async def test_no_spelling_of_a_reserved_slug_can_be_taken(world, refusal, slug) -> None:
    project = await world.project()
    assert refusal(await make(world, project, slug)) == (422, "ValidationFailure")
    made = (await make(world, project)).json["role"]
    answer = await world.http.patch(f"{roles_of(project)}/{made['id']}", token=world.token, json={"slug": slug})
    assert refusal(answer) == (422, "ValidationFailure")


@pytest.mark.parametrize(
    "slug", ["\uff41dmin", "\u0430dmin", "admi\u006e\u0303", "ad\u00admin", "admin\u200b", "a dmin"]
)
async def test_a_slug_that_only_looks_reserved_is_no_slug(world, refusal, slug) -> None:
    project, machine = await world.project(), await world.machine()
    assert refusal(await make(world, project, slug)) == (422, "ValidationFailure")
    assert refusal(await world.join(project["id"], machine, role=slug)) == (422, "ValidationFailure")


async def test_a_slug_is_there_once(world, refusal) -> None:
    project, other = await world.project("One"), await world.project("Two")
    await make(world, project)
    assert refusal(await make(world, project, " Reader")) == (400, "BadRequest")
    assert (await make(world, other)).status == 200
    second = (await make(world, project, "second")).json["role"]
    path = f"{roles_of(project)}/{second['id']}"
    answer = await world.http.patch(path, token=world.token, json={"slug": "reader"})
    assert refusal(answer) == (400, "BadRequest")


async def test_a_role_that_somebody_holds_stays(world, refusal) -> None:
    project, machine = await world.project(), await world.machine()
    role = (await make(world, project)).json["role"]
    await world.join(project["id"], machine, role="reader")
    path = f"{roles_of(project)}/{role['id']}"
    assert refusal(await world.http.delete(path, token=world.token)) == (400, "BadRequest")
    membership = f"/api/v1/projects/{project['id']}/memberships/identities/{machine.id}"
    await world.http.delete(membership, token=world.token)
    assert (await world.http.delete(path, token=world.token)).status == 200


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ({"subject": "canary", "action": ["read"]}, ["permissions", 0, "subject"]),
        ({"subject": "secrets", "action": ["canary"]}, ["permissions", 0, "action"]),
        ({"subject": "project", "action": ["create"]}, ["permissions", 0, "subject"]),
        ({"subject": "secrets", "action": ["edit"], "conditions": {"canary": "x"}}, ["permissions", 0, "conditions"]),
        (
            {"subject": "secrets", "action": ["edit"], "conditions": {"secretPath": "canary"}},
            ["permissions", 0, "conditions", "secretPath"],
        ),
    ],
)
async def test_a_rule_that_is_none_is_named_and_not_repeated(world, refusal, rule, place) -> None:
    answer = await make(world, await world.project(), rules=[rule])
    assert refusal(answer) == (422, "ValidationFailure")
    assert answer.json["message"][0]["path"] == place
    assert "canary" not in answer.text


async def test_nobody_makes_a_role_with_more_than_he_has(world, refusal) -> None:
    project, maker = await world.project(), await world.machine("maker")
    await make(world, project, "maker", [{"subject": "role", "action": ["create", "edit", "read"]}, *READER])
    await world.join(project["id"], maker, role="maker")
    token = await world.token_of(maker)
    answer = await make(world, project, "more", [{**READER[0], "conditions": {}}], token)
    assert refusal(answer) == (403, "PermissionBoundaryError")
    assert answer.json["details"]["missingPermissions"][0]["subject"] == "secrets"
    own = await make(world, project, "same", READER, token)
    assert own.status == 200
    path = f"{roles_of(project)}/{own.json['role']['id']}"
    grown = await world.http.patch(path, token=token, json={"permissions": [{"subject": "kms", "action": ["edit"]}]})
    assert refusal(grown) == (403, "PermissionBoundaryError")


async def test_a_change_counts_at_once_and_everywhere(world, refusal) -> None:
    project, machine = await world.project(), await world.machine()
    rule = {"subject": "role", "action": ["read"]}
    role = (await make(world, project, rules=[rule])).json["role"]
    await world.join(project["id"], machine, role="reader")
    token = await world.token_of(machine)
    assert (await world.http.get(roles_of(project), token=token)).status == 200
    denied = [rule, {**rule, "inverted": True}]
    path = f"{roles_of(project)}/{role['id']}"
    assert (await world.http.patch(path, token=world.token, json={"permissions": denied})).status == 200
    assert refusal(await world.http.get(roles_of(project), token=token)) == (403, "PermissionDenied")
    await eventually(
        lambda: any(
            (said.payload["project_id"], said.payload["subject_ids"]) == (project["id"], None)
            for said in world.identity.said.of("identity.access.changed.v1")
        )
    )


async def test_the_older_paths_lead_to_the_same_roles(world, refusal) -> None:
    project, other = await world.project(slug="pay-now"), await world.another_tenant()
    made = (await make(world, project)).json["role"]
    for base in (
        "/api/v1/workspace/pay-now",
        f"/api/v1/workspace/{project['id']}",
        f"/api/v2/workspace/{project['id']}",
    ):
        listed = await world.http.get(f"{base}/roles", token=world.token)
        assert [role["slug"] for role in listed.json["roles"]][-1] == "reader"
        assert (await world.http.get(f"{base}/roles/slug/reader", token=world.token)).json["role"] == made
        assert refusal(await world.http.get(f"{base}/roles", token=other.token)) == (404, "NotFound")
    unknown = await world.http.get(f"/api/v1/workspace/{uuid4()}/roles", token=world.token)
    assert refusal(unknown) == (404, "NotFound")
