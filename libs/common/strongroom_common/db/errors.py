"""What the database says, in our words. Nothing of a statement or its values gets into a message."""

import asyncpg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from strongroom_common.kernel.errors import InvalidInput, Stale, StrongroomError, Unavailable

_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InsufficientResourcesError,
    ConnectionError,
)
_AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)
_BAD_TEXT = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError)


def root_of(error: BaseException) -> BaseException:
    """Dig the driver's error out of SQLAlchemy's wrapping."""
    while True:
        inner = getattr(error, "orig", None) or error.__cause__
        if inner is None or (not isinstance(error, DBAPIError) and not hasattr(error, "sqlstate")):
            return error
        error = inner


def violated_constraint(error: BaseException) -> str | None:
    """Name the unique or foreign-key constraint that an error is about, if it is about one."""
    root = root_of(error)
    if isinstance(root, asyncpg.IntegrityConstraintViolationError):
        return root.constraint_name
    return None


def as_ours(error: BaseException) -> StrongroomError | None:
    """Translate what a caller can do something about; None means it is a bug of ours."""
    root = root_of(error)
    if isinstance(error, PoolTimeout) or isinstance(root, _AWAY):
        return Unavailable("the database does not answer right now; try again in a few seconds")
    if isinstance(root, _AGAIN):
        return Stale("another request changed the same thing at the same moment; try again")
    if isinstance(root, _BAD_TEXT):
        return InvalidInput("a text holds a character that cannot be stored (U+0000)")
    return None
