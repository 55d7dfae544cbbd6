"""Token auth over the wire: tokens made for an identity and used as they are."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from strongroom_common.testing.waiting import eventually

BASE = "/api/v1/auth/token-auth"
LOGIN_KEYS = {"accessToken", "expiresIn", "accessTokenMaxTTL", "tokenType"}


async def an_identity(world, role: str = "no-access", token: str | None = None) -> str:
    body = {"name": "robot", "organizationId": world.tenants[0].organization_id, "role": role}
    made = await world.http.post("/api/v1/identities", token=token or world.token, json=body)
    identity_id: str = made.json["identity"]["id"]
    return identity_id


async def attached(world, **body: object) -> str:
    identity_id = await an_identity(world)
    answer = await world.http.post(f"{BASE}/identities/{identity_id}", token=world.token, json=body)
    assert answer.status == 200, answer.text
    return identity_id


async def make(world, identity_id: str, token: str | None = None, **body: object):
    return await world.http.post(f"{BASE}/identities/{identity_id}/tokens", token=token or world.token, json=body)


async def listed(world, identity_id: str, **params: str):
    return await world.http.get(f"{BASE}/identities/{identity_id}/tokens", token=world.token, params=params)


async def test_a_configuration_is_attached_read_changed_and_detached(world, clock, refusal) -> None:
    identity_id = await an_identity(world)
    path = f"{BASE}/identities/{identity_id}"
    shown = (await world.http.post(path, token=world.token)).json["identityTokenAuth"]
    assert UUID(shown["id"])
    assert {name: shown[name] for name in shown if name not in {"id", "accessTokenTrustedIps"}} == {
        "identityId": identity_id,
        "accessTokenTTL": 2592000,
        "accessTokenMaxTTL": 2592000,
        "accessTokenNumUsesLimit": 0,
        "accessTokenPeriod": 0,
        "createdAt": "2026-01-02T09:00:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
    }
    assert refusal(await world.http.post(path, token=world.token)) == (400, "BadRequest")
    assert (await world.http.get(path, token=world.token)).json == {"identityTokenAuth": shown}
    clock.advance(timedelta(seconds=1))
    changed = await world.http.patch(path, token=world.token, json={"accessTokenTTL": 60})
    after = {**shown, "accessTokenTTL": 60, "updatedAt": "2026-01-02T09:00:01.000Z"}
    assert changed.json == {"identityTokenAuth": after}
    assert (await world.http.delete(path, token=world.token)).json == {"identityTokenAuth": after}
    for send in (world.http.get, world.http.delete, world.http.patch):
        assert refusal(await send(path, token=world.token)) == (400, "BadRequest")
    for event in ("add", "get", "update", "revoke"):
        assert await eventually(lambda event=event: world.audited(f"{event}-identity-token-auth"))


async def test_a_token_is_made_with_its_record_and_used_at_once(world, clock) -> None:
    identity_id = await attached(world, accessTokenTTL=60, accessTokenMaxTTL=600, accessTokenNumUsesLimit=5)
    answer = (await make(world, identity_id, name="ci")).json
    assert answer.keys() == LOGIN_KEYS | {"tokenData"}
    assert (answer["expiresIn"], answer["accessTokenMaxTTL"], answer["tokenType"]) == (60, 600, "Bearer")
    data = dict(answer["tokenData"])
    assert UUID(data.pop("id"))
    assert data == {
        "identityId": identity_id,
        "authMethod": "token-auth",
        "name": "ci",
        "accessTokenTTL": 60,
        "accessTokenMaxTTL": 600,
        "accessTokenPeriod": 0,
        "accessTokenNumUses": 0,
        "accessTokenNumUsesLimit": 5,
        "accessTokenLastUsedAt": None,
        "accessTokenLastRenewedAt": None,
        "isAccessTokenRevoked": False,
        "identityUAClientSecretId": None,
        "subOrganizationId": None,
        "createdAt": "2026-01-02T09:00:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
    }
    assert (await world.details(answer["accessToken"])).status == 200
    (shown,) = (await listed(world, identity_id)).json["tokens"]
    assert (shown["accessTokenNumUses"], shown["id"]) == (1, answer["tokenData"]["id"])


async def test_a_token_without_a_name_or_a_body_is_fine(world) -> None:
    identity_id = await attached(world)
    answer = await world.http.post(f"{BASE}/identities/{identity_id}/tokens", token=world.token)
    assert answer.json["tokenData"]["name"] is None


async def test_the_list_begins_with_the_newest_change_and_has_the_revoked(world, clock) -> None:
    identity_id = await attached(world)
    ids = []
    for number in range(4):
        ids.append((await make(world, identity_id, name=f"t{number}")).json["tokenData"]["id"])
        clock.advance(timedelta(seconds=1))
    assert (await world.http.post(f"{BASE}/tokens/{ids[1]}/revoke", token=world.token)).status == 200
    found = (await listed(world, identity_id)).json["tokens"]
    assert [one["id"] for one in found] == [ids[1], ids[3], ids[2], ids[0]]
    assert [one["isAccessTokenRevoked"] for one in found] == [True, False, False, False]
    part = (await listed(world, identity_id, limit="2", offset="1")).json["tokens"]
    assert [one["id"] for one in part] == [ids[3], ids[2]]


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "101"}, {"offset": "-1"}, {"offset": "101"}, {"limit": "canary"}]
)
async def test_the_bounds_of_the_list(world, refusal, query: dict[str, str]) -> None:
    answer = await listed(world, await attached(world), **query)
    assert refusal(answer) == (422, "ValidationFailure")
    assert "canary" not in answer.text


async def test_a_token_is_read_both_ways_and_renamed(world, clock, refusal) -> None:
    identity_id, other = await attached(world), await attached(world)
    data = (await make(world, identity_id, name="old")).json["tokenData"]
    path = f"{BASE}/tokens/{data['id']}"
    assert (await world.http.get(path, token=world.token)).json == {"token": data}
    twin = f"{BASE}/identities/{identity_id}/tokens/{data['id']}"
    assert (await world.http.get(twin, token=world.token)).json == {"token": data}
    crossed = f"{BASE}/identities/{other}/tokens/{data['id']}"
    assert refusal(await world.http.get(crossed, token=world.token)) == (404, "NotFound")
    clock.advance(timedelta(seconds=1))
    renamed = (await world.http.patch(path, token=world.token, json={"name": "new"})).json["token"]
    assert renamed == {**data, "name": "new", "updatedAt": "2026-01-02T09:00:01.000Z"}
    assert (await world.http.patch(path, token=world.token, json={})).json == {"token": renamed}
    assert (await world.http.get(path, token=world.token)).json == {"token": renamed}
    assert len(await eventually(lambda: world.audited("update-token-identity-token-auth"))) == 2


async def test_a_revoked_token_is_dead_and_cannot_be_revoked_again(world, refusal) -> None:
    made = (await make(world, await attached(world))).json
    path = f"{BASE}/tokens/{made['tokenData']['id']}/revoke"
    assert (await world.details(made["accessToken"])).status == 200
    assert (await world.http.post(path, token=world.token)).json.keys() == {"message"}
    assert refusal(await world.details(made["accessToken"])) == (401, "UnauthorizedError")
    assert refusal(await world.http.post(path, token=world.token)) == (404, "NotFound")
    await eventually(lambda: world.identity.said.of("identity.tokens.revoked.v1"))


async def test_detaching_ends_the_tokens_of_this_kind_only(world, refusal) -> None:
    machine = await world.machine()
    await world.http.post(f"{BASE}/identities/{machine.id}", token=world.token)
    by_login, made = await world.token_of(machine), (await make(world, machine.id)).json["accessToken"]
    for token in (by_login, made):
        assert (await world.details(token)).status == 200
    await world.http.delete(f"{BASE}/identities/{machine.id}", token=world.token)
    assert refusal(await world.details(made)) == (401, "UnauthorizedError")
    assert (await world.details(by_login)).status == 200
    await world.http.post(f"{BASE}/identities/{machine.id}", token=world.token)
    assert refusal(await world.details(made)) == (401, "UnauthorizedError"), "attaching again revives nothing"


async def test_tokens_of_other_kinds_unknown_ones_and_those_of_others_are_not_found(world, refusal) -> None:
    other = await world.another_tenant()
    machine = await world.machine()
    await world.token_of(machine)
    (by_login,) = await world.rows("SELECT id FROM access_tokens WHERE identity_id = $1", UUID(machine.id))
    (foreign,) = await world.rows("SELECT id FROM access_tokens WHERE identity_id = $1", UUID(other.identity_id))
    for token_id in (uuid4(), by_login["id"], foreign["id"]):
        path = f"{BASE}/tokens/{token_id}"
        assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")
        assert refusal(await world.http.patch(path, token=world.token, json={"name": "x"})) == (404, "NotFound")
        assert refusal(await world.http.post(f"{path}/revoke", token=world.token)) == (404, "NotFound")
    assert (await world.details(other.token)).status == 200


async def test_what_needs_token_auth_needs_it(world, refusal) -> None:
    bare = await an_identity(world)
    assert refusal(await make(world, bare)) == (400, "BadRequest")
    assert refusal(await listed(world, bare)) == (400, "BadRequest")
    assert refusal(await make(world, str(uuid4()))) == (404, "NotFound")
    assert refusal(await listed(world, str(uuid4()))) == (404, "NotFound")


async def test_tokens_of_an_instance_admin_are_handled_by_instance_admins(world, refusal) -> None:
    admin = await world.token_of(await world.machine("admin", role="admin"))
    root = world.tenants[0].identity_id
    (record,) = await world.rows("SELECT id FROM access_tokens WHERE identity_id = $1", UUID(root))
    path = f"{BASE}/tokens/{record['id']}"
    refused = [
        await make(world, root, admin),
        await world.http.get(f"{BASE}/identities/{root}/tokens", token=admin),
        await world.http.get(path, token=admin),
        await world.http.patch(path, token=admin, json={"name": "mine"}),
        await world.http.post(f"{path}/revoke", token=admin),
        await world.http.delete(f"{BASE}/identities/{root}", token=admin),
    ]
    assert {refusal(answer) for answer in refused} == {(403, "ForbiddenError")}
    assert (await world.http.get(path, token=world.token)).json["token"]["name"] == "Instance Admin Token"


async def test_rights_and_the_boundary(world, refusal) -> None:
    identity_id = await attached(world)
    token_id = (await make(world, identity_id)).json["tokenData"]["id"]
    member = await world.token_of(await world.machine("member", role="member"))
    denied = [
        await make(world, identity_id, member),
        await world.http.get(f"{BASE}/identities/{identity_id}/tokens", token=member),
        await world.http.get(f"{BASE}/tokens/{token_id}", token=member),
        await world.http.post(f"{BASE}/tokens/{token_id}/revoke", token=member),
        await world.http.delete(f"{BASE}/identities/{identity_id}", token=member),
    ]
    assert {refusal(answer) for answer in denied} == {(403, "PermissionDenied")}
    strong = await an_identity(world, "admin")
    answer = await world.http.post(f"{BASE}/identities/{strong}", token=member)
    assert refusal(answer) == (403, "PermissionBoundaryError")


async def test_an_unknown_sub_organization_is_not_found(world, refusal) -> None:
    identity_id = await attached(world)
    for field in ("subOrganizationName", "organizationSlug"):
        assert refusal(await make(world, identity_id, **{field: "elsewhere"})) == (404, "NotFound")
    assert (await make(world, identity_id, organizationSlug="")).status == 200


async def test_no_token_outlives_a_detachment_at_the_same_moment(world) -> None:
    identity_id = await attached(world)
    made, _, *more = await asyncio.gather(
        make(world, identity_id),
        world.http.delete(f"{BASE}/identities/{identity_id}", token=world.token),
        *(make(world, identity_id) for _ in range(5)),
    )
    await world.http.post(f"{BASE}/identities/{identity_id}", token=world.token)
    for answer in (made, *more):
        if answer.status == 200:
            assert (await world.details(answer.json["accessToken"])).status == 401
