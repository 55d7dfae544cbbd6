"""The user who calls."""

from strongroom_common.access.callers import Caller
from strongroom_identity.domain.errors import SessionOver
from strongroom_identity.domain.users import User
from strongroom_identity.store import users
from strongroom_identity.usecases.context import IdentityContext


async def get_own(context: IdentityContext, caller: Caller) -> User:
    """Return the caller."""
    user = await users.find(context.database, caller.access.subject_id)
    if user is None:
        raise SessionOver
    return user
