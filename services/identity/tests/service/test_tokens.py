"""Access tokens: used, counted, renewed, revoked, expired, forged."""

import asyncio
from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import jwt
import pytest

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import SecretsTokensUsed, TokenUses
from strongroom_common.crypto.jwts import SigningKey
from strongroom_common.testing.waiting import eventually
from strongroom_identity.jobs.tokens import drop_expired

RENEW = "/api/v1/auth/token/renew"
REVOKE = "/api/v1/auth/token/revoke"


def claims_of(token: str) -> dict[str, object]:
    claims: dict[str, object] = jwt.decode(token, options={"verify_signature": False})
    return claims


async def renew(world, token: str, **more: object):
    return await world.http.post(RENEW, json={"accessToken": token}, **more)


async def revoke(world, token: str):
    return await world.http.post(REVOKE, json={"accessToken": token})


# --- use --------------------------------------------------------------------------------------------------------------


async def test_no_bearer_is_no_entry(world, refusal) -> None:
    assert refusal(await world.http.get("/api/v1/projects")) == (401, "UnauthorizedError")


async def test_what_is_no_token_is_refused(world, refusal) -> None:
    cases = ["", "x", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "é" * 10, "a" * 8000]
    for bearer in cases:
        headers = {"Authorization": f"Bearer {bearer}"}
        answer = await world.http.get("/api/v1/projects", headers=headers)
        assert refusal(answer) == (403, "TokenError")


async def test_a_token_of_another_instance_is_refused(world, refusal) -> None:
    foreign = SigningKey.generate().sign(claims_of(world.token))
    assert refusal(await world.details(foreign)) == (403, "TokenError")
    ours = world.context.secrets.signing_key
    forged = SigningKey(ours.id, SigningKey.generate().private_bytes()).sign(claims_of(world.token))
    assert refusal(await world.details(forged)) == (403, "TokenError")


async def test_a_well_signed_token_without_a_record_is_unknown(world, refusal) -> None:
    claims = {**claims_of(world.token), "identityAccessTokenId": str(uuid4())}
    assert refusal(await world.details(world.context.secrets.signing_key.sign(claims))) == (401, "UnauthorizedError")


async def test_a_token_says_one_organization_only(world, refusal) -> None:
    other = await world.another_tenant()
    claims = {**claims_of(world.token), "organizationId": other.organization_id}
    crossed = world.context.secrets.signing_key.sign(claims)
    assert refusal(await world.details(crossed)) == (401, "UnauthorizedError")


async def test_a_user_token_without_a_session_is_unknown(world, refusal) -> None:
    claims = {"authTokenType": "accessToken", "userId": str(uuid4()), "tokenVersionId": str(uuid4()), "iat": 1}
    token = world.context.secrets.signing_key.sign(claims)
    assert refusal(await world.http.get("/api/v1/projects", token=token)) == (401, "UnauthorizedError")


async def test_an_expired_token_is_refused(world, clock, refusal) -> None:
    token = await world.token_of(await world.machine(auth={"accessTokenTTL": 60}))
    clock.advance(timedelta(seconds=59))
    assert (await world.details(token)).status == 200
    clock.advance(timedelta(seconds=1))
    assert refusal(await world.details(token)) == (403, "TokenError")


async def test_a_limited_token_works_exactly_as_often_as_it_may(world, refusal) -> None:
    token = await world.token_of(await world.machine(auth={"accessTokenNumUsesLimit": 2}))
    assert [(await world.details(token)).status for _ in range(2)] == [200, 200]
    assert refusal(await world.details(token)) == (401, "UnauthorizedError")
    assert refusal(await world.details(token)) == (401, "UnauthorizedError")


@pytest.mark.timeout(60)
async def test_of_twenty_uses_at_once_exactly_the_limit_succeeds(world) -> None:
    machine = await world.machine(auth={"accessTokenNumUsesLimit": 5})
    token = await world.token_of(machine)
    answers = await asyncio.gather(*(world.details(token) for _ in range(20)))
    assert Counter(answer.status for answer in answers) == {200: 5, 401: 15}
    assert not await world.rows("SELECT FROM access_tokens WHERE identity_id = $1", machine.id), "the record is dropped"


async def test_a_token_is_used_only_from_trusted_addresses_as_they_are_now(world, clock, refusal) -> None:
    machine = await world.machine(auth={"accessTokenTrustedIps": [{"ipAddress": "192.0.2.0/24"}]})
    token = await world.token_of(machine)
    assert (await world.details(token, address="192.0.2.5")).status == 200
    assert refusal(await world.details(token, address="198.51.100.1")) == (403, "ForbiddenError")
    narrower = [{"type": "ipv4", "ipAddress": "192.0.2.6"}]
    async with world.context.database.reads.acquire() as connection:
        await connection.execute("UPDATE auth_configurations SET access_token_trusted_ips = $1", narrower)
    clock.advance(timedelta(seconds=61))
    assert refusal(await world.details(token, address="192.0.2.5")) == (403, "ForbiddenError")
    assert (await world.details(token, address="192.0.2.6")).status == 200


async def test_an_identity_that_left_the_organization_is_out(world, clock, refusal) -> None:
    machine = await world.machine()
    token = await world.token_of(machine)
    await world.context.database.execute("DELETE FROM memberships WHERE identity_id = $1", UUID(machine.id))
    assert refusal(await world.details(token)) == (401, "UnauthorizedError")
    assert refusal(await world.login(machine)) == (401, "UnauthorizedError")


async def test_reported_uses_are_added_up_once(world) -> None:
    machine = await world.machine()
    token_id = UUID(str(claims_of(await world.token_of(machine))["identityAccessTokenId"]))
    moment = world.context.clock.now()
    uses = [
        TokenUses(token_id=token_id, uses=3, last_used_at=moment),
        TokenUses(token_id=uuid4(), uses=1, last_used_at=moment),
    ]
    foundations = world.identity.service.foundations
    envelope = foundations.postmaster.enclose(SecretsTokensUsed(uses=uses), Origin())
    for _ in range(2):
        await foundations.bus.publish(envelope)
    (record,) = await world.rows("SELECT * FROM access_tokens WHERE id = $1", token_id)
    assert (record["uses"], record["last_used_at"]) == (3, moment)


# --- renewal ----------------------------------------------------------------------------------------------------------


async def test_a_renewed_token_is_the_same_token_with_another_life(world, clock) -> None:
    token = await world.token_of(await world.machine(auth={"accessTokenTTL": 60, "accessTokenMaxTTL": 600}))
    assert (await world.details(token)).status == 200
    clock.advance(timedelta(seconds=40))
    answer = await renew(world, token)
    assert answer.status == 200
    assert answer.json.keys() == {"accessToken", "expiresIn", "accessTokenMaxTTL", "tokenType"}
    assert (answer.json["expiresIn"], answer.json["accessTokenMaxTTL"], answer.json["tokenType"]) == (60, 600, "Bearer")
    renewed = answer.json["accessToken"]
    assert claims_of(renewed)["identityAccessTokenId"] == claims_of(token)["identityAccessTokenId"]
    assert (await world.details(token)).status == 200, "the old one lives to its own end"
    clock.advance(timedelta(seconds=30))
    assert (await world.details(token)).status == 403
    assert (await world.details(renewed)).status == 200
    (record,) = await world.rows("SELECT * FROM access_tokens WHERE last_renewed_at IS NOT NULL")
    assert record["last_renewed_at"] == clock.now() - timedelta(seconds=30)


async def test_no_renewal_passes_the_maximum_and_the_token_is_dropped(world, clock, refusal) -> None:
    machine = await world.machine(auth={"accessTokenTTL": 60, "accessTokenMaxTTL": 100})
    token = await world.token_of(machine)
    clock.advance(timedelta(seconds=50))
    assert refusal(await renew(world, token)) == (401, "UnauthorizedError")
    assert not await world.rows("SELECT FROM access_tokens WHERE identity_id = $1", machine.id)
    assert refusal(await world.details(token)) == (401, "UnauthorizedError")
    assert await eventually(lambda: world.audited("renew-identity-access-token-failed"))


async def test_a_periodic_token_is_renewed_without_end(world, clock) -> None:
    machine = await world.machine(auth={"accessTokenPeriod": 100, "accessTokenTTL": 60, "accessTokenMaxTTL": 60})
    token = await world.token_of(machine)
    for _ in range(5):
        clock.advance(timedelta(seconds=99))
        answer = await renew(world, token)
        assert (answer.json["expiresIn"], answer.json["accessTokenMaxTTL"]) == (100, 1_000_000_000)
        token = answer.json["accessToken"]
    assert (await world.details(token)).status == 200


async def test_what_may_not_be_renewed(world, clock, refusal) -> None:
    user = world.context.secrets.signing_key.sign({"authTokenType": "accessToken"})
    assert refusal(await renew(world, user)) == (400, "BadRequest")
    assert refusal(await renew(world, "canary.canary.canary")) == (403, "TokenError")
    unknown = world.context.secrets.signing_key.sign({**claims_of(world.token), "identityAccessTokenId": str(uuid4())})
    assert refusal(await renew(world, unknown)) == (401, "UnauthorizedError")
    nameless = world.context.secrets.signing_key.sign({"authTokenType": "identityAccessToken"})
    assert refusal(await renew(world, nameless)) == (401, "UnauthorizedError")
    used_up = await world.token_of(await world.machine("a", auth={"accessTokenNumUsesLimit": 1}))
    assert (await world.details(used_up)).status == 200
    assert refusal(await renew(world, used_up)) == (401, "UnauthorizedError")
    bound = await world.machine("b", auth={"accessTokenTrustedIps": [{"ipAddress": "192.0.2.1"}]})
    elsewhere = await world.token_of(bound)
    assert refusal(await renew(world, elsewhere, address="192.0.2.2")) == (403, "ForbiddenError")
    short = await world.token_of(await world.machine("c", auth={"accessTokenTTL": 60}))
    clock.advance(timedelta(seconds=60))
    assert refusal(await renew(world, short)) == (403, "TokenError")


# --- revocation -------------------------------------------------------------------------------------------------------


async def test_a_revoked_token_is_dead_at_once(world, refusal) -> None:
    token = await world.token_of(await world.machine())
    assert (await world.details(token)).status == 200
    answer = await revoke(world, token)
    assert answer.status == 200
    assert answer.json.keys() == {"message"}
    assert refusal(await world.details(token)) == (401, "UnauthorizedError")
    assert refusal(await revoke(world, token)) == (401, "UnauthorizedError")
    assert refusal(await renew(world, token)) == (401, "UnauthorizedError")
    await eventually(lambda: world.identity.said.of("identity.tokens.revoked.v1"))
    (event,) = world.identity.said.of("identity.tokens.revoked.v1")
    assert event.payload["token_ids"] == [claims_of(token)["identityAccessTokenId"]]
    assert await eventually(lambda: world.audited("revoke-identity-access-token"))


async def test_what_cannot_be_revoked(world, refusal) -> None:
    user = world.context.secrets.signing_key.sign({"authTokenType": "accessToken"})
    assert refusal(await revoke(world, user)) == (401, "UnauthorizedError")
    assert refusal(await revoke(world, "canary.canary.canary")) == (403, "TokenError")


async def test_a_bad_body_is_named(world, refusal) -> None:
    for path in (RENEW, REVOKE):
        for body in ({}, {"accessToken": ""}, {"accessToken": ["canary"]}):
            answer = await world.http.post(path, json=body)
            assert refusal(answer) == (422, "ValidationFailure")
            assert [issue["path"] for issue in answer.json["message"]] == [["accessToken"]]
            assert "canary" not in answer.text


async def test_a_token_in_a_form_is_taken_too(world) -> None:
    token = await world.token_of(await world.machine())
    assert (await world.http.post(REVOKE, form={"accessToken": token})).status == 200


# --- the end ----------------------------------------------------------------------------------------------------------


async def test_records_of_expired_tokens_are_dropped_after_a_day(world, clock) -> None:
    await world.token_of(await world.machine(auth={"accessTokenTTL": 60}))
    clock.advance(timedelta(days=1, seconds=60))
    await drop_expired(world.context)
    assert len(await world.rows("SELECT FROM access_tokens")) == 2
    clock.advance(timedelta(seconds=1))
    await drop_expired(world.context)
    assert len(await world.rows("SELECT FROM access_tokens")) == 1, "the endless one stays"


# --- headers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "status"),
    [(b"User-Agent: a\xffb", 200), (b"Idempotency-Key: a\xffb", 422), (b"Authorization: Bearer a\xffb.c.d", 403)],
)
async def test_bytes_in_a_header_that_are_no_text(world, header: bytes, status: int) -> None:
    body = b'{"projectName":"Fine"}'
    lines = [b"POST /api/v1/projects HTTP/1.1", b"Host: x", b"Connection: close", header]
    if not header.startswith(b"Authorization"):
        lines.append(b"Authorization: Bearer " + world.token.encode())
    lines += [b"Content-Type: application/json", b"Content-Length: %d" % len(body), b"", body]
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.http.base.rpartition(":")[2]))
    writer.write(b"\r\n".join(lines))
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 %d " % status)
