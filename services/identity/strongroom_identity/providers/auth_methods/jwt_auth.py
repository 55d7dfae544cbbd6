"""Log in with a JWT of somebody else, whose keys are known here or published somewhere (wire-identity 7)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from strongroom_common.http.models import Body
from strongroom_identity.domain.assertions import Bounds
from strongroom_identity.domain.auth_methods import AuthMethod, Proof, Tools, Verb
from strongroom_identity.providers import foreign_tokens
from strongroom_identity.providers.documents import judge_url
from strongroom_identity.providers.foreign_tokens import BoundClaims, BoundText, Certificates, ForeignToken, HttpsUrl
from strongroom_identity.providers.signatures import key_of_pem


def _pem(text: str) -> str:
    key_of_pem(text)
    return text


PublicKey = Annotated[str, Field(max_length=16 * 1024), AfterValidator(_pem)]


class Settings(Body):
    """Whose tokens are taken, and which of them."""

    configuration_type: Literal["jwks", "static"]
    jwks_url: HttpsUrl | Literal[""] = ""
    jwks_ca_cert: Certificates = ""
    public_keys: Annotated[Sequence[PublicKey], Field(max_length=20)] = ()
    bound_issuer: BoundText = ""
    bound_audiences: BoundText = ""
    bound_claims: BoundClaims = Field(default_factory=dict)
    bound_subject: BoundText = ""

    @model_validator(mode="after")
    def check_keys(self) -> Self:
        """There must be keys, of the one type or of the other."""
        if self.configuration_type == "jwks" and not self.jwks_url:
            raise ValueError("jwksUrl is required for the type jwks")
        if self.configuration_type == "static" and not self.public_keys:
            raise ValueError("publicKeys are required for the type static")
        return self


class Presented(Body):
    """A signed token."""

    jwt: ForeignToken


class JwtAuth(AuthMethod[Settings, Presented]):
    """Signature, then time, then what the administrator demands."""

    answer_key = "identityJwtAuth"
    settings = Settings
    presented = Presented
    sealed = frozenset({"public_keys", "jwks_ca_cert"})
    hidden: ClassVar[Mapping[Verb, frozenset[str]]] = {"detach": frozenset({"public_keys", "jwks_ca_cert"})}
    required_on_change = frozenset({"configuration_type"})

    async def accept(self, settings: Settings, tools: Tools) -> Settings:
        """Keep the keys of the one type only: those of the other must not come back to life with a later change."""
        if settings.configuration_type == "static":
            return settings.model_copy(update={"jwks_url": "", "jwks_ca_cert": ""})
        judge_url(tools, settings.jwks_url)
        return settings.model_copy(update={"public_keys": ()})

    async def prove(self, settings: Settings, presented: Presented, tools: Tools, headers: Mapping[str, str]) -> Proof:
        """See who signed it, and what it says."""
        bounds = Bounds(settings.bound_issuer, settings.bound_audiences, settings.bound_subject, settings.bound_claims)
        if settings.configuration_type == "jwks":
            claims = await foreign_tokens.published_claims(
                tools, settings.jwks_url, settings.jwks_ca_cert, presented.jwt
            )
        else:
            claims = foreign_tokens.signed_claims(presented.jwt, [key_of_pem(key) for key in settings.public_keys])
        foreign_tokens.verify(claims, bounds, tools, needs_end=False)
        return Proof()


KIND = JwtAuth()
