"""The client's address behind trusted proxies: only a hop that our configuration names is believed."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from strongroom_common.kernel.errors import InvalidInput

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


@lru_cache(maxsize=4096)
def parse_address(text: str) -> Address | None:
    """Read an address; an IPv4 address mapped into IPv6 becomes IPv4, so that one host has one spelling."""
    try:
        address = ip_address(text.strip())
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return None
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
    return address


@lru_cache(maxsize=4096)
def parse_network(text: str) -> Network:
    """Read an address or CIDR; raises `InvalidInput` (400) on other text."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise InvalidInput("an entry is neither an IP address nor a CIDR range") from None


class TrustedProxies:
    """The hops whose `X-Forwarded-For` we believe."""

    def __init__(self, networks: Sequence[str] = ()) -> None:
        self._networks = tuple(parse_network(text) for text in networks)

    def _trusts(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self._networks)

    def believes(self, peer: str) -> bool:
        """Say whether what this peer forwards is believed."""
        address = parse_address(peer)
        return address is not None and self._trusts(address)

    def client_of(self, peer: str, forwarded_for: Sequence[str]) -> str:
        """Return the client's address: walk the chain from our side outwards, as long as each hop is trusted.

        `forwarded_for` holds the header's lines. A hop that is not an address ends the walk: the last trusted hop's
        word about it cannot be used, so the hop itself counts as the client.
        """
        address = parse_address(peer)
        if address is None:
            return ""
        chain = [part for line in forwarded_for for part in line.split(",")] if self._trusts(address) else []
        for part in reversed(chain[-32:]):
            claimed = parse_address(part)
            if claimed is None:
                break
            address = claimed
            if not self._trusts(address):
                break
        return str(address)


def is_within(address: str, networks: Sequence[str]) -> bool:
    """Say whether an address lies in one of the networks; an unreadable address lies in none."""
    parsed = parse_address(address)
    if parsed is None:
        return False
    return any(parsed.version == network.version and parsed in network for network in map(parse_network, networks))
