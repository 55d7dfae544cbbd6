"""Universal auth: login, and who may log in this way."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from strongroom_common.http.endpoints import PUBLIC, Routes
from strongroom_common.http.models import Body, Description, Instant, NoQuery, OptionalText, View
from strongroom_identity.api.calls import BareCall, Call, SecretText, Text
from strongroom_identity.api.tokens import (
    ANYWHERE,
    Count,
    LoginView,
    Seconds,
    TokenSettingsBody,
    TrustedIpsBody,
    to_trusted_ips,
)
from strongroom_identity.domain.auth_configurations import AuthConfiguration, Lockout
from strongroom_identity.domain.client_secrets import ClientSecret
from strongroom_identity.usecases import universal_auth
from strongroom_identity.usecases.universal_auth import (
    CLIENT_SECRET_TRUSTED_IPS,
    Login,
    NewClientSecret,
    NewUniversalAuth,
)

routes = Routes("Universal auth")

BASE = "/api/v1/auth/universal-auth"
OF_IDENTITY = BASE + "/identities/{identityId:uuid}"


class LoginBody(Body):
    """What a machine presents. The last two fields are two names of one."""

    client_id: Text
    client_secret: SecretText
    sub_organization_name: OptionalText = None
    organization_slug: OptionalText = None

    def to_login(self) -> Login:
        """What was presented, in our words."""
        return Login(self.client_id, self.client_secret, self.sub_organization_name or self.organization_slug)


class AttachBody(TokenSettingsBody):
    """How an identity may log in. Lengths in seconds."""

    access_token_period: Seconds = 0
    client_secret_trusted_ips: TrustedIpsBody = ANYWHERE
    lockout_enabled: bool = True
    lockout_threshold: Annotated[int, Field(ge=1, le=30)] = 3
    lockout_duration_seconds: Annotated[int, Field(ge=30, le=86_400)] = 300
    lockout_counter_reset_seconds: Annotated[int, Field(ge=5, le=3600)] = 30

    def to_wish(self) -> NewUniversalAuth:
        """What the caller wants, in our words; raises `InvalidInput` (400) for a bad address."""
        return NewUniversalAuth(
            tokens=self.to_settings(self.access_token_period),
            client_secret_trusted_ips=to_trusted_ips(self.client_secret_trusted_ips),
            lockout=Lockout(
                self.lockout_enabled,
                self.lockout_threshold,
                self.lockout_duration_seconds,
                self.lockout_counter_reset_seconds,
            ),
        )


class CreateClientSecretBody(Body):
    """A new secret; 0 means none."""

    description: Description = ""
    num_uses_limit: Count = 0
    ttl: Seconds = 0


class UniversalAuthView(View):
    """How an identity may log in."""

    id: UUID
    identity_id: UUID
    client_id: UUID | None
    access_token_ttl: int = Field(alias="accessTokenTTL")
    access_token_max_ttl: int = Field(alias="accessTokenMaxTTL")
    access_token_num_uses_limit: int
    access_token_period: int
    client_secret_trusted_ips: Sequence[Mapping[str, Any]]
    access_token_trusted_ips: Sequence[Mapping[str, Any]]
    lockout_enabled: bool
    lockout_threshold: int
    lockout_duration_seconds: int
    lockout_counter_reset_seconds: int
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, configuration: AuthConfiguration) -> "UniversalAuthView":
        """Show a configuration."""
        tokens, lockout = configuration.tokens, configuration.lockout or Lockout()
        return cls(
            id=configuration.id,
            identity_id=configuration.identity_id,
            client_id=configuration.client_id,
            access_token_ttl=tokens.ttl,
            access_token_max_ttl=tokens.max_ttl,
            access_token_num_uses_limit=tokens.uses_limit,
            access_token_period=tokens.period,
            client_secret_trusted_ips=configuration.settings[CLIENT_SECRET_TRUSTED_IPS],
            access_token_trusted_ips=tokens.trusted_ips,
            lockout_enabled=lockout.is_enabled,
            lockout_threshold=lockout.threshold,
            lockout_duration_seconds=lockout.duration,
            lockout_counter_reset_seconds=lockout.counter_reset,
            created_at=configuration.created_at,
            updated_at=configuration.updated_at,
        )


class UniversalAuthAnswer(View):
    """One configuration."""

    identity_universal_auth: UniversalAuthView


class ClientSecretView(View):
    """What is known of a secret once it was shown."""

    id: UUID
    description: str
    client_secret_prefix: str
    client_secret_num_uses: int
    client_secret_num_uses_limit: int
    client_secret_ttl: int = Field(alias="clientSecretTTL")
    identity_ua_id: UUID = Field(alias="identityUAId")
    is_client_secret_revoked: bool
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, secret: ClientSecret) -> "ClientSecretView":
        """Show all but the secret."""
        return cls(
            id=secret.id,
            description=secret.description,
            client_secret_prefix=secret.prefix,
            client_secret_num_uses=secret.uses,
            client_secret_num_uses_limit=secret.uses_limit,
            client_secret_ttl=secret.ttl,
            identity_ua_id=secret.configuration_id,
            is_client_secret_revoked=secret.is_revoked,
            created_at=secret.created_at,
            updated_at=secret.updated_at,
        )


class NewClientSecretAnswer(View):
    """A secret, shown once."""

    client_secret: str
    client_secret_data: ClientSecretView


class ClientSecretsAnswer(View):
    """The secrets in force."""

    client_secret_data: Sequence[ClientSecretView]


@routes.post(
    BASE + "/login",
    body=LoginBody,
    returns=LoginView,
    callers=PUBLIC,
    permission="the client secret itself",
    audit="login-identity-universal-auth",
    is_bearer_ignored=True,
)
async def login(call: Call[LoginBody, NoQuery]) -> LoginView:
    """Exchange a client secret for an access token."""
    return LoginView.of(await universal_auth.login(call.service, call.origin, call.body.to_login()))


@routes.post(
    OF_IDENTITY,
    body=AttachBody,
    returns=UniversalAuthAnswer,
    permission="organization: identity create",
    audit="add-identity-universal-auth",
)
async def attach(call: Call[AttachBody, NoQuery]) -> UniversalAuthAnswer:
    """Let an identity log in with universal auth."""
    attached = await universal_auth.attach(
        call.service, call.caller, call.origin, UUID(call.path["identityId"]), call.body.to_wish()
    )
    return UniversalAuthAnswer(identity_universal_auth=UniversalAuthView.of(attached))


@routes.get(
    OF_IDENTITY,
    returns=UniversalAuthAnswer,
    permission="organization: identity read",
    audit="get-identity-universal-auth",
)
async def get(call: BareCall) -> UniversalAuthAnswer:
    """Return an identity's universal auth."""
    found = await universal_auth.get(call.service, call.caller, call.origin, UUID(call.path["identityId"]))
    return UniversalAuthAnswer(identity_universal_auth=UniversalAuthView.of(found))


@routes.post(
    OF_IDENTITY + "/client-secrets",
    body=CreateClientSecretBody,
    returns=NewClientSecretAnswer,
    permission="organization: identity create + create-token",
    audit="create-identity-universal-auth-client-secret",
)
async def create_client_secret(call: Call[CreateClientSecretBody, NoQuery]) -> NewClientSecretAnswer:
    """Make a client secret; it is shown this once."""
    body = call.body
    wish = NewClientSecret(description=body.description, uses_limit=body.num_uses_limit, ttl=body.ttl)
    text, secret = await universal_auth.create_client_secret(
        call.service, call.caller, call.origin, UUID(call.path["identityId"]), wish
    )
    return NewClientSecretAnswer(client_secret=text.reveal(), client_secret_data=ClientSecretView.of(secret))


@routes.get(
    OF_IDENTITY + "/client-secrets",
    returns=ClientSecretsAnswer,
    permission="organization: identity read + get-token",
    audit="get-identity-universal-auth-client-secrets",
)
async def list_client_secrets(call: BareCall) -> ClientSecretsAnswer:
    """List the client secrets that are not revoked."""
    found = await universal_auth.list_client_secrets(
        call.service, call.caller, call.origin, UUID(call.path["identityId"])
    )
    return ClientSecretsAnswer(client_secret_data=[ClientSecretView.of(secret) for secret in found])
