"""Log in with a client certificate, which the proxy that ended the TLS connection hands on (wire-identity 7)."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from strongroom_common.http.models import Body
from strongroom_identity.domain.assertions import entries_of
from strongroom_identity.domain.auth_methods import AuthMethod, Proof, Tools
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.providers.certificates import (
    authorities_of,
    certificates_of_header,
    common_name_of,
    verify_client,
)
from strongroom_identity.providers.foreign_tokens import BoundText


def _authorities(text: str) -> str:
    authorities_of(text)
    return text


class Settings(Body):
    """Whose certificates are taken, and which of them: a comma list of common names, none: all."""

    ca_certificate: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=10_240),
        AfterValidator(_authorities),
    ]
    allowed_common_names: BoundText | None = None


class Presented(Body):
    """Nothing in the body: the certificate comes in a header."""


class TlsCertAuth(AuthMethod[Settings, Presented]):
    """Chain, time and use of the certificate; then its name."""

    answer_key = "identityTlsCertAuth"
    settings = Settings
    presented = Presented
    sealed = frozenset({"ca_certificate"})
    least_max_ttl = 1

    async def prove(self, settings: Settings, presented: Presented, tools: Tools, headers: Mapping[str, str]) -> Proof:
        """See whose certificate the proxy has seen."""
        header = tools.client_certificate_header
        text = headers.get(header, "") if header else ""
        if not text:
            raise BadCredentials("no client certificate")
        chain = certificates_of_header(text)
        verify_client(chain, authorities_of(settings.ca_certificate), tools.clock.now())
        allowed = entries_of(settings.allowed_common_names or "")
        if allowed and common_name_of(chain[0]) not in allowed:
            raise BadCredentials("the common name is not allowed")
        return Proof()


KIND = TlsCertAuth()
