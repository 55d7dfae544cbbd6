"""Organizations: seen, changed, begun and ended."""

from uuid import uuid4

import pytest
from services.identity.tests.service.organization_people import (
    a_role,
    a_user,
    an_organization_of,
    root_token,
    user_token,
)

from strongroom_common.kernel import faults
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.testing.waiting import eventually

ORGANIZATION = "/api/v1/organization"
ORGANIZATIONS = "/api/v2/organizations"
FIELDS = {
    "id",
    "name",
    "slug",
    "customerId",
    "authEnforced",
    "scimEnabled",
    "defaultMembershipRole",
    "enforceMfa",
    "selectedMfaMethod",
    "userTokenExpiration",
    "secretsProductEnabled",
    "pkiProductEnabled",
    "kmsProductEnabled",
    "sshProductEnabled",
    "scannerProductEnabled",
    "shareSecretsProductEnabled",
    "shouldUseNewPrivilegeSystem",
    "rootOrgId",
    "parentOrgId",
    "createdAt",
    "updatedAt",
}


@pytest.fixture
def disarmed():
    yield
    faults.disarm()


def path(world) -> str:
    return f"{ORGANIZATION}/{world.tenants[0].organization_id}"


async def test_a_user_sees_the_organizations_he_works_in_before_he_selects_one(world) -> None:
    await an_organization_of(world, "root@example.com", "Beta")
    await a_user(world, "other@example.com", None)
    await an_organization_of(world, "other@example.com", "Not his")
    answer = await world.http.get(ORGANIZATION, token=await user_token(world))
    assert answer.status == 200, answer.text
    found = answer.json["organizations"]
    assert [one["name"] for one in found] == ["Acme Inc.", "Beta"]
    assert {*FIELDS, "userRole", "orgAuthMethod", "userJoinedAt"} <= found[0].keys()
    assert (found[0]["userRole"], found[0]["orgAuthMethod"]) == ("admin", "email")


async def test_machines_have_no_list_of_organizations(world, refusal) -> None:
    assert refusal(await world.http.get(ORGANIZATION, token=world.token)) == (403, "ForbiddenError")


async def test_a_member_reads_his_organization(world) -> None:
    await a_user(world, "anna@example.com", "no-access")
    token = await user_token(world, "anna@example.com", world.tenants[0].organization_id)
    answer = await world.http.get(path(world), token=token)
    assert answer.status == 200
    found = answer.json["organization"]
    assert found.keys() >= FIELDS
    assert (found["name"], found["parentOrgId"], found["rootOrgId"]) == ("Acme Inc.", None, None)
    assert found["defaultMembershipRole"] == "member"


async def test_an_organization_changes_field_by_field(world) -> None:
    token = await root_token(world)
    body = {
        "name": " Acme Ltd. ",
        "slug": "acme",
        "defaultMembershipRoleSlug": "no-access",
        "selectedMfaMethod": "totp",
        "userTokenExpiration": "30d",
        "pkiProductEnabled": False,
        "maxSharedSecretLifetime": 300,
        "maxSharedSecretViewLimit": 5,
        "allowSecretSharingOutsideOrganization": False,
        "bypassOrgAuthEnabled": True,
        "authEnforced": False,
        "customerId": "ignored",
    }
    answer = await world.http.patch(path(world), token=token, json=body)
    assert answer.status == 200, answer.text
    assert answer.json["message"]
    found = answer.json["organization"]
    assert (found["name"], found["slug"], found["customerId"]) == ("Acme Ltd.", "acme", None)
    assert (found["defaultMembershipRole"], found["userTokenExpiration"]) == ("no-access", "30d")
    assert (found["pkiProductEnabled"], found["kmsProductEnabled"]) == (False, True)
    assert (found["maxSharedSecretLifetime"], found["maxSharedSecretViewLimit"]) == (300, 5)
    cleared = await world.http.patch(path(world), token=token, json={"maxSharedSecretViewLimit": None, "name": None})
    assert cleared.json["organization"]["maxSharedSecretViewLimit"] is None
    assert cleared.json["organization"]["name"] == "Acme Ltd."
    (first, _) = await eventually(lambda: world.audited("update-organization"))
    assert "slug" in first["metadata"]["fields"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("slug", "can ary"),
        ("slug", "x" * 65),
        ("name", ""),
        ("userTokenExpiration", "0d"),
        ("userTokenExpiration", "1y"),
        ("userTokenExpiration", "999999w"),
        ("maxSharedSecretLifetime", 299),
        ("maxSharedSecretLifetime", 2_592_001),
        ("maxSharedSecretViewLimit", 1001),
        ("selectedMfaMethod", "canary"),
        ("enforceMfa", "canary"),
    ],
)
async def test_a_bad_field_is_named(world, refusal, field, value) -> None:
    answer = await world.http.patch(path(world), token=await root_token(world), json={field: value})
    assert refusal(answer) == (422, "ValidationFailure")
    assert [issue["path"] for issue in answer.json["message"]] == [[field]]
    assert "canary" not in answer.text


async def test_what_this_instance_cannot_do_is_not_switched_on(world, refusal) -> None:
    token = await root_token(world)
    for field in ("authEnforced", "scimEnabled"):
        assert refusal(await world.http.patch(path(world), token=token, json={field: True})) == (400, "BadRequest")


async def test_a_slug_belongs_to_one_organization_of_the_instance(world, refusal) -> None:
    other = await an_organization_of(world, "root@example.com", "Beta")
    (row,) = await world.rows("SELECT slug FROM organizations WHERE id = $1", other)
    answer = await world.http.patch(path(world), token=await root_token(world), json={"slug": row["slug"].upper()})
    assert refusal(answer) == (400, "BadRequest")


async def test_changing_takes_the_right_to_do_it(world, refusal) -> None:
    await a_user(world, "anna@example.com", "member")
    token = await user_token(world, "anna@example.com", world.tenants[0].organization_id)
    for body in ({"name": "Mine"}, {"scimEnabled": False}, {"maxSharedSecretLifetime": 300}):
        answer = await world.http.patch(path(world), token=token, json=body)
        assert refusal(answer) == (403, "PermissionDenied")


async def test_the_role_of_newcomers_is_one_that_the_caller_could_give(world, refusal) -> None:
    token = await root_token(world)
    unknown = await world.http.patch(path(world), token=token, json={"defaultMembershipRoleSlug": "nobody"})
    assert refusal(unknown) == (404, "NotFound")
    await a_role(world, "janitor", ("settings", "edit"))
    await a_user(world, "jan@example.com", "janitor")
    janitor = await user_token(world, "jan@example.com", world.tenants[0].organization_id)
    answer = await world.http.patch(path(world), token=janitor, json={"defaultMembershipRoleSlug": "admin"})
    assert refusal(answer) == (403, "PermissionBoundaryError")
    answer = await world.http.patch(path(world), token=janitor, json={"defaultMembershipRoleSlug": "janitor"})
    assert answer.status == 200


async def test_another_organization_is_not_found(world, refusal) -> None:
    other = await an_organization_of(world, "root@example.com", "Beta")
    token = await root_token(world)
    for organization_id in (other, str(uuid4())):
        assert refusal(await world.http.get(f"{ORGANIZATION}/{organization_id}", token=token)) == (404, "NotFound")
        answer = await world.http.patch(f"{ORGANIZATION}/{organization_id}", token=token, json={"name": "Taken"})
        assert refusal(answer) == (404, "NotFound")
        assert refusal(await world.http.delete(f"{ORGANIZATIONS}/{organization_id}", token=token)) == (404, "NotFound")
    assert refusal(await world.http.get(f"{ORGANIZATION}/canary", token=token)) == (422, "ValidationFailure")


async def test_a_user_begins_an_organization_without_being_in_one(world) -> None:
    await a_user(world, "new@example.com", None)
    token = await user_token(world, "new@example.com")
    answer = await world.http.post(ORGANIZATIONS, token=token, json={"name": "Fresh"})
    assert answer.status == 200, answer.text
    made = answer.json["organization"]
    assert made["slug"].startswith("fresh-")
    own = (await world.http.get(ORGANIZATION, token=token)).json["organizations"]
    assert [(one["id"], one["userRole"]) for one in own] == [(made["id"], "admin")]
    inside = await user_token(world, "new@example.com", made["id"])
    renamed = await world.http.patch(f"{ORGANIZATION}/{made['id']}", token=inside, json={"name": "Fresher"})
    assert renamed.json["organization"]["name"] == "Fresher"


async def test_the_projects_listed_are_those_of_the_caller(world) -> None:
    project = await world.project("Payments")
    listed = f"{ORGANIZATIONS}/{world.tenants[0].organization_id}/workspaces"
    (found,) = (await world.http.get(listed, token=world.token)).json["workspaces"]
    assert found.keys() == {"id", "name", "slug", "organization", "environments"}
    assert (found["id"], found["organization"]) == (project["id"], world.tenants[0].organization_id)
    assert [one["slug"] for one in found["environments"]] == ["dev", "staging", "prod"]
    assert (await world.http.get(listed, token=await root_token(world))).json["workspaces"] == []


# --- the end of an organization ---------------------------------------------------------------------------------------


async def everything(world) -> dict[str, int]:
    tables = ("projects", "identities", "memberships", "access_tokens", "client_secrets", "roles")
    return {table: len(await world.rows(f"SELECT FROM {table}")) for table in tables}


async def test_an_organization_goes_with_all_that_hangs_on_it_and_everybody_hears(world) -> None:
    kept = await an_organization_of(world, "root@example.com", "Kept")
    projects = {(await world.project(name))["id"] for name in ("One", "Two")}
    machine = await world.machine()
    machine_token = await world.token_of(machine)
    sub = await world.http.post("/api/v1/sub-organizations", token=world.token, json={"name": "Below"})
    sub_id = sub.json["organization"]["id"]
    organization_id = world.tenants[0].organization_id
    answer = await world.http.delete(f"{ORGANIZATIONS}/{organization_id}", token=await root_token(world))
    assert answer.status == 200, answer.text
    assert answer.json["organization"]["id"] == organization_id

    left = await world.rows("SELECT id FROM organizations")
    assert [str(row["id"]) for row in left] == [kept]
    assert (await world.rows("SELECT count(*) FROM users"))[0]["count"] == 1
    assert await everything(world) == {
        "projects": 0,
        "identities": 0,
        "memberships": 1,
        "access_tokens": 0,
        "client_secrets": 0,
        "roles": 0,
    }
    for token in (machine_token, world.token):
        assert (await world.details(token)).status == 401

    said = world.identity.said
    deleted = await eventually(lambda: _if_all(said.of("identity.project.deleted.v1"), 2))
    assert {one.payload["project_id"] for one in deleted} == projects
    gone = await eventually(lambda: _if_all(said.of("identity.organization.deleted.v1"), 2))
    assert {one.payload["organization_id"] for one in gone} == {organization_id, sub_id}
    identities = await eventually(lambda: _if_all(said.of("identity.identity.deleted.v1"), 2))
    assert {one.payload["id"] for one in identities} == {machine.id, world.tenants[0].identity_id}
    revoked = await eventually(lambda: said.of("identity.tokens.revoked.v1"))
    dead = {one for event in revoked for one in event.payload["subject_ids"]}
    assert dead == {machine.id, world.tenants[0].identity_id}

    # The session goes on elsewhere.
    own = await world.http.get(ORGANIZATION, token=answer.json["accessToken"])
    assert [one["id"] for one in own.json["organizations"]] == [kept]
    (record,) = await eventually(lambda: world.audited("delete-organization"))
    assert record["metadata"]["projects"] == 2


async def test_a_crash_while_an_organization_is_deleted_leaves_all_or_nothing(world, disarmed) -> None:
    """Threats 20: killed at each step and repeated, nothing stays behind and each project is announced."""
    project = await world.project()
    await world.machine()
    organization_id, token = world.tenants[0].organization_id, await root_token(world)
    before = await everything(world)

    def crash() -> None:
        raise Unavailable("the process dies here")

    faults.arm("work.before_commit", crash)
    assert (await world.http.delete(f"{ORGANIZATIONS}/{organization_id}", token=token)).status == 503
    faults.disarm()
    assert await everything(world) == before
    assert not world.identity.said.of("identity.project.deleted.v1")

    faults.arm("work.after_commit", crash)
    assert (await world.http.delete(f"{ORGANIZATIONS}/{organization_id}", token=token)).status == 503
    faults.disarm()
    assert await world.rows("SELECT FROM organizations") == []
    # What others must hear was committed with it; the relay of any replica sends it on its next round.
    world.context.database.after_commit()
    (event,) = await eventually(lambda: world.identity.said.of("identity.project.deleted.v1"))
    assert event.payload["project_id"] == project["id"]
    again = await world.http.delete(f"{ORGANIZATIONS}/{organization_id}", token=token)
    assert again.status == 401, "the session's organization is gone"


async def test_only_an_admin_deletes_an_organization(world, refusal) -> None:
    organization_id = world.tenants[0].organization_id
    await a_role(world, "janitor", ("settings", "edit"), ("settings", "delete"))
    for email, slug in (("anna@example.com", "member"), ("jan@example.com", "janitor")):
        await a_user(world, email, slug)
        token = await user_token(world, email, organization_id)
        answer = await world.http.delete(f"{ORGANIZATIONS}/{organization_id}", token=token)
        assert refusal(answer) == (403, "ForbiddenError")
    assert len(await world.rows("SELECT FROM organizations")) == 1


def _if_all(found: list, many: int) -> list:
    return found if len(found) == many else []
