"""Token auth: tokens that are made for an identity and used as they are, without a login (wire-identity 5)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import TokensRevoked
from strongroom_common.kernel.errors import Conflict, Forbidden, NotFound
from strongroom_identity.domain.auth_configurations import TOKEN_AUTH, AuthConfiguration, TokenSettings
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.tokens import AccessToken, IssuedToken
from strongroom_identity.store import auth_configurations as kept
from strongroom_identity.store import tokens as records
from strongroom_identity.usecases import auth_configurations, identities, tokens
from strongroom_identity.usecases.context import IdentityContext

_READ = ("read", "get-token")


async def attach(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: Mapping[str, Any]
) -> AuthConfiguration:
    """Let tokens be made for an identity, by the names of `TokenSettings`; raises `Conflict` when they can already."""

    async def make(identity: Identity) -> AuthConfiguration:
        now = context.clock.now()
        return AuthConfiguration.new(TOKEN_AUTH, identity.organization_id, identity.id, TokenSettings(**wish), now)

    return await auth_configurations.attach(context, caller, origin, identity_id, TOKEN_AUTH, make)


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: Mapping[str, Any]
) -> AuthConfiguration:
    """Change what tokens made from now on are like; trusted addresses meet those that are out already."""

    async def change_it(before: AuthConfiguration) -> AuthConfiguration:
        return replace(before, tokens=before.tokens.changed(wish))

    return await auth_configurations.change(
        context, caller, origin, identity_id, TOKEN_AUTH, change_it, absent=Conflict
    )


async def get(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID) -> AuthConfiguration:
    """Return an identity's configuration; raises `Conflict` when it has none."""
    return await auth_configurations.get(context, caller, origin, identity_id, TOKEN_AUTH, absent=Conflict)


async def detach(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID) -> AuthConfiguration:
    """Take token auth from an identity, and all tokens that were made so; raises `Conflict` without it."""
    return await auth_configurations.detach(context, caller, origin, identity_id, TOKEN_AUTH)


async def create_token(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    identity_id: UUID,
    name: str | None,
    sub_organization: str | None,
) -> IssuedToken:
    """Make a token; its text is known only now."""
    identity = await identities.get_changeable(context, caller, identity_id, "create", "create-token")
    await auth_configurations.get_attached(context, caller, identity, TOKEN_AUTH)
    target = await kept.find_for_login(context.database, identity.id, TOKEN_AUTH)
    if target is None:
        raise Forbidden("This identity is a member of nothing: no token of it could be used")
    scope = await tokens.choose_scope(
        context, target.configuration, sub_organization, is_of_sub_organization=target.is_of_sub_organization
    )
    origin = auth_configurations.origin_at(origin, identity)
    async with context.database.begin(origin) as work:
        issued = await tokens.issue(context, work, target.configuration, name=name, scope=scope)
        metadata = _metadata(issued.record)
        work.record(audit_record(origin, context.clock, "create-token-identity-token-auth", metadata))
        await work.commit()
    return issued


async def list_tokens(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, *, limit: int, offset: int
) -> list[AccessToken]:
    """List the tokens that were made for an identity, revoked ones too, the newest change first."""
    identity = await identities.get_visible(context, caller, identity_id, *_READ)
    _verify_may_handle(caller, identity)
    await auth_configurations.get_attached(context, caller, identity, TOKEN_AUTH)
    found = await records.list_issued(context.database, identity.id, TOKEN_AUTH, limit, offset)
    origin = auth_configurations.origin_at(origin, identity)
    event = "get-tokens-identity-token-auth"
    await context.trail.note(audit_record(origin, context.clock, event, {"identityId": str(identity.id)}))
    return found


async def get_token(
    context: IdentityContext, caller: Caller, origin: Origin, token_id: UUID, identity_id: UUID | None = None
) -> AccessToken:
    """Return what is known of a token; with an identity only one of its own."""
    token = await _get(context, caller, token_id)
    if identity_id is not None and token.identity_id != identity_id:
        raise _not_found()
    identity = await identities.get_visible(context, caller, token.identity_id, *_READ)
    _verify_may_handle(caller, identity)
    origin = auth_configurations.origin_at(origin, identity)
    await context.trail.note(audit_record(origin, context.clock, "get-token-identity-token-auth", _metadata(token)))
    return token


async def rename_token(
    context: IdentityContext, caller: Caller, origin: Origin, token_id: UUID, name: str | None
) -> AccessToken:
    """Call a token something else; without a name nothing changes."""
    token = await _get(context, caller, token_id)
    identity = await identities.get_changeable(context, caller, token.identity_id, "edit")
    origin = auth_configurations.origin_at(origin, identity)
    async with context.database.begin(origin) as work:
        locked = await records.lock(work, token.id)
        if locked is None:
            raise _not_found()
        renamed = locked if name is None else replace(locked, name=name, updated_at=context.clock.now())
        if name is not None:
            await records.rename(work, token.id, name, renamed.updated_at)
        work.record(audit_record(origin, context.clock, "update-token-identity-token-auth", _metadata(renamed)))
        await work.commit()
    return renamed


async def revoke_token(context: IdentityContext, caller: Caller, origin: Origin, token_id: UUID) -> None:
    """End a token's life; raises `NotFound` for one that is at its end already."""
    token = await _get(context, caller, token_id)
    identity = await identities.get_changeable(context, caller, token.identity_id, "delete", "delete-token")
    origin = auth_configurations.origin_at(origin, identity)
    dead = TokensRevoked(token_ids=[token.id])
    async with context.database.begin(origin) as work:
        locked = await records.lock(work, token.id)
        if locked is None or locked.is_revoked:
            raise _not_found()
        await records.revoke(work, token.id, context.clock.now())
        work.send(dead)
        work.record(audit_record(origin, context.clock, "revoke-token-identity-token-auth", _metadata(token)))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)


async def _get(context: IdentityContext, caller: Caller, token_id: UUID) -> AccessToken:
    token = await records.find_issued(context.database, caller.organization_id, token_id, TOKEN_AUTH)
    if token is None:
        raise _not_found()
    return token


def _verify_may_handle(caller: Caller, identity: Identity) -> None:
    if identity.is_instance_admin and not caller.access.is_instance_admin:
        raise Forbidden("Only an instance admin may handle the tokens of an instance admin")


def _not_found() -> NotFound:
    return NotFound("There is no such token")


def _metadata(token: AccessToken) -> dict[str, str]:
    return {"identityId": str(token.identity_id), "tokenId": str(token.id), "tokenName": token.name or ""}
