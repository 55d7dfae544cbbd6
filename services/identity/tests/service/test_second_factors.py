"""The second factor: asked for, accepted once, and not undone by a password alone (threat 7)."""

import asyncio
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from services.identity.tests.service.people import (
    EMAIL,
    NEW_PASSWORD,
    PASSWORD,
    Person,
    cookie_of,
    dump_of,
    member,
    person,
    select,
)

from strongroom_common.testing.waiting import eventually

pytestmark = pytest.mark.timeout(60)

TOTP = "/api/v1/user/me/totp"
VERIFY = "/api/v2/auth/mfa/verify"


class Phone:
    """An authenticator app."""

    def __init__(self, address: str, clock) -> None:
        self.secret = parse_qs(urlsplit(address).query)["secret"][0]
        self._totp = pyotp.TOTP(self.secret)
        self._clock = clock

    def code(self, later: int = 0) -> str:
        return self._totp.at(int(self._clock.now().timestamp()) + 30 * later)


async def enrolled(world, clock, who: Person) -> tuple[Phone, list[str]]:
    answer = await world.http.post(f"{TOTP}/register", token=who.token)
    assert answer.status == 200, answer.text
    phone = Phone(answer.json["otpUrl"], clock)
    confirmed = await world.http.post(f"{TOTP}/verify", token=who.token, json={"totp": phone.code()})
    assert confirmed.status == 200, confirmed.text
    clock.advance(timedelta(seconds=30))
    return phone, answer.json["recoveryCodes"]


async def asked(world) -> str:
    """Log in and select: the token that is good for the second factor alone."""
    answer = await select(world, await person(world))
    assert answer.json["isMfaEnabled"], answer.text
    assert answer.json["mfaMethod"] == "totp"
    assert "Set-Cookie" not in answer.headers
    token: str = answer.json["token"]
    return token


async def verify(world, token: str, code: str):
    return await world.http.post(VERIFY, token=token, json={"mfaToken": code, "mfaMethod": "totp"})


async def test_it_is_asked_for_once_it_is_confirmed(world, clock, refusal) -> None:
    who, other = await person(world), await person(world)
    begun = await world.http.post(f"{TOTP}/register", token=who.token)
    # Not confirmed: nobody is locked out by a code that was never scanned.
    assert (await select(world, who)).json["isMfaEnabled"] is False
    assert (await world.http.get(TOTP, token=who.token)).json == {"isVerified": False}
    phone, _ = await enrolled(world, clock, who)
    assert begun.json["otpUrl"] != phone.secret
    assert (await world.http.get(TOTP, token=who.token)).json == {"isVerified": True}
    # Other sessions ended; this one has shown the factor.
    assert (await world.http.get("/api/v1/user", token=other.token)).status == 401
    assert (await select(world, who)).json["isMfaEnabled"] is False
    token = await asked(world)
    for path in ("/api/v1/user", "/api/v1/projects"):
        assert refusal(await world.http.get(path, token=token)) == (401, "UnauthorizedError")
    assert refusal(await verify(world, token, "000000")) == (401, "UnauthorizedError")
    answer = await verify(world, token, phone.code())
    assert answer.status == 200
    assert (await world.http.get("/api/v1/projects", token=answer.json["token"])).status == 200
    assert cookie_of(answer)
    assert refusal(await world.http.post(f"{TOTP}/register", token=answer.json["token"])) == (400, "BadRequest")
    for event in ("enrol-second-factor", "confirm-second-factor", "verify-second-factor"):
        assert await eventually(lambda event=event: world.audited(event))
    assert await eventually(lambda: world.audited("verify-second-factor-failed"))


async def test_a_code_is_good_once_in_all_spellings(world, clock) -> None:
    phone, _ = await enrolled(world, clock, await person(world))
    code = phone.code()
    assert (await verify(world, await asked(world), code)).status == 200
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in code)
    arabic = "".join(chr(ord(digit) - ord("0") + 0x0660) for digit in code)
    token = await asked(world)
    for spelling in (code, f" {code}", f"{code[:3]} {code[3:]}", wide, f"{code[:3]}-{code[3:]}"):
        assert (await verify(world, token, spelling)).status == 401
    clock.advance(timedelta(minutes=1))
    token = await asked(world)
    assert (await verify(world, token, arabic)).status == 401


async def test_of_two_neighbouring_codes_the_older_one_dies_with_the_newer(world, clock) -> None:
    phone, _ = await enrolled(world, clock, await person(world))
    older, newer = phone.code(), phone.code(1)
    assert (await verify(world, await asked(world), newer)).status == 200
    assert (await verify(world, await asked(world), older)).status == 401


async def test_of_many_at_the_same_moment_one_code_lets_one_in(world, clock) -> None:
    phone, codes = await enrolled(world, clock, await person(world))
    tokens = [await asked(world) for _ in range(5)]
    answers = await asyncio.gather(*(verify(world, token, phone.code()) for token in tokens))
    assert sorted(answer.status for answer in answers) == [200, 401, 401, 401, 401]
    answers = await asyncio.gather(*(verify(world, token, codes[0]) for token in tokens))
    assert sorted(answer.status for answer in answers).count(200) == 1


async def test_a_recovery_code_is_good_once(world, clock) -> None:
    _, codes = await enrolled(world, clock, await person(world))
    assert len(set(codes)) == 10
    assert (await verify(world, await asked(world), codes[3].upper())).status == 200
    assert (await verify(world, await asked(world), codes[3])).status == 401
    assert (await verify(world, await asked(world), codes[4])).status == 200


async def test_guessing_is_slowed_down_for_the_user_and_not_by_session(world, clock) -> None:
    phone, _ = await enrolled(world, clock, await person(world))
    tokens = [await asked(world) for _ in range(3)]
    statuses = [(await verify(world, tokens[n % 3], f"00000{n % 10}")).status for n in range(8)]
    assert statuses == [401] * 6 + [429] * 2
    assert (await verify(world, tokens[0], phone.code())).status == 429
    clock.advance(timedelta(seconds=2))
    assert (await verify(world, tokens[0], phone.code())).status == 200


async def test_the_token_for_it_ends_after_five_minutes_and_is_for_nothing_else(world, clock, refusal) -> None:
    phone, _ = await enrolled(world, clock, await person(world))
    who = await person(world)
    assert refusal(await verify(world, who.token, phone.code())) == (401, "UnauthorizedError")
    assert refusal(await world.http.post(VERIFY, json={"mfaToken": phone.code()})) == (401, "UnauthorizedError")
    assert refusal(await verify(world, "x", phone.code())) == (403, "TokenError")
    token = await asked(world)
    clock.advance(timedelta(minutes=5))
    assert refusal(await verify(world, token, phone.code())) == (403, "TokenError")


async def test_a_password_alone_does_not_undo_it(world, clock, refusal) -> None:
    phone, _ = await enrolled(world, clock, await person(world))
    who = await person(world)
    calls = (
        ("DELETE", TOTP, {"password": PASSWORD}),
        ("POST", f"{TOTP}/recovery-codes", {"password": PASSWORD}),
        ("PATCH", "/api/v1/user/me/password", {"oldPassword": PASSWORD, "newPassword": NEW_PASSWORD}),
    )
    for method, path, body in calls:
        answer = await world.http.send(method, path, token=who.token, json=body)
        assert refusal(answer) == (401, "UnauthorizedError"), path
    # Nor does it make anybody an instance admin.
    (user,) = await world.rows("SELECT id FROM users")
    answer = await world.http.post(
        f"/api/v1/admin/user-management/users/{user['id']}/password-recovery", token=who.token
    )
    assert refusal(answer) == (403, "ForbiddenError")
    assert refusal(await world.http.delete(TOTP, token=who.token, json={"password": "wrong"})) == (400, "BadRequest")
    body = {"password": PASSWORD, "totp": phone.code()}
    assert (await world.http.delete(TOTP, token=who.token, json=body)).status == 200
    assert (await select(world, await person(world))).json["isMfaEnabled"] is False


async def test_new_recovery_codes_make_the_old_ones_worthless(world, clock) -> None:
    who = await person(world)
    _, old = await enrolled(world, clock, who)
    answer = await world.http.post(f"{TOTP}/recovery-codes", token=who.token, json={"password": PASSWORD})
    new = answer.json["recoveryCodes"]
    assert not set(old) & set(new)
    assert (await verify(world, await asked(world), old[0])).status == 401
    assert (await verify(world, await asked(world), new[0])).status == 200


async def test_an_organization_may_want_one(world, clock, refusal) -> None:
    before = await member(world)
    assert (await world.http.get("/api/v1/projects", token=before.token)).status == 200
    await world.rows("UPDATE organizations SET enforce_mfa = true")
    clock.advance(timedelta(seconds=61))
    assert refusal(await world.http.get("/api/v1/projects", token=before.token)) == (401, "UnauthorizedError")
    who = await person(world)
    assert refusal(await select(world, who)) == (403, "ForbiddenError")
    await enrolled(world, clock, who)
    answer = await select(world, who)
    assert (await world.http.get("/api/v1/projects", token=answer.json["token"])).status == 200


async def test_nothing_of_it_lies_in_clear(world, clock) -> None:
    phone, codes = await enrolled(world, clock, await person(world))
    dump = await dump_of(world, "totps", "recovery_codes", "audit_records", "audit_spool", "outbox")
    for secret in (phone.secret, codes[0]):
        assert secret not in dump
        assert secret.encode().hex() not in dump
    assert EMAIL not in await dump_of(world, "throttles")
