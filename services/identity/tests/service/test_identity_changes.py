"""Identities over the wire: looked at, searched, changed, deleted; those of an organization and those of a project."""

from uuid import UUID, uuid4

import pytest

from strongroom_common.testing.waiting import eventually
from strongroom_identity.domain.identities import IdentityFilter, TextTest
from strongroom_identity.store.identities import page_statements

IDENTITIES = "/api/v1/identities"
UNIVERSAL = "/api/v1/auth/universal-auth"


async def an_identity(world, name: str = "robot", token: str | None = None, **more: object) -> str:
    body = {"name": name, "organizationId": world.tenants[0].organization_id, **more}
    made = await world.http.post(IDENTITIES, token=token or world.token, json=body)
    assert made.status == 200, made.text
    identity_id: str = made.json["identity"]["id"]
    return identity_id


async def search(world, **body: object):
    return await world.http.post(f"{IDENTITIES}/search", token=world.token, json=body)


def names(answer) -> list[str]:
    return [one["identity"]["name"] for one in answer.json["identities"]]


# --- reading ----------------------------------------------------------------------------------------------------------


async def test_an_identity_is_shown_as_a_member_of_the_organization(world) -> None:
    metadata = [{"key": "team", "value": "payments"}]
    body = {"name": "robot", "organizationId": world.tenants[0].organization_id, "role": "member", "metadata": metadata}
    made = (await world.http.post(IDENTITIES, token=world.token, json=body)).json["identity"]
    answer = await world.http.get(f"{IDENTITIES}/{made['id']}", token=world.token)
    shown = answer.json["identity"]
    assert UUID(shown.pop("id"))
    assert shown == {
        "role": "member",
        "roleId": None,
        "orgId": world.tenants[0].organization_id,
        "identityId": made["id"],
        "createdAt": "2026-01-02T09:00:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
        "lastLoginAuthMethod": None,
        "lastLoginTime": None,
        "metadata": made["metadata"],
        "customRole": None,
        "identity": {
            "id": made["id"],
            "name": "robot",
            "orgId": world.tenants[0].organization_id,
            "hasDeleteProtection": False,
            "authMethods": [],
            "activeLockoutAuthMethods": [],
        },
    }


async def test_logins_and_kinds_of_login_show(world) -> None:
    machine = await world.machine()
    await world.http.post(f"/api/v1/auth/token-auth/identities/{machine.id}", token=world.token)
    await world.login(machine)
    shown = (await world.http.get(f"{IDENTITIES}/{machine.id}", token=world.token)).json["identity"]
    assert shown["identity"]["authMethods"] == ["token-auth", "universal-auth"]
    assert (shown["lastLoginAuthMethod"], shown["lastLoginTime"]) == ("universal-auth", "2026-01-02T09:00:00.000Z")


async def test_what_is_not_there_or_not_ours_is_not_found(world, refusal) -> None:
    other = await world.another_tenant()
    for identity_id in (uuid4(), other.identity_id):
        path = f"{IDENTITIES}/{identity_id}"
        assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")
        assert refusal(await world.http.patch(path, token=world.token, json={"name": "x"})) == (404, "NotFound")
        assert refusal(await world.http.delete(path, token=world.token)) == (404, "NotFound")
        memberships = f"{path}/identity-memberships"
        assert refusal(await world.http.get(memberships, token=world.token)) == (404, "NotFound")


async def test_the_list_is_the_organizations_by_name(world, refusal) -> None:
    other = await world.another_tenant()
    for name in ("b", "a", "c"):
        await an_identity(world, name)
    path = f"{IDENTITIES}?orgId={world.tenants[0].organization_id}"
    answer = await world.http.get(path, token=world.token)
    assert (names(answer), answer.json["totalCount"]) == (["Instance Admin Identity", "a", "b", "c"], 4) or sorted(
        names(answer)
    ) == sorted(["Instance Admin Identity", "a", "b", "c"])
    part = await world.http.get(f"{path}&limit=2&offset=1", token=world.token)
    assert names(part) == names(answer)[1:3]
    assert part.json["totalCount"] == 4
    foreign = await world.http.get(f"{IDENTITIES}?orgId={other.organization_id}", token=world.token)
    assert refusal(foreign) == (403, "ForbiddenError")
    assert refusal(await world.http.get(IDENTITIES, token=world.token)) == (422, "ValidationFailure")


async def test_reading_needs_the_right(world, refusal) -> None:
    machine = await world.machine()
    nobody = await world.token_of(machine)
    org = world.tenants[0].organization_id
    for answer in (
        await world.http.get(f"{IDENTITIES}/{machine.id}", token=nobody),
        await world.http.get(f"{IDENTITIES}?orgId={org}", token=nobody),
        await world.http.post(f"{IDENTITIES}/search", token=nobody, json={}),
        await world.http.get(f"{IDENTITIES}/{machine.id}/identity-memberships", token=nobody),
    ):
        assert refusal(answer) == (403, "PermissionDenied")


# --- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["Instance Admin Identity", "alpha", "beta", "gamma_1"]),
        ({"name": "alpha"}, ["alpha"]),
        ({"name": {"$eq": "Alpha"}}, []),
        ({"name": {"$contains": "A"}}, ["Instance Admin Identity", "alpha", "beta", "gamma_1"]),
        ({"name": {"$contains": "a_1"}}, ["gamma_1"]),
        ({"name": {"$contains": "%"}}, []),
        ({"name": {"$in": ["beta", "gamma_1", "delta"]}}, ["beta", "gamma_1"]),
        ({"name": {"$in": []}}, []),
        ({"role": "member"}, ["beta"]),
        ({"role": {"$in": ["member", "no-access"]}}, ["alpha", "beta", "gamma_1"]),
        ({"role": {"$eq": "no-access"}, "name": {"$contains": "alp"}}, ["alpha"]),
        ({"$or": [{"name": "alpha"}, {"role": "member"}]}, ["alpha", "beta"]),
        ({"role": "no-access", "$or": [{"name": "alpha"}, {"name": "beta"}]}, ["alpha"]),
    ],
)
async def test_every_operator_of_the_search(world, wanted: dict[str, object], found: list[str]) -> None:
    await an_identity(world, "alpha")
    await an_identity(world, "beta", role="member")
    await an_identity(world, "gamma_1")
    answer = await search(world, search=wanted)
    assert sorted(names(answer)) == sorted(found)
    assert answer.json["totalCount"] == len(found)


async def test_search_orders_and_pages(world) -> None:
    await an_identity(world, "alpha")
    await an_identity(world, "beta", role="member")
    ordered = names(await search(world, search={"name": {"$in": ["alpha", "beta"]}}, orderDirection="desc"))
    assert ordered == ["beta", "alpha"]
    by_role = names(await search(world, orderBy="role"))
    assert by_role == ["Instance Admin Identity", "beta", "alpha"]
    page = await search(world, orderBy="role", limit=1, offset=1)
    assert (names(page), page.json["totalCount"]) == (["beta"], 3)


async def test_a_bad_search_is_named_and_not_repeated(world, refusal) -> None:
    for path, body in (
        ("limit", {"limit": 101}),
        ("offset", {"offset": -1}),
        ("orderBy", {"orderBy": "canary"}),
        ("orderDirection", {"orderDirection": "canary"}),
        ("search", {"search": {"name": {"$in": "canary"}}}),
        ("search", {"search": {"$or": [{"name": 7}]}}),
    ):
        answer = await search(world, **body)
        assert refusal(answer) == (422, "ValidationFailure")
        assert {issue["path"][0] for issue in answer.json["message"]} == {path}
        assert "canary" not in answer.text


@pytest.mark.timeout(60)
async def test_a_page_of_ten_thousand_comes_from_indexes(world) -> None:
    organization, other = UUID(world.tenants[0].organization_id), UUID((await world.another_tenant()).organization_id)
    for one in (organization, other):
        await world.context.database.execute(
            """
            WITH fresh AS (
                INSERT INTO identities (id, organization_id, name, created_at, updated_at)
                SELECT gen_random_uuid(), $1, 'robot-' || n, now(), now() FROM generate_series(1, 10000) n RETURNING id
            ), members AS (
                INSERT INTO memberships (id, organization_id, identity_id, created_at, updated_at)
                SELECT gen_random_uuid(), $1, id, now(), now() FROM fresh RETURNING id
            )
            INSERT INTO membership_roles (id, organization_id, membership_id, position, role, created_at, updated_at)
            SELECT gen_random_uuid(), $1, id, 0, 'no-access', now(), now() FROM members
            """,
            one,
        )
    for table in ("identities", "memberships", "membership_roles", "auth_configurations", "identity_metadata"):
        await world.context.database.execute(f"ANALYZE {table}")
    body = (await search(world, limit=100, offset=500)).json
    assert (len(body["identities"]), body["totalCount"]) == (100, 10001)
    for wanted in (IdentityFilter(), IdentityFilter(name=TextTest(equals="robot-77"))):
        page, _ = page_statements(wanted, "name", is_descending=False)
        arguments = (organization, world.context.clock.now(), 50, 0, *page.values)
        plan = await world.rows(f"EXPLAIN {page.text}", *arguments)
        text = "\n".join(row[0] for row in plan)
        assert "identities_organization_name_idx" in text, text
        for large in ("identities", "memberships", "membership_roles"):
            assert f"Seq Scan on {large} " not in text, text


# --- changing ---------------------------------------------------------------------------------------------------------


async def test_a_change_is_shown_and_metadata_is_replaced(world, clock) -> None:
    identity_id = await an_identity(world, metadata=[{"key": "a", "value": "1"}], hasDeleteProtection=True)
    body = {"name": "new", "role": "member", "metadata": [{"key": "b", "value": "2"}]}
    changed = (await world.http.patch(f"{IDENTITIES}/{identity_id}", token=world.token, json=body)).json["identity"]
    assert (changed["name"], changed["hasDeleteProtection"]) == ("new", True)
    assert [(one["key"], one["value"]) for one in changed["metadata"]] == [("b", "2")]
    shown = (await world.http.get(f"{IDENTITIES}/{identity_id}", token=world.token)).json["identity"]
    assert (shown["role"], shown["identity"]["name"], shown["metadata"]) == ("member", "new", changed["metadata"])
    kept = await world.http.patch(f"{IDENTITIES}/{identity_id}", token=world.token, json={"name": "newer"})
    assert kept.json["identity"]["metadata"] == changed["metadata"]
    gone = await world.http.patch(f"{IDENTITIES}/{identity_id}", token=world.token, json={"metadata": []})
    assert gone.json["identity"]["metadata"] == []
    assert len(await eventually(lambda: world.audited("update-identity"))) == 3


async def test_a_new_role_meets_tokens_that_are_out(world, refusal) -> None:
    machine = await world.machine(role="member")
    token = await world.token_of(machine)
    assert (await world.http.get(f"{IDENTITIES}/{machine.id}", token=token)).status == 200
    await world.http.patch(f"{IDENTITIES}/{machine.id}", token=world.token, json={"role": "no-access"})
    assert refusal(await world.http.get(f"{IDENTITIES}/{machine.id}", token=token)) == (403, "PermissionDenied")


async def test_nobody_changes_or_becomes_what_is_above_him(world, refusal) -> None:
    member = await world.token_of(await world.machine("member", role="member"))
    admin, weak = await an_identity(world, "admin", role="admin"), await an_identity(world, "weak")
    path = f"{IDENTITIES}/{weak}"
    assert refusal(await world.http.patch(path, token=member, json={"role": "admin"})) == (
        403,
        "PermissionBoundaryError",
    )
    for send in (world.http.patch, world.http.delete):
        assert refusal(await send(f"{IDENTITIES}/{admin}", token=member)) == (403, "PermissionBoundaryError")
    org_admin = await world.token_of(await world.machine("org admin", role="admin"))
    for send in (world.http.patch, world.http.delete):
        answer = await send(f"{IDENTITIES}/{world.tenants[0].identity_id}", token=org_admin)
        assert refusal(answer) == (403, "ForbiddenError")
    assert (await world.http.patch(path, token=member, json={"name": "fine"})).status == 200


# --- deleting ---------------------------------------------------------------------------------------------------------


async def test_a_protected_identity_stays_until_the_protection_is_off(world, refusal) -> None:
    identity_id = await an_identity(world, hasDeleteProtection=True)
    path = f"{IDENTITIES}/{identity_id}"
    assert refusal(await world.http.delete(path, token=world.token)) == (400, "BadRequest")
    off = await world.http.patch(path, token=world.token, json={"hasDeleteProtection": False})
    assert off.json["identity"]["hasDeleteProtection"] is False
    assert (await world.http.delete(path, token=world.token)).status == 200


async def test_all_that_hangs_on_an_identity_goes_with_it(world, refusal) -> None:
    machine, project = await world.machine(), await world.project()
    await world.join(project["id"], machine)
    token = await world.token_of(machine)
    await world.http.post(f"{UNIVERSAL}/login", json={"clientId": machine.client_id, "clientSecret": "x"})
    assert (await world.details(token)).status == 200
    gone = await world.http.delete(f"{IDENTITIES}/{machine.id}", token=world.token)
    assert (gone.json["identity"]["id"], gone.json["identity"]["authMethods"]) == (machine.id, ["universal-auth"])
    assert refusal(await world.details(token)) == (401, "UnauthorizedError")
    assert refusal(await world.login(machine)) == (401, "UnauthorizedError")
    for table in ("auth_configurations", "access_tokens", "memberships", "identity_metadata"):
        assert not await world.rows(f"SELECT FROM {table} WHERE identity_id = $1", UUID(machine.id))
    assert not await world.rows("SELECT FROM lockouts WHERE subject_id = $1", UUID(machine.id))
    said = world.identity.said
    (event,) = await eventually(lambda: said.of("identity.identity.deleted.v1"))
    assert (event.payload["id"], event.payload["organization_id"]) == (machine.id, world.tenants[0].organization_id)
    (dead,) = await eventually(lambda: said.of("identity.tokens.revoked.v1"))
    assert dead.payload["subject_ids"] == [machine.id]
    assert await eventually(lambda: world.audited("delete-identity"))


async def test_memberships_in_projects_are_listed(world) -> None:
    machine, project = await world.machine(), await world.project("Payments")
    await world.join(project["id"], machine, roles=[{"role": "viewer"}])
    path = f"{IDENTITIES}/{machine.id}/identity-memberships"
    (shown,) = (await world.http.get(path, token=world.token)).json["identityMemberships"]
    assert shown["project"] == {"id": project["id"], "name": "Payments", "type": "secret-manager"}
    assert shown["identity"] == {"id": machine.id, "name": "robot", "authMethods": ["universal-auth"]}
    assert [role["role"] for role in shown["roles"]] == ["viewer"]


# --- identities that a project owns -----------------------------------------------------------------------------------


async def a_project_identity(world, project: dict, token: str | None = None, **more: object):
    path = f"/api/v1/projects/{project['id']}/identities"
    return await world.http.post(path, token=token or world.token, json={"name": "own", **more})


async def test_a_project_has_identities_of_its_own(world, refusal) -> None:
    project, other = await world.project(), await world.project("Other")
    made = (await a_project_identity(world, project, metadata=[{"key": "a", "value": "b"}])).json["identity"]
    assert (made["projectId"], made["authMethods"]) == (project["id"], [])
    base = f"/api/v1/projects/{project['id']}/identities"
    one = f"{base}/{made['id']}"
    assert (await world.http.get(one, token=world.token)).json == {"identity": made}
    assert (await world.http.get(base, token=world.token)).json == {"identities": [made], "totalCount": 1}
    assert (await world.http.get(f"{base}?search=nothing", token=world.token)).json["totalCount"] == 0
    changed = await world.http.patch(one, token=world.token, json={"name": "new", "hasDeleteProtection": True})
    assert (changed.json["identity"]["name"], changed.json["identity"]["metadata"]) == ("new", made["metadata"])
    assert refusal(await world.http.delete(one, token=world.token)) == (400, "BadRequest")
    elsewhere = f"/api/v1/projects/{other['id']}/identities/{made['id']}"
    for send in (world.http.get, world.http.patch, world.http.delete):
        assert refusal(await send(elsewhere, token=world.token)) == (404, "NotFound")
    await world.http.patch(one, token=world.token, json={"hasDeleteProtection": False})
    assert (await world.http.delete(one, token=world.token)).status == 200
    assert refusal(await world.http.get(one, token=world.token)) == (404, "NotFound")


async def test_the_organizations_routes_leave_them_alone(world, refusal) -> None:
    made = (await a_project_identity(world, await world.project())).json["identity"]
    path = f"{IDENTITIES}/{made['id']}"
    assert "own" not in names(await search(world))
    for send in (world.http.patch, world.http.delete):
        assert refusal(await send(path, token=world.token)) == (400, "BadRequest")
    assert (await world.http.get(path, token=world.token)).status in {400, 404}


async def test_a_project_identity_logs_in_by_the_rights_of_its_project(world, refusal) -> None:
    project = await world.project()
    outsider = await world.token_of(await world.machine("org admin", role="admin"))
    insider = await world.machine("insider")
    await world.join(project["id"], insider, roles=[{"role": "admin"}])
    token = await world.token_of(insider)
    identity_id = (await a_project_identity(world, project, token)).json["identity"]["id"]
    path = f"{UNIVERSAL}/identities/{identity_id}"
    assert refusal(await world.http.post(path, token=outsider))[0] in {403, 404}
    attached = await world.http.post(path, token=token)
    assert attached.status == 200
    secret = (await world.http.post(f"{path}/client-secrets", token=token)).json["clientSecret"]
    body = {"clientId": attached.json["identityUniversalAuth"]["clientId"], "clientSecret": secret}
    own = (await world.http.post(f"{UNIVERSAL}/login", json=body)).json["accessToken"]
    assert (await world.details(own)).status == 200
    read = await world.http.get(f"/api/v1/projects/{project['id']}", token=own)
    assert read.status in {200, 403}
    assert refusal(await world.http.get(f"{IDENTITIES}/{identity_id}", token=own))[0] == 403, (
        "rights in the project are none in the organization"
    )
    (membership,) = await world.rows("SELECT * FROM memberships WHERE identity_id = $1", UUID(identity_id))
    assert membership["last_login_method"] == "universal-auth"
    gone = await world.http.delete(f"/api/v1/projects/{project['id']}/identities/{identity_id}", token=token)
    assert gone.status == 200
    assert refusal(await world.details(own)) == (401, "UnauthorizedError")


async def test_a_project_identity_above_the_caller_is_out_of_reach(world, refusal) -> None:
    project = await world.project()
    made = (await a_project_identity(world, project)).json["identity"]
    await world.context.database.execute(
        "UPDATE membership_roles SET role = 'admin' WHERE membership_id IN "
        "(SELECT id FROM memberships WHERE identity_id = $1)",
        UUID(made["id"]),
    )
    developer = await world.machine("developer")
    await world.join(project["id"], developer, roles=[{"role": "member"}])
    token = await world.token_of(developer)
    path = f"{UNIVERSAL}/identities/{made['id']}"
    assert refusal(await world.http.post(path, token=token)) == (403, "PermissionBoundaryError")
    assert (await world.http.post(path, token=world.token)).status == 200
