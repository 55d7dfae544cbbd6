"""Access tokens: issued, renewed, revoked (wire-identity 3)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from strongroom_common.access.networks import is_within
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.contracts.identity import TokensRevoked
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Forbidden, InvalidInput, NotFound, Unauthenticated
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.auth_configurations import AuthConfiguration
from strongroom_identity.domain.errors import TokenNotAlive
from strongroom_identity.domain.tokens import ACCESS, AccessToken, IssuedToken
from strongroom_identity.domain.trusted_ips import networks_of
from strongroom_identity.store import access, auth_configurations, scopes, tokens
from strongroom_identity.usecases.context import IdentityContext


async def issue(
    context: IdentityContext,
    work: UnitOfWork,
    configuration: AuthConfiguration,
    *,
    name: str | None = None,
    client_secret_id: UUID | None = None,
    identity_auth: Mapping[str, Any] | None = None,
    scope: UUID | None = None,
) -> IssuedToken:
    """Make a token as the configuration wants it, with its record; `scope` is the sub-organization it is for.

    Raises `TokenNotAlive` when the configuration was taken away meanwhile: a token must not outlive what it came from.
    """
    if client_secret_id is None and not await auth_configurations.hold(work, configuration.id):
        raise TokenNotAlive("The identity can no longer log in this way")
    token = AccessToken.new(
        configuration,
        context.clock.now(),
        name=name,
        client_secret_id=client_secret_id,
        identity_auth=identity_auth,
        scope=scope,
    )
    await tokens.add(work, token)
    return _signed(context, token)


async def choose_scope(
    context: IdentityContext, configuration: AuthConfiguration, slug: str | None, *, is_of_sub_organization: bool
) -> UUID | None:
    """Return the sub-organization that a token is for, if any (wire-identity 3.7).

    Raises `NotFound` for an unknown one, `Unauthenticated` where the identity is not a member. An identity that a
    sub-organization owns is always in it.
    """
    own = configuration.organization_id if is_of_sub_organization else None
    if slug is None:
        return own
    found = await scopes.find(context.database, configuration.organization_id, slug, configuration.identity_id)
    if found is None:
        raise NotFound("There is no such sub-organization")
    scope, is_member = found
    if not is_member:
        raise Unauthenticated("The identity is not a member of this sub-organization")
    return scope


async def renew(context: IdentityContext, origin: Origin, presented: Secret) -> IssuedToken:
    """Give a token another life, in a new JWT for the same record. One that may not have it is dropped.

    Raises `TokenRefused` (bad JWT), `InvalidInput` (of another kind), `Unauthenticated`, and `Forbidden` where the
    token itself could not be used from the caller's address.
    """
    claims = await context.keys.verify(presented.reveal())
    if claims.get("authTokenType") != ACCESS:
        raise InvalidInput("Only the access token of a machine identity can be renewed")
    token_id = _token_id(claims)
    holder = await access.find_token_holder(context.database, token_id)
    if holder is None or not holder.is_member:
        raise TokenNotAlive("The token is unknown or was revoked: log in again")
    networks = networks_of(holder.trusted_ips)
    if networks and not is_within(origin.client_address, networks):
        raise Forbidden("This token may not be used from your address")
    async with context.database.begin(origin) as work:
        token = await tokens.lock(work, token_id)
        if token is None or token.is_revoked:
            raise TokenNotAlive("The token is unknown or was revoked: log in again")
        now = context.clock.now()
        origin = replace(origin, actor=_identity(token.identity_id, holder.name), organization_id=token.organization_id)
        metadata = {"identityId": str(token.identity_id), "identityAccessTokenId": str(token.id)}
        try:
            renewed = token.renewed(now)
        except TokenNotAlive as refusal:
            await tokens.drop(work, token.id)
            work.send(TokensRevoked(token_ids=[token.id]))
            metadata["reason"] = refusal.message
            work.record(audit_record(origin, context.clock, "renew-identity-access-token-failed", metadata))
            await work.commit()
            context.doorkeeper.hear_tokens_revoked(TokensRevoked(token_ids=[token.id]))
            raise
        await tokens.save_renewal(work, renewed)
        work.record(audit_record(origin, context.clock, "renew-identity-access-token", metadata))
        await work.commit()
    return _signed(context, renewed)


async def revoke(context: IdentityContext, origin: Origin, presented: Secret) -> None:
    """End a token's life. Raises `TokenRefused` (bad JWT), `Unauthenticated` (of another kind, unknown, revoked)."""
    claims = await context.keys.verify(presented.reveal())
    if claims.get("authTokenType") != ACCESS:
        raise Unauthenticated("Only the access token of a machine identity can be revoked here")
    async with context.database.begin(origin) as work:
        token = await tokens.lock(work, _token_id(claims))
        if token is None or token.is_revoked:
            raise TokenNotAlive("The token is unknown or was revoked already")
        await tokens.revoke(work, token.id, context.clock.now())
        dead = TokensRevoked(token_ids=[token.id])
        origin = replace(origin, actor=_identity(token.identity_id, ""), organization_id=token.organization_id)
        work.send(dead, origin)
        metadata = {"identityId": str(token.identity_id), "identityAccessTokenId": str(token.id)}
        work.record(audit_record(origin, context.clock, "revoke-identity-access-token", metadata))
        await work.commit()
    # The event reaches every process in a moment; this one need not wait for it.
    context.doorkeeper.hear_tokens_revoked(dead)


async def drop_expired(context: IdentityContext) -> None:
    """Forget the records of tokens that expired a while ago."""
    before = context.clock.now() - tokens.EXPIRED_KEPT
    while await tokens.drop_expired(context.database, before):
        pass


def _signed(context: IdentityContext, token: AccessToken) -> IssuedToken:
    signed = context.secrets.signing_key.sign(token.claims(token.last_renewed_at or token.created_at))
    return IssuedToken(Secret(signed), expires_in=token.life, max_ttl=token.shown_max_ttl, record=token)


def _token_id(claims: dict[str, Any]) -> UUID:
    try:
        return UUID(claims["identityAccessTokenId"])
    except (KeyError, ValueError, TypeError, AttributeError):
        raise TokenNotAlive("The token names no record") from None


def _identity(identity_id: UUID, name: str) -> Actor:
    return Actor(kind="identity", id=identity_id, name=name, metadata={"identityId": str(identity_id), "name": name})
