"""Which addresses and spellings pass: judged against the facts of `ipaddress` and a list of known tricks."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.egress import addresses as module
from strongroom_common.egress.addresses import (
    BadHost,
    canonical_address,
    canonical_host,
    inner_address,
    is_own_address,
    special_kind,
)

any_v4 = st.ip_addresses(v=4)
any_v6 = st.ip_addresses(v=6)
inside_special = st.sampled_from(
    ["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "224.0.0.0/4"]
).flatmap(lambda network: st.ip_addresses(network=network))


@given(address=any_v4 | any_v6 | inside_special)
def test_whatever_ipaddress_calls_special_is_special_here(address: IPv4Address | IPv6Address) -> None:
    is_special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
    )
    if is_special and inner_address(address) is None and canonical_address(address) == address:
        assert special_kind(address)


@given(address=any_v4)
def test_what_is_public_by_all_accounts_is_not_special(address: IPv4Address) -> None:
    exceptions = [
        ip_network(network) for network in ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/4")
    ]
    if address.is_global and not any(address in network for network in exceptions):
        assert special_kind(address) is None


@given(address=any_v4 | inside_special)
def test_an_ipv4_address_inside_an_ipv6_one_is_judged_as_itself(address: IPv4Address) -> None:
    mapped = IPv6Address(f"::ffff:{address}")
    nat64 = IPv6Address(int(IPv6Address("64:ff9b::")) | int(address))
    assert canonical_address(mapped) == address
    assert inner_address(nat64) == address
    assert special_kind(mapped) == special_kind(nat64) == special_kind(address)


@given(address=any_v4)
def test_tunnels_are_refused_whatever_they_carry(address: IPv4Address) -> None:
    for prefix in ("2002::", "2001::", "64:ff9b:1::", "::"):
        base = int(IPv6Address(prefix))
        carried = int(address) << 80 if prefix == "2002::" else int(address)
        assert special_kind(IPv6Address(base | carried))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0.0.0.0", "unspecified"),  # noqa: S104 - it is refused, not bound to
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("169.254.169.254", "link-local"),
        ("100.100.100.200", "shared"),
        ("168.63.129.16", "platform"),
        ("192.0.0.192", "reserved"),
        ("198.18.0.1", "reserved"),
        ("203.0.113.9", "documentation"),
        ("224.0.0.251", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::7f00:1", "reserved"),
        ("::ffff:169.254.169.254", "link-local"),
        ("::ffff:0:127.0.0.1", "reserved"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("fd00:ec2::254", "private"),
        ("fe80::1", "link-local"),
        ("fe80::1%lo", "link-local"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "documentation"),
        ("2002:7f00:1::", "6to4"),
        ("100::1", "reserved"),
        ("4000::1", "reserved"),
    ],
)
def test_special_addresses_are_known_by_their_kind(text: str, kind: str) -> None:
    assert kind in str(special_kind(ip_address(text)))


@pytest.mark.parametrize("text", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_plain(text: str) -> None:
    assert special_kind(ip_address(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0X7F.1",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "127.0.0.01",
        "127.0.0.0x1",
        "1.2.3.4.5",
        "256.1.1.1",
        "example.1",
        "0x",
        "fe80::1%eth0",
        "[::1",
        "::1]",
        "",
        ".",
        " ",
        "a..b",
        "-a.example",
        "a.example-",
        "a b",
        "a@b",
        "a/b",
        "a\\b",
        "a\nb",
        "a\x00b",
        "a" * 64 + ".example",
        "a." * 127 + "example",
        "ä" * 64,
    ],
)
def test_tricks_and_nonsense_are_no_hosts(text: str) -> None:
    with pytest.raises(BadHost):
        canonical_host(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Example.COM.", "example.com"),
        ("_acme.example.com", "_acme.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("EXAMPLE\u3002com", "example.com"),
        ("localhost", "localhost"),
        ("1.1.1.1", ip_address("1.1.1.1")),
        ("1.1.1.1.", ip_address("1.1.1.1")),
        ("\uff11\uff12\uff17.0.0.1", ip_address("127.0.0.1")),
        ("127\u30020\u30020\u30021", ip_address("127.0.0.1")),
        ("[::1]", ip_address("::1")),
        ("0:0:0:0:0:0:0:1", ip_address("::1")),
        ("::FFFF:127.0.0.1", ip_address("127.0.0.1")),
    ],
)
def test_a_host_has_one_spelling(text: str, canonical: object) -> None:
    assert canonical_host(text) == canonical


@given(text=st.text(max_size=80) | st.text("0123456789abcdefx.:[]%", max_size=30))
def test_reading_a_host_never_crashes_and_is_stable(text: str) -> None:
    try:
        host = canonical_host(text)
    except BadHost:
        return
    assert canonical_host(str(host)) == host
    # Whatever the system's own reader would take for an address must not pass as a name.
    if isinstance(host, str):
        with pytest.raises(OSError, match="illegal"):
            socket.inet_aton(host)


def test_addresses_of_this_machine_are_known() -> None:
    assert is_own_address(ip_address("127.0.0.1"))
    assert not is_own_address(ip_address("8.8.8.8"))
    assert not is_own_address(ip_address("2606:4700::1111"))


def test_where_anything_can_be_bound_the_route_tells_what_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel setting that lets sockets bind to foreign addresses needs root, so only its effect is imitated.
    monkeypatch.setattr(module, "_can_bind", lambda address, text: True)
    assert is_own_address(ip_address("127.0.0.1"))
    assert not is_own_address(ip_address("8.8.8.8"))
