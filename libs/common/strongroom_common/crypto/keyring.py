"""A service's own master keys: one that seals, and older ones that still open.

They wrap data keys and seal what travels on the bus. They live in a file, a folder or a setting, never in the
database.

A sealed value is: format version (1 byte), length of the key's id (1 byte), the id, then what `Cipher` makes: salt
(16), nonce (12), ciphertext, tag (16). Version, length and id are part of the associated data, so they cannot be
exchanged.
"""

import base64
import binascii
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NoReturn

from strongroom_common.crypto.ciphers import KEY_BYTES, Cipher, SealBroken
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret

VERSION: Final = 1

_KEY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_LARGEST_FILE: Final = 64 * 1024
_ACTIVE: Final = "active"


class BadKeyring(ValueError):
    """Says in one line what is wrong with the keys. Never repeats key material, nor text that might be some."""


class Keyring:
    """Master keys by id. The active one seals; all of them open."""

    __slots__ = ("_active", "_by_header", "_ciphers", "_header")

    def __init__(self, keys: Mapping[str, bytes], active: str) -> None:
        if active not in keys:
            raise BadKeyring("the active key is not among the keys")
        for key_id, key in keys.items():
            if not _KEY_ID.fullmatch(key_id):
                raise BadKeyring("a key's id may hold letters, digits, dots, hyphens and underscores, 32 at most")
            if len(key) != KEY_BYTES:
                raise BadKeyring(f"a key must be {KEY_BYTES} bytes long")
        self._active = active
        self._ciphers = {key_id: Cipher(key) for key_id, key in keys.items()}
        self._by_header = {_header(key_id): cipher for key_id, cipher in self._ciphers.items()}
        self._header = _header(active)

    @classmethod
    def generate(cls) -> "Keyring":
        """One fresh random key. Its id sorts by time, so that in a folder the newest is the last."""
        fresh = new_id().hex
        key_id = f"k{fresh[:12]}{fresh[-8:]}"
        return cls({key_id: secrets.token_bytes(KEY_BYTES)}, key_id)

    @classmethod
    def parse(cls, text: Secret) -> "Keyring":
        """Read `id:base64`, several of them separated by commas or line ends; the first is active."""
        keys: dict[str, bytes] = {}
        entries = [entry for entry in (part.strip() for part in re.split(r"[,\r\n]", text.reveal())) if entry]
        if not entries:
            raise BadKeyring("no key given, expected `id:base64`")
        for position, entry in enumerate(entries, 1):
            key_id, colon, encoded = entry.partition(":")
            if not colon or not _KEY_ID.fullmatch(key_id):
                raise BadKeyring(f"key {position} is not of the form `id:base64`")
            if key_id in keys:
                raise BadKeyring(f"key {position} has the id of an earlier one")
            keys[key_id] = _decoded(encoded, f"key {position}")
        return cls(keys, next(iter(keys)))

    @classmethod
    def read(cls, path: Path) -> "Keyring":
        """Read a file (as for `parse`) or a folder: one key in base64 per file, named by its id.

        In a folder the file `active` names the active key; without it the lexically last is active. Hidden files do
        not count. Every file must be closed to others, see `_read_private`.
        """
        if not path.is_dir():
            try:
                return cls.parse(Secret(_read_private(path)))
            except BadKeyring as error:
                raise BadKeyring(f"{path}: {error}" if str(path) not in str(error) else str(error)) from None
        files = sorted(file for file in path.iterdir() if not file.name.startswith(".") and file.is_file())
        texts = {file.name: _read_private(file).strip() for file in files}
        active = texts.pop(_ACTIVE, None)
        keys: dict[str, bytes] = {}
        for name, text in texts.items():
            if not _KEY_ID.fullmatch(name):
                raise BadKeyring(f"{path}: a file's name is a key's id: letters, digits, dots, hyphens, underscores")
            keys[name] = _decoded(text, f"{path / name}")
        if not keys:
            raise BadKeyring(f"{path}: the folder holds no key")
        if active is None:
            active = max(keys)
        if active not in keys:
            raise BadKeyring(f"{path / _ACTIVE}: names a key that is not in the folder")
        return cls(keys, active)

    def write_new(self, path: Path) -> None:
        """Write the keys to a new file with mode 0600; raises `FileExistsError` rather than touch one that is there.

        The file appears under its name complete and durable, or not at all: a crash leaves no half-written keys.
        """
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(self.to_text().reveal())
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, path)
        finally:
            draft.unlink()
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def to_text(self) -> Secret:
        """What `parse` reads: one key per line, the active one first."""
        ids = [self._active, *(key_id for key_id in self._ciphers if key_id != self._active)]
        lines = (f"{key_id}:{base64.b64encode(self._ciphers[key_id].key()).decode()}\n" for key_id in ids)
        return Secret("".join(lines))

    @property
    def active_id(self) -> str:
        """The id of the key that seals."""
        return self._active

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys."""
        return tuple(self._ciphers)

    def with_new_key(self) -> "Keyring":
        """The keyring after a rotation: a fresh active key, and all of these for reading."""
        fresh = Keyring.generate()
        keys = {key_id: cipher.key() for key_id, cipher in (*fresh._ciphers.items(), *self._ciphers.items())}
        return Keyring(keys, fresh._active)

    def seal(self, plain: bytes, associated: bytes) -> bytes:
        """Seal under the active key. The associated data says where the value belongs; it is needed to open it."""
        header = self._header
        return header + self._ciphers[self._active].seal(plain, header + associated)

    def open(self, sealed: bytes, associated: bytes) -> bytes:
        """Return what was sealed; raises `SealBroken` for anything that is not exactly that."""
        header = sealed[: 2 + sealed[1]] if len(sealed) > 1 else b""
        cipher = self._by_header.get(header)
        if cipher is None:
            raise SealBroken
        return cipher.open(sealed, header + associated, len(header))

    def open_many(self, items: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
        """Open (sealed, associated) pairs in order; one that does not open breaks the whole call."""
        return [self.open(sealed, associated) for sealed, associated in items]

    def needs_rewrap(self, sealed: bytes) -> bool:
        """Say whether an older key sealed this, so that it should be sealed again before that key is dropped."""
        return not sealed.startswith(self._header)

    def __repr__(self) -> str:
        return f"Keyring(active={self._active!r}, keys={len(self._ciphers)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a keyring cannot be copied out of the process")


def _header(key_id: str) -> bytes:
    name = key_id.encode("ascii")
    return bytes((VERSION, len(name))) + name


def _decoded(encoded: str, where: str) -> bytes:
    """Decode standard or URL-safe base64, strictly."""
    try:
        key = base64.b64decode(encoded.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise BadKeyring(f"{where} is not valid base64") from None
    if len(key) != KEY_BYTES:
        raise BadKeyring(f"{where} must be {KEY_BYTES} bytes before base64, but is {len(key)}")
    return key


def _read_private(path: Path) -> str:
    """Read a small text file that only we can read.

    Others may have no access at all. A group may read only a file that is not ours: that is how an orchestrator hands
    a secret to a process without privileges (root owns the file, the process is in its group).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise BadKeyring(f"{path}: cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        # The opened file is asked, not its name: the name may point elsewhere a moment later.
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BadKeyring(f"{path}: is not a file")
        forbidden = 0o077 if status.st_uid == os.geteuid() else 0o037
        if status.st_mode & forbidden:
            mode = stat.S_IMODE(status.st_mode)
            raise BadKeyring(f"{path}: mode {mode:04o} lets others use the keys in it; run `chmod 600 {path}`")
        content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise BadKeyring(f"{path}: is larger than {_LARGEST_FILE} bytes")
    try:
        return content.decode("ascii")
    except UnicodeDecodeError:
        raise BadKeyring(f"{path}: is not a text file with keys in base64") from None
