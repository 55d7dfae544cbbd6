"""Passwords of people: argon2id (RFC 9106), in threads of their own, so that a login never holds up the event loop."""

import asyncio
import base64
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from argon2 import Parameters, PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from strongroom_common.kernel.errors import Unavailable
from strongroom_common.kernel.secret import Secret

MOST_WAITING: Final = 64

T = TypeVar("T")


class Passwords:
    """Hashes and verifies, a few at a time: each takes 64 MiB for its moment, so the number is the memory limit."""

    def __init__(self, at_once: int = 2, profile: Parameters = RFC_9106_LOW_MEMORY) -> None:
        self._hasher = PasswordHasher.from_parameters(profile)
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="passwords")
        self._room = at_once + MOST_WAITING
        # No password has this hash, yet verifying against it costs what a real one costs.
        self._nobody = (
            f"$argon2id$v={profile.version}$m={profile.memory_cost},t={profile.time_cost},p={profile.parallelism}"
            f"${_unpadded(os.urandom(profile.salt_len))}${_unpadded(os.urandom(profile.hash_len))}"
        )

    async def hash(self, password: Secret) -> str:
        """Return the PHC string to store. Raises `Unavailable` when too many wait already."""
        return await self._in_turn(self._hasher.hash, _bytes(password))

    async def verify(self, stored_hash: str | None, password: Secret) -> bool:
        """Say whether this is the password.

        Without a stored hash the answer is no, after the same work: time does not tell whether a user exists.
        """
        return await self._in_turn(self._is_match, stored_hash or self._nobody, _bytes(password))

    def needs_rehash(self, stored_hash: str) -> bool:
        """Say whether the hash was made with other settings, so that the next login should replace it."""
        try:
            return self._hasher.check_needs_rehash(stored_hash)
        except InvalidHashError:
            return True

    def close(self) -> None:
        """Let the hashes in hand finish and end the threads."""
        self._pool.shutdown()

    def _is_match(self, stored_hash: str, password: bytes) -> bool:
        try:
            return self._hasher.verify(stored_hash, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _in_turn(self, work: Callable[..., T], *arguments: object) -> T:
        # The pool's own queue has no end; a crowd at the door must be turned away, not kept in memory.
        if self._room <= 0:
            raise Unavailable("Too many passwords are being checked; try again in a moment.")
        self._room -= 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        finally:
            self._room += 1


def _bytes(password: Secret) -> bytes:
    # A lone surrogate comes in by JSON (`"\ud800"`); it must be a wrong password, not a crash.
    return password.reveal().encode("utf-8", "surrogatepass")


def _unpadded(value: bytes) -> str:
    return base64.b64encode(value).decode().rstrip("=")
