"""What administrators of the instance see and end, across all organizations."""

from uuid import uuid4

import pytest
from services.identity.tests.service.organization_people import a_user, an_organization_of, root_token, user_token

from strongroom_common.testing.waiting import eventually

USERS = "/api/v1/admin/user-management/users"
IDENTITIES = "/api/v1/admin/identity-management/identities"
ORGANIZATIONS = "/api/v1/admin/organization-management/organizations"


async def names(world, path: str, key: str, field: str = "name", **query: str):
    answer = await world.http.get(path, token=world.token, params=query)
    assert answer.status == 200, answer.text
    return [one[field] for one in answer.json[key]], answer.json["total"]


async def root_id(world) -> str:
    (row,) = await world.rows("SELECT id FROM users WHERE email = 'root@example.com'")
    return str(row["id"])


async def test_users_are_listed_searched_and_paged(world) -> None:
    for email in ("b_b@example.com", "bxb@example.com", "c%c@example.org"):
        await a_user(world, email)
    everyone = ["b_b@example.com", "bxb@example.com", "c%c@example.org", "root@example.com"]
    assert await names(world, USERS, "users", "username") == (everyone, 4)
    assert await names(world, USERS, "users", "username", limit="1", offset="2") == (["c%c@example.org"], 4)
    assert await names(world, USERS, "users", "username", limit="5", offset="9") == ([], 4)
    assert await names(world, USERS, "users", "username", searchTerm="b_b") == (["b_b@example.com"], 1)
    assert await names(world, USERS, "users", "username", searchTerm="%") == (["c%c@example.org"], 1)
    assert await names(world, USERS, "users", "username", adminsOnly="true") == (["root@example.com"], 1)
    (root,) = (await world.http.get(USERS, token=world.token, params={"searchTerm": "ROOT"})).json["users"]
    assert root == {
        "id": await root_id(world),
        "username": "root@example.com",
        "firstName": "Admin",
        "lastName": "User",
        "email": "root@example.com",
        "superAdmin": True,
    }


async def test_identities_and_organizations_of_all_tenants_are_listed(world) -> None:
    other = await world.another_tenant("Other Ltd")
    assert await names(world, IDENTITIES, "identities") == (["Instance Admin Identity", "robot"], 2)
    (robot,) = (await world.http.get(IDENTITIES, token=world.token, params={"searchTerm": "rob"})).json["identities"]
    assert robot == {"id": other.identity_id, "name": "robot", "isInstanceAdmin": False}
    assert await names(world, ORGANIZATIONS, "organizations") == (["Acme Inc.", "Other Ltd"], 2)
    assert await names(world, ORGANIZATIONS, "organizations", searchTerm="acme") == (["Acme Inc."], 1)
    for event in ("get-instance-identities", "get-instance-organizations"):
        assert await eventually(lambda event=event: world.audited(event))


@pytest.mark.parametrize("query", [{"limit": "101"}, {"limit": "0"}, {"offset": "-1"}, {"limit": "canary"}])
async def test_a_page_has_bounds(world, refusal, query) -> None:
    for path in (USERS, IDENTITIES, ORGANIZATIONS):
        answer = await world.http.get(path, token=world.token, params=query)
        assert refusal(answer) == (422, "ValidationFailure")
        assert "canary" not in answer.text


async def test_an_admin_of_an_organization_sees_and_ends_nothing(world, refusal) -> None:
    other = await world.another_tenant()
    root, organization_id = await root_id(world), world.tenants[0].organization_id
    for answer in (
        await world.http.get(USERS, token=other.token),
        await world.http.get(IDENTITIES, token=other.token),
        await world.http.get(ORGANIZATIONS, token=other.token),
        await world.http.delete(f"{USERS}/{root}", token=other.token),
        await world.http.patch(f"{USERS}/{root}/admin-access", token=other.token),
        await world.http.delete(f"{USERS}/{root}/admin-access", token=other.token),
        await world.http.delete(f"{IDENTITIES}/{world.tenants[0].identity_id}/super-admin-access", token=other.token),
        await world.http.delete(f"{ORGANIZATIONS}/{organization_id}", token=other.token),
    ):
        assert refusal(answer) == (403, "ForbiddenError")
    assert (await world.details(world.token)).status == 200


async def test_a_user_is_deleted_everywhere(world, refusal) -> None:
    made = await a_user(world, "anna@example.com")
    token = await user_token(world, "anna@example.com", world.tenants[0].organization_id)
    assert (await world.http.get("/api/v1/organization", token=token)).status == 200
    answer = await world.http.delete(f"{USERS}/{made['id']}", token=world.token)
    assert answer.status == 200, answer.text
    assert answer.json["users"]["email"] == "anna@example.com"
    assert refusal(await world.http.get("/api/v1/organization", token=token)) == (401, "UnauthorizedError")
    assert await names(world, USERS, "users", "username") == (["root@example.com"], 1)
    revoked = await eventually(lambda: world.identity.said.of("identity.tokens.revoked.v1"))
    assert revoked[-1].payload["subject_ids"] == [made["id"]]
    assert refusal(await world.http.delete(f"{USERS}/{made['id']}", token=world.token)) == (404, "NotFound")


async def test_the_last_administrator_of_anything_stays(world, refusal) -> None:
    root = await root_id(world)
    assert refusal(await world.http.delete(f"{USERS}/{root}", token=world.token)) == (400, "BadRequest")
    answer = await world.http.delete(f"{USERS}/{root}/admin-access", token=world.token)
    assert refusal(answer) == (400, "BadRequest")
    made = await a_user(world, "anna@example.com", None)
    await an_organization_of(world, "anna@example.com", "Hers alone")
    refused = await world.http.delete(f"{USERS}/{made['id']}", token=world.token)
    assert refusal(refused) == (400, "BadRequest"), "an organization would be left without an admin"


async def test_admin_access_is_given_and_taken_and_counts_at_once(world, refusal) -> None:
    made = await a_user(world, "anna@example.com")
    token = await user_token(world, "anna@example.com", world.tenants[0].organization_id)
    assert refusal(await world.http.get(USERS, token=token)) == (403, "ForbiddenError")
    given = await world.http.patch(f"{USERS}/{made['id']}/admin-access", token=world.token)
    assert (given.status, given.json) == (200, {})
    assert (await world.http.get(USERS, token=token)).status == 200
    taken = await world.http.delete(f"{USERS}/{made['id']}/admin-access", token=await root_token(world))
    assert taken.json["user"]["superAdmin"] is False
    assert refusal(await world.http.get(USERS, token=token)) == (403, "ForbiddenError")
    for method in ("PATCH", "DELETE"):
        answer = await world.http.send(method, f"{USERS}/{uuid4()}/admin-access", token=world.token)
        assert refusal(answer) == (404, "NotFound")


async def test_an_identity_loses_its_admin_access(world, refusal) -> None:
    path = f"{IDENTITIES}/{world.tenants[0].identity_id}/super-admin-access"
    answer = await world.http.delete(path, token=await root_token(world))
    assert answer.json["identity"] == {"id": world.tenants[0].identity_id, "name": "Instance Admin Identity"}
    assert refusal(await world.http.get(USERS, token=world.token)) == (403, "ForbiddenError")
    unknown = await world.http.delete(f"{IDENTITIES}/{uuid4()}/super-admin-access", token=await root_token(world))
    assert refusal(unknown) == (404, "NotFound")


async def test_any_organization_is_ended_with_all_that_hangs_on_it(world, refusal) -> None:
    other = await world.another_tenant()
    project = await world.project("Theirs", token=other.token)
    answer = await world.http.delete(f"{ORGANIZATIONS}/{other.organization_id}", token=world.token)
    assert answer.json["organization"]["id"] == other.organization_id
    assert (await world.details(other.token)).status == 401
    (event,) = await eventually(lambda: world.identity.said.of("identity.project.deleted.v1"))
    assert event.payload["project_id"] == project["id"]
    again = await world.http.delete(f"{ORGANIZATIONS}/{other.organization_id}", token=world.token)
    assert refusal(again) == (404, "NotFound")


async def test_an_organization_is_begun_for_others_who_are_invited_as_its_admins(world, refusal) -> None:
    body = {"name": "For you", "inviteAdminEmails": ["New@Example.com ", "root@example.com", "new@example.com"]}
    answer = await world.http.post(ORGANIZATIONS, token=world.token, json=body)
    assert answer.status == 200, answer.text
    made = answer.json["organization"]
    assert made["name"] == "For you"
    # There is no mail server in this test.
    links = answer.json["completeInviteLinks"]
    assert [one["email"] for one in links] == ["new@example.com", "root@example.com"]
    found = await world.rows(
        "SELECT m.status, r.role FROM memberships m JOIN membership_roles r ON r.membership_id = m.id "
        "WHERE m.organization_id = $1",
        made["id"],
    )
    assert {(row["status"], row["role"]) for row in found} == {("invited", "admin")}
    assert len(found) == 2
    own = await world.http.get("/api/v1/organization", token=await user_token(world))
    assert made["id"] not in {one["id"] for one in own.json["organizations"]}, "nobody is in before he accepts"
    other = await world.another_tenant()
    assert refusal(await world.http.post(ORGANIZATIONS, token=other.token, json=body)) == (403, "ForbiddenError")
    for bad in ({"name": "X", "inviteAdminEmails": []}, {"name": "X", "inviteAdminEmails": ["canary"]}):
        answer = await world.http.post(ORGANIZATIONS, token=world.token, json=bad)
        assert refusal(answer) == (422, "ValidationFailure")
        assert "canary" not in answer.text
