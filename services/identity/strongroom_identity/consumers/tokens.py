"""Uses of tokens, counted where they happened."""

from strongroom_common.contracts.identity import TOKENS_USED_TYPES, TokensUsed
from strongroom_common.db.database import UnitOfWork
from strongroom_common.runtime.listening import Listeners
from strongroom_identity.store import sessions, tokens
from strongroom_identity.usecases.context import IdentityContext

listeners: Listeners[IdentityContext] = Listeners()


@listeners.on(TokensUsed, pattern=TOKENS_USED_TYPES)
async def add_uses(context: IdentityContext, work: UnitOfWork, message: TokensUsed) -> None:
    """Add them to the records of tokens, and note when sessions were used."""
    await tokens.add_uses(work, message.uses)
    await sessions.note_uses(work, message.uses)
