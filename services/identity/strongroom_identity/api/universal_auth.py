"""Universal auth: login, and who may log in this way."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from pydantic import Field

from strongroom_common.http.endpoints import PUBLIC, Routes
from strongroom_common.http.models import Body, Description, Instant, NoQuery, View
from strongroom_identity.api.auth_configurations import (
    ClearedAnswer,
    ConfigurationView,
    LockoutBody,
    LockoutView,
    ScopeBody,
    change_body,
    lockout_fields,
    lockout_in,
    shared_fields,
    token_settings_in,
)
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
from strongroom_identity.domain.auth_configurations import AuthConfiguration
from strongroom_identity.domain.client_secrets import ClientSecret
from strongroom_identity.usecases import universal_auth
from strongroom_identity.usecases.universal_auth import (
    CLIENT_SECRET_TRUSTED_IPS,
    Login,
    NewClientSecret,
    UniversalAuthWish,
)

routes = Routes("Universal auth")

BASE = "/api/v1/auth/universal-auth"
OF_IDENTITY = BASE + "/identities/{identityId:uuid}"


class LoginBody(ScopeBody):
    """What a machine presents."""

    client_id: Text
    client_secret: SecretText

    def to_login(self) -> Login:
        """What was presented, in our words."""
        return Login(self.client_id, self.client_secret, self.sub_organization)


class AttachBody(LockoutBody, TokenSettingsBody):
    """How an identity may log in. Lengths in seconds."""

    access_token_period: Seconds = 0
    client_secret_trusted_ips: TrustedIpsBody = ANYWHERE


PatchBody = change_body("ChangeUniversalAuthBody", AttachBody)


def to_wish(body: Body) -> UniversalAuthWish:
    """What the caller wants, in our words; raises `InvalidInput` (400) for a bad address."""
    trusted = getattr(body, "client_secret_trusted_ips", None)
    return UniversalAuthWish(
        tokens=token_settings_in(body),
        lockout=lockout_in(body),
        client_secret_trusted_ips=None if trusted is None else to_trusted_ips(trusted),
    )


class CreateClientSecretBody(Body):
    """A new secret; 0 means none."""

    description: Description = ""
    num_uses_limit: Count = 0
    ttl: Seconds = 0


class UniversalAuthView(LockoutView, ConfigurationView):
    """How an identity may log in."""

    client_id: UUID | None
    client_secret_trusted_ips: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, configuration: AuthConfiguration) -> "UniversalAuthView":
        """Show a configuration."""
        return cls(
            client_id=configuration.client_id,
            client_secret_trusted_ips=configuration.settings[CLIENT_SECRET_TRUSTED_IPS],
            **shared_fields(configuration),
            **lockout_fields(configuration),
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


class ClientSecretAnswer(View):
    """One secret, as far as it is known."""

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
    permission="organization or project: identity create",
    audit="add-identity-universal-auth",
)
async def attach(call: Call[AttachBody, NoQuery]) -> UniversalAuthAnswer:
    """Let an identity log in with universal auth."""
    attached = await universal_auth.attach(
        call.service, call.caller, call.origin, UUID(call.path["identityId"]), to_wish(call.body)
    )
    return UniversalAuthAnswer(identity_universal_auth=UniversalAuthView.of(attached))


@routes.patch(
    OF_IDENTITY,
    body=PatchBody,
    returns=UniversalAuthAnswer,
    permission="organization or project: identity edit",
    audit="update-identity-universal-auth",
)
async def change(call: Call[Body, NoQuery]) -> UniversalAuthAnswer:
    """Change how an identity logs in with universal auth."""
    changed = await universal_auth.change(
        call.service, call.caller, call.origin, UUID(call.path["identityId"]), to_wish(call.body)
    )
    return UniversalAuthAnswer(identity_universal_auth=UniversalAuthView.of(changed))


@routes.delete(
    OF_IDENTITY,
    returns=UniversalAuthAnswer,
    permission="organization or project: identity edit + revoke-auth",
    audit="revoke-identity-universal-auth",
)
async def detach(call: BareCall) -> UniversalAuthAnswer:
    """Take universal auth from an identity, with its client secrets and their tokens."""
    gone = await universal_auth.detach(call.service, call.caller, call.origin, UUID(call.path["identityId"]))
    return UniversalAuthAnswer(identity_universal_auth=UniversalAuthView.of(gone))


@routes.get(
    OF_IDENTITY,
    returns=UniversalAuthAnswer,
    permission="organization or project: identity read",
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
    permission="organization or project: identity create + create-token",
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
    permission="organization or project: identity read + get-token",
    audit="get-identity-universal-auth-client-secrets",
)
async def list_client_secrets(call: BareCall) -> ClientSecretsAnswer:
    """List the client secrets that are not revoked."""
    found = await universal_auth.list_client_secrets(
        call.service, call.caller, call.origin, UUID(call.path["identityId"])
    )
    return ClientSecretsAnswer(client_secret_data=[ClientSecretView.of(secret) for secret in found])


@routes.get(
    OF_IDENTITY + "/client-secrets/{clientSecretId:uuid}",
    returns=ClientSecretAnswer,
    permission="organization or project: identity read + get-token",
    audit="get-identity-universal-auth-client-secret",
)
async def get_client_secret(call: BareCall) -> ClientSecretAnswer:
    """Return what is known of a client secret."""
    found = await universal_auth.get_client_secret(
        call.service, call.caller, call.origin, UUID(call.path["identityId"]), UUID(call.path["clientSecretId"])
    )
    return ClientSecretAnswer(client_secret_data=ClientSecretView.of(found))


@routes.post(
    OF_IDENTITY + "/client-secrets/{clientSecretId:uuid}/revoke",
    returns=ClientSecretAnswer,
    permission="organization or project: identity delete + delete-token",
    audit="revoke-identity-universal-auth-client-secret",
)
async def revoke_client_secret(call: BareCall) -> ClientSecretAnswer:
    """Let nobody log in with a client secret any more."""
    revoked = await universal_auth.revoke_client_secret(
        call.service, call.caller, call.origin, UUID(call.path["identityId"]), UUID(call.path["clientSecretId"])
    )
    return ClientSecretAnswer(client_secret_data=ClientSecretView.of(revoked))


@routes.post(
    OF_IDENTITY + "/clear-lockouts",
    returns=ClearedAnswer,
    permission="organization or project: identity edit",
    audit="clear-identity-universal-auth-lockouts",
)
async def clear_lockouts(call: BareCall) -> ClearedAnswer:
    """Open the door that failed logins have closed."""
    cleared = await universal_auth.clear_lockouts(call.service, call.caller, call.origin, UUID(call.path["identityId"]))
    return ClearedAnswer(deleted=cleared)
