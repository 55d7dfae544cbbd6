"""The identities and groups of an organization, as the organization lists them."""

from uuid import uuid4

import pytest
from services.identity.tests.service.organization_people import root_token


def path(world) -> str:
    return f"/api/v2/organizations/{world.tenants[0].organization_id}/identity-memberships"


async def test_identities_are_listed_by_name_and_by_page(world) -> None:
    await world.another_tenant()
    for name in ("b_b", "bxb"):
        await world.machine(name, role="member")
    answer = await world.http.get(path(world), token=world.token)
    assert answer.status == 200, answer.text
    found = answer.json["identityMemberships"]
    assert [one["identity"]["name"] for one in found] == ["b_b", "bxb", "Instance Admin Identity"] or [
        one["identity"]["name"] for one in found
    ] == ["Instance Admin Identity", "b_b", "bxb"]
    assert answer.json["totalCount"] == 3
    assert {"id", "role", "roleId", "orgId", "identityId", "metadata", "identity"} <= found[0].keys()
    queries = (
        ({"search": "b_b"}, ["b_b"], 1),
        ({"search": "b", "orderDirection": "desc", "limit": "1"}, ["bxb"], 2),
        ({"search": "b", "offset": "1"}, ["bxb"], 2),
        ({"search": "nobody"}, [], 0),
    )
    for query, names, total in queries:
        answer = await world.http.get(path(world), token=world.token, params=query)
        assert [one["identity"]["name"] for one in answer.json["identityMemberships"]] == names
        assert answer.json["totalCount"] == total


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "20001"}, {"offset": "-1"}, {"orderBy": "canary"}, {"orderDirection": "up"}]
)
async def test_a_bad_query_is_refused(world, refusal, query) -> None:
    answer = await world.http.get(path(world), token=world.token, params=query)
    assert refusal(answer) == (422, "ValidationFailure")
    assert "canary" not in answer.text


async def test_only_members_with_the_right_see_them(world, refusal) -> None:
    other = await world.another_tenant()
    assert refusal(await world.http.get(path(world), token=other.token)) == (404, "NotFound")
    nobody = await world.token_of(await world.machine("nobody"))
    assert refusal(await world.http.get(path(world), token=nobody)) == (403, "PermissionDenied")


async def test_groups_are_listed_to_users(world, refusal) -> None:
    made = await world.http.post("/api/v1/groups", token=world.token, json={"name": "Ops", "role": "member"})
    assert made.status == 200, made.text
    listed = f"/api/v1/organization/{world.tenants[0].organization_id}/groups"
    token = await root_token(world)
    answer = await world.http.get(listed, token=token)
    assert [(one["name"], one["role"]) for one in answer.json["groups"]] == [("Ops", "member")]
    other = await world.http.get(f"/api/v1/organization/{uuid4()}/groups", token=token)
    assert refusal(other) == (404, "NotFound")
