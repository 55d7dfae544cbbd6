"""Slowing down whoever guesses: counted by mailbox and by address before anything is looked at."""

from collections.abc import Sequence
from datetime import timedelta
from math import ceil

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.kernel.errors import RateLimited
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.throttles import LOGIN_FROM_ADDRESS, LOGIN_OF_MAILBOX, Throttle, canonical_network
from strongroom_identity.store import sessions, throttles
from strongroom_identity.usecases.context import IdentityContext

Counted = tuple[Throttle, str]
"""A throttle and whom it counts."""

KEPT = timedelta(days=1)
"""How long after its last attempt a counter is kept; longer than any throttle remembers."""


def of_guesser(origin: Origin, of_name: Throttle, name: str, from_address: Throttle) -> Sequence[Counted]:
    """Count by address, then by name: whoever is stopped by the first does not close the door of the second."""
    return (from_address, canonical_network(origin.client_address)), (of_name, name)


async def of_login(context: IdentityContext, origin: Origin, mailbox: str) -> Sequence[Counted]:
    """Count tries of a mailbox's password. An address where its user has a session has a counter of its own there.

    Otherwise any stranger could keep a user out for as long as he likes, by guessing.
    """
    name = mailbox
    if await sessions.has_one_from(context.database, mailbox, origin.client_address, context.clock.now()):
        name = f"{mailbox} at {canonical_network(origin.client_address)}"
    return of_guesser(origin, LOGIN_OF_MAILBOX, name, LOGIN_FROM_ADDRESS)


async def count(context: IdentityContext, counted: Sequence[Counted]) -> None:
    """Count an attempt; raises `RateLimited` while it is one too many."""
    now = context.clock.now()
    for throttle, name in counted:
        until = await throttles.count(context.database, _key(context, throttle, name), throttle, now)
        if until is not None:
            seconds = max(1, ceil((until - now).total_seconds()))
            raise RateLimited(f"Too many attempts: try again in {seconds} seconds", retry_after=seconds)


async def forgive(context: IdentityContext, counted: Sequence[Counted]) -> None:
    """The attempt was right: the name's counter begins anew, the address's is as before.

    Who knows one password must not be able to guess others without end.
    """
    (from_address, address), (of_name, name) = counted
    await throttles.forget(context.database, _key(context, of_name, name))
    await throttles.take_back(context.database, _key(context, from_address, address), from_address)


async def forget_old(context: IdentityContext) -> None:
    """Forget counters that nobody has touched for long."""
    while await throttles.forget_old(context.database, context.clock.now() - KEPT):
        pass


def _key(context: IdentityContext, throttle: Throttle, name: str) -> bytes:
    return context.secrets.pepper.hash(Secret(f"throttle|{throttle.kind}|{name}"))
