"""What jwt-auth and oidc-auth share: the words of their settings, and the checks of a token from keys to bounds."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

from strongroom_identity.domain.assertions import Bounds, NotWithin, verify_in_force, verify_within
from strongroom_identity.domain.auth_methods import Tools
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.providers.documents import FRESH, get_document, is_https
from strongroom_identity.providers.outside_tls import LONGEST_CERTIFICATES, BadCertificates, outside_context
from strongroom_identity.providers.signatures import UnknownKey, keys_of_set, signed_claims

__all__ = [
    "BoundClaims",
    "BoundText",
    "Certificates",
    "ForeignToken",
    "HttpsUrl",
    "published_claims",
    "signed_claims",
    "verify",
]


def _https(url: str) -> str:
    if not is_https(url):
        raise ValueError("must be an https address")
    return url


def _certificates(text: str) -> str:
    try:
        outside_context(text)
    except BadCertificates as error:
        raise ValueError(error.message) from None
    return text


BoundText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4096)]
"""What a claim must be. Empty: anything."""

BoundClaims = Annotated[
    Mapping[Annotated[str, StringConstraints(min_length=1, max_length=256)], BoundText], Field(max_length=100)
]
"""Claim -> what it must be."""

HttpsUrl = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2048), AfterValidator(_https)
]
"""An address that only its owner can answer for."""

Certificates = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=LONGEST_CERTIFICATES), AfterValidator(_certificates)
]
"""PEM certificates of authorities, and no others are trusted; empty: those of this machine."""

ForeignToken = Annotated[str, Field(min_length=1, max_length=16 * 1024, repr=False)]
"""A token as it was sent."""


async def published_claims(tools: Tools, url: str, ca_certificates: str, token: str) -> dict[str, Any]:
    """Return what a token claims, signed with a key of the set at `url`; raises `BadCredentials`."""
    keys = keys_of_set(await get_document(tools, url, ca_certificates))
    try:
        return signed_claims(token, keys)
    except UnknownKey:
        # The issuer may have new keys by now.
        keys = keys_of_set(await get_document(tools, url, ca_certificates, age=FRESH))
        return signed_claims(token, keys)


def verify(claims: Mapping[str, Any], bounds: Bounds, tools: Tools, *, needs_end: bool) -> None:
    """Raise `BadCredentials` for a token that is not in force, or not within its bounds."""
    try:
        verify_in_force(claims, tools.clock.now(), needs_end=needs_end)
        verify_within(claims, bounds)
    except NotWithin as error:
        raise BadCredentials(f"the token is refused: {error}") from None
