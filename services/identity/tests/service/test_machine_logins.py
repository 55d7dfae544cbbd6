"""How identities log in, whatever the kind: changed, taken away, and never with what belongs to somebody else."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import jwt
import pytest

from strongroom_common.access.roles import ORGANIZATION_ROLES
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.testing.waiting import eventually
from strongroom_identity.api.auth_methods import ABSENT
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.store import memberships, organizations

UNIVERSAL = "/api/v1/auth/universal-auth"
TOKEN_AUTH = "/api/v1/auth/token-auth"


def path_of(machine, kind: str = UNIVERSAL) -> str:
    return f"{kind}/identities/{machine.id}"


def claims_of(token: str) -> dict[str, object]:
    claims: dict[str, object] = jwt.decode(token, options={"verify_signature": False})
    return claims


# --- changing ---------------------------------------------------------------------------------------------------------


async def test_a_change_touches_what_it_names_and_nothing_else(world, clock) -> None:
    machine = await world.machine(auth={"accessTokenTTL": 60, "lockoutThreshold": 7, "accessTokenPeriod": 5})
    before = (await world.http.get(path_of(machine), token=world.token)).json["identityUniversalAuth"]
    clock.advance(timedelta(seconds=1))
    changes = {
        "accessTokenMaxTTL": 70,
        "lockoutDurationSeconds": 30,
        "clientSecretTrustedIps": [{"ipAddress": "192.0.2.1"}],
        "accessTokenPeriod": 0,
    }
    changed = await world.http.patch(path_of(machine), token=world.token, json=changes)
    shown = changed.json["identityUniversalAuth"]
    assert shown == {
        **before,
        **changes,
        "clientSecretTrustedIps": [{"type": "ipv4", "ipAddress": "192.0.2.1"}],
        "updatedAt": "2026-01-02T09:00:01.000Z",
    }
    assert (await world.http.get(path_of(machine), token=world.token)).json == changed.json
    assert (await world.http.patch(path_of(machine), token=world.token, json={})).json == changed.json
    assert await eventually(lambda: world.audited("update-identity-universal-auth"))


async def test_lengths_are_judged_against_each_other_and_against_what_is_stored(world, refusal) -> None:
    machine = await world.machine(auth={"accessTokenTTL": 60, "accessTokenMaxTTL": 100})
    for body, status in (
        ({"accessTokenTTL": 11, "accessTokenMaxTTL": 10}, (422, "ValidationFailure")),
        ({"accessTokenTTL": 101}, (400, "BadRequest")),
        ({"accessTokenMaxTTL": 59}, (400, "BadRequest")),
        ({"accessTokenMaxTTL": 0}, (400, "BadRequest")),
        ({"accessTokenTTL": None}, (422, "ValidationFailure")),
        ({"accessTokenTTL": 315360001}, (422, "ValidationFailure")),
        ({"accessTokenPeriod": 315360001}, (422, "ValidationFailure")),
        ({"accessTokenTrustedIps": []}, (422, "ValidationFailure")),
        ({"accessTokenTrustedIps": [{"ipAddress": "canary"}]}, (400, "BadRequest")),
        ({"lockoutThreshold": 31}, (422, "ValidationFailure")),
    ):
        answer = await world.http.patch(path_of(machine), token=world.token, json=body)
        assert refusal(answer) == status, body
        assert "canary" not in answer.text
    good = await world.http.patch(
        path_of(machine), token=world.token, json={"accessTokenTTL": 200, "accessTokenMaxTTL": 200}
    )
    assert good.status == 200


async def test_narrower_trusted_addresses_meet_tokens_that_are_out_at_once(world, refusal) -> None:
    machine = await world.machine()
    token = await world.token_of(machine)
    assert (await world.details(token, address="192.0.2.5")).status == 200
    body = {"accessTokenTrustedIps": [{"ipAddress": "192.0.2.6"}]}
    await world.http.patch(path_of(machine), token=world.token, json=body)
    assert refusal(await world.details(token, address="192.0.2.5")) == (403, "ForbiddenError")
    assert (await world.details(token, address="192.0.2.6")).status == 200


async def test_what_is_not_attached_cannot_be_changed_or_detached(world, refusal) -> None:
    path = f"{UNIVERSAL}/identities/{world.tenants[0].identity_id}"
    assert refusal(await world.http.patch(path, token=world.token, json={})) == (404, "NotFound")
    assert refusal(await world.http.delete(path, token=world.token)) == (400, "BadRequest")
    for identity_id in (uuid4(), (await world.another_tenant()).identity_id):
        path = f"{UNIVERSAL}/identities/{identity_id}"
        assert refusal(await world.http.patch(path, token=world.token, json={})) == (404, "NotFound")
        assert refusal(await world.http.delete(path, token=world.token)) == (404, "NotFound")


async def test_detaching_takes_client_secrets_tokens_and_locks_along(world, refusal) -> None:
    machine = await world.machine()
    token = await world.token_of(machine)
    shown = (await world.http.get(path_of(machine), token=world.token)).json
    await world.http.post(f"{UNIVERSAL}/login", json={"clientId": machine.client_id, "clientSecret": "x"})
    assert (await world.details(token)).status == 200
    assert (await world.http.delete(path_of(machine), token=world.token)).json == shown
    assert refusal(await world.details(token)) == (401, "UnauthorizedError")
    assert refusal(await world.login(machine)) == (401, "UnauthorizedError")
    assert not await world.rows("SELECT FROM client_secrets")
    assert not await world.rows("SELECT FROM lockouts WHERE subject_id = $1", UUID(machine.id))
    (event,) = await eventually(lambda: world.identity.said.of("identity.tokens.revoked.v1"))
    assert event.payload["token_ids"] == [claims_of(token)["identityAccessTokenId"]]
    assert await eventually(lambda: world.audited("revoke-identity-universal-auth"))


# --- client secrets ---------------------------------------------------------------------------------------------------


async def test_a_client_secret_is_read_revoked_and_then_useless(world, clock, refusal) -> None:
    machine = await world.machine()
    (data,) = (await world.http.get(f"{path_of(machine)}/client-secrets", token=world.token)).json["clientSecretData"]
    path = f"{path_of(machine)}/client-secrets/{data['id']}"
    assert (await world.http.get(path, token=world.token)).json == {"clientSecretData": data}
    clock.advance(timedelta(seconds=1))
    revoked = {**data, "isClientSecretRevoked": True, "updatedAt": "2026-01-02T09:00:01.000Z"}
    for _ in range(2):
        answer = await world.http.post(f"{path}/revoke", token=world.token)
        assert answer.json == {"clientSecretData": revoked}
    assert refusal(await world.login(machine)) == (401, "UnauthorizedError")
    listed = await world.http.get(f"{path_of(machine)}/client-secrets", token=world.token)
    assert listed.json == {"clientSecretData": []}
    assert (await world.http.get(path, token=world.token)).json == {"clientSecretData": revoked}
    assert len(await eventually(lambda: world.audited("revoke-identity-universal-auth-client-secret"))) == 1


async def test_a_client_secret_is_found_under_its_own_identity_only(world, refusal) -> None:
    one, other = await world.machine("one"), await world.machine("other")
    (row,) = await world.rows(
        "SELECT s.id FROM client_secrets s JOIN auth_configurations c ON c.id = s.configuration_id "
        "WHERE c.identity_id = $1",
        UUID(one.id),
    )
    for secret_id in (row["id"], uuid4()):
        path = f"{path_of(other)}/client-secrets/{secret_id}"
        assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")
        assert refusal(await world.http.post(f"{path}/revoke", token=world.token)) == (404, "NotFound")
    assert (await world.login(one)).status == 200


async def test_client_secrets_need_their_own_rights(world, refusal) -> None:
    machine = await world.machine()
    member = await world.token_of(await world.machine("member", role="member"))
    (row,) = await world.rows("SELECT id FROM client_secrets ORDER BY created_at, id LIMIT 1")
    path = f"{path_of(machine)}/client-secrets/{row['id']}"
    assert refusal(await world.http.get(path, token=member)) == (403, "PermissionDenied")
    assert refusal(await world.http.post(f"{path}/revoke", token=member)) == (403, "PermissionDenied")
    assert refusal(await world.http.delete(path_of(machine), token=member)) == (403, "PermissionDenied")


# --- threats: what belongs to somebody else ---------------------------------------------------------------------------


async def test_a_token_of_one_identity_renews_and_ends_that_one_alone(world) -> None:
    one, other = await world.machine("one"), await world.machine("other")
    mine, its = await world.token_of(one), await world.token_of(other)
    renewed = (await world.http.post("/api/v1/auth/token/renew", json={"accessToken": mine})).json["accessToken"]
    assert claims_of(renewed)["identityAccessTokenId"] == claims_of(mine)["identityAccessTokenId"]
    assert (await world.http.post("/api/v1/auth/token/revoke", json={"accessToken": renewed})).status == 200
    assert (await world.details(mine)).status == 401
    assert (await world.details(its)).status == 200


async def test_a_token_without_rights_cannot_reach_another_identity_through_any_route(world, refusal) -> None:
    machine, target = await world.machine("nobody"), await world.machine("target")
    token = await world.token_of(machine)
    await world.http.post(path_of(target, TOKEN_AUTH), token=world.token)
    made = await world.http.post(f"{path_of(target, TOKEN_AUTH)}/tokens", token=world.token)
    token_id = made.json["tokenData"]["id"]
    (secret,) = (await world.http.get(f"{path_of(target)}/client-secrets", token=world.token)).json["clientSecretData"]
    one_secret = f"{path_of(target)}/client-secrets/{secret['id']}"
    for method, path in (
        ("POST", path_of(target)),
        ("PATCH", path_of(target)),
        ("GET", path_of(target)),
        ("DELETE", path_of(target)),
        ("POST", f"{path_of(target)}/client-secrets"),
        ("GET", f"{path_of(target)}/client-secrets"),
        ("GET", one_secret),
        ("POST", f"{one_secret}/revoke"),
        ("POST", f"{path_of(target)}/clear-lockouts"),
        ("POST", f"{path_of(target, TOKEN_AUTH)}/tokens"),
        ("GET", f"{path_of(target, TOKEN_AUTH)}/tokens"),
        ("GET", f"{TOKEN_AUTH}/tokens/{token_id}"),
        ("PATCH", f"{TOKEN_AUTH}/tokens/{token_id}"),
        ("POST", f"{TOKEN_AUTH}/tokens/{token_id}/revoke"),
        ("PATCH", f"/api/v1/identities/{target.id}"),
        ("DELETE", f"/api/v1/identities/{target.id}"),
    ):
        answer = await world.http.send(method, path, token=token)
        assert refusal(answer) == (403, "PermissionDenied"), (method, path)
    assert (await world.login(target)).status == 200


async def test_a_token_of_one_kind_dies_with_that_kind_though_another_is_there(world) -> None:
    machine = await world.machine()
    await world.http.post(path_of(machine, TOKEN_AUTH), token=world.token)
    token = await world.token_of(machine)
    await world.http.delete(path_of(machine), token=world.token)
    assert (await world.http.post("/api/v1/auth/token/renew", json={"accessToken": token})).status == 401


async def test_the_secret_of_one_client_is_no_good_for_another(world) -> None:
    one, other = await world.machine("one"), await world.machine("other")
    body = {"clientId": other.client_id, "clientSecret": one.client_secret}
    assert (await world.http.post(f"{UNIVERSAL}/login", json=body)).status == 401


# --- sub-organizations ------------------------------------------------------------------------------------------------


async def a_sub_organization(world, guest: str | None = None) -> tuple[str, str]:
    context = world.context
    parent = UUID(world.tenants[0].organization_id)
    sub = replace(Organization.new("Branch", context.clock.now()), parent_id=parent, root_id=parent)
    async with context.database.begin(Origin()) as work:
        await organizations.add(work, sub)
        if guest is not None:
            role = MembershipRole.of(ORGANIZATION_ROLES["member"])
            now = context.clock.now()
            membership = Membership.new("identity", UUID(guest), [role], now, organization_id=sub.id)
            await memberships.add(work, membership)
        await work.commit()
    return str(sub.id), sub.slug


async def test_a_login_for_a_sub_organization_is_scoped_to_it(world, refusal) -> None:
    machine, stranger = await world.machine("guest"), await world.machine("stranger")
    sub_id, slug = await a_sub_organization(world, machine.id)
    for field in ("subOrganizationName", "organizationSlug"):
        body = {"clientId": machine.client_id, "clientSecret": machine.client_secret, field: slug}
        token = (await world.http.post(f"{UNIVERSAL}/login", json=body)).json["accessToken"]
        details = (await world.details(token)).json["identityDetails"]
        assert details["organization"]["id"] == sub_id
    body = {"clientId": stranger.client_id, "clientSecret": stranger.client_secret, "organizationSlug": slug}
    assert refusal(await world.http.post(f"{UNIVERSAL}/login", json=body)) == (401, "UnauthorizedError")


# --- kinds that are not here ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["aws-auth", "gcp-auth", "azure-auth", "oci-auth", "alicloud-auth"])
async def test_a_kind_that_is_not_here_says_which_ones_are(world, refusal, kind: str) -> None:
    assert kind in ABSENT
    machine = await world.machine()
    body = {"identityId": machine.id, "jwt": "canary"}
    login = await world.http.post(f"/api/v1/auth/{kind}/login", json=body)
    attach = await world.http.post(f"/api/v1/auth/{kind}/identities/{machine.id}", token=world.token, json=body)
    for answer in (login, attach):
        assert refusal(answer) == (400, "BadRequest")
        assert kind in answer.json["message"]
        assert "universal-auth" in answer.json["message"]
        assert "token-auth" in answer.json["message"]
        assert "canary" not in answer.text


async def test_two_changes_at_once_do_not_lose_one(world) -> None:
    machine = await world.machine()
    answers = await asyncio.gather(
        *(
            world.http.patch(path_of(machine), token=world.token, json=body)
            for body in ({"accessTokenTTL": 60}, {"lockoutThreshold": 9})
        )
    )
    shown = (await world.http.get(path_of(machine), token=world.token)).json["identityUniversalAuth"]
    for answer, (field, value) in zip(answers, (("accessTokenTTL", 60), ("lockoutThreshold", 9)), strict=True):
        assert answer.status in {200, 409}
        assert (shown[field] == value) == (answer.status == 200)
