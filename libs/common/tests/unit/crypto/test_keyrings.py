"""Master keys: what they seal opens only as it was sealed; how they are read and written; what errors give away."""

import base64
import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_common.crypto.ciphers import SEALS_PER_SALT, Cipher, SealBroken
from strongroom_common.crypto.keyring import BadKeyring, Keyring
from strongroom_common.kernel.secret import Secret

KEYRING = Keyring.generate()
CANARY = base64.b64encode(b"canary-key-material-of-32-bytes!").decode()


@given(plain=st.binary(max_size=300), associated=st.binary(max_size=60))
def test_what_was_sealed_opens(plain: bytes, associated: bytes) -> None:
    assert KEYRING.open(KEYRING.seal(plain, associated), associated) == plain


@given(plain=st.binary(max_size=40), associated=st.binary(max_size=10), data=st.data())
def test_one_flipped_bit_breaks_the_seal(plain: bytes, associated: bytes, data: st.DataObject) -> None:
    sealed = bytearray(KEYRING.seal(plain, associated))
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(SealBroken):
        KEYRING.open(bytes(sealed), associated)


@given(plain=st.binary(max_size=40), data=st.data())
def test_a_cut_value_does_not_open(plain: bytes, data: st.DataObject) -> None:
    sealed = KEYRING.seal(plain, b"here")
    with pytest.raises(SealBroken):
        KEYRING.open(sealed[: data.draw(st.integers(0, len(sealed) - 1))], b"here")


@given(sealed=st.binary(max_size=200))
def test_arbitrary_bytes_do_not_open(sealed: bytes) -> None:
    with pytest.raises(SealBroken):
        KEYRING.open(sealed, b"")


@given(left=st.binary(max_size=40), right=st.binary(max_size=40))
def test_a_value_opens_only_where_it_belongs(left: bytes, right: bytes) -> None:
    sealed = KEYRING.seal(b"value", left)
    if left != right:
        with pytest.raises(SealBroken):
            KEYRING.open(sealed, right)


def test_bytes_moved_between_header_and_place_do_not_open() -> None:
    short, long = b"\x01" * 32, b"\x02" * 32
    keyring = Keyring({"k": short, "kk": long}, "k")
    sealed = keyring.seal(b"value", b"kplace")
    with pytest.raises(SealBroken):
        keyring.open(b"\x01\x02kk" + sealed[3:], b"place")


def test_a_rotated_keyring_opens_old_values_and_says_which_need_a_new_seal() -> None:
    old = Keyring.generate()
    sealed = old.seal(b"value", b"here")
    rotated = old.with_new_key()
    assert rotated.open(sealed, b"here") == b"value"
    assert rotated.needs_rewrap(sealed)
    assert not rotated.needs_rewrap(rotated.seal(b"value", b"here"))
    assert set(rotated.ids) == {rotated.active_id, old.active_id}
    with pytest.raises(SealBroken):
        old.open(rotated.seal(b"value", b"here"), b"here")


def test_many_values_open_in_order_and_one_broken_breaks_all() -> None:
    items = [(KEYRING.seal(bytes([n]), b"here"), b"here") for n in range(10)]
    assert KEYRING.open_many(items) == [bytes([n]) for n in range(10)]
    with pytest.raises(SealBroken):
        KEYRING.open_many([*items, (items[0][0], b"elsewhere")])


def test_equal_values_look_different_when_sealed() -> None:
    assert len({KEYRING.seal(b"value", b"here") for _ in range(1000)}) == 1000


def test_a_salt_serves_a_bounded_number_of_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SEALS_PER_SALT <= 2**32
    monkeypatch.setattr("strongroom_common.crypto.ciphers.SEALS_PER_SALT", 3)
    cipher = Cipher(os.urandom(32))
    sealed = [cipher.seal(b"value", b"") for _ in range(7)]
    assert [len({value[:16] for value in sealed[start : start + 3]}) for start in (0, 3, 6)] == [1, 1, 1]
    assert len({value[:16] for value in sealed}) == 3
    assert {cipher.open(value, b"") for value in sealed} == {b"value"}


def test_more_salts_than_are_remembered_still_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strongroom_common.crypto.ciphers.SEALS_PER_SALT", 1)
    monkeypatch.setattr("strongroom_common.crypto.ciphers._REMEMBERED_SALTS", 4)
    cipher = Cipher(os.urandom(32))
    sealed = [cipher.seal(b"value", b"") for _ in range(20)]
    assert {cipher.open(value, b"") for value in sealed} == {b"value"}
    assert len(cipher._ciphers) <= 4


def test_its_text_reads_back_with_the_same_active_key() -> None:
    rotated = Keyring.generate().with_new_key()
    again = Keyring.parse(rotated.to_text())
    assert again.active_id == rotated.active_id
    assert again.ids == rotated.ids
    assert again.open(rotated.seal(b"value", b""), b"") == b"value"


def test_the_first_key_of_a_setting_is_active_whatever_separates_the_keys() -> None:
    one, two = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
    for text in (f"one:{one},two:{two}", f"one:{one}\ntwo:{two}\n", f" one:{one} ,\r\n two:{two}"):
        keyring = Keyring.parse(Secret(text))
        assert (keyring.active_id, keyring.ids) == ("one", ("one", "two"))


def test_url_safe_base64_is_read_as_well() -> None:
    key = b"\xfb\xff" * 16
    assert Keyring.parse(Secret("k:" + base64.urlsafe_b64encode(key).decode())).ids == ("k",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " , \n",
        CANARY,
        f":{CANARY}",
        f"{CANARY}:k",
        f"k:{CANARY}!",
        f"k:{CANARY[:20]}",
        f"k:{CANARY},k:{CANARY}",
        f"k:{CANARY}{CANARY}",
        f"a key:{CANARY}",
    ],
)
def test_a_bad_setting_is_refused_in_one_line_without_key_material(text: str) -> None:
    with pytest.raises(BadKeyring) as refused:
        Keyring.parse(Secret(text))
    message = str(refused.value)
    assert message
    assert "\n" not in message
    assert CANARY[:8] not in message
    assert refused.value.__cause__ is None


@given(text=st.text(max_size=200))
def test_reading_keys_never_crashes(text: str) -> None:
    with contextlib.suppress(BadKeyring):
        Keyring.parse(Secret(text))


def test_nothing_shows_a_key_and_nothing_copies_it_out() -> None:
    keyring = Keyring.parse(Secret(f"k:{CANARY}"))
    assert CANARY not in repr(keyring) + str(keyring)
    with pytest.raises(TypeError):
        keyring.__reduce__()


def test_a_new_file_is_private_and_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    KEYRING.write_new(path)
    assert path.stat().st_mode & 0o7777 == 0o600
    assert Keyring.read(path).active_id == KEYRING.active_id
    with pytest.raises(FileExistsError):
        Keyring.generate().write_new(path)
    assert Keyring.read(path).active_id == KEYRING.active_id
    assert [file.name for file in tmp_path.iterdir()] == ["keys"], "no draft is left behind"


def test_two_processes_that_write_together_agree_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    written = 0
    for keyring in (Keyring.generate() for _ in range(5)):
        try:
            keyring.write_new(path)
        except FileExistsError:
            continue
        written += 1
    assert written == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o602, 0o610])
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "keys"
    KEYRING.write_new(path)
    path.chmod(mode)
    with pytest.raises(BadKeyring, match="chmod 600"):
        Keyring.read(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize(("mode", "is_read"), [(0o440, True), (0o444, False), (0o460, False)])
def test_a_group_may_read_only_a_file_that_is_not_ours(tmp_path: Path, mode: int, is_read: bool) -> None:
    path = tmp_path / "keys"
    KEYRING.write_new(path)
    os.chown(path, 65534, -1)
    path.chmod(mode)
    if is_read:
        assert Keyring.read(path).active_id == KEYRING.active_id
    else:
        with pytest.raises(BadKeyring, match="chmod 600"):
            Keyring.read(path)


def _folder(tmp_path: Path, **texts: str) -> Path:
    folder = tmp_path / "keys"
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return folder


def test_in_a_folder_the_file_active_decides_and_without_it_the_last_name(tmp_path: Path) -> None:
    folder = _folder(tmp_path, k1=CANARY + "\n", k2=base64.b64encode(b"2" * 32).decode())
    (folder / ".hidden").write_text("not a key")
    assert Keyring.read(folder).active_id == "k2"
    (folder / "active").write_text("k1\n")
    (folder / "active").chmod(0o600)
    assert Keyring.read(folder).active_id == "k1"
    assert set(Keyring.read(folder).ids) == {"k1", "k2"}


@pytest.mark.parametrize(
    "texts",
    [{}, {"active": "k1"}, {"k1": CANARY, "active": "k2"}, {"k1": "x" + CANARY}, {"a key": CANARY}],
)
def test_a_bad_folder_is_refused_without_key_material(tmp_path: Path, texts: dict[str, str]) -> None:
    with pytest.raises(BadKeyring) as refused:
        Keyring.read(_folder(tmp_path, **texts))
    assert CANARY[:8] not in str(refused.value)


def test_what_is_no_readable_text_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    large = tmp_path / "large"
    large.write_bytes(b"k" * 70_000)
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    for path in (large, binary):
        path.chmod(0o600)
    for path in (pipe, large, binary, tmp_path / "absent"):
        with pytest.raises(BadKeyring, match=str(path)):
            Keyring.read(path)
