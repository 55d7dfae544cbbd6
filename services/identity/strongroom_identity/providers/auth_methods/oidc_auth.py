"""Log in with an OpenID Connect token: its issuer publishes where its keys are (wire-identity 7)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints

from strongroom_common.http.models import Body
from strongroom_identity.domain.assertions import Bounds, claim_text
from strongroom_identity.domain.auth_methods import AuthMethod, Proof, Tools, Verb
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.providers import foreign_tokens
from strongroom_identity.providers.documents import get_document, judge_url
from strongroom_identity.providers.foreign_tokens import BoundClaims, BoundText, Certificates, ForeignToken, HttpsUrl

WELL_KNOWN = "/.well-known/openid-configuration"
MOST_CLAIMED = 2048
"""How many characters of claims go into a token of ours, which must stay small enough for a header."""

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256)]


class Settings(Body):
    """Whose tokens are taken, and which of them."""

    oidc_discovery_url: HttpsUrl
    ca_cert: Certificates = ""
    bound_issuer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2048)]
    bound_audiences: BoundText = ""
    bound_claims: BoundClaims = Field(default_factory=dict)
    claim_metadata_mapping: Annotated[Mapping[Name, Name], Field(max_length=50)] = Field(default_factory=dict)
    bound_subject: BoundText = ""


class Presented(Body):
    """An ID token."""

    jwt: ForeignToken


class OidcAuth(AuthMethod[Settings, Presented]):
    """The document must be the bound issuer's, and the token must be signed by a key that the document leads to."""

    answer_key = "identityOidcAuth"
    settings = Settings
    presented = Presented
    sealed = frozenset({"ca_cert"})
    hidden: ClassVar[Mapping[Verb, frozenset[str]]] = {"detach": frozenset({"ca_cert"})}

    async def accept(self, settings: Settings, tools: Tools) -> Settings:
        """Refuse an address that could never be asked."""
        judge_url(tools, settings.oidc_discovery_url)
        return settings

    async def prove(self, settings: Settings, presented: Presented, tools: Tools, headers: Mapping[str, str]) -> Proof:
        """See who signed it, and what it says."""
        base = settings.oidc_discovery_url.rstrip("/").removesuffix(WELL_KNOWN)
        document = await get_document(tools, base + WELL_KNOWN, settings.ca_cert)
        if document.get("issuer") != settings.bound_issuer:
            raise BadCredentials("the discovery document is another issuer's")
        keys_url = document.get("jwks_uri")
        if not isinstance(keys_url, str):
            raise BadCredentials("the discovery document names no keys")
        claims = await foreign_tokens.published_claims(tools, keys_url, settings.ca_cert, presented.jwt)
        bounds = Bounds(settings.bound_issuer, settings.bound_audiences, settings.bound_subject, settings.bound_claims)
        foreign_tokens.verify(claims, bounds, tools, needs_end=True)
        return Proof({"oidc": {"claims": _mapped(claims, settings.claim_metadata_mapping)}})


def _mapped(claims: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, claim in mapping.items():
        text = claim_text(claims, claim)
        if text is None:
            raise BadCredentials("a claim that is mapped to metadata is not there")
        found[name] = text
    if sum(map(len, (*found, *found.values()))) > MOST_CLAIMED:
        raise BadCredentials("the claims that are mapped to metadata are too long")
    return found


KIND = OidcAuth()
