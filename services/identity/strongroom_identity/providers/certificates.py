"""Client certificates as a TLS-terminating proxy hands them on, and whether an authority of ours stands behind them."""

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from urllib.parse import unquote

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from strongroom_identity.domain.errors import BadCredentials

LONGEST_HEADER: Final = 64 * 1024
MOST_CERTIFICATES: Final = 10
MOST_BETWEEN: Final = 4
"""How many authorities may stand between ours and the client."""

_BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----")


def certificates_of_header(text: str) -> list[x509.Certificate]:
    """Read a chain, the client's own certificate first; raises `BadCredentials`.

    Proxies write it as PEM in URL encoding (nginx, HAProxy) or as base64 with commas between (Traefik).
    """
    if len(text) > LONGEST_HEADER:
        raise BadCredentials("the certificate is too long")
    plain = unquote(text)
    blocks = _BLOCK.findall(plain) if "-----BEGIN" in plain else plain.split(",")
    try:
        found = [
            x509.load_der_x509_certificate(b64decode("".join(block.split()), validate=True))
            for block in blocks[:MOST_CERTIFICATES]
        ]
    except (ValueError, BadBase64):
        raise BadCredentials("not a certificate") from None
    if not found:
        raise BadCredentials("no client certificate")
    return found


def authorities_of(text: str) -> list[x509.Certificate]:
    """Read PEM certificates of authorities; raises `ValueError`."""
    try:
        found = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise ValueError("must be PEM certificates") from None
    if len(found) > MOST_CERTIFICATES:
        raise ValueError(f"must be {MOST_CERTIFICATES} certificates at most")
    return found


def verify_client(chain: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], now: datetime) -> None:
    """Raise `BadCredentials` unless an authority has issued the first certificate, for a client, and it is in force."""
    # The rules of public web servers do not fit: a client is known by its common name, and many a company's own
    # authority says little about itself. What it does say counts.
    of_authority = (
        ExtensionPolicy.permit_all()
        .require_present(x509.BasicConstraints, Criticality.AGNOSTIC, _may_issue)
        .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _may_sign)
    )
    of_client = ExtensionPolicy.permit_all().require_present(
        x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _is_for_clients
    )
    verifier = (
        PolicyBuilder()
        .store(Store(list(authorities)))
        .time(now)
        .max_chain_depth(MOST_BETWEEN)
        .extension_policies(ca_policy=of_authority, ee_policy=of_client)
        .build_client_verifier()
    )
    try:
        verifier.verify(chain[0], list(chain[1:]))
    except VerificationError:
        raise BadCredentials("the certificate is not from the authority, not for clients, or not in force") from None


def common_name_of(certificate: x509.Certificate) -> str | None:
    """Return the subject's common name; None where there is none, or more than one."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else None


def _may_issue(_policy: Policy, _certificate: x509.Certificate, extension: x509.BasicConstraints) -> None:
    if not extension.ca:
        raise ValueError("not an authority")


def _may_sign(_policy: Policy, _certificate: x509.Certificate, extension: x509.KeyUsage | None) -> None:
    if extension is not None and not extension.key_cert_sign:
        raise ValueError("may not sign certificates")


def _is_for_clients(_policy: Policy, _certificate: x509.Certificate, extension: x509.ExtendedKeyUsage) -> None:
    if ExtendedKeyUsageOID.CLIENT_AUTH not in extension:
        raise ValueError("not for clients")
