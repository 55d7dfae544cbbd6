"""Which addresses are nobody's business but ours, and which spellings of a host are tricks.

The networks are those of the IANA special-purpose registries (RFC 6890 and its updates). They are listed here rather
than asked of `ipaddress.is_global`, whose answers differ between releases of Python.
"""

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class BadHost(ValueError):
    """Says why a text names no host; never repeats it."""


def _networks(*pairs: tuple[str, str]) -> Sequence[tuple[Network, str]]:
    return tuple((ip_network(network), kind) for network, kind in pairs)


_SPECIAL_V4: Final = _networks(
    ("0.0.0.0/8", "an unspecified address"),
    ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "a shared (carrier-grade NAT) address"),
    ("127.0.0.0/8", "a loopback address"),
    ("168.63.129.16/32", "a cloud platform's own address"),
    ("169.254.0.0/16", "a link-local address"),
    ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "a reserved address"),
    ("192.0.2.0/24", "a documentation address"),
    ("192.88.99.0/24", "a reserved address"),
    ("192.168.0.0/16", "a private address"),
    ("198.18.0.0/15", "a reserved address"),
    ("198.51.100.0/24", "a documentation address"),
    ("203.0.113.0/24", "a documentation address"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
)

# Only 2000::/3 is in use as global unicast; what lies outside it is refused without a name of its own.
_GLOBAL_V6: Final = IPv6Network("2000::/3")
_SPECIAL_V6: Final = _networks(
    ("::/128", "an unspecified address"),
    ("::1/128", "a loopback address"),
    ("2001::/23", "a reserved address"),
    ("2001:db8::/32", "a documentation address"),
    # 6to4 carries an IPv4 address, perhaps a private one. It is long deprecated (RFC 7526), so all of it is refused.
    ("2002::/16", "a tunnel (6to4) address"),
    ("3fff::/20", "a documentation address"),
    ("fc00::/7", "a private address"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a private address"),
    ("ff00::/8", "a multicast address"),
)
_NAT64: Final = IPv6Network("64:ff9b::/96")

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PROBE = {4: "192.0.2.1", 6: "2001:db8::1"}


def canonical_address(address: Address) -> Address:
    """Return the IPv4 address inside an IPv4-mapped IPv6 one, or the address itself."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def inner_address(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that a NAT64 gateway would connect to, if this is such an address (RFC 6052)."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def special_kind(address: Address) -> str | None:
    """Say what is special about an address ("a loopback address"), or None for a plain public one."""
    address = canonical_address(address)
    inner = inner_address(address)
    if inner is not None:
        return special_kind(inner)
    for network, kind in _SPECIAL_V4 if isinstance(address, IPv4Address) else _SPECIAL_V6:
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return "a reserved address"
    return None


def is_own_address(address: Address) -> bool:
    """Say whether an interface of this machine has the address: a socket can be bound to it.

    Public addresses that only a router in front of this machine has cannot be known here.
    """
    if not _can_bind(address, str(address)):
        return False
    # Some hosts let a socket bind to anything (net.ipv4.ip_nonlocal_bind), which shows with an address nobody has.
    # There we ask for the route: to itself, a machine speaks from the very address it speaks to.
    return not _can_bind(address, _PROBE[address.version]) or _is_routed_to_itself(address)


def canonical_host(text: str) -> Address | str:
    """Return an address, or a host name in lower case, ASCII (IDNA) and without the final dot.

    Raises `BadHost`. Other spellings of addresses (decimal, octal, hexadecimal, shortened) are refused: what reads
    them differs from library to library.
    """
    host = text.strip()
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if "%" in host or len(host) > 1000:
        raise BadHost("The host is not valid.")
    try:
        return canonical_address(ip_address(host))
    except ValueError:
        pass
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise BadHost("The host name is not valid.") from None
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        try:
            # Wide digits and ideographic dots have become plain ones only now.
            return canonical_address(ip_address(host))
        except ValueError:
            raise BadHost("The host is neither a name nor an IP address in its usual spelling.") from None
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadHost("The host name is not valid.")
    return host


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6


def _can_bind(address: Address, text: str) -> bool:
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.bind((text, 0))
    except OSError:
        return False
    return True


def _is_routed_to_itself(address: Address) -> bool:
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))  # nothing is sent: this only chooses a route
            return bool(probe.getsockname()[0] == str(address))
    except OSError:
        return False
