"""Access tokens: what a login answers, renewal, revocation; and the token settings that all kinds of login share."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from strongroom_common.http.endpoints import PUBLIC, Routes
from strongroom_common.http.models import Body, NoQuery, View
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.api.calls import Call, SecretText, Text
from strongroom_identity.domain.tokens import IssuedToken
from strongroom_identity.domain.trusted_ips import TrustedIps, parse_trusted_ips
from strongroom_identity.usecases import tokens

routes = Routes("Access tokens")

Seconds = Annotated[int, Field(ge=0, le=315_360_000)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]


class TrustedIpBody(Body):
    """An address or a CIDR range."""

    ip_address: Text


TrustedIpsBody = Annotated[Sequence[TrustedIpBody], Field(min_length=1, max_length=1000)]

ANYWHERE = (TrustedIpBody(ip_address="0.0.0.0/0"), TrustedIpBody(ip_address="::/0"))


class TokenSettingsBody(Body):
    """What the tokens of one kind of login are like. Lengths in seconds, 0 means none."""

    access_token_max_ttl: Seconds = Field(2_592_000, alias="accessTokenMaxTTL")
    access_token_ttl: Seconds = Field(2_592_000, alias="accessTokenTTL")
    access_token_num_uses_limit: Count = 0
    access_token_trusted_ips: TrustedIpsBody = ANYWHERE

    @model_validator(mode="after")
    def check_maximum(self) -> Self:
        """A token cannot live longer than its maximum, given or by default."""
        self.verify_lengths(self.access_token_ttl, self.access_token_max_ttl)
        return self

    @staticmethod
    def verify_lengths(ttl: int, max_ttl: int) -> None:
        """Raise `InvalidInput` (422) where the first is longer than the second."""
        if ttl > max_ttl:
            raise InvalidInput.of_field(["accessTokenTTL"], "custom", "Must not be greater than accessTokenMaxTTL")


def to_trusted_ips(entries: Sequence[TrustedIpBody]) -> TrustedIps:
    """Read the addresses; raises `InvalidInput` (400) for a bad one."""
    return parse_trusted_ips(entry.ip_address for entry in entries)


class PresentedToken(Body):
    """A token, which speaks for itself."""

    access_token: SecretText


class LoginView(View):
    """A token to go on with. Lengths in seconds."""

    access_token: str
    expires_in: int
    access_token_max_ttl: int = Field(alias="accessTokenMaxTTL")
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 - the contract's word

    @classmethod
    def of(cls, issued: IssuedToken) -> "LoginView":
        """Show it, token included."""
        return cls(
            access_token=issued.access_token.reveal(),
            expires_in=issued.expires_in,
            access_token_max_ttl=issued.max_ttl,
        )


class Message(View):
    """Words for people."""

    message: str


@routes.post(
    "/api/v1/auth/token/renew",
    body=PresentedToken,
    returns=LoginView,
    callers=PUBLIC,
    permission="the token itself",
    audit="renew-identity-access-token",
)
async def renew(call: Call[PresentedToken, NoQuery]) -> LoginView:
    """Give a token another life."""
    return LoginView.of(await tokens.renew(call.service, call.origin, call.body.access_token))


@routes.post(
    "/api/v1/auth/token/revoke",
    body=PresentedToken,
    returns=Message,
    callers=PUBLIC,
    permission="the token itself",
    audit="revoke-identity-access-token",
)
async def revoke(call: Call[PresentedToken, NoQuery]) -> Message:
    """End a token's life."""
    await tokens.revoke(call.service, call.origin, call.body.access_token)
    return Message(message="Successfully revoked access token")
