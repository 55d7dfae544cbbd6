"""Sessions of people: who logs in, works in an organization, refreshes and leaves."""

import asyncio
from datetime import timedelta

import argon2
import jwt
import pytest
from services.identity.tests.service.people import (
    EMAIL,
    PASSWORD,
    Person,
    colleague,
    cookie_of,
    dump_of,
    login,
    member,
    person,
    select,
)

from strongroom_common.testing.waiting import eventually
from strongroom_identity.jobs.sessions import forget_what_is_over
from strongroom_identity.store import sessions

pytestmark = pytest.mark.timeout(60)

CHECK = "/api/v1/auth/checkAuth"
REFRESH = "/api/v1/auth/token"
LOGOUT = "/api/v1/auth/logout"
SESSIONS = "/api/v1/user/me/sessions"


def claims_of(token: str) -> dict:
    return jwt.decode(token, options={"verify_signature": False})


async def refresh(world, who: Person):
    return await world.http.post(REFRESH, headers=who.headers)


async def check(world, who: Person) -> int:
    return (await world.http.post(CHECK, token=who.token)).status


async def test_a_login_gives_a_token_without_an_organization_and_a_cookie(world) -> None:
    answer = await login(world, " ROOT@Example.com ")
    assert answer.status == 200
    assert answer.json.keys() == {"accessToken"}
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("jid=")
    assert cookie.endswith("; Path=/; Max-Age=7776000; HttpOnly; SameSite=Strict")
    claims = claims_of(answer.json["accessToken"])
    (user,) = await world.rows("SELECT id FROM users")
    (session,) = await world.rows("SELECT * FROM sessions")
    assert claims == {
        "authTokenType": "accessToken",
        "authMethod": "email",
        "accessVersion": 1,
        "userId": str(user["id"]),
        "tokenVersionId": str(session["id"]),
        "iat": claims["iat"],
        "exp": claims["iat"] + 10 * 86_400,
    }
    assert claims_of(cookie_of(answer))["authTokenType"] == "refreshToken"
    (record,) = await eventually(lambda: world.audited("login-user"))
    assert (record["actor_kind"], record["actor_id"]) == ("user", user["id"])


async def test_the_cookie_is_secure_where_the_site_is(start, database_url) -> None:
    async with start(site_url="https://vault.example.com") as world:
        await world.bootstrap()
        assert (await login(world)).headers["Set-Cookie"].endswith("; SameSite=Strict; Secure")


async def test_wrong_password_unknown_user_and_no_password_get_one_answer(world, refusal) -> None:
    answers = [
        await login(world, password="wrong"),
        await login(world, "nobody@example.com"),
        await login(world, "no mailbox at all"),
    ]
    assert [refusal(answer) for answer in answers] == [(400, "BadRequest")] * 3
    assert len({answer.json["message"] for answer in answers}) == 1
    assert all("Set-Cookie" not in answer.headers for answer in answers)
    records = await eventually(lambda: _all(world.audited("login-user-failed"), 3))
    assert all("mailbox" not in str(record["metadata"]) for record in records)


async def _all(records, count: int):
    found = await records
    return found if len(found) == count else []


async def test_an_unknown_user_costs_the_same_work(world, monkeypatch) -> None:
    hashed: list[str] = []
    verify = argon2.PasswordHasher.verify

    def counting(self, stored, password):
        hashed.append(stored.rpartition("$")[0].rpartition("$")[0])
        return verify(self, stored, password)

    monkeypatch.setattr(argon2.PasswordHasher, "verify", counting)
    for email in (EMAIL, "nobody@example.com", "no mailbox", "ROOT@EXAMPLE.COM "):
        await login(world, email, "wrong")
    # One hash each, with the same algorithm and parameters.
    assert len(hashed) == 4
    assert len(set(hashed)) == 1
    kinds = await world.rows("SELECT key, attempts FROM throttles")
    assert sorted(row["attempts"] for row in kinds) == [1, 1, 2, 4]


async def test_a_login_without_a_user_agent_is_500(world, refusal) -> None:
    assert refusal(await login(world, headers={"User-Agent": ""})) == (500, "InternalServerError")


async def test_srp_logins_get_a_clear_400(world, refusal) -> None:
    for name in ("login1", "login2"):
        answer = await world.http.post(f"/api/v3/auth/{name}", json={"email": EMAIL, "clientPublicKey": "00"})
        assert refusal(answer) == (400, "BadRequest")
        assert "login" in answer.json["message"]


async def test_names_of_one_mailbox_are_locked_together_and_open_again(world, clock, refusal) -> None:
    variants = [
        EMAIL,
        "Root@Example.com",
        " root@example.com",
        "ROOT@EXAMPLE.COM\t",
        "root\uff20example.com",
        "\uff52oot@example.com",
    ]
    for number in range(11):
        assert refusal(await login(world, variants[number % 6], "wrong"))[0] == 400
    for variant in variants:
        answer = await login(world, variant)
        assert refusal(answer) == (429, "RateLimitExceeded")
        assert int(answer.headers["Retry-After"]) == 1
    clock.advance(timedelta(seconds=1))
    assert (await login(world, " Root@example.COM ")).status == 200
    # A success forgets the failures of the mailbox.
    assert (await login(world, password="wrong")).status == 400
    assert (await login(world)).status == 200


async def test_an_unknown_mailbox_is_locked_like_a_known_one(world) -> None:
    async def statuses(email: str) -> list[int]:
        return [(await login(world, email, "wrong", address=f"198.51.100.{n}")).status for n in range(13)]

    assert await statuses("nobody@example.com") == await statuses(EMAIL) == [400] * 11 + [429] * 2


async def test_a_stranger_cannot_keep_a_user_out_of_where_he_works(world) -> None:
    await person(world, address="203.0.113.5")
    for number in range(15):
        await login(world, password="wrong", address=f"198.51.100.{number}")
    assert (await login(world, address="192.0.2.1")).status == 429
    assert (await login(world, address="203.0.113.5")).status == 200
    # At that address guesses are counted all the same.
    statuses = [(await login(world, password="wrong", address="203.0.113.5")).status for _ in range(12)]
    assert statuses == [400] * 11 + [429]


async def test_the_lock_doubles_and_has_an_end(world, clock) -> None:
    waits = []
    for _ in range(25):
        answer = await login(world, password="wrong", address="198.51.100.7")
        if answer.status == 429:
            waits.append(int(answer.headers["Retry-After"]))
            clock.advance(timedelta(seconds=waits[-1]))
    assert waits[:5] == [1, 2, 4, 8, 16]
    assert (await world.rows("SELECT max(blocked_until - counted_at) AS longest FROM throttles"))[0]["longest"] <= (
        timedelta(minutes=15)
    )


async def test_of_a_hundred_guesses_at_the_same_moment_eleven_are_answered(world) -> None:
    answers = await asyncio.gather(*(login(world, password=f"guess {n}") for n in range(40)))
    assert sorted(answer.status for answer in answers) == [400] * 11 + [429] * 29


async def test_one_address_that_tries_many_mailboxes_is_stopped(world, refusal) -> None:
    statuses = [
        (await login(world, f"user{n}@example.com", "wrong", address="2001:db8::" + format(n, "x"))).status
        for n in range(52)
    ]
    assert statuses == [400] * 51 + [429]
    assert (await login(world, address="203.0.113.9")).status == 200


async def test_selecting_an_organization_gives_its_rights(world, refusal) -> None:
    who = await person(world)
    assert refusal(await world.http.get("/api/v1/projects", token=who.token)) == (401, "UnauthorizedError")
    assert await check(world, who) == 200
    answer = await select(world, who)
    assert answer.status == 200
    assert answer.json == {"token": answer.json["token"], "isMfaEnabled": False, "mfaMethod": None}
    claims = claims_of(answer.json["token"])
    assert claims["organizationId"] == world.tenants[0].organization_id
    made = await world.http.post("/api/v1/projects", token=answer.json["token"], json={"projectName": "Payments"})
    assert made.status == 200, made.text
    read = await world.http.get(f"/api/v1/projects/{made.json['project']['id']}", token=answer.json["token"])
    assert read.status == 200


async def test_who_is_no_member_cannot_select(world, refusal) -> None:
    who = await person(world)
    other = await world.another_tenant()
    for organization_id in (other.organization_id, "0" * 36, "x", "00000000-0000-7000-8000-000000000000"):
        answer = await select(world, who, organization_id)
        assert refusal(answer) == (403, "ForbiddenError")
        assert answer.json["message"] == "You are not a member of this organization"


async def test_a_membership_that_ends_ends_access(world, clock, refusal) -> None:
    who = await member(world)
    assert (await world.http.get("/api/v1/projects", token=who.token)).status == 200
    await world.rows("UPDATE memberships SET is_active = false WHERE user_id IS NOT NULL")
    clock.advance(timedelta(seconds=61))
    assert refusal(await world.http.get("/api/v1/projects", token=who.token)) == (401, "UnauthorizedError")
    assert refusal(await select(world, await person(world))) == (403, "ForbiddenError")
    assert (await refresh(world, who)).status == 403


async def test_check_auth_says_the_literal_word(world, refusal) -> None:
    who = await person(world)
    answer = await world.http.post(CHECK, token=who.token)
    assert (answer.status, answer.json) == (200, {"message": "Authenticated"})
    assert refusal(await world.http.post(CHECK)) == (401, "UnauthorizedError")
    assert refusal(await world.http.post(CHECK, token=who.cookie)) == (401, "UnauthorizedError")
    assert refusal(await world.http.post(CHECK, token=world.token)) == (403, "ForbiddenError")


async def test_a_refresh_keeps_the_organization(world) -> None:
    plain = await person(world)
    answer = await refresh(world, plain)
    assert answer.status == 200
    assert answer.json == {"token": answer.json["token"], "organizationId": None, "subOrganizationId": None}
    answer = await refresh(world, await member(world))
    assert answer.json["organizationId"] == world.tenants[0].organization_id
    assert (await world.http.get("/api/v1/projects", token=answer.json["token"])).status == 200


async def test_a_bad_cookie_is_refused_and_cleared(world, refusal) -> None:
    who = await person(world)
    for headers in ({}, {"Cookie": "other=1"}, {"Cookie": "jid="}, {"Cookie": "jid=x"}, {"Cookie": f"jid={who.token}"}):
        for path in (REFRESH, LOGOUT):
            answer = await world.http.post(path, headers=headers)
            assert refusal(answer)[0] in {401, 403}
            assert cookie_of(answer) == ""
            assert "Max-Age=0" in answer.headers["Set-Cookie"]


async def test_a_stolen_refresh_token_ends_the_session_for_both(world, clock, refusal) -> None:
    owner = await person(world)
    thief = Person(owner.token, owner.cookie)
    owner.cookie = cookie_of(await refresh(world, owner))
    clock.advance(timedelta(seconds=11))
    assert refusal(await refresh(world, thief)) == (401, "UnauthorizedError")
    assert refusal(await refresh(world, owner)) == (401, "UnauthorizedError")
    assert await check(world, owner) == 401
    (record,) = await eventually(lambda: world.audited("end-user-session"))
    assert record["metadata"]["reason"] == "a refresh token was used a second time"
    assert await eventually(lambda: world.identity.said.of("identity.tokens.revoked.v1"))


async def test_the_thief_who_is_first_does_not_keep_the_session_either(world, clock) -> None:
    owner = await person(world)
    thief = Person(owner.token, owner.cookie)
    thief.cookie = cookie_of(await refresh(world, thief))
    clock.advance(timedelta(minutes=5))
    assert (await refresh(world, owner)).status == 401
    assert (await refresh(world, thief)).status == 401


async def test_tabs_that_refresh_together_and_a_lost_answer_do_no_harm(world, clock) -> None:
    who = await person(world)
    answers = await asyncio.gather(*(refresh(world, who) for _ in range(5)))
    assert [answer.status for answer in answers] == [200] * 5
    versions = {claims_of(cookie_of(answer))["refreshVersion"] for answer in answers}
    assert versions == {2}
    clock.advance(timedelta(minutes=1))
    assert (await refresh(world, Person("", cookie_of(answers[0])))).status == 200


async def test_a_tool_that_keeps_its_first_refresh_token_may_use_it_again(world, clock) -> None:
    who = await person(world, headers={"User-Agent": "cli"})
    for _ in range(3):
        assert (await refresh(world, who)).status == 200
        clock.advance(timedelta(days=30))


async def test_a_session_ends_when_nobody_refreshes_it(world, clock) -> None:
    who = await person(world)
    clock.advance(timedelta(days=89))
    fresh = await refresh(world, who)
    assert fresh.status == 200
    clock.advance(timedelta(days=90, seconds=1))
    assert (await refresh(world, Person("", cookie_of(fresh)))).status == 403


async def test_an_organization_shortens_the_lives_of_tokens(world, clock) -> None:
    await world.rows("UPDATE organizations SET user_token_expiration = '2h'")
    who = await member(world)
    claims = claims_of(who.token)
    assert claims["exp"] - claims["iat"] == 7200
    assert claims_of(who.cookie)["exp"] - claims["iat"] == 7200
    clock.advance(timedelta(hours=2))
    assert (await world.http.get("/api/v1/projects", token=who.token)).status == 403


async def test_after_logout_neither_token_works(world, refusal) -> None:
    who, other = await member(world), await member(world)
    answer = await world.http.post(LOGOUT, headers=who.headers)
    assert answer.status == 200
    assert cookie_of(answer) == ""
    assert refusal(await refresh(world, who)) == (401, "UnauthorizedError")
    assert await check(world, who) == 401
    assert await check(world, other) == 200
    assert await eventually(lambda: world.audited("log-out-user"))


async def test_sessions_are_listed_and_ended_one_by_one_or_all(world, refusal) -> None:
    here, there = await person(world), await person(world, address="203.0.113.5", headers={"User-Agent": "phone"})
    listed = (await world.http.get(SESSIONS, token=here.token)).json["sessions"]
    assert [one["isCurrent"] for one in listed].count(True) == 1
    (phone,) = [one for one in listed if one["userAgent"] == "phone"]
    assert phone["ip"] == "203.0.113.5"
    assert (await world.http.delete(f"{SESSIONS}/{phone['id']}", token=here.token)).status == 200
    assert await check(world, there) == 401
    assert refusal(await world.http.delete(f"{SESSIONS}/{phone['id']}", token=here.token)) == (404, "NotFound")
    third = await member(world)
    answer = await world.http.delete(SESSIONS, token=here.token)
    assert (answer.status, cookie_of(answer)) == (200, "")
    assert [await check(world, who) for who in (here, third)] == [401, 401]
    assert (await refresh(world, third)).status == 401
    assert await eventually(lambda: world.audited("end-user-sessions"))


async def test_nobody_ends_the_session_of_another(world, refusal) -> None:
    who, other = await person(world), await colleague(world)
    session_id = claims_of(other.token)["tokenVersionId"]
    assert refusal(await world.http.delete(f"{SESSIONS}/{session_id}", token=who.token)) == (404, "NotFound")
    assert await check(world, other) == 200


async def test_too_many_sessions_end_the_oldest(world, clock) -> None:
    first = await person(world)
    (user,) = await world.rows("SELECT id FROM users")
    await world.rows(
        "INSERT INTO sessions SELECT gen_random_uuid(), $1, 'email', 1, true, false, '', '', NULL, now() + '1 year', "
        "now() + '2 years', now() FROM generate_series(1, $2)",
        user["id"],
        sessions.MOST_LISTED,
    )
    await person(world)
    assert await check(world, first) == 401
    assert len(await world.rows("SELECT FROM sessions")) == sessions.MOST_LISTED


async def test_the_user_reads_himself(world, refusal) -> None:
    who = await person(world)
    user = (await world.http.get("/api/v1/user", token=who.token)).json["user"]
    assert (user["email"], user["superAdmin"], user["isMfaEnabled"]) == (EMAIL, True, False)
    assert "password" not in str(user).lower()
    assert refusal(await world.http.get("/api/v1/user", token=world.token)) == (403, "ForbiddenError")


async def test_what_is_over_is_forgotten(world, clock) -> None:
    await person(world)
    await login(world, password="wrong")
    clock.advance(timedelta(days=91))
    await forget_what_is_over(world.context)
    for table in ("sessions", "throttles", "one_time_codes"):
        assert await world.rows(f"SELECT FROM {table}") == []


async def test_no_password_and_no_token_is_written_down_in_clear(world, caplog) -> None:
    who = await person(world)
    await login(world, password="canary-password")
    await refresh(world, who)
    dump = await dump_of(world, "sessions", "throttles", "audit_spool", "audit_records", "outbox", "users")
    for secret in (PASSWORD, "canary-password", who.token, who.cookie):
        assert secret not in dump
        assert secret.encode().hex() not in dump
    assert "canary-password" not in caplog.text
