"""Changes of the keys that sign tokens, heard by every replica."""

from strongroom_common.contracts.identity import SigningKeysChanged
from strongroom_common.runtime.listening import Listeners
from strongroom_identity.usecases import signing_keys
from strongroom_identity.usecases.context import IdentityContext

listeners: Listeners[IdentityContext] = Listeners()


@listeners.overhear(SigningKeysChanged)
async def reload(context: IdentityContext, event: SigningKeysChanged) -> None:
    """Take the keys that are in force now."""
    await signing_keys.reload(context)
