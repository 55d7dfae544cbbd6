"""Organizations beneath an organization."""

from uuid import UUID, uuid4

import jwt
import pytest
from services.identity.tests.service.organization_people import a_user, joins, user_token

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.testing.waiting import eventually
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.store import memberships
from strongroom_identity.usecases import roles

SUBS = "/api/v1/sub-organizations"


async def made(world, name: str = "Below", token: str | None = None, **more):
    answer = await world.http.post(SUBS, token=token or world.token, json={"name": name, **more})
    assert answer.status == 200, answer.text
    return answer.json["organization"]


async def listed(world, token: str | None = None, **query: str):
    answer = await world.http.get(SUBS, token=token or world.token, params=query)
    assert answer.status == 200, answer.text
    return [one["name"] for one in answer.json["organizations"]], answer.json["totalCount"]


async def guest(world, identity_id: str, organization_id: str, role: str = "member") -> None:
    """An identity of the root becomes a member below: the contract has no route for it."""
    async with world.context.database.begin(Origin()) as work:
        (given,) = await roles.get_all(work, [role], UUID(organization_id))
        now = world.context.clock.now()
        membership = Membership.new(
            "identity", UUID(identity_id), [MembershipRole.of(given)], now, organization_id=UUID(organization_id)
        )
        await memberships.add(work, membership)
        await work.commit()


async def test_a_sub_organization_is_begun_renamed_and_ended(world) -> None:
    root = world.tenants[0].organization_id
    below = await made(world, "Below", slug="below")
    assert {"id", "name", "slug", "parentOrgId", "createdAt", "updatedAt"} <= below.keys()
    assert (below["slug"], below["parentOrgId"], below["rootOrgId"]) == ("below", root, root)
    assert (await made(world, "Second one"))["slug"].startswith("second-one-")
    one = f"{SUBS}/{below['id']}"
    changed = await world.http.patch(one, token=world.token, json={"name": "Beneath"})
    assert (changed.json["organization"]["name"], changed.json["organization"]["slug"]) == ("Beneath", "below")
    changed = await world.http.patch(one, token=world.token, json={"slug": "beneath"})
    assert changed.json["organization"]["slug"] == "beneath"
    assert (await world.http.delete(one, token=world.token)).json["organization"]["id"] == below["id"]
    assert await listed(world) == (["Second one"], 1)
    for event in ("create-sub-organization", "update-sub-organization", "delete-sub-organization"):
        assert await eventually(lambda event=event: world.audited(event))


@pytest.mark.parametrize("body", [{}, {"name": None}, {"name": ""}, {"slug": "can ary"}, {"slug": {"canary": 1}}])
async def test_a_change_needs_a_name_or_a_slug(world, refusal, body) -> None:
    below = await made(world)
    answer = await world.http.patch(f"{SUBS}/{below['id']}", token=world.token, json=body)
    assert refusal(answer) == (422, "ValidationFailure")
    assert "canary" not in answer.text


async def test_they_are_listed_in_pages_and_for_who_works_there(world) -> None:
    for name in ("C", "A", "B"):
        await made(world, name)
    assert await listed(world) == (["A", "B", "C"], 3)
    assert await listed(world, limit="1", offset="1") == (["B"], 3)
    assert await listed(world, limit="1", offset="7") == ([], 3)
    other_admin = await world.token_of(await world.machine("boss", role="admin"))
    assert await listed(world, other_admin) == (["A", "B", "C"], 3)
    assert await listed(world, other_admin, isAccessible="false") == (["A", "B", "C"], 3)
    assert await listed(world, other_admin, isAccessible="true") == ([], 0)
    assert await listed(world, isAccessible="true") == (["A", "B", "C"], 3)
    stranger = await world.token_of(await world.machine("nobody"))
    assert await listed(world, stranger) == ([], 0)
    for query in ({"limit": "0"}, {"limit": "1001"}, {"offset": "-1"}, {"isAccessible": "yes"}):
        assert (await world.http.get(SUBS, token=world.token, params=query)).status == 422


async def test_a_slug_belongs_to_one_organization_of_the_instance(world, refusal) -> None:
    await made(world, slug="below")
    answer = await world.http.post(SUBS, token=world.token, json={"name": "Again", "slug": "BELOW"})
    assert refusal(answer) == (400, "BadRequest")


async def test_making_and_changing_take_the_rights(world, refusal) -> None:
    below = await made(world)
    member = await world.token_of(await world.machine("member", role="member"))
    for answer in (
        await world.http.post(SUBS, token=member, json={"name": "Mine"}),
        await world.http.patch(f"{SUBS}/{below['id']}", token=member, json={"name": "Mine"}),
        await world.http.delete(f"{SUBS}/{below['id']}", token=member),
    ):
        assert refusal(answer) == (403, "PermissionDenied")


async def test_those_of_another_organization_are_not_found(world, refusal) -> None:
    other = await world.another_tenant()
    theirs = await made(world, token=other.token)
    for organization_id in (theirs["id"], other.organization_id, world.tenants[0].organization_id, str(uuid4())):
        one = f"{SUBS}/{organization_id}"
        assert refusal(await world.http.patch(one, token=world.token, json={"name": "X"})) == (404, "NotFound")
        assert refusal(await world.http.delete(one, token=world.token)) == (404, "NotFound")
    assert len(await world.rows("SELECT FROM organizations")) == 3
    assert await listed(world) == ([], 0)


async def test_a_token_is_for_the_sub_organization_that_the_login_names(world, refusal) -> None:
    below = await made(world, slug="below")
    machine = await world.machine()
    path = "/api/v1/auth/universal-auth/login"
    body = {"clientId": machine.client_id, "clientSecret": machine.client_secret}
    unknown = await world.http.post(path, json={**body, "organizationSlug": "nowhere"})
    assert refusal(unknown) == (404, "NotFound")
    stranger = await world.http.post(path, json={**body, "organizationSlug": "below"})
    assert refusal(stranger) == (401, "UnauthorizedError")
    await guest(world, machine.id, below["id"])
    for field in ("organizationSlug", "subOrganizationName"):
        token = (await world.http.post(path, json={**body, field: "below"})).json["accessToken"]
        details = await world.details(token)
        assert details.json["identityDetails"]["organization"]["id"] == below["id"]
        project = await world.project("Down there", token=token)
        assert project["orgId"] == below["id"]
    home = (await world.http.post(path, json={**body, "organizationSlug": ""})).json["accessToken"]
    assert (await world.details(home)).json["identityDetails"]["organization"]["id"] != below["id"]
    await world.http.delete(f"{SUBS}/{below['id']}", token=world.token)
    assert (await world.details(token)).status == 401, "the sub-organization is gone"
    assert (await world.details(home)).status == 200


async def test_a_token_made_for_a_sub_organization_says_so(world) -> None:
    below = await made(world, slug="below")
    identity_id = world.tenants[0].identity_id
    path = f"/api/v1/auth/token-auth/identities/{identity_id}/tokens"
    answer = await world.http.post(path, token=world.token, json={"name": "there", "organizationSlug": "below"})
    assert answer.status == 200, answer.text
    assert answer.json["tokenData"]["subOrganizationId"] == below["id"]
    claims = jwt.decode(answer.json["accessToken"], options={"verify_signature": False})
    assert claims["organizationId"] == below["id"]
    own = await world.http.post(path, token=world.token, json={"name": "here", "organizationSlug": ""})
    assert own.json["tokenData"]["subOrganizationId"] is None


async def test_a_sub_organization_has_none_of_its_own(world, refusal) -> None:
    below = await made(world, slug="below")
    path = f"/api/v1/auth/token-auth/identities/{world.tenants[0].identity_id}/tokens"
    answer = await world.http.post(path, token=world.token, json={"organizationSlug": "below"})
    inside = answer.json["accessToken"]
    refused = await world.http.post(SUBS, token=inside, json={"name": "Deeper"})
    assert refusal(refused) == (400, "BadRequest")
    assert below["id"]


async def test_an_admin_above_is_nobody_below(world, refusal) -> None:
    below = await made(world)
    await a_user(world, "boss@example.com", "admin")
    token = await user_token(world, "boss@example.com", below["id"])
    answer = await world.http.get(f"/api/v1/organization/{below['id']}", token=token)
    assert refusal(answer) == (401, "UnauthorizedError")
    (user,) = await world.rows("SELECT id FROM users WHERE email = $1", "boss@example.com")
    await joins(world, str(user["id"]), "no-access", below["id"])
    token = await user_token(world, "boss@example.com", below["id"])
    found = (await world.http.get(f"/api/v1/organization/{below['id']}", token=token)).json["organization"]
    assert found["parentOrgId"] == found["rootOrgId"] == world.tenants[0].organization_id
