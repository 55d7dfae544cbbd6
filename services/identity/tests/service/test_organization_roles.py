"""The roles that an organization makes for itself."""

from uuid import uuid4

import pytest
from services.identity.tests.service.organization_people import (
    a_role,
    a_user,
    an_organization_of,
    root_token,
    user_token,
)

from strongroom_common.testing.waiting import eventually

SHORT = "/api/v1/organization/roles"
FIELDS = {"id", "name", "slug", "description", "permissions", "orgId", "createdAt", "updatedAt"}
READ_MEMBERS = {"subject": "member", "action": ["read"], "inverted": False}


def long(world) -> str:
    return f"/api/v1/organization/{world.tenants[0].organization_id}/roles"


def body(slug: str = "auditor", **more) -> dict[str, object]:
    return {"slug": slug, "name": "Auditor", "permissions": [{"subject": "member", "action": "read"}], **more}


async def test_both_forms_make_read_change_and_delete(world) -> None:
    for base, token in ((SHORT, world.token), (long(world), await root_token(world))):
        answer = await world.http.post(base, token=token, json=body(description="Looks only"))
        assert answer.status == 200, answer.text
        role = answer.json["role"]
        assert role.keys() == FIELDS
        assert (role["slug"], role["orgId"]) == ("auditor", world.tenants[0].organization_id)
        assert role["permissions"] == [READ_MEMBERS], "an action is always an array"
        one = f"{base}/{role['id']}"
        assert (await world.http.get(one, token=token)).json["role"] == role
        changed = await world.http.patch(one, token=token, json={"name": "Reader", "slug": "reader"})
        assert (changed.json["role"]["name"], changed.json["role"]["slug"]) == ("Reader", "reader")
        assert changed.json["role"]["permissions"] == [READ_MEMBERS]
        assert changed.json["role"]["description"] == "Looks only"
        gone = await world.http.delete(one, token=token)
        assert gone.json["role"]["id"] == role["id"]
        assert (await world.http.get(one, token=token)).status == 404
    for event in ("create-organization-role", "update-organization-role", "delete-organization-role"):
        records = await eventually(lambda event=event: world.audited(event))
        assert {record["metadata"]["slug"] for record in records} <= {"auditor", "reader"}


async def test_a_role_is_found_by_its_slug_a_predefined_one_too(world) -> None:
    role = await a_role(world, "auditor", ("member", "read"))
    found = await world.http.get(f"{SHORT}/slug/Auditor", token=world.token)
    assert found.json["role"] == role
    predefined = (await world.http.get(f"{SHORT}/slug/member", token=world.token)).json["role"]
    assert {"subject": "project", "action": ["create"], "inverted": False} in predefined["permissions"]
    assert (await world.http.get(f"{SHORT}/slug/nobody", token=world.token)).status == 404


async def test_the_list_begins_with_the_predefined_roles(world) -> None:
    await a_role(world, "auditor", ("member", "read"))
    answer = await world.http.get(long(world), token=await root_token(world))
    roles = answer.json["data"]["roles"]
    assert [role["slug"] for role in roles] == ["admin", "member", "no-access", "auditor"]
    assert len({role["id"] for role in roles}) == 4


@pytest.mark.parametrize(
    "slug", ["admin", " Member ", "NO-ACCESS", "custom", "Cus\u200btom", "\uff41dmin", "x" * 65, "", "a b"]
)
async def test_a_reserved_or_malformed_slug_is_refused_in_every_spelling(world, refusal, slug) -> None:
    assert refusal(await world.http.post(SHORT, token=world.token, json=body(slug))) == (422, "ValidationFailure")
    role = await a_role(world, "plain")
    answer = await world.http.patch(f"{SHORT}/{role['id']}", token=world.token, json={"slug": slug})
    assert refusal(answer) == (422, "ValidationFailure")


@pytest.mark.parametrize(
    "permissions",
    [
        None,
        "canary",
        [{"subject": "canary", "action": ["read"]}],
        [{"subject": "member", "action": ["canary"]}],
        [{"subject": "member", "action": []}],
        [{"subject": "secrets", "action": ["create"]}],
        [{"subject": "member", "action": ["read"], "conditions": {"canary": "x"}}],
        [{"subject": "app-connections", "action": ["connect"], "conditions": {"connectionId": {"$glob": "canary"}}}],
    ],
)
async def test_bad_rules_are_refused(world, refusal, permissions) -> None:
    answer = await world.http.post(SHORT, token=world.token, json=body(permissions=permissions))
    assert refusal(answer) == (422, "ValidationFailure")
    assert answer.json["message"][0]["path"][0] == "permissions"
    assert "canary" not in answer.text


async def test_a_slug_is_taken_once_per_organization(world, refusal) -> None:
    await a_role(world, "auditor")
    assert refusal(await world.http.post(SHORT, token=world.token, json=body("Auditor"))) == (400, "BadRequest")
    other = await world.another_tenant()
    assert (await world.http.post(SHORT, token=other.token, json=body())).status == 200
    second = await a_role(world, "second")
    answer = await world.http.patch(f"{SHORT}/{second['id']}", token=world.token, json={"slug": "auditor"})
    assert refusal(answer) == (400, "BadRequest")


async def test_nobody_makes_or_changes_a_role_beyond_his_own_rights(world, refusal) -> None:
    keeper = [("role", "read"), ("role", "create"), ("role", "edit"), ("role", "delete"), ("member", "read")]
    await a_role(world, "keeper", *keeper)
    powerful = await a_role(world, "powerful", ("settings", "edit"))
    await a_user(world, "k@example.com", "keeper")
    token = await user_token(world, "k@example.com", world.tenants[0].organization_id)
    rules = [{"subject": "settings", "action": ["edit"]}]
    made = await world.http.post(SHORT, token=token, json=body(permissions=rules))
    assert refusal(made) == (403, "PermissionBoundaryError")
    assert made.json["details"]["missingPermissions"][0]["subject"] == "settings"
    own = (await world.http.post(SHORT, token=token, json=body())).json["role"]
    widened = await world.http.patch(f"{SHORT}/{own['id']}", token=token, json={"permissions": rules})
    assert refusal(widened) == (403, "PermissionBoundaryError")
    # What stands above him is not his to cut down either.
    cut = await world.http.patch(f"{SHORT}/{powerful['id']}", token=token, json={"permissions": []})
    assert refusal(cut) == (403, "PermissionBoundaryError")
    found = await world.http.get(f"{SHORT}/{own['id']}", token=world.token)
    assert found.json["role"]["permissions"] == [READ_MEMBERS]


async def test_a_change_of_rules_counts_at_once_for_whoever_has_the_role(world, refusal) -> None:
    role = await a_role(world, "auditor", ("role", "read"))
    machine = await world.machine("robot", role="auditor")
    token = await world.token_of(machine)
    one = f"{SHORT}/{role['id']}"
    assert (await world.http.get(one, token=token)).status == 200
    await world.http.patch(one, token=world.token, json={"permissions": []})
    assert refusal(await world.http.get(one, token=token)) == (403, "PermissionDenied")


async def test_a_role_in_use_stays(world, refusal) -> None:
    role = await a_role(world, "auditor")
    made = await a_user(world, "aud@example.com", "auditor")
    one = f"{SHORT}/{role['id']}"
    assert refusal(await world.http.delete(one, token=world.token)) == (400, "BadRequest")
    base = f"/api/v2/organizations/{world.tenants[0].organization_id}/memberships"
    await world.http.delete(f"{base}/{made['membership']}", token=world.token)
    settings = f"/api/v1/organization/{world.tenants[0].organization_id}"
    root = await root_token(world)
    await world.http.patch(settings, token=root, json={"defaultMembershipRoleSlug": "auditor"})
    assert refusal(await world.http.delete(one, token=world.token)) == (400, "BadRequest"), "newcomers get it"
    await world.http.patch(one, token=world.token, json={"slug": "watcher"})
    found = (await world.http.get(settings, token=root)).json["organization"]
    assert found["defaultMembershipRole"] == "watcher", "a new slug does not take the role from newcomers"
    await world.http.patch(settings, token=root, json={"defaultMembershipRoleSlug": "member"})
    assert (await world.http.delete(one, token=world.token)).status == 200


async def test_roles_of_another_organization_and_of_projects_are_not_found(world, refusal) -> None:
    other = await world.another_tenant()
    theirs = (await world.http.post(SHORT, token=other.token, json=body())).json["role"]["id"]
    in_project = await world.custom_role(await world.project(), "tester", [])
    elsewhere = await an_organization_of(world, "root@example.com", "Elsewhere")
    root = await root_token(world)
    for base, token in ((SHORT, world.token), (long(world), root)):
        for role_id in (theirs, in_project, str(uuid4())):
            for answer in (
                await world.http.get(f"{base}/{role_id}", token=token),
                await world.http.patch(f"{base}/{role_id}", token=token, json={"name": "Taken"}),
                await world.http.delete(f"{base}/{role_id}", token=token),
            ):
                assert refusal(answer) == (404, "NotFound")
    for answer in (
        await world.http.get(f"/api/v1/organization/{elsewhere}/roles", token=root),
        await world.http.post(f"/api/v1/organization/{elsewhere}/roles", token=root, json=body()),
        await world.http.get(f"/api/v1/organization/{elsewhere}/permissions", token=root),
    ):
        assert refusal(answer) == (404, "NotFound")


async def test_roles_take_the_right_to_see_and_to_make_them(world, refusal) -> None:
    role = await a_role(world, "auditor")
    member = await world.token_of(await world.machine("member", role="member"))
    nobody = await world.token_of(await world.machine("nobody"))
    one = f"{SHORT}/{role['id']}"
    assert (await world.http.get(one, token=member)).status == 200
    for answer in (
        await world.http.get(one, token=nobody),
        await world.http.get(f"{SHORT}/slug/auditor", token=nobody),
        await world.http.post(SHORT, token=member, json=body("other")),
        await world.http.patch(one, token=member, json={"name": "Mine"}),
        await world.http.delete(one, token=member),
    ):
        assert refusal(answer) == (403, "PermissionDenied")


async def test_a_user_reads_what_holds_for_him(world) -> None:
    await a_role(world, "auditor", ("member", "read"))
    made = await a_user(world, "aud@example.com", "auditor")
    organization_id = world.tenants[0].organization_id
    token = await user_token(world, "aud@example.com", organization_id)
    answer = await world.http.get(f"/api/v1/organization/{organization_id}/permissions", token=token)
    assert answer.json["permissions"] == [READ_MEMBERS]
    membership = answer.json["membership"]
    assert (membership["id"], membership["role"]) == (made["membership"], "custom")
