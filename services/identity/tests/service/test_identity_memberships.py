"""Identities in projects, once they are in: read, changed, removed; in both families of paths."""

from datetime import timedelta
from uuid import uuid4

import pytest

from strongroom_common.kernel.clock import wire_instant

FAMILIES = (
    "/api/v1/projects/{}/memberships/identities",
    "/api/v1/projects/{}/identity-memberships",
    "/api/v2/workspace/{}/identity-memberships",
)


async def in_project(world, name="robot", **roles):
    project, machine = await world.project(), await world.machine(name)
    answer = await world.join(project["id"], machine, **roles)
    assert answer.status == 200, answer.text
    return project, machine, f"{FAMILIES[0].format(project['id'])}/{machine.id}"


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_membership_lives_in_every_family(world, refusal, family) -> None:
    project, machine = await world.project(), await world.machine()
    path = f"{family.format(project['id'])}/{machine.id}"
    assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")
    made = (await world.http.post(path, token=world.token, json={"role": "viewer"})).json["identityMembership"]
    found = (await world.http.get(path, token=world.token)).json["identityMembership"]
    assert (found["id"], found["identityId"]) == (made["id"], machine.id)
    assert found["identity"] == {
        "id": machine.id,
        "name": "robot",
        "authMethods": ["universal-auth"],
        "activeLockoutAuthMethods": [],
    }
    assert found["project"] == {"id": project["id"], "name": project["name"], "type": "secret-manager"}
    by_id = f"/api/v2/workspace/identity-memberships/{made['id']}"
    assert (await world.http.get(by_id, token=world.token)).json["identityMembership"] == found
    body = {"roles": [{"role": "member"}, {"role": "no-access"}]}
    roles = (await world.http.patch(path, token=world.token, json=body)).json["roles"]
    assert [role["role"] for role in roles] == ["member", "no-access"]
    assert roles[0]["projectMembershipId"] == made["id"]
    assert roles[0].keys() >= {"createdAt", "updatedAt", "customRoleId", "isTemporary", "temporaryRange"}
    removed = (await world.http.delete(path, token=world.token)).json["identityMembership"]
    assert removed["id"] == made["id"]
    for gone in (path, by_id):
        assert refusal(await world.http.get(gone, token=world.token)) == (404, "NotFound")
    assert refusal(await world.http.delete(path, token=world.token)) == (404, "NotFound")
    assert refusal(await world.http.patch(path, token=world.token, json=body)) == (404, "NotFound")


async def test_a_membership_of_another_organization_does_not_exist(world, refusal) -> None:
    _, _, path = await in_project(world)
    other = await world.another_tenant()
    membership = (await world.http.get(path, token=world.token)).json["identityMembership"]["id"]
    by_id = f"/api/v2/workspace/identity-memberships/{membership}"
    assert refusal(await world.http.get(by_id, token=other.token)) == (404, "NotFound")
    for method in ("GET", "DELETE"):
        assert refusal(await world.http.send(method, path, token=other.token)) == (404, "NotFound")


@pytest.mark.parametrize("family", FAMILIES)
async def test_the_list_is_paged_and_searched(world, family) -> None:
    project = await world.project()
    for name in ("Kim", "Jim", "Lim_1"):
        await world.join(project["id"], await world.machine(name), role="viewer")
    path = family.format(project["id"])

    async def listed(**query):
        answer = (await world.http.get(path, token=world.token, params=query)).json
        return [one["identity"]["name"] for one in answer["identityMemberships"]], answer["totalCount"]

    admin = "Instance Admin Identity"
    assert await listed() == ([admin, "Jim", "Kim", "Lim_1"], 4)
    assert await listed(orderDirection="desc", limit="2") == (["Lim_1", "Kim"], 4)
    assert await listed(offset="1", limit="1") == (["Jim"], 4)
    assert await listed(offset="9") == ([], 4)
    assert await listed(search="jIM") == (["Jim"], 1)
    assert await listed(identityName="_") == (["Lim_1"], 1), "signs of patterns are taken literally"


async def test_a_rule_about_one_identity_hides_it_from_the_list_too(world, refusal) -> None:
    """Threats class 15: a list passed a more specific deny."""
    project, hidden, _ = await in_project(world, "hidden", role="viewer")
    seer = await world.machine("seer")
    path = FAMILIES[0].format(project["id"])
    rule = {"subject": "identity", "action": ["read"]}
    deny = {**rule, "inverted": True, "conditions": {"identityId": {"$eq": hidden.id}}}
    await world.custom_role(project, "seer", [rule, deny])
    await world.join(project["id"], seer, role="seer")
    token = await world.token_of(seer)
    found = (await world.http.get(path, token=token)).json
    assert hidden.id not in [one["identityId"] for one in found["identityMemberships"]]
    assert found["totalCount"] == 2
    assert refusal(await world.http.get(f"{path}/{hidden.id}", token=token)) == (403, "PermissionDenied")


async def test_lockouts_are_shown(world) -> None:
    _, machine, path = await in_project(world, role="viewer")
    machine.client_secret = "0" * 64
    for _ in range(3):
        await world.login(machine)
    shown = (await world.http.get(path, token=world.token)).json["identityMembership"]["identity"]
    assert shown["activeLockoutAuthMethods"] == ["universal-auth"]
    assert machine.client_id not in str(shown)


async def test_new_roles_count_at_once(world, refusal) -> None:
    project, machine, path = await in_project(world, role="no-access")
    token, roles = await world.token_of(machine), f"/api/v1/projects/{project['id']}/roles"
    assert refusal(await world.http.get(roles, token=token)) == (403, "PermissionDenied")
    await world.http.patch(path, token=world.token, json={"roles": [{"role": "viewer"}]})
    assert (await world.http.get(roles, token=token)).status == 200
    await world.http.delete(path, token=world.token)
    assert refusal(await world.http.get(roles, token=token)) == (403, "ForbiddenError")


async def test_a_temporary_role_given_later_ends_as_well(world, clock, refusal) -> None:
    project, machine, path = await in_project(world, role="no-access")
    token, roles = await world.token_of(machine), f"/api/v1/projects/{project['id']}/roles"
    temporary = {
        "role": "viewer",
        "isTemporary": True,
        "temporaryMode": "relative",
        "temporaryRange": "20s",
        "temporaryAccessStartTime": wire_instant(clock.now()),
    }
    given = await world.http.patch(path, token=world.token, json={"roles": [temporary]})
    assert given.json["roles"][0]["temporaryAccessEndTime"] == wire_instant(clock.now() + timedelta(seconds=20))
    assert (await world.http.get(roles, token=token)).status == 200
    clock.advance(timedelta(seconds=20))
    assert refusal(await world.http.get(roles, token=token)) == (403, "PermissionDenied")
    bad = {**temporary, "temporaryRange": "-1h"}
    answer = await world.http.patch(path, token=world.token, json={"roles": [bad]})
    assert refusal(answer) == (422, "ValidationFailure")


async def test_nobody_changes_or_removes_who_has_more(world, refusal) -> None:
    project, _, path = await in_project(world, "boss", role="admin")
    developer = await world.machine("dev")
    await world.join(project["id"], developer, role="member")
    token = await world.token_of(developer)
    for answer in (
        await world.http.patch(path, token=token, json={"roles": [{"role": "no-access"}]}),
        await world.http.delete(path, token=token),
    ):
        assert refusal(answer) == (403, "PermissionBoundaryError")
    own = f"{FAMILIES[0].format(project['id'])}/{developer.id}"
    answer = await world.http.patch(own, token=token, json={"roles": [{"role": "admin"}]})
    assert refusal(answer) == (403, "PermissionBoundaryError")


@pytest.mark.parametrize("role", ["Admin", " admin", "ADMIN\t", "aDmin "])
async def test_other_spellings_of_a_strong_role_are_judged_as_that_role(world, refusal, role) -> None:
    """Threats class 4: compared before, stored after."""
    project, developer, machine = await world.project(), await world.machine("dev"), await world.machine()
    await world.join(project["id"], developer, role="member")
    token = await world.token_of(developer)
    assert refusal(await world.join(project["id"], machine, token, role=role)) == (403, "PermissionBoundaryError")
    path = f"{FAMILIES[2].format(project['id'])}/{developer.id}"
    answer = await world.http.patch(path, token=token, json={"roles": [{"role": role}]})
    assert refusal(answer) == (403, "PermissionBoundaryError")
    await world.join(project["id"], machine, role=role)
    stored = await world.rows("SELECT DISTINCT role FROM membership_roles")
    assert {row["role"] for row in stored} <= {"admin", "member", "no-access"}


async def test_an_unknown_membership_is_not_found(world, refusal) -> None:
    path = f"/api/v2/workspace/identity-memberships/{uuid4()}"
    assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")
