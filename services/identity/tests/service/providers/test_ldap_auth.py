"""Login with LDAP against a real OpenLDAP, as clients of the API meet it."""

import asyncio
import secrets
from datetime import timedelta

import pytest

from strongroom_common.testing.ldap import BIND_DN, LdapServer
from strongroom_common.testing.waiting import eventually

pytestmark = pytest.mark.timeout(60, func_only=True)

LDAP = "/api/v1/auth/ldap-auth"
PASSWORD = "correct horse"
UNKNOWN = "0b7e9c6e-3f65-4d6e-9d6b-0d8b6c1f2a77"

SHOWN = {
    "id",
    "identityId",
    "url",
    "searchBase",
    "searchFilter",
    "allowedFields",
    "templateId",
    "accessTokenTTL",
    "accessTokenMaxTTL",
    "accessTokenNumUsesLimit",
    "accessTokenPeriod",
    "accessTokenTrustedIps",
    "lockoutEnabled",
    "lockoutThreshold",
    "lockoutDurationSeconds",
    "lockoutCounterResetSeconds",
    "createdAt",
    "updatedAt",
}
SECRET = {"bindDN", "bindPass", "ldapCaCertificate"}


@pytest.fixture
async def ada(ldap_server: LdapServer) -> str:
    name = f"ada-{secrets.token_hex(8)}"
    ldap_server.add_person(name, PASSWORD, mail="ada@example.com", ou=["engines", "tables"])
    return name


async def attach(world, identity_id, directory, **more):
    body = {**directory, **more}
    return await world.http.post(f"{LDAP}/identities/{identity_id}", token=world.token, json=body)


async def attached(world, identity_id, directory, **more):
    answer = await attach(world, identity_id, directory, **more)
    assert answer.status == 200, answer.text
    return answer.json["identityLdapAuth"]


async def login(world, identity_id, name, password=PASSWORD, **more):
    body = {"identityId": identity_id, "username": name, "password": password, **more}
    return await world.http.post(f"{LDAP}/login", json=body)


async def test_a_person_of_the_directory_gets_a_token(world, identity_id, directory, ada):
    await attached(world, identity_id, directory, accessTokenTTL=600, accessTokenMaxTTL=1200)
    answer = await login(world, identity_id, ada)
    assert answer.status == 200, answer.text
    assert answer.json.keys() == {"accessToken", "expiresIn", "accessTokenMaxTTL", "tokenType"}
    assert (answer.json["expiresIn"], answer.json["accessTokenMaxTTL"], answer.json["tokenType"]) == (
        600,
        1200,
        "Bearer",
    )
    details = await world.details(answer.json["accessToken"])
    assert details.json["identityDetails"]["organization"]["id"] == world.tenants[0].organization_id
    (row,) = await world.rows("SELECT * FROM access_tokens WHERE identity_id = $1", identity_id)
    assert row["auth_method"] == "ldap-auth"


async def test_only_get_shows_the_bind_account(world, identity_id, directory):
    made = await attached(world, identity_id, directory)
    assert made.keys() == SHOWN
    assert made["searchFilter"] == "(uid={{username}})"
    assert (made["allowedFields"], made["templateId"]) == ([], None)
    assert (made["lockoutThreshold"], made["lockoutDurationSeconds"], made["lockoutCounterResetSeconds"]) == (
        3,
        300,
        30,
    )
    path = f"{LDAP}/identities/{identity_id}"
    got = (await world.http.get(path, token=world.token)).json["identityLdapAuth"]
    assert got == {**made, "bindDN": BIND_DN, "bindPass": directory["bindPass"], "ldapCaCertificate": ""}
    assert got.keys() == SHOWN | SECRET
    changed = await world.http.patch(path, token=world.token, json={"accessTokenNumUsesLimit": 7})
    assert changed.json["identityLdapAuth"].keys() == SHOWN
    gone = await world.http.delete(path, token=world.token)
    assert gone.json["identityLdapAuth"].keys() == SHOWN


async def test_the_bind_account_is_sealed_in_the_database(world, identity_id, directory):
    await attached(world, identity_id, directory)
    (row,) = await world.rows("SELECT * FROM auth_configurations WHERE identity_id = $1", identity_id)
    stored = repr(dict(row))
    assert directory["bindPass"] not in stored
    assert BIND_DN not in stored


async def test_a_directory_that_does_not_answer_is_not_kept(world, identity_id, directory, refusal, ldap_server):
    for wrong in (
        {"bindPass": "canary-wrong"},
        {"bindDN": "cn=nobody,dc=strongroom,dc=test"},
        {"url": "ldap://127.0.0.1:1"},
        {"url": ldap_server.tls_url},
        {"url": "ldap://10.0.0.1"},
        {"url": "ldap://169.254.169.254"},
    ):
        answer = await attach(world, identity_id, {**directory, **wrong})
        assert answer.status == 400, answer.text
        assert "canary-wrong" not in answer.text
    assert await world.rows("SELECT 1 FROM auth_configurations WHERE method = 'ldap-auth'") == []
    await attached(world, identity_id, directory)
    path = f"{LDAP}/identities/{identity_id}"
    before = await world.http.get(path, token=world.token)
    changed = await world.http.patch(path, token=world.token, json={"bindPass": "canary-wrong"})
    assert changed.status == 400
    assert (await world.http.get(path, token=world.token)).json == before.json


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://127.0.0.1"},
        {"url": ""},
        {"bindPass": ""},
        {"searchFilter": "(uid={{username}}"},
        {"searchFilter": "(uid=ada)"},
        {"allowedFields": [{"key": "mail"}]},
        {"allowedFields": [{"key": "ma il)", "value": "x"}]},
        {"allowedFields": [{"key": "mail", "value": "  "}]},
        {"ldapCaCertificate": "no certificate"},
        {"accessTokenMaxTTL": 0, "accessTokenTTL": 0},
        {"accessTokenTTL": 10, "accessTokenMaxTTL": 5},
        {"lockoutThreshold": 31},
        {"templateId": "no-uuid"},
    ],
)
async def test_a_malformed_configuration_is_named(world, identity_id, directory, wrong, refusal):
    answer = await attach(world, identity_id, directory, **wrong)
    assert refusal(answer) == (422, "ValidationFailure"), answer.text
    assert await world.rows("SELECT 1 FROM auth_configurations WHERE method = 'ldap-auth'") == []


@pytest.mark.parametrize("missing", ["url", "bindDN", "bindPass", "searchBase"])
async def test_without_a_template_the_whole_directory_must_be_given(world, identity_id, directory, missing, refusal):
    del directory[missing]
    assert refusal(await attach(world, identity_id, directory)) == (422, "ValidationFailure")


async def test_every_failure_is_the_same_answer_with_its_reason_in_the_audit_log(
    world, identity_id, directory, ada, ldap_server
):
    await attached(world, identity_id, directory, lockoutEnabled=False)
    wrong = [
        await login(world, identity_id, ada, "wrong"),
        await login(world, identity_id, "nobody"),
        await login(world, identity_id, "*"),
        await login(world, identity_id, ada, "\u00ad"),
    ]
    with ldap_server.away():
        wrong.append(await login(world, identity_id, ada))
    assert len({(answer.status, answer.json["error"], answer.json["message"]) for answer in wrong}) == 1
    assert wrong[0].status == 401
    noted = await eventually_audited(world, "login-identity-ldap-auth-failed", len(wrong))
    reasons = [row["metadata"]["reason"] for row in noted]
    assert reasons[0] == "wrong password"
    assert reasons[-1] == "The directory cannot be reached"
    assert all(row["metadata"]["identityId"] == identity_id for row in noted)


async def eventually_audited(world, event, count):
    async def all_there():
        found = await world.audited(event)
        return found if len(found) >= count else None

    return await eventually(all_there)


@pytest.mark.parametrize("password", ["", None])
async def test_no_password_is_a_malformed_login(world, identity_id, directory, ada, password, refusal):
    await attached(world, identity_id, directory)
    body = {"identityId": identity_id, "username": ada}
    answer = await world.http.post(f"{LDAP}/login", json=body if password is None else {**body, "password": password})
    assert refusal(answer) == (422, "ValidationFailure")


async def test_allowed_fields_hold_exactly_or_nobody_gets_in(world, identity_id, directory, ada):
    path = f"{LDAP}/identities/{identity_id}"
    made = await attached(
        world, identity_id, directory, allowedFields=[{"key": "MAIL", "value": " bob@example.com , ada@example.com "}]
    )
    assert made["allowedFields"] == [{"key": "MAIL", "value": "bob@example.com,ada@example.com"}]
    assert (await login(world, identity_id, ada)).status == 200
    for key, value in (("mail", "Ada@example.com"), ("mail", "*"), ("ou", "engines"), ("title", "x"), ("sn", "person")):
        changed = await world.http.patch(
            path, token=world.token, json={"allowedFields": [{"key": key, "value": value}]}
        )
        assert changed.status == 200
        assert (await login(world, identity_id, ada)).status == 401


async def test_all_spellings_of_a_name_lock_together_and_the_lock_can_be_cleared(
    world, identity_id, directory, ada, clock
):
    await attached(world, identity_id, directory)
    for name in (ada.upper(), f"  {ada} ", f"{ada[:3]}\u00ad{ada[3:]}"):
        assert (await login(world, identity_id, name, "wrong")).status == 401
    assert (await login(world, identity_id, ada)).status == 401
    assert (await login(world, identity_id, "bob", "wrong")).status == 401  # another name has a counter of its own
    details = await world.http.get(f"/api/v1/identities/{identity_id}", token=world.token)
    assert details.json["identity"]["identity"]["activeLockoutAuthMethods"] == ["ldap-auth"]
    path = f"{LDAP}/identities/{identity_id}/clear-lockouts"
    cleared = await world.http.post(path, token=world.token)
    assert cleared.json == {"deleted": 2}
    assert (await login(world, identity_id, ada)).status == 200
    for _ in range(3):
        await login(world, identity_id, ada, "wrong")
    clock.advance(timedelta(seconds=301))
    assert (await login(world, identity_id, ada)).status == 200


async def test_of_many_guesses_at_once_no_more_than_the_threshold_are_tried(world, identity_id, directory, ada):
    await attached(world, identity_id, directory)
    answers = await asyncio.gather(*(login(world, identity_id, ada, f"guess {number}") for number in range(10)))
    assert {answer.status for answer in answers} <= {401, 429}
    assert (await login(world, identity_id, ada)).status == 401


async def test_a_directory_that_is_away_locks_nobody_out(world, identity_id, directory, ada, ldap_server):
    await attached(world, identity_id, directory)
    with ldap_server.away():
        for _ in range(5):
            assert (await login(world, identity_id, ada)).status == 401
    assert (await login(world, identity_id, ada)).status == 200


async def test_tls_with_an_authority_of_its_own(world, identity_id, directory, ada, ldap_server):
    secured = {**directory, "ldapCaCertificate": ldap_server.authority.certificate}
    await attached(world, identity_id, {**secured, "url": ldap_server.tls_url})
    assert (await login(world, identity_id, ada)).status == 200
    path = f"{LDAP}/identities/{identity_id}"
    changed = await world.http.patch(path, token=world.token, json={"url": ldap_server.named_url})
    assert changed.status == 200
    assert (await login(world, identity_id, ada)).status == 200
    # The certificate names another host than this address.
    assert (await world.http.patch(path, token=world.token, json={"url": ldap_server.url})).status == 400


async def test_the_statuses_of_section_six(world, identity_id, directory, ada, refusal):
    path = f"{LDAP}/identities/{identity_id}"
    token = world.token
    assert refusal(await login(world, UNKNOWN, ada)) == (404, "NotFound")
    assert refusal(await login(world, identity_id, ada)) == (404, "NotFound")
    assert refusal(await world.http.get(path, token=token)) == (400, "BadRequest")
    assert refusal(await world.http.delete(path, token=token)) == (400, "BadRequest")
    assert refusal(await world.http.patch(path, token=token, json={})) == (404, "NotFound")
    assert refusal(await world.http.post(f"{path}/clear-lockouts", token=token)) == (400, "BadRequest")
    assert refusal(await world.http.get(f"{LDAP}/identities/{UNKNOWN}", token=token)) == (404, "NotFound")
    await attached(world, identity_id, directory)
    assert refusal(await attach(world, identity_id, directory)) == (400, "BadRequest")
    other = await world.another_tenant()
    assert refusal(await world.http.get(path, token=other.token)) == (404, "NotFound")


async def test_tokens_die_with_the_configuration_and_are_judged_by_the_current_one(world, identity_id, directory, ada):
    await attached(world, identity_id, directory)
    token = (await login(world, identity_id, ada)).json["accessToken"]
    path = f"{LDAP}/identities/{identity_id}"
    ips = {"accessTokenTrustedIps": [{"ipAddress": "10.0.0.0/8"}]}
    assert (await world.http.patch(path, token=world.token, json=ips)).status == 200
    assert (await world.details(token)).status == 403
    assert (await world.details(token, address="10.1.2.3")).status == 200
    assert (await world.http.delete(path, token=world.token)).status == 200
    assert (await world.details(token, address="10.1.2.3")).status == 401


async def test_a_renewed_token_is_still_the_one_of_its_own_login(world, identity_id, directory, ada, refusal):
    await attached(world, identity_id, directory)
    token = (await login(world, identity_id, ada)).json["accessToken"]
    # Nothing else than the token is looked at: what else is sent along changes nothing.
    body = {"accessToken": token, "identityId": world.tenants[0].identity_id, "username": "bob", "password": "x"}
    renewed = await world.http.post("/api/v1/auth/token/renew", json=body)
    details = await world.details(renewed.json["accessToken"])
    assert details.status == 200
    rows = await world.rows("SELECT * FROM access_tokens WHERE identity_id = $1", identity_id)
    assert len(rows) == 1
