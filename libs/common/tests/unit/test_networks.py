"""Threats class 1: only the hop that our configuration names is believed."""

import pytest

from strongroom_common.access.networks import TrustedProxies, is_within
from strongroom_common.kernel.errors import InvalidInput


@pytest.mark.parametrize(
    ("trusted", "peer", "lines", "client"),
    [
        ((), "203.0.113.9", ("198.51.100.1",), "203.0.113.9"),
        (("10.0.0.0/8",), "203.0.113.9", ("10.0.0.1",), "203.0.113.9"),
        (("10.0.0.0/8",), "10.0.0.1", (), "10.0.0.1"),
        (("10.0.0.0/8",), "10.0.0.1", ("198.51.100.1",), "198.51.100.1"),
        (("10.0.0.0/8",), "10.0.0.1", ("1.1.1.1, 198.51.100.1",), "198.51.100.1"),
        (("10.0.0.0/8",), "10.0.0.1", ("1.1.1.1, 198.51.100.1, 10.0.0.2",), "198.51.100.1"),
        (("10.0.0.0/8",), "10.0.0.1", ("1.1.1.1", "198.51.100.1", "10.0.0.3,10.0.0.2"), "198.51.100.1"),
        (("10.0.0.0/8",), "10.0.0.1", ("10.9.9.9, 10.0.0.2",), "10.9.9.9"),
        (("10.0.0.0/8",), "10.0.0.1", ("1.1.1.1, nonsense, 10.0.0.2",), "10.0.0.2"),
        (("::1/128",), "::1", ("2001:db8::1",), "2001:db8::1"),
        (("127.0.0.0/8",), "::ffff:127.0.0.1", ("198.51.100.1",), "198.51.100.1"),
        ((), "not an address", ("198.51.100.1",), ""),
    ],
)
def test_the_chain_is_walked_as_far_as_it_is_trusted(
    trusted: tuple[str, ...], peer: str, lines: tuple[str, ...], client: str
) -> None:
    assert TrustedProxies(trusted).client_of(peer, lines) == client


def test_an_address_lies_within_a_network_in_any_spelling() -> None:
    assert is_within("::ffff:192.0.2.7", ["192.0.2.0/24"])
    assert is_within("192.0.2.7", ["::/0", "0.0.0.0/0"])
    assert not is_within("192.0.2.7", ["::/0"])
    assert not is_within("", ["0.0.0.0/0"])


def test_a_bad_network_is_named_without_being_repeated() -> None:
    with pytest.raises(InvalidInput) as refused:
        is_within("192.0.2.7", ["canary"])
    assert "canary" not in refused.value.message
