"""Universal auth: a client id and a client secret for a token (wire-identity 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

from strongroom_common.access.callers import Caller
from strongroom_common.access.networks import is_within
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.crypto.tokens import new_token
from strongroom_common.kernel.errors import Forbidden, NotFound, StrongroomError, Unauthenticated
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.auth_configurations import UNIVERSAL_AUTH, AuthConfiguration, TokenSettings
from strongroom_identity.domain.client_secrets import PREFIX, ClientSecret
from strongroom_identity.domain.errors import BadCredentials, LockedOut
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.lockouts import Attempt, Lockout
from strongroom_identity.domain.tokens import IssuedToken
from strongroom_identity.domain.trusted_ips import ANYWHERE, TrustedIps, networks_of
from strongroom_identity.store import client_secrets, memberships
from strongroom_identity.usecases import auth_configurations, identities, lockouts, tokens
from strongroom_identity.usecases.context import IdentityContext

CLIENT_SECRET_TRUSTED_IPS = "clientSecretTrustedIps"  # noqa: S105 - the name of a setting

LOGIN = "login-identity-universal-auth"
LOGIN_FAILED = "login-identity-universal-auth-failed"

MOST_SECRETS = 1000
"""How many client secrets of an identity are listed."""

_NOBODY = UUID(int=0)


@dataclass(frozen=True)
class UniversalAuthWish:
    """What a caller wants: `tokens` and `lockout` by the names of `TokenSettings` and `Lockout`; the absent stays."""

    tokens: Mapping[str, Any] = field(default_factory=dict)
    lockout: Mapping[str, Any] = field(default_factory=dict)
    client_secret_trusted_ips: TrustedIps | None = None


@dataclass(frozen=True)
class NewClientSecret:
    """What a caller wants. A limit or `ttl` (seconds) of 0 is none."""

    description: str
    uses_limit: int
    ttl: int


@dataclass(frozen=True)
class Login:
    """What a machine presents. `sub_organization` is the slug of the one it wants to work in, if any."""

    client_id: str
    client_secret: Secret
    sub_organization: str | None = None


async def attach(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: UniversalAuthWish
) -> AuthConfiguration:
    """Let an identity log in this way; raises `Conflict` when it can already."""

    async def make(identity: Identity) -> AuthConfiguration:
        return AuthConfiguration.new(
            UNIVERSAL_AUTH,
            identity.organization_id,
            identity.id,
            TokenSettings(**wish.tokens),
            context.clock.now(),
            lockout=Lockout(**wish.lockout),
            # Random: a client id that could be counted up would name the other clients.
            client_id=uuid4(),
            settings={CLIENT_SECRET_TRUSTED_IPS: wish.client_secret_trusted_ips or ANYWHERE},
        )

    return await auth_configurations.attach(context, caller, origin, identity_id, UNIVERSAL_AUTH, make)


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: UniversalAuthWish
) -> AuthConfiguration:
    """Change how an identity logs in; what is not given stays. Raises `NotFound` when it cannot log in this way."""

    async def change_it(before: AuthConfiguration) -> AuthConfiguration:
        trusted = wish.client_secret_trusted_ips
        return replace(
            before,
            tokens=before.tokens.changed(wish.tokens),
            lockout=replace(before.lockout or Lockout(), **wish.lockout),
            settings=before.settings if trusted is None else {CLIENT_SECRET_TRUSTED_IPS: trusted},
        )

    return await auth_configurations.change(context, caller, origin, identity_id, UNIVERSAL_AUTH, change_it)


async def get(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID) -> AuthConfiguration:
    """Return an identity's configuration; raises `NotFound` when it has none."""
    return await auth_configurations.get(context, caller, origin, identity_id, UNIVERSAL_AUTH)


async def detach(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID) -> AuthConfiguration:
    """Take universal auth from an identity, with its client secrets and their tokens; raises `Conflict` without one."""
    return await auth_configurations.detach(context, caller, origin, identity_id, UNIVERSAL_AUTH)


async def clear_lockouts(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID) -> int:
    """Open the door that failed logins have closed; return how many counters and locks there were."""
    return await auth_configurations.clear_lockouts(context, caller, origin, identity_id, UNIVERSAL_AUTH)


async def create_client_secret(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: NewClientSecret
) -> tuple[Secret, ClientSecret]:
    """Make a secret; the text itself is known only now."""
    identity = await identities.get_changeable(context, caller, identity_id, "create", "create-token")
    configuration = await auth_configurations.get_attached(context, caller, identity, UNIVERSAL_AUTH)
    origin = auth_configurations.origin_at(origin, identity)
    text = new_token()
    secret = ClientSecret.new(
        identity.organization_id,
        configuration.id,
        description=wish.description,
        prefix=text.reveal()[:PREFIX],
        secret_hash=context.secrets.pepper.hash(text),
        uses_limit=wish.uses_limit,
        ttl=wish.ttl,
        now=context.clock.now(),
    )
    async with context.database.begin(origin) as work:
        await client_secrets.add(work, secret)
        metadata = {"identityId": str(identity.id), "clientSecretId": str(secret.id)}
        work.record(audit_record(origin, context.clock, "create-identity-universal-auth-client-secret", metadata))
        await work.commit()
    return text, secret


async def list_client_secrets(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID
) -> list[ClientSecret]:
    """List the secrets that are not revoked."""
    identity = await identities.get_visible(context, caller, identity_id, "read", "get-token")
    configuration = await auth_configurations.get_attached(context, caller, identity, UNIVERSAL_AUTH)
    found = await client_secrets.list_in_force(context.database, configuration.id, MOST_SECRETS)
    origin = auth_configurations.origin_at(origin, identity)
    metadata = {"identityId": str(identity.id)}
    event = "get-identity-universal-auth-client-secrets"
    await context.trail.note(audit_record(origin, context.clock, event, metadata))
    return found


async def get_client_secret(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, secret_id: UUID
) -> ClientSecret:
    """Return what is known of a secret, revoked or not."""
    identity = await identities.get_visible(context, caller, identity_id, "read", "get-token")
    secret = await _get_secret(context, caller, identity, secret_id)
    origin = auth_configurations.origin_at(origin, identity)
    metadata = {"identityId": str(identity.id), "clientSecretId": str(secret.id)}
    event = "get-identity-universal-auth-client-secret"
    await context.trail.note(audit_record(origin, context.clock, event, metadata))
    return secret


async def revoke_client_secret(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, secret_id: UUID
) -> ClientSecret:
    """Let nobody log in with a secret any more. Tokens that it gave live on: they are revoked one by one."""
    identity = await identities.get_changeable(context, caller, identity_id, "delete", "delete-token")
    secret = await _get_secret(context, caller, identity, secret_id)
    origin, now = auth_configurations.origin_at(origin, identity), context.clock.now()
    async with context.database.begin(origin) as work:
        if not await client_secrets.revoke(work, secret.id, now):
            return replace(secret, is_revoked=True)
        metadata = {"identityId": str(identity.id), "clientSecretId": str(secret.id)}
        work.record(audit_record(origin, context.clock, "revoke-identity-universal-auth-client-secret", metadata))
        await work.commit()
    return replace(secret, is_revoked=True, updated_at=now)


async def login(context: IdentityContext, origin: Origin, presented: Login) -> IssuedToken:
    """Exchange a client secret for a token. The order of the checks is the contract's."""
    # 1. Who is it? The text of the refusal and the work behind it are the same for a client that does not exist.
    secret_hash = context.secrets.pepper.hash(presented.client_secret)
    client_id = _client_id(presented.client_id)
    guess = Attempt(UNIVERSAL_AUTH, _NOBODY, str(client_id))
    found = await client_secrets.find_for_login(
        context.database, client_id or _NOBODY, secret_hash, lockouts.key_of(context, guess)[2]
    )
    if found is None:
        await _fail(context, origin, presented, lockouts.nobody(context, guess), Lockout(), "unknown client")
        raise BadCredentials
    configuration, secret, now = found.configuration, found.secret, context.clock.now()
    metadata = {"identityId": str(configuration.identity_id), "name": found.identity_name}
    actor = Actor(kind="identity", id=configuration.identity_id, name=found.identity_name, metadata=metadata)
    origin = replace(origin, actor=actor, organization_id=configuration.organization_id)

    # 2. From where?
    networks = networks_of(configuration.settings[CLIENT_SECRET_TRUSTED_IPS])
    if networks and not is_within(origin.client_address, networks):
        await _note_failure(context, origin, presented, "address not trusted")
        raise Forbidden("The client secret may not be used from your address")

    # 3. Is the door open, and does the key fit? A lock that came after the look above closes it all the same, since the
    #    failures of a client are counted one after the other.
    lockout = configuration.lockout or Lockout(is_enabled=False)
    attempt = replace(guess, subject_id=configuration.identity_id)
    if lockout.is_enabled and found.failures is not None and found.failures.locks(now):
        await _note_failure(context, origin, presented, "locked out")
        raise LockedOut
    if secret is None:
        counted = attempt if lockout.is_enabled else lockouts.nobody(context, guess)
        await _fail(context, origin, presented, counted, lockout, "wrong client secret")
        raise BadCredentials
    if found.failures is not None:
        await lockouts.forget(context, attempt)

    # 4. For which organization?
    try:
        scope = await tokens.choose_scope(
            context,
            configuration,
            presented.sub_organization,
            is_of_sub_organization=found.is_of_sub_organization,
        )
    except StrongroomError as refused:
        await _note_failure(context, origin, presented, refused.message)
        raise

    # 5. The use counts, and the token exists, in one transaction: never one without the other.
    async with context.database.begin(origin) as work:
        if secret.is_expired(now):
            refusal = "The client secret has expired"
        elif await client_secrets.count_use(work, secret.id, now):
            refusal = ""
        else:
            refusal = "The client secret has reached its usage limit"
        if refusal:
            # A secret that can never be used again is revoked by the attempt that finds it so.
            await client_secrets.revoke(work, secret.id, now)
            work.record(_failure(context, origin, presented, refusal))
            await work.commit()
            raise Unauthenticated(refusal)
        await memberships.note_login(
            work, configuration.organization_id, configuration.identity_id, UNIVERSAL_AUTH, now
        )
        issued = await tokens.issue(context, work, configuration, client_secret_id=secret.id, scope=scope)
        metadata = {
            "identityId": str(configuration.identity_id),
            "clientSecretId": str(secret.id),
            "identityUniversalAuthId": str(configuration.id),
        }
        work.record(audit_record(origin, context.clock, LOGIN, metadata))
        await work.commit()
    return issued


async def _get_secret(context: IdentityContext, caller: Caller, identity: Identity, secret_id: UUID) -> ClientSecret:
    configuration = await auth_configurations.get_attached(context, caller, identity, UNIVERSAL_AUTH)
    secret = await client_secrets.find(context.database, configuration.id, secret_id)
    if secret is None:
        raise NotFound("There is no such client secret")
    return secret


def _client_id(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def _failure(context: IdentityContext, origin: Origin, presented: Login, reason: str) -> AuditRecord:
    # What was sent as a client id is repeated only if it is one: people paste secrets into the wrong field.
    client_id = _client_id(presented.client_id)
    metadata = {"reason": reason, "clientId": str(client_id) if client_id else ""}
    return audit_record(origin, context.clock, LOGIN_FAILED, metadata)


async def _note_failure(context: IdentityContext, origin: Origin, presented: Login, reason: str) -> None:
    await context.trail.note(_failure(context, origin, presented, reason))


async def _fail(
    context: IdentityContext, origin: Origin, presented: Login, counted: Attempt, lockout: Lockout, reason: str
) -> None:
    """Count a failure and record it in one work, whether or not there is such a client."""
    async with context.database.begin(origin) as work:
        await lockouts.count(context, work, counted, lockout)
        work.record(_failure(context, origin, presented, reason))
        await work.commit()
