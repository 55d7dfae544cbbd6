"""Trusted addresses: read as clients send them, shown as clients read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.access.networks import is_within
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.domain.trusted_ips import ANYWHERE, networks_of, parse_trusted_ips


def test_a_plain_address_has_no_prefix() -> None:
    assert parse_trusted_ips(["192.0.2.7"]) == ({"type": "ipv4", "ipAddress": "192.0.2.7"},)


def test_a_range_keeps_the_address_it_was_given_with() -> None:
    (entry,) = parse_trusted_ips([" 10.1.2.3/8 "])
    assert entry == {"type": "ipv4", "ipAddress": "10.1.2.3", "prefix": 8}
    assert is_within("10.200.0.1", networks_of([entry]))


def test_both_wide_ranges_mean_anywhere() -> None:
    assert parse_trusted_ips(["0.0.0.0/0", "::/0"]) == ANYWHERE
    assert networks_of(ANYWHERE) == []


def test_one_wide_range_is_not_anywhere() -> None:
    networks = networks_of(parse_trusted_ips(["0.0.0.0/0"]))
    assert is_within("203.0.113.9", networks)
    assert not is_within("2001:db8::1", networks)


@pytest.mark.parametrize("text", ["", "nowhere", "10.0.0.0/33", "10.0.0.1/255.0.0.x", "fe80::1%eth0", "1.2.3.4;::1"])
def test_other_text_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_trusted_ips([text])
    assert not refused.value.issues, "400, not 422"
    assert not text or text not in refused.value.message


@given(st.text(max_size=30))
def test_any_text_is_an_entry_or_refused(text: str) -> None:
    try:
        entries = parse_trusted_ips([text])
    except InvalidInput:
        return
    assert networks_of([*entries]), "what was read is a network"
