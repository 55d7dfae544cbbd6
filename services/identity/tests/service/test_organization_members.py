"""The users of an organization: listed, changed, switched off, removed."""

import asyncio
from uuid import uuid4

import pytest
from services.identity.tests.service.organization_people import (
    a_role,
    a_user,
    an_organization_of,
    joins,
    root_token,
    user_token,
)

from strongroom_common.testing.waiting import eventually

USER_FIELDS = {"id", "username", "email", "isEmailVerified", "firstName", "lastName", "publicKey"}
FIELDS = {"id", "role", "roleId", "status", "isActive", "orgId", "userId", "inviteEmail", "user"}


def path(world, membership: str = "") -> str:
    base = f"/api/v2/organizations/{world.tenants[0].organization_id}/memberships"
    return f"{base}/{membership}" if membership else base


async def members(world) -> dict[str, dict]:
    found = (await world.http.get(path(world), token=world.token)).json["users"]
    return {one["user"]["email"]: one for one in found}


async def session(world, email: str) -> str:
    return await user_token(world, email, world.tenants[0].organization_id)


async def test_members_are_listed_with_their_users(world) -> None:
    made = await a_user(world, "anna@example.com", "member")
    await a_role(world, "auditor", ("audit-logs", "read"))
    await a_user(world, "aud@example.com", "auditor")
    found = await members(world)
    assert found.keys() == {"root@example.com", "anna@example.com", "aud@example.com"}
    anna = found["anna@example.com"]
    assert anna.keys() >= FIELDS
    assert anna["user"].keys() == USER_FIELDS
    assert (anna["id"], anna["userId"], anna["role"]) == (made["membership"], made["id"], "member")
    assert (anna["status"], anna["isActive"], anna["inviteEmail"]) == ("accepted", True, None)
    auditor = found["aud@example.com"]
    assert (auditor["role"], auditor["customRoleSlug"]) == ("custom", "auditor")
    assert auditor["roleId"]
    older = f"/api/v1/organization/{world.tenants[0].organization_id}/users"
    listed = (await world.http.get(older, token=await root_token(world))).json["users"]
    assert sorted(listed, key=lambda one: one["id"]) == sorted(found.values(), key=lambda one: one["id"])
    page = await world.http.get(path(world), token=world.token, params={"limit": "1", "offset": "1"})
    assert len(page.json["users"]) == 1
    one = (await world.http.get(path(world, anna["id"]), token=world.token)).json["membership"]
    assert one == anna


async def test_only_who_may_see_members_sees_them(world, refusal) -> None:
    made = await a_user(world, "anna@example.com", "no-access")
    token = await session(world, "anna@example.com")
    for target in (path(world), path(world, made["membership"])):
        assert refusal(await world.http.get(target, token=token)) == (403, "PermissionDenied")


async def test_memberships_of_another_organization_are_not_found(world, refusal) -> None:
    other = await world.another_tenant()
    theirs = await a_user(world, "x@example.com", "member", other.organization_id)
    for membership in (theirs["membership"], str(uuid4())):
        for answer in (
            await world.http.get(path(world, membership), token=world.token),
            await world.http.patch(path(world, membership), token=world.token, json={"role": "no-access"}),
            await world.http.delete(path(world, membership), token=world.token),
            await world.http.delete(path(world), token=world.token, json={"membershipIds": [membership]}),
            await world.http.get(path(world, membership) + "/project-memberships", token=world.token),
        ):
            assert refusal(answer) == (404, "NotFound")
    for answer in (
        await world.http.get(path(world), token=other.token),
        await world.http.delete(path(world), token=other.token, json={"membershipIds": [str(uuid4())]}),
    ):
        assert refusal(answer) == (404, "NotFound")
    assert (await world.rows("SELECT role FROM membership_roles WHERE membership_id = $1", theirs["membership"]))[0][
        "role"
    ] == "member"


async def test_a_role_changes_and_counts_at_once(world, refusal) -> None:
    made = await a_user(world, "anna@example.com", "no-access")
    token = await session(world, "anna@example.com")
    assert refusal(await world.http.get(path(world), token=token)) == (403, "PermissionDenied")
    answer = await world.http.patch(path(world, made["membership"]), token=world.token, json={"role": "member"})
    assert answer.status == 200, answer.text
    assert answer.json["membership"]["role"] == "member"
    assert (await world.http.get(path(world), token=token)).status == 200
    await world.http.patch(path(world, made["membership"]), token=world.token, json={"role": "no-access"})
    assert refusal(await world.http.get(path(world), token=token)) == (403, "PermissionDenied")
    events = await eventually(lambda: world.identity.said.of("identity.access.changed.v1"))
    assert events[-1].payload["subject_ids"] == [made["id"]]
    records = await eventually(lambda: world.audited("update-organization-membership"))
    assert records[0]["metadata"] == {"membershipId": made["membership"], "userId": made["id"], "role": "member"}


async def test_metadata_is_replaced(world) -> None:
    made = await a_user(world, "anna@example.com")
    for metadata in ([{"key": "team", "value": "blue"}, {"key": "site", "value": "north"}], [], None):
        body = {"metadata": metadata, "isActive": True}
        answer = await world.http.patch(path(world, made["membership"]), token=world.token, json=body)
        found = [{"key": one["key"], "value": one["value"]} for one in answer.json["membership"]["metadata"]]
        assert found == (metadata or [])


async def test_a_deactivated_member_has_no_living_session_until_he_is_let_in_again(world, refusal) -> None:
    made = await a_user(world, "anna@example.com")
    token = await session(world, "anna@example.com")
    assert (await world.http.get(path(world), token=token)).status == 200
    off = await world.http.patch(path(world, made["membership"]), token=world.token, json={"isActive": False})
    assert off.json["membership"]["isActive"] is False
    assert refusal(await world.http.get(path(world), token=token)) == (401, "UnauthorizedError")
    free = await user_token(world, "anna@example.com")
    assert (await world.http.get("/api/v1/organization", token=free)).json["organizations"] == []
    await world.http.patch(path(world, made["membership"]), token=world.token, json={"isActive": True})
    assert (await world.http.get(path(world), token=token)).status == 200


async def test_who_is_shut_out_above_is_shut_out_below(world, refusal) -> None:
    made = await a_user(world, "anna@example.com")
    sub = await world.http.post("/api/v1/sub-organizations", token=world.token, json={"name": "Below"})
    below = sub.json["organization"]["id"]
    await joins(world, made["id"], "member", below)
    token = await user_token(world, "anna@example.com", below)
    inside = f"/api/v1/organization/{below}"
    assert (await world.http.get(inside, token=token)).status == 200
    await world.http.patch(path(world, made["membership"]), token=world.token, json={"isActive": False})
    assert refusal(await world.http.get(inside, token=token)) == (401, "UnauthorizedError")


async def test_a_removed_member_is_gone_from_projects_and_sub_organizations_too(world, refusal) -> None:
    made = await a_user(world, "anna@example.com")
    project = await world.project()
    await joins(world, made["id"], "viewer", project["orgId"], project["id"])
    sub = await world.http.post("/api/v1/sub-organizations", token=world.token, json={"name": "Below"})
    await joins(world, made["id"], "member", sub.json["organization"]["id"])
    elsewhere = await an_organization_of(world, "anna@example.com", "Elsewhere")
    token = await session(world, "anna@example.com")
    assert (await world.http.get(f"/api/v1/projects/{project['id']}", token=token)).status == 200
    answer = await world.http.delete(path(world, made["membership"]), token=world.token)
    assert answer.status == 200, answer.text
    assert answer.json["membership"]["userId"] == made["id"]
    assert refusal(await world.http.get(path(world), token=token)) == (401, "UnauthorizedError")
    left = await world.rows("SELECT organization_id FROM memberships WHERE user_id = $1", made["id"])
    assert [str(row["organization_id"]) for row in left] == [elsewhere]
    (record,) = await eventually(lambda: world.audited("delete-organization-membership"))
    assert record["metadata"]["userId"] == made["id"]


async def test_many_are_removed_together_or_not_at_all(world, refusal) -> None:
    first, second = await a_user(world, "a@example.com"), await a_user(world, "b@example.com")
    wanted = [first["membership"], second["membership"]]
    broken = await world.http.delete(path(world), token=world.token, json={"membershipIds": [*wanted, str(uuid4())]})
    assert refusal(broken) == (404, "NotFound")
    assert len(await members(world)) == 3
    answer = await world.http.delete(path(world), token=world.token, json={"membershipIds": wanted})
    assert {one["id"] for one in answer.json["memberships"]} == set(wanted)
    assert (await members(world)).keys() == {"root@example.com"}


@pytest.mark.parametrize(
    "body", [{}, {"membershipIds": []}, {"membershipIds": ["canary"]}, {"membershipIds": "canary"}]
)
async def test_a_bad_list_is_refused(world, refusal, body) -> None:
    answer = await world.http.delete(path(world), token=world.token, json=body)
    assert refusal(answer) == (422, "ValidationFailure")
    assert "canary" not in answer.text


async def test_the_last_admin_stays(world, refusal) -> None:
    root = (await members(world))["root@example.com"]["id"]
    target = path(world, root)
    for answer in (
        await world.http.patch(target, token=world.token, json={"role": "member"}),
        await world.http.patch(target, token=world.token, json={"isActive": False}),
        await world.http.delete(target, token=world.token),
        await world.http.delete(path(world), token=world.token, json={"membershipIds": [root]}),
        await world.http.patch(target, token=await root_token(world), json={"role": "no-access"}),
    ):
        assert refusal(answer) == (400, "BadRequest")
    assert (await world.http.patch(target, token=world.token, json={"role": "admin"})).status == 200
    sleeping = await a_user(world, "second@example.com", "admin")
    await world.http.patch(path(world, sleeping["membership"]), token=world.token, json={"isActive": False})
    assert refusal(await world.http.delete(target, token=world.token)) == (400, "BadRequest"), "nobody could act"
    await world.http.patch(path(world, sleeping["membership"]), token=world.token, json={"isActive": True})
    assert (await world.http.delete(target, token=world.token)).status == 200


async def test_two_admins_who_remove_each_other_do_not_both_succeed(world) -> None:
    other = await a_user(world, "second@example.com", "admin")
    root = (await members(world))["root@example.com"]["id"]
    tokens = [await root_token(world), await session(world, "second@example.com")]
    answers = await asyncio.gather(
        world.http.delete(path(world, other["membership"]), token=tokens[0]),
        world.http.delete(path(world, root), token=tokens[1]),
    )
    assert sorted(answer.status for answer in answers) in ([200, 400], [200, 401])
    assert len(await members(world)) == 1


async def test_nobody_changes_or_makes_one_who_may_do_more(world, refusal) -> None:
    await a_role(world, "keeper", ("member", "read"), ("member", "edit"), ("member", "delete"))
    keeper = await a_user(world, "keeper@example.com", "keeper")
    boss, guest = (
        await a_user(world, "boss@example.com", "admin"),
        await a_user(world, "guest@example.com", "no-access"),
    )
    token = await session(world, "keeper@example.com")
    for answer in (
        await world.http.patch(path(world, boss["membership"]), token=token, json={"isActive": False}),
        await world.http.delete(path(world, boss["membership"]), token=token),
        await world.http.patch(path(world, guest["membership"]), token=token, json={"role": "admin"}),
        await world.http.patch(path(world, keeper["membership"]), token=token, json={"role": "admin"}),
        await world.http.patch(path(world, guest["membership"]), token=token, json={"role": "member"}),
    ):
        assert refusal(answer) == (403, "PermissionBoundaryError")
    changed = await world.http.patch(path(world, guest["membership"]), token=token, json={"role": "keeper"})
    assert changed.status == 200
    unknown = await world.http.patch(path(world, guest["membership"]), token=token, json={"role": "nobody"})
    assert refusal(unknown) == (404, "NotFound")


async def test_where_a_member_is(world) -> None:
    made = await a_user(world, "anna@example.com")
    project = await world.project("Payments")
    await world.project("Without her")
    await joins(world, made["id"], "viewer", project["orgId"], project["id"])
    answer = await world.http.get(path(world, made["membership"]) + "/project-memberships", token=world.token)
    (found,) = answer.json["memberships"]
    assert (found["projectId"], found["project"]["name"], found["userId"]) == (project["id"], "Payments", made["id"])
    assert [role["role"] for role in found["roles"]] == ["viewer"]
