"""Passwords: argon2id, off the event loop, bounded, and silent about who exists."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from argon2 import Parameters, Type
from argon2.profiles import RFC_9106_LOW_MEMORY

from strongroom_common.crypto import passwords as module
from strongroom_common.crypto.passwords import Passwords
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.kernel.secret import Secret

# Small enough for a test to run hundreds; the real profile has its own test.
CHEAP = Parameters(Type.ID, 19, 16, 32, 1, 64, 1)
PASSWORD = Secret("correct horse battery staple")


@pytest.fixture
async def passwords() -> AsyncIterator[Passwords]:
    cheap = Passwords(at_once=2, profile=CHEAP)
    yield cheap
    cheap.close()


async def test_a_password_verifies_against_its_own_hash_only(passwords: Passwords) -> None:
    stored = await passwords.hash(PASSWORD)
    assert PASSWORD.reveal() not in stored
    assert stored != await passwords.hash(PASSWORD), "each hash has its own salt"
    assert await passwords.verify(stored, PASSWORD)
    assert not await passwords.verify(stored, Secret("Correct horse battery staple"))


async def test_the_default_profile_is_the_one_of_rfc_9106() -> None:
    real = Passwords()
    stored = await real.hash(PASSWORD)
    real.close()
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert not real.needs_rehash(stored)
    assert real._nobody.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert len(real._nobody) == len(stored), "nobody's hash costs what a real one costs"
    assert RFC_9106_LOW_MEMORY.memory_cost == 65536


async def test_nobody_has_a_password_but_the_work_is_done(passwords: Passwords) -> None:
    worked: list[str] = []
    is_match = passwords._is_match

    def watched(stored: str, password: bytes) -> bool:
        worked.append(stored)
        return is_match(stored, password)

    passwords._is_match = watched  # type: ignore[method-assign]
    for password in (PASSWORD, Secret("")):
        assert not await passwords.verify(None, password)
    assert worked == [passwords._nobody] * 2


@pytest.mark.parametrize(
    "stored", ["nonsense", "$argon2id$", "$argon2id$v=19$m=64,t=1,p=1$AAAA$AAAA", "$2b$12$" + "a" * 53]
)
async def test_a_damaged_hash_lets_nobody_in(passwords: Passwords, stored: str) -> None:
    assert not await passwords.verify(stored, PASSWORD)
    assert passwords.needs_rehash(stored)


async def test_a_lone_surrogate_is_a_wrong_password_and_no_crash(passwords: Passwords) -> None:
    assert not await passwords.verify(await passwords.hash(PASSWORD), Secret("\ud800"))


async def test_a_crowd_is_turned_away_and_the_next_is_served(passwords: Passwords) -> None:
    crowd = 2 + module.MOST_WAITING + 10
    results = await asyncio.gather(*(passwords.hash(PASSWORD) for _ in range(crowd)), return_exceptions=True)
    assert sum(isinstance(result, Unavailable) for result in results) == 10
    assert await passwords.verify(await passwords.hash(PASSWORD), PASSWORD)
