"""Which headers end at the gateway: those of one connection, and those that only the gateway may set."""

from collections.abc import Iterable

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

_OURS = frozenset(
    {
        "forwarded",
        "x-real-ip",
        "x-request-id",
        "x-client-ip",
        "x-cluster-client-ip",
        "client-ip",
        "true-client-ip",
        "via",
        "x-original-url",
        "x-rewrite-url",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
    }
)
_OUR_PREFIXES = ("x-forwarded-", "x-original-", "x-strongroom-")


def is_ours(lower_name: str) -> bool:
    """Say whether only the gateway may set this header: what a client sends under the name is dropped."""
    return lower_name in _OURS or lower_name.startswith(_OUR_PREFIXES)


def named_in(connection: Iterable[str]) -> frozenset[str]:
    """Return the headers, in lower case, that `Connection` lines declare to be for one hop only."""
    return frozenset(name.strip().lower() for line in connection for name in line.split(","))
