"""Token auth: tokens that are made for an identity and used without a login."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoQuery, QueryString, Title, View
from strongroom_identity.api.auth_configurations import (
    ConfigurationView,
    ScopeBody,
    change_body,
    shared_fields,
    token_settings_in,
)
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.tokens import LoginView, Message, TokenSettingsBody
from strongroom_identity.domain.auth_configurations import AuthConfiguration
from strongroom_identity.domain.tokens import AccessToken, IssuedToken
from strongroom_identity.usecases import token_auth

routes = Routes("Token auth")

BASE = "/api/v1/auth/token-auth"
OF_IDENTITY = BASE + "/identities/{identityId:uuid}"
OF_TOKEN = BASE + "/tokens/{tokenId:uuid}"


class AttachTokenAuthBody(TokenSettingsBody):
    """What the tokens are like. Lengths in seconds."""


PatchBody = change_body("ChangeTokenAuthBody", AttachTokenAuthBody)


class CreateTokenBody(ScopeBody):
    """A new token."""

    name: Title | None = None


class RenameTokenBody(Body):
    """Another name."""

    name: Title | None = None


class TokensQuery(QueryString):
    """Which part of the list."""

    offset: Annotated[int, Field(ge=0, le=100)] = 0
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class TokenAuthView(ConfigurationView):
    """What the tokens of an identity are like."""

    @classmethod
    def of(cls, configuration: AuthConfiguration) -> "TokenAuthView":
        """Show a configuration."""
        return cls(**shared_fields(configuration))


class TokenAuthAnswer(View):
    """One configuration."""

    identity_token_auth: TokenAuthView

    @classmethod
    def of(cls, configuration: AuthConfiguration) -> "TokenAuthAnswer":
        """Show a configuration."""
        return cls(identity_token_auth=TokenAuthView.of(configuration))


class TokenView(View):
    """What is known of a token once it was shown. Lengths in seconds."""

    id: UUID
    identity_id: UUID
    auth_method: str
    name: str | None
    access_token_ttl: int = Field(alias="accessTokenTTL")
    access_token_max_ttl: int = Field(alias="accessTokenMaxTTL")
    access_token_period: int
    access_token_num_uses: int
    access_token_num_uses_limit: int
    access_token_last_used_at: Instant | None
    access_token_last_renewed_at: Instant | None
    is_access_token_revoked: bool
    identity_ua_client_secret_id: UUID | None = Field(alias="identityUAClientSecretId")
    sub_organization_id: UUID | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, token: AccessToken) -> "TokenView":
        """Show a record."""
        return cls(
            id=token.id,
            identity_id=token.identity_id,
            auth_method=token.auth_method,
            name=token.name,
            access_token_ttl=token.ttl,
            access_token_max_ttl=token.max_ttl,
            access_token_period=token.period,
            access_token_num_uses=token.uses,
            access_token_num_uses_limit=token.uses_limit,
            access_token_last_used_at=token.last_used_at,
            access_token_last_renewed_at=token.last_renewed_at,
            is_access_token_revoked=token.is_revoked,
            identity_ua_client_secret_id=token.client_secret_id,
            sub_organization_id=token.sub_organization_id,
            created_at=token.created_at,
            updated_at=token.updated_at,
        )


class CreatedTokenAnswer(LoginView):
    """A token, shown once, and its record."""

    token_data: TokenView

    @classmethod
    def made(cls, issued: IssuedToken) -> "CreatedTokenAnswer":
        """Show both."""
        return cls(**dict(LoginView.of(issued)), token_data=TokenView.of(issued.record))


class TokenAnswer(View):
    """One token."""

    token: TokenView


class TokensAnswer(View):
    """Tokens."""

    tokens: Sequence[TokenView]


@routes.post(
    OF_IDENTITY,
    body=AttachTokenAuthBody,
    returns=TokenAuthAnswer,
    permission="organization or project: identity create",
    audit="add-identity-token-auth",
)
async def attach(call: Call[AttachTokenAuthBody, NoQuery]) -> TokenAuthAnswer:
    """Let tokens be made for an identity."""
    wish, identity_id = token_settings_in(call.body), UUID(call.path["identityId"])
    return TokenAuthAnswer.of(await token_auth.attach(call.service, call.caller, call.origin, identity_id, wish))


@routes.patch(
    OF_IDENTITY,
    body=PatchBody,
    returns=TokenAuthAnswer,
    permission="organization or project: identity edit",
    audit="update-identity-token-auth",
)
async def change(call: Call[Body, NoQuery]) -> TokenAuthAnswer:
    """Change what an identity's tokens are like."""
    wish, identity_id = token_settings_in(call.body), UUID(call.path["identityId"])
    return TokenAuthAnswer.of(await token_auth.change(call.service, call.caller, call.origin, identity_id, wish))


@routes.get(
    OF_IDENTITY,
    returns=TokenAuthAnswer,
    permission="organization or project: identity read",
    audit="get-identity-token-auth",
)
async def get(call: BareCall) -> TokenAuthAnswer:
    """Return an identity's token auth."""
    identity_id = UUID(call.path["identityId"])
    return TokenAuthAnswer.of(await token_auth.get(call.service, call.caller, call.origin, identity_id))


@routes.delete(
    OF_IDENTITY,
    returns=TokenAuthAnswer,
    permission="organization or project: identity edit + revoke-auth",
    audit="revoke-identity-token-auth",
)
async def detach(call: BareCall) -> TokenAuthAnswer:
    """Take token auth from an identity, with its tokens."""
    identity_id = UUID(call.path["identityId"])
    return TokenAuthAnswer.of(await token_auth.detach(call.service, call.caller, call.origin, identity_id))


@routes.post(
    OF_IDENTITY + "/tokens",
    body=CreateTokenBody,
    returns=CreatedTokenAnswer,
    permission="organization or project: identity create + create-token",
    audit="create-token-identity-token-auth",
)
async def create_token(call: Call[CreateTokenBody, NoQuery]) -> CreatedTokenAnswer:
    """Make a token; it is shown this once."""
    identity_id, body = UUID(call.path["identityId"]), call.body
    issued = await token_auth.create_token(
        call.service, call.caller, call.origin, identity_id, body.name, body.sub_organization
    )
    return CreatedTokenAnswer.made(issued)


@routes.get(
    OF_IDENTITY + "/tokens",
    query=TokensQuery,
    returns=TokensAnswer,
    permission="organization or project: identity read + get-token",
    audit="get-tokens-identity-token-auth",
)
async def list_tokens(call: Call[Body, TokensQuery]) -> TokensAnswer:
    """List the tokens that were made for an identity, the newest change first."""
    identity_id, query = UUID(call.path["identityId"]), call.query
    found = await token_auth.list_tokens(
        call.service, call.caller, call.origin, identity_id, limit=query.limit, offset=query.offset
    )
    return TokensAnswer(tokens=[TokenView.of(token) for token in found])


@routes.get(
    OF_TOKEN,
    returns=TokenAnswer,
    permission="organization or project: identity read + get-token",
    audit="get-token-identity-token-auth",
)
async def get_token(call: BareCall) -> TokenAnswer:
    """Return what is known of a token."""
    found = await token_auth.get_token(call.service, call.caller, call.origin, UUID(call.path["tokenId"]))
    return TokenAnswer(token=TokenView.of(found))


@routes.get(
    OF_IDENTITY + "/tokens/{tokenId:uuid}",
    returns=TokenAnswer,
    permission="organization or project: identity read + get-token",
    audit="get-token-identity-token-auth",
)
async def get_token_of_identity(call: BareCall) -> TokenAnswer:
    """Return what is known of a token of an identity."""
    token_id, identity_id = UUID(call.path["tokenId"]), UUID(call.path["identityId"])
    found = await token_auth.get_token(call.service, call.caller, call.origin, token_id, identity_id)
    return TokenAnswer(token=TokenView.of(found))


@routes.patch(
    OF_TOKEN,
    body=RenameTokenBody,
    returns=TokenAnswer,
    permission="organization or project: identity edit",
    audit="update-token-identity-token-auth",
)
async def rename_token(call: Call[RenameTokenBody, NoQuery]) -> TokenAnswer:
    """Call a token something else."""
    token_id = UUID(call.path["tokenId"])
    renamed = await token_auth.rename_token(call.service, call.caller, call.origin, token_id, call.body.name)
    return TokenAnswer(token=TokenView.of(renamed))


@routes.post(
    OF_TOKEN + "/revoke",
    returns=Message,
    permission="organization or project: identity delete + delete-token",
    audit="revoke-token-identity-token-auth",
)
async def revoke_token(call: BareCall) -> Message:
    """End a token's life."""
    await token_auth.revoke_token(call.service, call.caller, call.origin, UUID(call.path["tokenId"]))
    return Message(message="Successfully revoked access token")
