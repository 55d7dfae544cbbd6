"""Envelope encryption: a value opens under its key, in its row and field, and nowhere else."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.crypto.ciphers import SealBroken
from strongroom_common.crypto.data_keys import DataKey, bind, key_id_of, open_many, unwrap, wrap
from strongroom_common.crypto.keyring import Keyring

KEY = DataKey.generate()
names = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=20)
places = st.tuples(names, st.uuids(), names, st.uuids())


@given(plain=st.binary(max_size=300), place=places)
def test_what_was_sealed_opens_in_its_place(plain: bytes, place: tuple[str, UUID, str, UUID]) -> None:
    sealed = KEY.seal(plain, bind(*place))
    assert KEY.open(sealed, bind(*place)) == plain
    assert key_id_of(sealed) == KEY.id


@given(plain=st.binary(max_size=40), data=st.data())
def test_one_flipped_bit_breaks_the_seal(plain: bytes, data: st.DataObject) -> None:
    sealed = bytearray(KEY.seal(plain, b"here"))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(SealBroken):
        KEY.open(bytes(sealed), b"here")


@given(one=places, two=places)
def test_two_places_never_share_a_name(one: tuple[str, UUID, str, UUID], two: tuple[str, UUID, str, UUID]) -> None:
    assert (bind(*one) == bind(*two)) == (one == two)


def test_table_and_field_do_not_run_into_each_other() -> None:
    row, scope = uuid4(), uuid4()
    assert bind("ab", row, "c", scope) != bind("a", row, "bc", scope)


def test_swapped_rows_do_not_open() -> None:
    scope, one, two = uuid4(), uuid4(), uuid4()
    sealed = KEY.seal(b"value", bind("secrets", one, "value", scope))
    for place in (
        bind("secrets", two, "value", scope),
        bind("secrets", one, "comment", scope),
        bind("secret_versions", one, "value", scope),
        bind("secrets", one, "value", uuid4()),
    ):
        with pytest.raises(SealBroken):
            KEY.open(sealed, place)


@given(sealed=st.binary(max_size=200))
def test_arbitrary_bytes_do_not_open(sealed: bytes) -> None:
    with pytest.raises(SealBroken):
        KEY.open(sealed, b"")
    with pytest.raises(SealBroken):
        open_many({KEY.id: KEY}, [(sealed, b"")])


def test_bytes_without_a_header_name_no_key() -> None:
    for sealed in (b"", b"\x01" + b"k" * 15, b"\x02" + b"k" * 16):
        with pytest.raises(SealBroken):
            key_id_of(sealed)


def test_many_values_of_several_keys_open_in_order() -> None:
    other = DataKey.generate()
    items = [((KEY, other)[n % 2].seal(bytes([n]), b"here"), b"here") for n in range(10)]
    assert open_many({KEY.id: KEY, other.id: other}, items) == [bytes([n]) for n in range(10)]
    with pytest.raises(SealBroken):
        open_many({KEY.id: KEY}, items)


def test_a_key_of_the_same_id_but_other_bytes_does_not_open() -> None:
    with pytest.raises(SealBroken):
        DataKey(KEY.id, b"\x00" * 32).open(KEY.seal(b"value", b""), b"")


def test_a_wrapped_key_unwraps_only_under_its_id_scope_and_keyring() -> None:
    keyring, scope = Keyring.generate(), uuid4()
    wrapped = wrap(keyring, KEY, scope)
    assert unwrap(keyring, KEY.id, wrapped, scope).open(KEY.seal(b"value", b""), b"") == b"value"
    for ring, key_id, wrong_scope in (
        (keyring, uuid4(), scope),
        (keyring, KEY.id, uuid4()),
        (Keyring.generate(), KEY.id, scope),
    ):
        with pytest.raises(SealBroken):
            unwrap(ring, key_id, wrapped, wrong_scope)


def test_rotating_the_master_key_touches_only_the_wrapped_key() -> None:
    keyring, scope = Keyring.generate(), uuid4()
    sealed = KEY.seal(b"value", b"here")
    rotated = keyring.with_new_key()
    rewrapped = wrap(rotated, unwrap(rotated, KEY.id, wrap(keyring, KEY, scope), scope), scope)
    assert not rotated.needs_rewrap(rewrapped)
    assert unwrap(rotated, KEY.id, rewrapped, scope).open(sealed, b"here") == b"value"


def test_nothing_shows_a_key_and_nothing_copies_it_out() -> None:
    key = DataKey(uuid4(), b"canary-key-material-of-32-bytes!")
    assert "canary" not in repr(key) + str(key)
    with pytest.raises(TypeError):
        key.__reduce__()
    with pytest.raises(ValueError, match="32 bytes"):
        DataKey(uuid4(), b"short")
