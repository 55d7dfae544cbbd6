"""Questions of the other services: who is this, what may it do, which keys sign."""

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import (
    CallerAccess,
    ListSigningKeys,
    ProjectAccess,
    PublicKeys,
    ResolveCaller,
    ResolveProjectAccess,
    SpendToken,
    TokenSpent,
)
from strongroom_common.runtime.listening import Listeners
from strongroom_identity.usecases.context import IdentityContext

listeners: Listeners[IdentityContext] = Listeners()


@listeners.answer(ResolveCaller)
async def resolve_caller(context: IdentityContext, question: ResolveCaller, origin: Origin) -> CallerAccess:
    """Say whom a token speaks for."""
    return await context.access.resolve_caller(question)


@listeners.answer(ResolveProjectAccess)
async def resolve_project_access(
    context: IdentityContext, question: ResolveProjectAccess, origin: Origin
) -> ProjectAccess:
    """Say what a caller may do in a project."""
    return await context.access.resolve_project_access(question)


@listeners.answer(SpendToken)
async def spend(context: IdentityContext, question: SpendToken, origin: Origin) -> TokenSpent:
    """Count one use of a limited token."""
    await context.access.spend(question)
    return TokenSpent()


@listeners.answer(ListSigningKeys)
async def list_signing_keys(context: IdentityContext, question: ListSigningKeys, origin: Origin) -> PublicKeys:
    """List the keys that verify tokens."""
    return await context.access.list_signing_keys()
