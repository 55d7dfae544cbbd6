"""Random tokens and their keyed hashes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.crypto.tokens import Pepper, is_same, new_token
from strongroom_common.kernel.secret import Secret

PEPPER = Pepper.generate()


def test_a_token_is_256_random_bits_in_hexadecimal() -> None:
    tokens = {new_token().reveal() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch(r"[0-9a-f]{64}", token) for token in tokens)


@given(text=st.text(alphabet=st.characters(), max_size=200))
def test_a_hash_belongs_to_its_token_alone(text: str) -> None:
    stored = PEPPER.hash(Secret(text))
    assert len(stored) == 32
    assert PEPPER.is_hash_of(stored, Secret(text))
    assert not PEPPER.is_hash_of(stored, Secret(text + " "))
    assert not PEPPER.is_hash_of(stored[:-1], Secret(text))
    assert not Pepper.generate().is_hash_of(stored, Secret(text))


def test_a_lone_surrogate_is_a_wrong_token_and_no_crash() -> None:
    assert not PEPPER.is_hash_of(b"", Secret("\ud800"))


def test_the_same_pepper_finds_the_same_hash_after_a_restart() -> None:
    assert Pepper(PEPPER.key()).hash(Secret("token")) == PEPPER.hash(Secret("token"))


def test_secrets_compare_by_their_bytes() -> None:
    assert is_same(Secret("one"), b"one")
    assert not is_same(Secret("one"), Secret("two"))
    assert not is_same(b"one", b"ones")


def test_a_pepper_stays_where_it_is() -> None:
    pepper = Pepper(b"canary-key-material-of-32-bytes!")
    assert "canary" not in repr(pepper) + str(pepper)
    with pytest.raises(TypeError):
        pepper.__reduce__()
    with pytest.raises(ValueError, match="32 bytes"):
        Pepper(b"short")
