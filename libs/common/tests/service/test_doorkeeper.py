"""Who may come in, and for how long that is believed."""

import asyncio
from datetime import UTC, datetime

import pytest

from strongroom_common.access.keys import VerificationKeys
from strongroom_common.contracts.identity import (
    AccessChanged,
    SigningKeysChanged,
    TokensRevoked,
)
from strongroom_common.crypto.jwts import SigningKey
from strongroom_common.db.database import Database
from strongroom_common.kernel.errors import (
    Forbidden,
    NotFound,
    PermissionDenied,
    TokenRefused,
    Unauthenticated,
    Unavailable,
)
from strongroom_common.kernel.ids import new_id
from strongroom_common.testing.doorkeeping import House, public
from strongroom_common.testing.waiting import eventually


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


async def test_a_token_is_asked_about_once_and_then_remembered(house: House) -> None:
    token = house.caller()

    callers = await asyncio.gather(*(house.admit(token) for _ in range(20)))

    assert {caller.access.subject_id for caller in callers} == {house.access.subject_id}
    assert house.registry.asked == 2, "one question for the signing keys, one for the token"


async def test_what_is_remembered_ages(house: House) -> None:
    token = house.caller()
    await house.admit(token)
    house.registry.callers.clear()
    house.clock.seconds = 59
    await house.admit(token)
    house.clock.seconds = 61
    with pytest.raises(Unauthenticated):
        await house.admit(token)


async def test_a_revoked_token_is_refused_at_once(house: House) -> None:
    token = house.caller()
    await house.admit(token)
    house.registry.callers.clear()
    house.doorkeeper.hear_tokens_revoked(TokensRevoked(token_ids=[house.access.token_id]))
    with pytest.raises(Unauthenticated):
        await house.admit(token)


async def test_an_answer_that_was_on_its_way_when_the_token_died_is_not_remembered(house: House) -> None:
    await house.admit(house.caller())
    token = house.caller()
    house.registry.gate = asyncio.Event()
    early = asyncio.ensure_future(house.admit(token))
    await eventually(lambda: house.registry.asked == 3)
    house.doorkeeper.hear_tokens_revoked(TokensRevoked(token_ids=[house.access.token_id]))
    house.registry.gate.set()
    await early
    house.registry.callers.clear()
    with pytest.raises(Unauthenticated):
        await house.admit(token)


async def test_without_identity_what_is_remembered_holds_and_the_rest_is_unavailable(house: House) -> None:
    known, unknown = house.caller(), house.caller()
    await house.admit(known)
    house.registry.is_away = True
    await house.admit(known)
    with pytest.raises(Unavailable):
        await house.admit(unknown)
    house.clock.seconds = 61
    with pytest.raises(Unavailable):
        await house.admit(known)


async def test_a_token_counts_only_from_its_networks(house: House) -> None:
    token = house.caller(trusted_networks=["192.0.2.0/24"])
    await house.admit(token, "192.0.2.200")
    for address in ("198.51.100.1", "", "nonsense"):
        with pytest.raises(Forbidden):
            await house.admit(token, address)


async def test_a_token_has_an_end(house: House) -> None:
    token = house.caller(expires_at=datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC))
    await house.admit(token)
    house.clock.seconds = 30
    with pytest.raises(Unauthenticated):
        await house.admit(token)


async def test_a_remembered_signature_does_not_outlive_its_claim(house: House) -> None:
    house.caller()
    token = house.sign(house.access, exp=house.clock.now().timestamp() + 10)
    await house.admit(token)
    house.clock.seconds = 10
    with pytest.raises(TokenRefused):
        await house.admit(token)


async def test_a_limited_token_is_spent_exactly(house: House) -> None:
    token = house.caller(are_uses_counted=True)
    house.registry.uses_left = 3
    results = await asyncio.gather(*(house.admit(token) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(result, Unauthenticated) for result in results) == 5
    assert house.doorkeeper.take_uses() == []


async def test_uses_of_unlimited_tokens_are_counted_here(house: House) -> None:
    token = house.caller()
    for _ in range(3):
        await house.admit(token)
    uses = house.doorkeeper.take_uses()
    assert [(use.token_id, use.uses) for use in uses] == [(house.access.token_id, 3)]
    assert house.doorkeeper.take_uses() == []


async def test_strangers_and_forgers_are_refused(house: House) -> None:
    house.caller()
    forged = SigningKey.generate().sign({"authTokenType": "identityAccessToken"})
    for token in ("", "x", "a.b.c", forged, house.sign(house.access) + "x", house.sign(house.access, exp=1)):
        with pytest.raises(TokenRefused):
            await house.admit(token)
    with pytest.raises(TokenRefused):
        await house.admit(house.sign(house.access, identityAccessTokenId="not-an-id"))
    with pytest.raises(Unauthenticated):
        await house.admit(house.sign(house.access, authTokenType="refreshToken"))


async def test_made_up_key_ids_do_not_become_questions(house: House) -> None:
    for _ in range(10):
        with pytest.raises(TokenRefused):
            await house.admit(SigningKey.generate().sign({"authTokenType": "identityAccessToken"}))
    assert house.registry.asked == 1


async def test_a_new_signing_key_is_fetched_on_sight_and_kept(house: House, database: Database) -> None:
    await house.admit(house.caller())
    house.clock.seconds = 5
    house.key = SigningKey.generate()
    house.registry.keys.append(house.key)
    await house.admit(house.caller())

    house.registry.is_away = True
    after_restart = VerificationKeys(database, house.registry.list_signing_keys, house.clock)
    await after_restart.load()
    assert (await after_restart.verify(house.sign(house.access)))["authTokenType"] == "identityAccessToken"


async def test_a_retired_key_verifies_nothing_any_more(house: House) -> None:
    token = house.caller()
    await house.admit(token)
    house.registry.keys = []
    await house.doorkeeper.hear_signing_keys_changed(SigningKeysChanged(keys=[public(house.key, is_retired=True)]))
    with pytest.raises(TokenRefused):
        await house.admit(token)


async def test_standing_is_asked_once_dropped_by_event_and_never_crosses_tenants(house: House) -> None:
    caller = await house.admit(house.caller())
    project = house.project([{"subject": "secrets", "action": ["readValue"]}])
    foreign = house.project([{"subject": "secrets", "action": ["readValue"]}], new_id())

    standing = await house.doorkeeper.standing(caller, project)
    standing.require("readValue", "secrets")
    with pytest.raises(PermissionDenied) as denied:
        standing.require("delete", "secrets")
    assert denied.value.details == []
    with pytest.raises(NotFound):
        await house.doorkeeper.standing(caller, foreign)

    asked = house.registry.asked
    await house.doorkeeper.standing(caller, project)
    assert house.registry.asked == asked
    house.registry.projects[project] = house.registry.projects[project].model_copy(update={"rules": []})
    house.doorkeeper.hear_access_changed(AccessChanged(organization_id=new_id()))
    assert (await house.doorkeeper.standing(caller, project)).may("readValue", "secrets")
    house.doorkeeper.hear_access_changed(
        AccessChanged(organization_id=house.organization_id, project_id=project, subject_ids=[caller.access.subject_id])
    )
    assert not (await house.doorkeeper.standing(caller, project)).may("readValue", "secrets")


async def test_two_tenants_with_the_same_project_id_in_mind_do_not_share_an_answer(house: House) -> None:
    """Threats class 17: the key of what is remembered carries the tenant."""
    project = house.project([{"subject": "secrets", "action": ["readValue"]}])
    subject = new_id()
    mine = await house.admit(house.caller(subject_id=subject))
    await house.doorkeeper.standing(mine, project)
    theirs = await house.admit(house.caller(subject_id=subject, organization_id=new_id()))
    with pytest.raises(NotFound):
        await house.doorkeeper.standing(theirs, project)
