"""How we know that an outside server is the one that was meant."""

import ssl
from functools import lru_cache

from strongroom_common.kernel.errors import Conflict

LONGEST_CERTIFICATES = 64 * 1024


class BadCertificates(Conflict):
    """The text is no list of PEM certificates; it is not repeated."""

    def __init__(self) -> None:
        super().__init__("The CA certificate is not a list of PEM certificates")


@lru_cache(maxsize=256)
def outside_context(ca_certificates: str) -> ssl.SSLContext:
    """Trust these PEM certificates and no others, or the machine's own where there are none.

    Raises `BadCertificates`. The server's name is always checked.
    """
    if not ca_certificates.strip():
        return ssl.create_default_context()
    if len(ca_certificates) > LONGEST_CERTIFICATES:
        raise BadCertificates
    try:
        context = ssl.create_default_context(cadata=ca_certificates)
    except (ssl.SSLError, ValueError):
        raise BadCertificates from None
    if not context.get_ca_certs():
        raise BadCertificates
    return context
