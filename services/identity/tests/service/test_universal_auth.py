"""Universal auth over the wire: attached, given secrets, logged in with, exactly as often as allowed."""

import asyncio
from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import jwt
import pytest

from strongroom_common.testing.waiting import eventually

BASE = "/api/v1/auth/universal-auth"
ANYWHERE = [
    {"type": "ipv4", "ipAddress": "0.0.0.0", "prefix": 0},  # noqa: S104 - nothing is bound to it
    {"type": "ipv6", "ipAddress": "::", "prefix": 0},
]


async def an_identity(world, role: str = "no-access") -> str:
    body = {"name": "robot", "organizationId": world.tenants[0].organization_id, "role": role}
    made = await world.http.post("/api/v1/identities", token=world.token, json=body)
    identity_id: str = made.json["identity"]["id"]
    return identity_id


async def attach(world, identity_id: str, token: str | None = None, **body: object):
    return await world.http.post(f"{BASE}/identities/{identity_id}", token=token or world.token, json=body)


# --- attaching --------------------------------------------------------------------------------------------------------


async def test_attaching_needs_no_body_and_shows_every_default(world) -> None:
    identity_id = await an_identity(world)
    path = f"{BASE}/identities/{identity_id}"
    answer = await world.http.post(path, token=world.token)
    assert answer.status == 200
    shown = answer.json["identityUniversalAuth"]
    assert (await world.http.get(path, token=world.token)).json == {"identityUniversalAuth": shown}
    assert UUID(shown.pop("id"))
    assert UUID(shown.pop("clientId"))
    assert shown == {
        "identityId": identity_id,
        "accessTokenTTL": 2592000,
        "accessTokenMaxTTL": 2592000,
        "accessTokenNumUsesLimit": 0,
        "accessTokenPeriod": 0,
        "clientSecretTrustedIps": ANYWHERE,
        "accessTokenTrustedIps": ANYWHERE,
        "lockoutEnabled": True,
        "lockoutThreshold": 3,
        "lockoutDurationSeconds": 300,
        "lockoutCounterResetSeconds": 30,
        "createdAt": "2026-01-02T09:00:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
    }


async def test_every_setting_is_kept(world) -> None:
    settings = {
        "accessTokenTTL": 60,
        "accessTokenMaxTTL": 600,
        "accessTokenNumUsesLimit": 7,
        "accessTokenPeriod": 9,
        "lockoutEnabled": False,
        "lockoutThreshold": 30,
        "lockoutDurationSeconds": 86400,
        "lockoutCounterResetSeconds": 5,
    }
    identity_id = await an_identity(world)
    ips = {
        "clientSecretTrustedIps": [{"ipAddress": "192.0.2.1"}],
        "accessTokenTrustedIps": [{"ipAddress": "2001:db8::/32"}],
    }
    shown = (await attach(world, identity_id, **settings, **ips)).json["identityUniversalAuth"]
    assert {name: shown[name] for name in settings} == settings
    assert shown["clientSecretTrustedIps"] == [{"type": "ipv4", "ipAddress": "192.0.2.1"}]
    assert shown["accessTokenTrustedIps"] == [{"type": "ipv6", "ipAddress": "2001:db8::", "prefix": 32}]


async def test_attaching_twice_is_refused(world, refusal) -> None:
    identity_id = await an_identity(world)
    answers = await asyncio.gather(*(attach(world, identity_id) for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [200, 400, 400, 400]
    assert refusal(await attach(world, identity_id)) == (400, "BadRequest")


async def test_a_bad_field_is_named_and_not_repeated(world, refusal) -> None:
    identity_id = await an_identity(world)
    cases = [
        ("accessTokenTTL", {"accessTokenTTL": 11, "accessTokenMaxTTL": 10}),
        ("accessTokenTTL", {"accessTokenMaxTTL": 10}),
        ("accessTokenTTL", {"accessTokenTTL": 1, "accessTokenMaxTTL": 0}),
        ("accessTokenTTL", {"accessTokenTTL": -1}),
        ("accessTokenTTL", {"accessTokenTTL": "60"}),
        ("accessTokenMaxTTL", {"accessTokenMaxTTL": 315360001}),
        ("accessTokenNumUsesLimit", {"accessTokenNumUsesLimit": -1}),
        ("accessTokenPeriod", {"accessTokenPeriod": -1}),
        ("accessTokenTrustedIps", {"accessTokenTrustedIps": []}),
        ("clientSecretTrustedIps", {"clientSecretTrustedIps": "canary"}),
        ("lockoutThreshold", {"lockoutThreshold": 0}),
        ("lockoutThreshold", {"lockoutThreshold": 31}),
        ("lockoutDurationSeconds", {"lockoutDurationSeconds": 29}),
        ("lockoutCounterResetSeconds", {"lockoutCounterResetSeconds": 3601}),
    ]
    for field, body in cases:
        answer = await attach(world, identity_id, **body)
        assert refusal(answer) == (422, "ValidationFailure")
        assert [issue["path"] for issue in answer.json["message"]] == [[field]]
        assert "canary" not in answer.text


async def test_a_bad_address_is_a_400(world, refusal) -> None:
    answer = await attach(world, await an_identity(world), accessTokenTrustedIps=[{"ipAddress": "canary"}])
    assert refusal(answer) == (400, "BadRequest")
    assert "canary" not in answer.text


async def test_unknown_foreign_and_unattached_identities(world, refusal) -> None:
    bare, other = await an_identity(world), await world.another_tenant()
    for identity_id in (other.identity_id, str(uuid4())):
        path = f"{BASE}/identities/{identity_id}"
        for suffix in ("", "/client-secrets"):
            assert refusal(await world.http.get(path + suffix, token=world.token)) == (404, "NotFound")
            assert refusal(await world.http.post(path + suffix, token=world.token, json={})) == (404, "NotFound")
    path = f"{BASE}/identities/{bare}"
    assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")
    assert refusal(await world.http.get(f"{path}/client-secrets", token=world.token)) == (400, "BadRequest")
    assert refusal(await world.http.post(f"{path}/client-secrets", token=world.token)) == (400, "BadRequest")


async def test_rights_on_identities_are_needed(world, refusal) -> None:
    target = await world.machine("target")
    member = await world.token_of(await world.machine("member", role="member"))
    nobody = await world.token_of(await world.machine("nobody"))
    path = f"{BASE}/identities/{target.id}"
    assert refusal(await world.http.get(path, token=nobody)) == (403, "PermissionDenied")
    assert (await world.http.get(path, token=member)).status == 200
    for send in (world.http.get, world.http.post):
        answer = await send(f"{path}/client-secrets", token=member)
        assert refusal(answer) == (403, "PermissionDenied"), "members read and make identities, not their tokens"


async def test_nobody_lets_a_stronger_identity_log_in(world, refusal) -> None:
    admin, member = await an_identity(world, "admin"), await world.token_of(await world.machine(role="member"))
    assert refusal(await attach(world, admin, member)) == (403, "PermissionBoundaryError")


async def test_only_an_instance_admin_touches_an_instance_admin(world, refusal) -> None:
    admin = await world.token_of(await world.machine(role="admin"))
    assert refusal(await attach(world, world.tenants[0].identity_id, admin)) == (403, "ForbiddenError")
    assert (await attach(world, world.tenants[0].identity_id)).status == 200


# --- client secrets ---------------------------------------------------------------------------------------------------


async def test_a_client_secret_is_shown_once_and_stored_hashed(world) -> None:
    identity_id = await an_identity(world)
    attached = (await attach(world, identity_id)).json["identityUniversalAuth"]
    path = f"{BASE}/identities/{identity_id}/client-secrets"
    made = await world.http.post(path, token=world.token, json={"description": "ci", "numUsesLimit": 5, "ttl": 60})
    secret, data = made.json["clientSecret"], made.json["clientSecretData"]
    assert len(secret) == 64
    assert int(secret, 16)
    listed = await world.http.get(path, token=world.token)
    assert listed.json == {"clientSecretData": [data]}
    assert secret not in listed.text
    assert UUID(data.pop("id"))
    assert data == {
        "description": "ci",
        "clientSecretPrefix": secret[:4],
        "clientSecretNumUses": 0,
        "clientSecretNumUsesLimit": 5,
        "clientSecretTTL": 60,
        "identityUAId": attached["id"],
        "isClientSecretRevoked": False,
        "createdAt": "2026-01-02T09:00:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
    }
    (row,) = await world.rows("SELECT * FROM client_secrets")
    assert secret.encode() not in row["secret_hash"]
    assert bytes.fromhex(secret) not in row["secret_hash"]


# --- login ------------------------------------------------------------------------------------------------------------


async def test_a_login_gives_a_token_with_the_contracts_claims(world, clock) -> None:
    machine = await world.machine(auth={"accessTokenTTL": 60, "accessTokenMaxTTL": 600})
    answer = await world.login(machine)
    assert answer.status == 200
    token = answer.json.pop("accessToken")
    assert {**answer.json, "accessToken": ""} == {
        "accessToken": "",
        "expiresIn": 60,
        "accessTokenMaxTTL": 600,
        "tokenType": "Bearer",
    }
    claims = jwt.decode(token, options={"verify_signature": False})
    (record,) = await world.rows("SELECT * FROM access_tokens WHERE identity_id = $1", machine.id)
    assert claims == {
        "authTokenType": "identityAccessToken",
        "identityId": machine.id,
        "identityAccessTokenId": str(record["id"]),
        "clientSecretId": str(record["client_secret_id"]),
        "organizationId": world.tenants[0].organization_id,
        "identityAuth": {},
        "iat": int(clock.now().timestamp()),
        "exp": int(clock.now().timestamp()) + 60,
    }
    assert (await world.details(token)).status == 200


async def test_a_form_a_trailing_slash_and_an_old_bearer_do_not_matter(world) -> None:
    machine = await world.machine()
    form = {"clientId": machine.client_id, "clientSecret": machine.client_secret, "organizationSlug": ""}
    assert (await world.http.post(f"{BASE}/login/", form=form)).status == 200
    assert (await world.http.post(f"{BASE}/login", form=form, token="expired.or.garbage")).status == 200
    assert (await world.login(machine, headers={"Authorization": "Basic abc"})).status == 200


async def test_a_periodic_token_never_seems_to_reach_its_maximum(world) -> None:
    machine = await world.machine(auth={"accessTokenPeriod": 120, "accessTokenTTL": 60, "accessTokenMaxTTL": 60})
    body = (await world.login(machine)).json
    assert (body["expiresIn"], body["accessTokenMaxTTL"]) == (120, 1_000_000_000)
    assert "exp" in jwt.decode(body["accessToken"], options={"verify_signature": False})


async def test_wrong_credentials_look_alike(world, refusal) -> None:
    machine, other = await world.machine(), await world.machine("other")
    attempts = [
        {"clientId": str(uuid4()), "clientSecret": machine.client_secret},
        {"clientId": "canary", "clientSecret": machine.client_secret},
        {"clientId": machine.client_id, "clientSecret": "canary"},
        {"clientId": machine.client_id, "clientSecret": machine.client_secret.upper()},
        {"clientId": machine.client_id, "clientSecret": other.client_secret},
    ]
    for attempt in attempts:
        answer = await world.http.post(f"{BASE}/login", json=attempt)
        assert refusal(answer) == (401, "UnauthorizedError")
        assert answer.json["message"] == "Invalid credentials"
    failed = await eventually(lambda: _all_of(world.audited("login-identity-universal-auth-failed"), len(attempts)))
    assert {record["metadata"]["reason"] for record in failed} == {"unknown client", "wrong client secret"}
    assert "canary" not in str([dict(record) for record in failed])
    assert not await world.rows("SELECT FROM access_tokens WHERE identity_id = $1", machine.id)


async def _all_of(found, number: int):
    records = await found
    return records if len(records) == number else None


@pytest.mark.parametrize("field", ["clientId", "clientSecret"])
async def test_a_missing_field_is_named_and_the_other_not_repeated(world, refusal, field: str) -> None:
    body = {"clientId": "canary", "clientSecret": "canary"}
    del body[field]
    answer = await world.http.post(f"{BASE}/login", json=body)
    assert refusal(answer) == (422, "ValidationFailure")
    assert [issue["path"] for issue in answer.json["message"]] == [[field]]
    assert "canary" not in answer.text


async def test_an_untrusted_address_is_refused_before_the_secret_is_looked_at(world, refusal) -> None:
    machine = await world.machine(auth={"clientSecretTrustedIps": [{"ipAddress": "192.0.2.0/24"}]})
    assert (await world.login(machine, address="192.0.2.9")).status == 200
    assert refusal(await world.login(machine, address="198.51.100.1")) == (403, "ForbiddenError")
    machine.client_secret = "wrong"
    assert refusal(await world.login(machine, address="198.51.100.1")) == (403, "ForbiddenError")


async def test_an_unknown_sub_organization_is_not_found_and_costs_no_use(world, refusal) -> None:
    machine = await world.machine(secret={"numUsesLimit": 1})
    body = {"clientId": machine.client_id, "clientSecret": machine.client_secret}
    for name in ("subOrganizationName", "organizationSlug"):
        answer = await world.http.post(f"{BASE}/login", json={**body, name: "elsewhere"})
        assert refusal(answer) == (404, "NotFound")
    assert (await world.http.post(f"{BASE}/login", json={**body, "organizationSlug": ""})).status == 200


@pytest.mark.timeout(60)
@pytest.mark.parametrize("limit", [1, 5])
async def test_of_twenty_logins_at_once_exactly_the_limit_succeeds(world, limit: int) -> None:
    machine = await world.machine(secret={"numUsesLimit": limit})
    answers = await asyncio.gather(*(world.login(machine) for _ in range(20)))
    assert Counter(answer.status for answer in answers) == {200: limit, 401: 20 - limit}
    (secret,) = await world.rows("SELECT * FROM client_secrets")
    assert (secret["uses"], secret["is_revoked"]) == (limit, True)
    assert len(await world.rows("SELECT FROM access_tokens WHERE identity_id = $1", machine.id)) == limit


@pytest.mark.timeout(60)
async def test_an_unlimited_secret_serves_all(world) -> None:
    machine = await world.machine()
    answers = await asyncio.gather(*(world.login(machine) for _ in range(20)))
    assert {answer.status for answer in answers} == {200}
    (secret,) = await world.rows("SELECT * FROM client_secrets")
    assert (secret["uses"], secret["is_revoked"]) == (20, False)


async def test_the_refused_attempt_revokes_a_spent_secret(world, refusal) -> None:
    machine = await world.machine(secret={"numUsesLimit": 1})
    assert (await world.login(machine)).status == 200
    (secret,) = await world.rows("SELECT * FROM client_secrets")
    assert not secret["is_revoked"], "not yet: the last good one does not revoke it"
    refused = await world.login(machine)
    assert refusal(refused) == (401, "UnauthorizedError")
    assert "usage limit" in refused.json["message"]
    (secret,) = await world.rows("SELECT * FROM client_secrets")
    assert (secret["uses"], secret["is_revoked"]) == (1, True)
    listed = await world.http.get(f"{BASE}/identities/{machine.id}/client-secrets", token=world.token)
    assert listed.json == {"clientSecretData": []}
    assert (await world.login(machine)).json["message"] == "Invalid credentials"


async def test_an_old_secret_is_refused_and_revoked(world, clock, refusal) -> None:
    machine = await world.machine(secret={"ttl": 60})
    clock.advance(timedelta(seconds=59))
    assert (await world.login(machine)).status == 200
    clock.advance(timedelta(seconds=1))
    assert refusal(await world.login(machine)) == (401, "UnauthorizedError")
    (secret,) = await world.rows("SELECT * FROM client_secrets")
    assert secret["is_revoked"]


async def test_a_login_is_noted(world) -> None:
    machine = await world.machine()
    await world.login(machine, headers={"User-Agent": "cli"}, address="192.0.2.77")
    (record,) = await eventually(lambda: world.audited("login-identity-universal-auth"))
    assert (str(record["actor_id"]), record["actor_kind"]) == (machine.id, "identity")
    assert (record["client_address"], record["user_agent"]) == ("192.0.2.77", "cli")
    assert str(record["organization_id"]) == world.tenants[0].organization_id
    (membership,) = await world.rows("SELECT * FROM memberships WHERE identity_id = $1", machine.id)
    assert membership["last_login_method"] == "universal-auth"
    assert membership["last_login_at"] == world.context.clock.now()


async def test_reading_configurations_and_secrets_is_audited_before_the_answer(world) -> None:
    machine = await world.machine()
    path = f"{BASE}/identities/{machine.id}"
    await world.http.get(path, token=world.token)
    await world.http.get(f"{path}/client-secrets", token=world.token)
    for event in (
        "add-identity-universal-auth",
        "get-identity-universal-auth",
        "create-identity-universal-auth-client-secret",
        "get-identity-universal-auth-client-secrets",
    ):
        (record,) = await eventually(lambda event=event: world.audited(event))
        assert record["metadata"]["identityId"] == machine.id


async def test_secrets_lie_nowhere_in_the_clear(world) -> None:
    machine = await world.machine()
    token = await world.token_of(machine)
    await eventually(lambda: world.audited("login-identity-universal-auth"))
    tables = await world.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert len(tables) > 15
    for table in tables:
        everything = f"SELECT t::text AS row FROM {table['tablename']} t"  # noqa: S608 - the name comes from the catalog
        dump = str([row["row"] for row in await world.rows(everything)])
        for canary in (machine.client_secret, token, world.token, "correct horse"):
            assert canary not in dump
            assert canary.encode().hex() not in dump
