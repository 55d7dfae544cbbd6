"""Universal auth: a client id and a client secret for a token (wire-identity 4)."""

from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from strongroom_common.access.callers import Caller
from strongroom_common.access.networks import is_within
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.crypto.tokens import new_token
from strongroom_common.kernel.errors import Conflict, Forbidden, NotFound, Unauthenticated
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.auth_configurations import UNIVERSAL_AUTH, AuthConfiguration, Lockout, TokenSettings
from strongroom_identity.domain.client_secrets import PREFIX, ClientSecret
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.domain.tokens import IssuedToken
from strongroom_identity.domain.trusted_ips import TrustedIps, networks_of
from strongroom_identity.store import auth_configurations, client_secrets, memberships
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import identities, tokens
from strongroom_identity.usecases.context import IdentityContext

CLIENT_SECRET_TRUSTED_IPS = "clientSecretTrustedIps"  # noqa: S105 - the name of a setting

LOGIN = "login-identity-universal-auth"
LOGIN_FAILED = "login-identity-universal-auth-failed"


@dataclass(frozen=True)
class NewUniversalAuth:
    """What a caller wants."""

    tokens: TokenSettings
    client_secret_trusted_ips: TrustedIps
    lockout: Lockout


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
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: NewUniversalAuth
) -> AuthConfiguration:
    """Let an identity log in this way; raises `Conflict` when it can already."""
    identity = await identities.get_changeable(context, caller, identity_id, "create")
    configuration = AuthConfiguration.new(
        UNIVERSAL_AUTH,
        identity.organization_id,
        identity.id,
        wish.tokens,
        context.clock.now(),
        lockout=wish.lockout,
        # Random: a client id that could be counted up would name the other clients.
        client_id=uuid4(),
        settings={CLIENT_SECRET_TRUSTED_IPS: wish.client_secret_trusted_ips},
    )
    already = Conflict("Universal auth is attached to this identity already")
    with refusing({auth_configurations.ALREADY_ATTACHED: already}):
        async with context.database.begin(origin) as work:
            await auth_configurations.add(work, configuration)
            metadata = {"identityId": str(identity.id), "clientId": str(configuration.client_id)}
            work.record(audit_record(origin, context.clock, "add-identity-universal-auth", metadata))
            await work.commit()
    return configuration


async def get(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID) -> AuthConfiguration:
    """Return an identity's configuration; raises `NotFound` when it has none."""
    identity = await identities.get_visible(context, caller, identity_id, "read")
    configuration = await auth_configurations.find(context.database, identity.id, UNIVERSAL_AUTH)
    if configuration is None:
        raise NotFound("Universal auth is not attached to this identity")
    metadata = {"identityId": str(identity.id)}
    await context.trail.note(audit_record(origin, context.clock, "get-identity-universal-auth", metadata))
    return configuration


async def create_client_secret(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, wish: NewClientSecret
) -> tuple[Secret, ClientSecret]:
    """Make a secret; the text itself is known only now."""
    identity = await identities.get_changeable(context, caller, identity_id, "create", "create-token")
    configuration = await _get_attached(context, identity.id)
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
    configuration = await _get_attached(context, identity.id)
    found = await client_secrets.list_in_force(context.database, configuration.id)
    metadata = {"identityId": str(identity.id)}
    event = "get-identity-universal-auth-client-secrets"
    await context.trail.note(audit_record(origin, context.clock, event, metadata))
    return found


async def login(context: IdentityContext, origin: Origin, presented: Login) -> IssuedToken:
    """Exchange a client secret for a token. The order of the checks is the contract's."""
    # 1. Who is it? The text of the refusal and the work behind it are the same for a client that does not exist.
    secret_hash = context.secrets.pepper.hash(presented.client_secret)
    client_id = _client_id(presented.client_id)
    attempt = (
        None if client_id is None else await client_secrets.find_for_login(context.database, client_id, secret_hash)
    )
    if attempt is None:
        await _note_failure(context, origin, presented, "unknown client")
        raise BadCredentials
    configuration, secret = attempt.configuration, attempt.secret
    metadata = {"identityId": str(configuration.identity_id), "name": attempt.identity_name}
    actor = Actor(kind="identity", id=configuration.identity_id, name=attempt.identity_name, metadata=metadata)
    origin = replace(origin, actor=actor, organization_id=configuration.organization_id)

    # 2. From where?
    networks = networks_of(configuration.settings[CLIENT_SECRET_TRUSTED_IPS])
    if networks and not is_within(origin.client_address, networks):
        await _note_failure(context, origin, presented, "address not trusted")
        raise Forbidden("The client secret may not be used from your address")

    # 3. With what?
    if secret is None:
        await _note_failure(context, origin, presented, "wrong client secret")
        raise BadCredentials
    if presented.sub_organization is not None:
        await _note_failure(context, origin, presented, "unknown sub-organization")
        raise NotFound("There is no such sub-organization")

    # 4. The use counts, and the token exists, in one transaction: never one without the other.
    now = context.clock.now()
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
        issued = await tokens.issue(context, work, configuration, client_secret_id=secret.id)
        metadata = {
            "identityId": str(configuration.identity_id),
            "clientSecretId": str(secret.id),
            "identityUniversalAuthId": str(configuration.id),
        }
        work.record(audit_record(origin, context.clock, LOGIN, metadata))
        await work.commit()
    return issued


async def _get_attached(context: IdentityContext, identity_id: UUID) -> AuthConfiguration:
    configuration = await auth_configurations.find(context.database, identity_id, UNIVERSAL_AUTH)
    if configuration is None:
        raise Conflict("Universal auth is not attached to this identity")
    return configuration


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
