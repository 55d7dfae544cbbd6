"""The lock that too many wrong credentials put on a login: for every kind of login, of machines and of people.

attempt = Attempt("ldap-auth", identity_id, user_name.lower())
async with lockouts.guarded(context, origin, attempt, configuration.lockout):
    await check_the_password()  # raises BadCredentials
# From here on the credentials are right, and nobody had locked the door meanwhile.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import StrongroomError
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.errors import BadCredentials, LockedOut
from strongroom_identity.domain.lockouts import Attempt, Lockout
from strongroom_identity.store import lockouts
from strongroom_identity.usecases.context import IdentityContext

_NOBODY = UUID(int=0)


@asynccontextmanager
async def guarded(
    context: IdentityContext,
    origin: Origin,
    attempt: Attempt,
    lockout: Lockout | None,
    *,
    counted: type[StrongroomError] = BadCredentials,
    refusal: StrongroomError | None = None,
) -> AsyncIterator[None]:
    """Check credentials inside. An error of the type `counted` is a failure; leaving without an error forgets them.

    Raises `refusal` (`LockedOut` unless given) while locked, also for right credentials whose check was under way when
    others locked the door: of a thousand guesses at the same moment no more than the threshold are answered. Raises
    `RateLimited` under contention. No transaction is open while the credentials are checked.
    """
    if lockout is None or not lockout.is_enabled:
        yield
        return
    refusal = refusal or LockedOut()
    await verify_open(context, attempt, refusal)
    try:
        yield
    except counted:
        async with context.database.begin(origin) as work:
            was_locked = await count(context, work, attempt, lockout)
            await work.commit()
        if was_locked:
            raise refusal from None
        raise
    if await verify_open(context, attempt, refusal):
        await forget(context, attempt)


async def verify_open(context: IdentityContext, attempt: Attempt, refusal: StrongroomError) -> bool:
    """Raise the refusal while the attempt's name is locked; otherwise say whether failures are counted for it."""
    held = await lockouts.find(context.database, key_of(context, attempt))
    if held is not None and held.locks(context.clock.now()):
        raise refusal
    return held is not None


async def count(context: IdentityContext, work: UnitOfWork, attempt: Attempt, lockout: Lockout) -> bool:
    """Count a failure, in the work that records it; say whether the door was locked already. Raises `RateLimited`."""
    key, now = key_of(context, attempt), context.clock.now()
    held = await lockouts.lock(work, key, now)
    await lockouts.save(work, key, held.failed(lockout, now))
    return held.locks(now)


async def forget(context: IdentityContext, attempt: Attempt) -> None:
    """Forget the failures before an attempt that succeeded; a lock stays."""
    await lockouts.drop_unlocked(context.database, key_of(context, attempt), context.clock.now())


def nobody(context: IdentityContext, attempt: Attempt) -> Attempt:
    """Where failures go that are nobody's, so that a name that does not exist costs the same time as one that does.

    Names fall into 256 rows, for else a stranger could fill the table.
    """
    return Attempt(attempt.kind, _NOBODY, str(key_of(context, attempt)[2][0]))


def key_of(context: IdentityContext, attempt: Attempt) -> lockouts.Key:
    """The key of the row in which an attempt is counted."""
    return (attempt.subject_id, attempt.kind, context.secrets.pepper.hash(Secret(attempt.name)))


async def drop_over(context: IdentityContext) -> None:
    """Forget counters and locks whose time is over."""
    while await lockouts.drop_over(context.database, context.clock.now()):
        pass
