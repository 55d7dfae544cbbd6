"""The addresses from which a secret or a token may be used."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_interface
from typing import Any

from strongroom_common.kernel.errors import InvalidInput

TrustedIps = tuple[Mapping[str, Any], ...]
"""As clients read them and as they are stored: {type, ipAddress, prefix}; a plain address has no prefix."""

ANYWHERE: TrustedIps = (
    {"type": "ipv4", "ipAddress": "0.0.0.0", "prefix": 0},  # noqa: S104 - nothing is bound to it
    {"type": "ipv6", "ipAddress": "::", "prefix": 0},
)


def parse_trusted_ips(texts: Iterable[str]) -> TrustedIps:
    """Read addresses and CIDRs; raises `InvalidInput` (400) for any other text."""
    return tuple(_entry(text.strip()) for text in texts)


def networks_of(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write the entries as CIDRs. An empty list means anywhere, which is what both wide entries together mean."""
    networks = [
        f"{entry['ipAddress']}/{entry['prefix']}" if "prefix" in entry else str(entry["ipAddress"]) for entry in entries
    ]
    return [] if {"0.0.0.0/0", "::/0"} <= set(networks) else networks


def _entry(text: str) -> Mapping[str, Any]:
    try:
        if "%" in text:
            raise ValueError
        interface = ip_interface(text)
    except ValueError:
        raise InvalidInput("A trusted address is neither an IP address nor a CIDR range") from None
    entry: dict[str, Any] = {"type": f"ipv{interface.version}", "ipAddress": str(interface.ip)}
    if "/" in text:
        entry["prefix"] = interface.network.prefixlen
    return entry
