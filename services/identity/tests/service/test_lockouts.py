"""Too many wrong credentials close the door, exactly as often and as long as the configuration says."""

import asyncio
from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.testing.waiting import eventually
from strongroom_identity.domain.errors import BadCredentials, LockedOut
from strongroom_identity.domain.lockouts import Attempt, Lockout
from strongroom_identity.jobs.lockouts import drop_over
from strongroom_identity.store import lockouts as store
from strongroom_identity.usecases import lockouts

LOGIN = "/api/v1/auth/universal-auth/login"


async def wrong(world, machine, client_id: str | None = None):
    body = {"clientId": client_id or machine.client_id, "clientSecret": "canary"}
    return await world.http.post(LOGIN, json=body)


async def locked_methods(world, machine) -> list[str]:
    shown = await world.http.get(f"/api/v1/identities/{machine.id}", token=world.token)
    assert machine.client_id not in shown.text
    methods: list[str] = shown.json["identity"]["identity"]["activeLockoutAuthMethods"]
    return methods


async def test_three_wrong_secrets_close_the_door_for_the_right_one_too(world, clock, refusal) -> None:
    machine = await world.machine()
    assert await locked_methods(world, machine) == []
    for _ in range(2):
        assert refusal(await wrong(world, machine)) == (401, "UnauthorizedError")
    assert await locked_methods(world, machine) == []
    third = await wrong(world, machine)
    assert await locked_methods(world, machine) == ["universal-auth"]
    refused = await world.login(machine)
    assert refusal(refused) == (401, "UnauthorizedError")
    assert refused.json["message"] == third.json["message"], "a lock tells a guesser nothing"
    clock.advance(timedelta(seconds=299))
    await wrong(world, machine)
    assert (await world.login(machine)).status == 401
    clock.advance(timedelta(seconds=1))
    assert (await world.login(machine)).status == 200, "attempts while locked did not extend it"
    assert await locked_methods(world, machine) == []
    reasons = [one["metadata"]["reason"] for one in await _eventually(world, 6)]
    assert Counter(reasons) == {"wrong client secret": 3, "locked out": 3}


async def _eventually(world, number: int):
    async def all_of_them():
        found = await world.audited("login-identity-universal-auth-failed")
        return found if len(found) >= number else None

    return await eventually(all_of_them)


async def test_success_clears_the_counter(world) -> None:
    machine = await world.machine()
    for _ in range(3):
        await wrong(world, machine)
        await wrong(world, machine)
        assert (await world.login(machine)).status == 200
    assert not await world.rows("SELECT FROM lockouts")


async def test_the_window_of_the_counter_is_the_configurations(world, clock) -> None:
    machine = await world.machine(auth={"lockoutThreshold": 2, "lockoutCounterResetSeconds": 5})
    await wrong(world, machine)
    clock.advance(timedelta(seconds=5))
    await wrong(world, machine)
    assert (await world.login(machine)).status == 200
    await wrong(world, machine)
    clock.advance(timedelta(seconds=4))
    await wrong(world, machine)
    assert (await world.login(machine)).status == 401


async def test_a_door_without_a_lock_never_closes(world) -> None:
    machine = await world.machine(auth={"lockoutEnabled": False})
    for _ in range(5):
        await wrong(world, machine)
    assert (await world.login(machine)).status == 200


async def test_spellings_of_a_client_id_count_as_one(world) -> None:
    machine = await world.machine()
    spellings = (machine.client_id.upper(), f" {machine.client_id} ", "{" + machine.client_id + "}")
    for spelling in spellings:
        assert (await wrong(world, machine, spelling)).status == 401
    assert (await world.login(machine)).status == 401


async def test_one_identity_locked_leaves_the_others_alone(world) -> None:
    one, other = await world.machine("one"), await world.machine("other")
    for _ in range(3):
        await wrong(world, one)
    assert (await world.login(one)).status == 401
    assert (await world.login(other)).status == 200


@pytest.mark.timeout(60)
async def test_of_many_guesses_at_once_none_is_right_after_the_lock(world) -> None:
    machine = await world.machine()
    answers = await asyncio.gather(*(wrong(world, machine) for _ in range(20)))
    assert {answer.status for answer in answers} <= {401, 429}
    assert (await world.login(machine)).status == 401
    (row,) = await world.rows("SELECT * FROM lockouts")
    assert (row["count"], row["is_locked"]) == (3, True)


async def test_an_unknown_client_costs_the_same_work_and_fills_no_table(world) -> None:
    machine = await world.machine()
    await wrong(world, machine)
    for _ in range(4):
        assert (await wrong(world, machine, str(uuid4()))).status == 401
    assert (await wrong(world, machine, "not a client id")).status == 401
    rows = await world.rows("SELECT * FROM lockouts")
    assert {row["subject_id"] for row in rows} == {UUID(int=0), UUID(machine.id)}
    assert machine.client_id not in str(rows)


async def test_locks_are_cleared_by_whoever_may_edit(world, refusal) -> None:
    machine, bare = await world.machine(), await world.machine("nobody")
    path = f"/api/v1/auth/universal-auth/identities/{machine.id}/clear-lockouts"
    nobody = await world.token_of(bare)
    for _ in range(3):
        await wrong(world, machine)
    assert refusal(await world.http.post(path, token=nobody)) == (403, "PermissionDenied")
    assert (await world.http.post(path, token=world.token)).json == {"deleted": 1}
    assert (await world.http.post(path, token=world.token)).json == {"deleted": 0}
    assert (await world.login(machine)).status == 200
    assert len(await eventually(lambda: world.audited("clear-identity-universal-auth-lockouts"))) == 2


async def test_clearing_needs_the_kind_and_the_identity(world, refusal) -> None:
    other = await world.another_tenant()
    path = "/api/v1/auth/universal-auth/identities/{}/clear-lockouts"
    answer = await world.http.post(path.format(world.tenants[0].identity_id), token=world.token)
    assert refusal(answer) == (400, "BadRequest")
    for identity_id in (uuid4(), other.identity_id):
        assert refusal(await world.http.post(path.format(identity_id), token=world.token)) == (404, "NotFound")


async def test_contention_is_a_429(world, refusal, monkeypatch) -> None:
    monkeypatch.setattr(store, "PATIENCE", "50ms")
    machine = await world.machine()
    key = lockouts.key_of(world.context, Attempt("universal-auth", UUID(machine.id), machine.client_id))
    async with world.context.database.begin(Origin()) as work:
        await store.lock(work, key, world.context.clock.now())
        answer = await wrong(world, machine)
    assert refusal(answer) == (429, "RateLimitExceeded")
    assert answer.headers["Retry-After"] == "1"
    assert (await wrong(world, machine)).status == 401


async def test_what_is_over_is_forgotten(world, clock) -> None:
    machine = await world.machine()
    await wrong(world, machine)
    await drop_over(world.context)
    assert len(await world.rows("SELECT FROM lockouts")) == 1
    clock.advance(timedelta(seconds=31))
    await drop_over(world.context)
    assert not await world.rows("SELECT FROM lockouts")


# --- the module itself, as logins with passwords use it ---------------------------------------------------------------


async def guess(world, attempt: Attempt, lockout: Lockout | None, *, is_right: bool, gate: asyncio.Event | None = None):
    async with lockouts.guarded(world.context, Origin(), attempt, lockout):
        if gate is not None:
            await gate.wait()
        if not is_right:
            raise BadCredentials


async def test_a_right_guess_under_way_while_the_door_closes_is_refused(world) -> None:
    attempt, lockout, gate = Attempt("ldap-auth", uuid4(), "ann"), Lockout(threshold=2), asyncio.Event()
    late = [asyncio.ensure_future(guess(world, attempt, lockout, is_right=right, gate=gate)) for right in (True, False)]
    for _ in range(2):
        with pytest.raises(BadCredentials):
            await guess(world, attempt, lockout, is_right=False)
    gate.set()
    for outcome in await asyncio.gather(*late, return_exceptions=True):
        assert isinstance(outcome, LockedOut)


async def test_without_a_lockout_nothing_is_counted(world) -> None:
    attempt = Attempt("ldap-auth", uuid4(), "ann")
    for lockout in (None, Lockout(is_enabled=False)):
        for _ in range(5):
            with pytest.raises(BadCredentials):
                await guess(world, attempt, lockout, is_right=False)
    assert not await world.rows("SELECT FROM lockouts")


async def test_names_and_kinds_are_counted_apart(world) -> None:
    subject, lockout = uuid4(), Lockout(threshold=1)
    with pytest.raises(BadCredentials):
        await guess(world, Attempt("ldap-auth", subject, "ann"), lockout, is_right=False)
    await guess(world, Attempt("ldap-auth", subject, "bob"), lockout, is_right=True)
    await guess(world, Attempt("user", subject, "ann"), lockout, is_right=True)
    with pytest.raises(LockedOut):
        await guess(world, Attempt("ldap-auth", subject, "ann"), lockout, is_right=True)
