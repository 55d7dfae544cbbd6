"""Users as members of projects."""

import pytest
from services.identity.tests.service.organization_people import ROOT, a_role, a_user, joins, root_token, user_token

from strongroom_common.testing.waiting import eventually

ADA, BOB = "ada@example.com", "bob@example.com"


def path_of(project, version="v1/projects") -> str:
    return f"/api/{version}/{project['id']}/memberships"


async def add(world, project, version="v1/projects", token=None, **body):
    return await world.http.post(path_of(project, version), token=token or world.token, json=body)


@pytest.mark.parametrize("version", ["v1/projects", "v1/workspace", "v2/workspace"])
async def test_users_are_added_and_removed_by_names(world, refusal, version) -> None:
    project, ada, bob = await world.project(), await a_user(world, ADA), await a_user(world, BOB)
    answer = await add(world, project, version, emails=[ADA], usernames=[BOB, ADA], roleSlugs=["viewer"])
    assert answer.status == 200, answer.text
    found = {one["userId"]: one for one in answer.json["memberships"]}
    assert found.keys() == {ada["id"], bob["id"]}
    assert found[ada["id"]]["user"] == {
        "id": ada["id"],
        "email": ADA,
        "username": ADA,
        "firstName": "Ada",
        "lastName": "Tester",
        "publicKey": None,
    }
    assert [role["role"] for role in found[ada["id"]]["roles"]] == ["viewer"]
    assert refusal(await add(world, project, version, emails=[ADA])) == (400, "BadRequest")
    removed = await world.http.delete(path_of(project, version), token=world.token, json={"usernames": [BOB]})
    assert [one["userId"] for one in removed.json["memberships"]] == [bob["id"]]
    again = await world.http.delete(path_of(project, version), token=world.token, json={"emails": [ADA, BOB]})
    assert refusal(again) == (404, "NotFound"), "all of them or none"
    listed = (await world.http.get(path_of(project), token=world.token)).json["memberships"]
    assert [one["userId"] for one in listed] == [ada["id"]]
    for event in ("create-user-project-membership", "delete-user-project-membership"):
        assert await eventually(lambda event=event: world.audited(event))


async def test_the_usual_role_is_member(world) -> None:
    project = await world.project()
    await a_user(world, ADA)
    (membership,) = (await add(world, project, emails=[ADA])).json["memberships"]
    assert [role["role"] for role in membership["roles"]] == ["member"]


async def test_a_stranger_joins_the_organization_as_well_without_rights_in_it(world, refusal) -> None:
    project, ada = await world.project(), await a_user(world, ADA, None)
    assert (await add(world, project, emails=[ADA], roleSlugs=["viewer"])).status == 200
    found = await world.rows(
        "SELECT m.organization_id, r.role FROM memberships m JOIN membership_roles r ON r.membership_id = m.id "
        "WHERE m.user_id = $1 AND m.project_id IS NULL",
        ada["id"],
    )
    assert [(str(row["organization_id"]), row["role"]) for row in found] == [(project["orgId"], "no-access")]
    token = await user_token(world, ADA, project["orgId"])
    assert (await world.http.get(f"/api/v1/projects/{project['id']}", token=token)).status == 200
    assert refusal(await world.http.get("/api/v1/groups", token=token)) == (403, "PermissionDenied")


async def test_a_stranger_is_brought_in_only_by_who_may_make_members_of_the_organization(world, refusal) -> None:
    project, inviter = await world.project(), await world.machine("inviter")
    await a_user(world, ADA, None)
    await a_user(world, BOB)
    await world.join(project["id"], inviter, role="admin")
    token = await world.token_of(inviter)
    assert refusal(await add(world, project, token=token, emails=[ADA])) == (403, "PermissionDenied")
    assert (await add(world, project, token=token, emails=[BOB])).status == 200


async def test_names_are_in_lower_case_and_known(world, refusal) -> None:
    project = await world.project()
    await a_user(world, ADA)
    for body in (
        {"emails": ["Ada@example.com"]},
        {"usernames": ["ADA@example.com"]},
        {"emails": ["not a mailbox"]},
        {"emails": [ADA], "roleSlugs": []},
        {},
    ):
        assert refusal(await add(world, project, **body)) == (422, "ValidationFailure")
    assert refusal(await add(world, project, emails=[ADA, "who@example.com"])) == (404, "NotFound")
    assert refusal(await add(world, project, emails=[ADA], roleSlugs=["nothing"])) == (404, "NotFound")
    assert not (await world.http.get(path_of(project), token=world.token)).json["memberships"]


@pytest.mark.parametrize("role", ["admin", "Admin", " ADMIN "])
async def test_nobody_gives_more_than_he_has(world, refusal, role) -> None:
    project, developer = await world.project(), await world.machine("dev")
    await a_user(world, ADA)
    await world.join(project["id"], developer, role="member")
    token = await world.token_of(developer)
    answer = await add(world, project, token=token, emails=[ADA], roleSlugs=[role])
    assert refusal(answer) == (403, "PermissionBoundaryError")
    (membership,) = (await add(world, project, emails=[ADA], roleSlugs=["viewer"])).json["memberships"]
    await world.custom_role(project, "editor", [{"subject": "member", "action": ["read", "edit", "delete"]}])
    editor = await world.machine("editor")
    await world.join(project["id"], editor, role="editor")
    token, path = await world.token_of(editor), f"{path_of(project)}/{membership['id']}"
    for answer in (
        await world.http.patch(path, token=token, json={"roles": [{"role": role}]}),
        await world.http.delete(path, token=token),
    ):
        assert refusal(answer) == (403, "PermissionBoundaryError")


async def test_a_membership_is_read_changed_and_removed_by_its_id(world, refusal) -> None:
    project, other, ada = await world.project("One"), await world.project("Two"), await a_user(world, ADA)
    membership = await joins(world, ada["id"], "viewer", project["orgId"], project["id"])
    path = f"{path_of(project)}/{membership}"
    found = (await world.http.get(path, token=world.token)).json["membership"]
    details = await world.http.post(
        f"{path_of(project)}/details", token=world.token, json={"username": "Ada@example.com"}
    )
    assert details.json["membership"] == found
    elsewhere = f"{path_of(other)}/{membership}"
    for method, body in (("GET", None), ("PATCH", {"roles": [{"role": "viewer"}]}), ("DELETE", None)):
        answer = await world.http.send(method, elsewhere, token=world.token, json=body)
        assert refusal(answer) == (404, "NotFound")
    body = {"roles": [{"role": "member"}]}
    roles = (await world.http.patch(path, token=world.token, json=body)).json["roles"]
    assert [role["role"] for role in roles] == ["member"]
    assert (await world.http.delete(path, token=world.token)).json["membership"]["id"] == membership
    assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")


async def test_one_role_must_be_for_ever(world, refusal) -> None:
    project, ada = await world.project(), await a_user(world, ADA)
    membership = await joins(world, ada["id"], "viewer", project["orgId"], project["id"])
    temporary = {
        "role": "member",
        "isTemporary": True,
        "temporaryMode": "relative",
        "temporaryRange": "1h",
        "temporaryAccessStartTime": "2026-01-02T09:00:00.000Z",
    }
    path = f"{path_of(project)}/{membership}"
    answer = await world.http.patch(path, token=world.token, json={"roles": [temporary]})
    assert refusal(answer) == (422, "ValidationFailure")
    body = {"roles": [{"role": "viewer"}, temporary]}
    assert (await world.http.patch(path, token=world.token, json=body)).status == 200


async def test_users_see_the_users_of_a_project_and_their_own_rights(world, refusal) -> None:
    project, ada, bob = await world.project(), await a_user(world, ADA), await a_user(world, BOB)
    await joins(world, ada["id"], "viewer", project["orgId"], project["id"])
    group = (await world.http.post("/api/v1/groups", token=world.token, json={"name": "Team"})).json
    for email in (ADA, BOB):
        await world.http.post(f"/api/v1/groups/{group['id']}/users/{email}", token=world.token)
    path = f"/api/v2/workspace/{project['id']}/groups/Team"
    await world.http.post(path, token=world.token, json={"roles": [{"role": "member"}]})
    token = await user_token(world, ADA, project["orgId"])
    base = f"/api/v1/projects/{project['id']}"

    async def users(**query):
        found = (await world.http.get(f"{base}/users", token=token, params=query)).json["users"]
        return [(one["userId"], one["isGroupMember"]) for one in found]

    assert await users() == [(ada["id"], False)]
    assert await users(includeGroupMembers="true") == [(ada["id"], False), (bob["id"], True)]
    assert await users(roles="member, admin") == []
    assert await users(roles="member", includeGroupMembers="true") == [(ada["id"], True), (bob["id"], True)]
    data = (await world.http.get(f"{base}/permissions", token=token)).json["data"]
    assert [[role["role"] for role in one["roles"]] for one in data["memberships"]] == [["viewer"], ["member"]]
    assert {"subject": "secrets", "action": ["describeSecret", "readValue"], "inverted": False} in data["permissions"]
    assert refusal(await world.http.get(f"{base}/users", token=world.token)) == (403, "ForbiddenError")
    root = await root_token(world)
    assert refusal(await world.http.get(f"{base}/permissions", token=root)) == (403, "ForbiddenError"), ROOT


async def test_an_organizations_own_role_is_no_role_of_a_project(world, refusal) -> None:
    project = await world.project()
    await a_user(world, ADA)
    await a_role(world, "finder", ("groups", "read"))
    assert refusal(await add(world, project, emails=[ADA], roleSlugs=["finder"])) == (404, "NotFound")
