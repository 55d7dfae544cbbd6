"""Groups: who is in one has what it has, and only as long as he is in it."""

from datetime import timedelta
from uuid import uuid4

import pytest
from services.identity.tests.service.organization_people import a_role, a_user, root_token, user_token

from strongroom_common.kernel.clock import wire_instant
from strongroom_common.testing.waiting import eventually

GROUPS = "/api/v1/groups"


async def a_group(world, name="Team", **more):
    answer = await world.http.post(GROUPS, token=world.token, json={"name": name, **more})
    assert answer.status == 200, answer.text
    return answer.json


def member_of(group, machine) -> str:
    return f"{GROUPS}/{group['id']}/machine-identities/{machine.id}"


async def put(world, group, machine, token=None):
    return await world.http.post(member_of(group, machine), token=token or world.token)


async def lead(world, project, group, *roles, token=None):
    """Make a group a member of a project."""
    path = f"/api/v2/workspace/{project['id']}/groups/{group['id']}"
    entries = [role if isinstance(role, dict) else {"role": role} for role in roles]
    return await world.http.post(path, token=token or world.token, json={"roles": entries})


async def test_a_group_is_made_read_changed_and_deleted(world, refusal) -> None:
    role = await a_role(world, "finder", ("groups", "read"))
    made = await a_group(world, "The Team", slug="the-team", role="finder")
    assert (made["slug"], made["role"], made["roleId"]) == ("the-team", "custom", role["id"])
    assert made["orgId"] == world.tenants[0].organization_id
    path = f"{GROUPS}/{made['id']}"
    shown = (await world.http.get(path, token=world.token)).json
    assert shown == {**made, "customRoleSlug": "finder"}
    assert (await world.http.get(GROUPS, token=world.token)).json == [made]
    changed = (await world.http.patch(path, token=world.token, json={"name": "Crew", "role": "member"})).json
    assert (changed["name"], changed["slug"], changed["role"], changed["roleId"]) == (
        "Crew",
        "the-team",
        "member",
        None,
    )
    assert (await world.http.delete(path, token=world.token)).json == changed
    assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")
    assert not await world.rows("SELECT FROM memberships WHERE group_id IS NOT NULL")
    for event in ("create-group", "update-group", "delete-group"):
        assert await eventually(lambda event=event: world.audited(event))


async def test_names_and_slugs_are_there_once(world, refusal) -> None:
    await a_group(world, "Team", slug="the-team")
    for body in ({"name": "Team"}, {"name": "Other", "slug": " The-Team"}):
        assert refusal(await world.http.post(GROUPS, token=world.token, json=body)) == (400, "BadRequest")
    other = await world.another_tenant()
    body = {"name": "Team", "slug": "the-team"}
    assert (await world.http.post(GROUPS, token=other.token, json=body)).status == 200


@pytest.mark.parametrize("role", ["admin", "Admin ", " ADMIN"])
async def test_nobody_gives_a_group_more_than_he_has(world, refusal, role) -> None:
    await a_role(world, "keeper", ("groups", "create"), ("groups", "edit"), ("groups", "add-identities"))
    keeper, friend = await world.machine("keeper", role="keeper"), await world.machine("friend")
    token = await world.token_of(keeper)
    body = {"name": "Rulers", "role": role}
    assert refusal(await world.http.post(GROUPS, token=token, json=body)) == (403, "PermissionBoundaryError")
    rulers = await a_group(world, "Rulers", role=role)
    assert rulers["role"] == "admin"
    assert refusal(await put(world, rulers, keeper, token)) == (403, "PermissionBoundaryError")
    own = (await world.http.post(GROUPS, token=token, json={"name": "Own"})).json
    path = f"{GROUPS}/{own['id']}"
    assert refusal(await world.http.patch(path, token=token, json={"role": role})) == (403, "PermissionBoundaryError")
    assert (await put(world, own, friend, token)).status == 200


async def test_what_the_group_has_in_a_project_is_handed_on_by_putting_somebody_in(world, refusal) -> None:
    await a_role(world, "keeper", ("groups", "create"), ("groups", "add-identities"))
    keeper, project = await world.machine("keeper", role="keeper"), await world.project()
    token, group = await world.token_of(keeper), await a_group(world)
    await lead(world, project, group, "admin")
    assert refusal(await put(world, group, keeper, token)) == (403, "PermissionBoundaryError")
    await world.join(project["id"], keeper, role="admin")
    assert (await put(world, group, keeper, token)).status == 200


async def test_members_have_the_groups_rights_in_the_organization_while_they_are_in_it(world, refusal) -> None:
    group, machine = await a_group(world, role="member"), await world.machine()
    token = await world.token_of(machine)
    assert refusal(await world.http.get(GROUPS, token=token)) == (403, "PermissionDenied")
    assert (await put(world, group, machine)).json == {"id": machine.id, "name": "robot"}
    assert (await world.http.get(GROUPS, token=token)).status == 200
    assert refusal(await put(world, group, machine)) == (400, "BadRequest")
    assert (await world.http.delete(member_of(group, machine), token=world.token)).status == 200
    assert refusal(await world.http.get(GROUPS, token=token)) == (403, "PermissionDenied")
    assert refusal(await world.http.delete(member_of(group, machine), token=world.token)) == (404, "NotFound")
    for event in ("add-identity-to-group", "remove-identity-from-group"):
        assert await eventually(lambda event=event: world.audited(event))


async def test_members_have_the_groups_rights_in_a_project_while_both_are_in(world, refusal, clock) -> None:
    project, group, machine = await world.project(), await a_group(world), await world.machine()
    token, roles = await world.token_of(machine), f"/api/v1/projects/{project['id']}/roles"

    async def look():
        return await world.http.get(roles, token=token)

    assert (await lead(world, project, group, "viewer")).status == 200
    assert refusal(await look()) == (403, "ForbiddenError")
    await put(world, group, machine)
    assert (await look()).status == 200
    listed = (await world.http.get("/api/v1/projects", token=token)).json["projects"]
    assert [one["id"] for one in listed] == [project["id"]]
    await world.http.delete(member_of(group, machine), token=world.token)
    assert refusal(await look()) == (403, "ForbiddenError")
    await put(world, group, machine)
    path = f"/api/v2/workspace/{project['id']}/groups/Team"
    entry = {
        "role": "viewer",
        "isTemporary": True,
        "temporaryMode": "relative",
        "temporaryRange": "30s",
        "temporaryAccessStartTime": wire_instant(clock.now()),
    }
    assert (await world.http.patch(path, token=world.token, json={"roles": [entry]})).status == 200
    assert (await look()).status == 200
    clock.advance(timedelta(seconds=30))
    assert refusal(await look()) == (403, "PermissionDenied")
    await world.http.delete(path, token=world.token)
    assert refusal(await look()) == (403, "ForbiddenError")
    await lead(world, project, group, "viewer")
    assert (await look()).status == 200
    await world.http.delete(f"{GROUPS}/{group['id']}", token=world.token)
    assert refusal(await look()) == (403, "ForbiddenError")


async def test_what_a_member_has_itself_has_the_last_word(world, refusal) -> None:
    project, group, machine = await world.project(), await a_group(world), await world.machine()
    deny = {"subject": "role", "action": ["read"], "inverted": True}
    await world.custom_role(project, "blind", [deny])
    await world.join(project["id"], machine, role="blind")
    await lead(world, project, group, "viewer")
    await put(world, group, machine)
    token, roles = await world.token_of(machine), f"/api/v1/projects/{project['id']}/roles"
    assert refusal(await world.http.get(roles, token=token)) == (403, "PermissionDenied")


async def test_who_can_log_in_as_a_member_of_a_group_has_what_it_has(world, refusal) -> None:
    """Attaching a login to an identity hands over its groups' rights as well."""
    await a_role(world, "clerk", ("identity", "create"), ("identity", "create-token"), ("identity", "read"))
    clerk, strong = await world.machine("clerk", role="clerk"), await world.machine("strong")
    token = await world.token_of(clerk)
    path = f"/api/v1/auth/universal-auth/identities/{strong.id}/client-secrets"
    assert (await world.http.post(path, token=token, json={})).status == 200
    await put(world, await a_group(world, "Rulers", role="admin"), strong)
    assert refusal(await world.http.post(path, token=token, json={})) == (403, "PermissionBoundaryError")


async def test_users_are_members_by_name_in_one_spelling(world, refusal) -> None:
    group, ada = await a_group(world, role="member"), await a_user(world, "ada@example.com", "no-access")
    token = await user_token(world, ada["email"], world.tenants[0].organization_id)
    assert refusal(await world.http.get(GROUPS, token=token)) == (403, "PermissionDenied")
    path = f"{GROUPS}/{group['id']}/users"
    added = await world.http.post(f"{path}/Ada@Example.com", token=world.token)
    assert added.json == {
        "id": ada["id"],
        "email": ada["email"],
        "username": ada["email"],
        "firstName": "Ada",
        "lastName": "Tester",
    }
    assert (await world.http.get(GROUPS, token=token)).status == 200
    assert refusal(await world.http.post(f"{path}/ada@example.com", token=world.token)) == (400, "BadRequest")
    assert refusal(await world.http.post(f"{path}/nobody@example.com", token=world.token)) == (404, "NotFound")
    assert (await world.http.delete(f"{path}/ada@example.com", token=world.token)).status == 200
    assert refusal(await world.http.get(GROUPS, token=token)) == (403, "PermissionDenied")
    assert refusal(await world.http.delete(f"{path}/ada@example.com", token=world.token)) == (404, "NotFound")


async def test_lists_tell_who_is_in_and_who_is_not(world) -> None:
    group, machine = await a_group(world), await world.machine("Zulu")
    await a_user(world, "ada@example.com")
    await put(world, group, machine)
    await world.http.post(f"{GROUPS}/{group['id']}/users/ada@example.com", token=world.token)

    async def listed(what, key, **query):
        answer = await world.http.get(f"{GROUPS}/{group['id']}/{what}", token=world.token, params=query)
        found = answer.json
        return [(one[key], one.get("isPartOfGroup"), one["joinedGroupAt"] is not None) for one in found[
            {"users": "users", "machine-identities": "machineIdentities", "projects": "projects"}[what]
        ]], found["totalCount"]  # fmt: skip

    root, ada = ("root@example.com", False, False), ("ada@example.com", True, True)
    assert await listed("users", "username") == ([ada, root], 2)
    assert await listed("users", "username", filter="existingMembers") == ([ada], 1)
    assert await listed("users", "username", filter="nonMembers") == ([root], 1)
    assert await listed("users", "username", search="TESTER") == ([ada], 1)
    assert await listed("users", "username", username="Root@example.com") == ([root], 1)
    assert await listed("users", "username", limit="1", offset="1") == ([root], 2)
    admin, zulu = ("Instance Admin Identity", False, False), ("Zulu", True, True)
    assert await listed("machine-identities", "name") == ([admin, zulu], 2)
    assert await listed("machine-identities", "name", filter="nonMembers") == ([admin], 1)
    one, two = await world.project("One"), await world.project("Two")
    await lead(world, one, group, "viewer")
    assert await listed("projects", "name") == ([("One", None, True), ("Two", None, False)], 2)
    assert await listed("projects", "name", filter="nonMembers") == ([("Two", None, False)], 1)
    assert await listed("projects", "id", filter="assignedProjects") == ([(one["id"], None, True)], 1)
    assert await listed("projects", "name", orderDirection="desc", limit="1") == ([("Two", None, False)], 2)
    assert two["id"]


async def test_projects_of_others_are_shown_to_admins_only(world) -> None:
    group, clerk = await a_group(world), await world.machine("clerk", role="member")
    await world.project("Secret")
    token = await world.token_of(clerk)
    found = (await world.http.get(f"{GROUPS}/{group['id']}/projects", token=token)).json
    assert found == {"projects": [], "totalCount": 0}


async def test_a_group_in_a_project_is_read_listed_and_named_by_id_or_name(world, refusal) -> None:
    project, group = await world.project(), await a_group(world)
    path = f"/api/v2/workspace/{project['id']}/groups"
    assert refusal(await world.http.get(f"{path}/Team", token=world.token)) == (404, "NotFound")
    made = (await lead(world, project, group, "viewer", "member")).json["groupMembership"]
    assert (made["groupId"], [role["role"] for role in made["roles"]]) == (group["id"], ["viewer", "member"])
    assert made["group"] == {"id": group["id"], "name": "Team", "slug": group["slug"], "orgId": group["orgId"]}
    for name in ("Team", group["id"]):
        assert (await world.http.get(f"{path}/{name}", token=world.token)).json["groupMembership"] == made
    listed = (await world.http.get(path, token=world.token)).json
    assert listed == {"groupMemberships": [made], "totalCount": 1}
    assert refusal(await lead(world, project, group, "viewer")) == (400, "BadRequest")
    assert refusal(await world.http.get(f"{path}/{uuid4()}", token=world.token)) == (404, "NotFound")


async def test_a_developer_cannot_lead_a_group_in_or_make_it_stronger(world, refusal) -> None:
    project, group, developer = await world.project(), await a_group(world), await world.machine("dev")
    rules = [{"subject": "groups", "action": ["create", "edit", "delete"]}]
    await world.custom_role(project, "leader", rules)
    await world.join(project["id"], developer, role="leader")
    token = await world.token_of(developer)
    assert refusal(await lead(world, project, group, "Admin ", token=token)) == (403, "PermissionBoundaryError")
    await lead(world, project, group, "admin")
    path = f"/api/v2/workspace/{project['id']}/groups/{group['id']}"
    assert refusal(await world.http.delete(path, token=token)) == (403, "PermissionBoundaryError")
    weaker = await world.http.patch(path, token=token, json={"roles": [{"role": "no-access"}]})
    assert refusal(weaker) == (403, "PermissionBoundaryError")


async def test_groups_of_another_organization_do_not_exist(world, refusal) -> None:
    group, other, machine = await a_group(world), await world.another_tenant(), await world.machine()
    project = await world.project("Theirs", token=other.token)
    assert refusal(await world.http.get(f"{GROUPS}/{group['id']}", token=other.token)) == (404, "NotFound")
    assert (await world.http.get(GROUPS, token=other.token)).json == []
    assert refusal(await put(world, group, machine, other.token)) == (404, "NotFound")
    for name in (group["id"], "Team"):
        path = f"/api/v2/workspace/{project['id']}/groups/{name}"
        answer = await world.http.post(path, token=other.token, json={"roles": [{"role": "viewer"}]})
        assert refusal(answer) == (404, "NotFound")
    theirs = (await world.http.post(GROUPS, token=other.token, json={"name": "Team"})).json
    assert refusal(await put(world, theirs, machine, other.token)) == (404, "NotFound")
    assert refusal(await put(world, theirs, machine)) == (404, "NotFound")


async def test_leaving_the_organization_leaves_its_groups(world) -> None:
    group = await a_group(world)
    ada = await a_user(world, "ada@example.com")
    await world.http.post(f"{GROUPS}/{group['id']}/users/ada@example.com", token=world.token)
    path = f"/api/v2/organizations/{world.tenants[0].organization_id}/memberships/{ada['membership']}"
    assert (await world.http.delete(path, token=await root_token(world))).status == 200
    assert not await world.rows("SELECT FROM group_members")
