"""Whoever guesses is one guesser, whatever he calls himself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_identity.domain.throttles import canonical_mailbox, canonical_network

SPACES = st.text(" \t\n\u00a0\u3000", max_size=3)
WIDE = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})


@given(st.data(), st.from_regex(r"[a-z0-9.+_-]{1,12}@[a-z]{1,8}\.[a-z]{2,3}", fullmatch=True))
def test_variants_of_a_mailbox_count_as_one(data, mailbox) -> None:
    variant = "".join(
        data.draw(st.sampled_from([sign, sign.upper(), sign.translate(WIDE), sign.upper().translate(WIDE)]))
        for sign in mailbox
    )
    assert canonical_mailbox(data.draw(SPACES) + variant + data.draw(SPACES)) == canonical_mailbox(mailbox)


@given(st.text(max_size=400))
def test_any_text_has_a_name_to_count_by(text) -> None:
    assert canonical_mailbox(text) == canonical_mailbox(f" {text} ")


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("", "unknown"),
        ("not an address", "unknown"),
    ],
)
def test_a_host_is_counted_by_what_it_can_choose_from(address, network) -> None:
    assert canonical_network(address) == network
