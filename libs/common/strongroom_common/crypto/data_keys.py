"""Envelope encryption without its storage: a random data key per project, wrapped by a master key, seals the values.

Rotating master keys touches only the wrapped data keys. A sealed value is: format version (1 byte), the data key's id
(16), then what `Cipher` makes: salt (16), nonce (12), ciphertext, tag (16). How many values one key may seal, and why
that needs no counting, is said in `ciphers`.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NoReturn
from uuid import UUID

from strongroom_common.crypto.ciphers import KEY_BYTES, Cipher, SealBroken
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.kernel.ids import new_id

VERSION: Final = 1

_HEADER_BYTES: Final = 17
_VERSION_BYTE: Final = bytes((VERSION,))


class DataKey:
    """One data key. Keep it in memory only; `wrap` is how it rests."""

    __slots__ = ("_cipher", "_header", "id")

    def __init__(self, key_id: UUID, key: bytes) -> None:
        self.id = key_id
        self._cipher = Cipher(key)
        self._header = _VERSION_BYTE + key_id.bytes

    @classmethod
    def generate(cls) -> "DataKey":
        """A fresh random key with a fresh id."""
        return cls(new_id(), secrets.token_bytes(KEY_BYTES))

    def seal(self, plain: bytes, associated: bytes) -> bytes:
        """Seal one value to its place, as `bind` names it."""
        return self._header + self._cipher.seal(plain, self._header + associated)

    def open(self, sealed: bytes, associated: bytes) -> bytes:
        """Return the value; raises `SealBroken`, also for a value of another data key."""
        if not sealed.startswith(self._header):
            raise SealBroken
        return self._cipher.open(sealed, self._header + associated, _HEADER_BYTES)

    def __repr__(self) -> str:
        return f"DataKey({self.id})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a data key cannot be copied out of the process")


def wrap(keyring: Keyring, data_key: DataKey, scope_id: UUID) -> bytes:
    """Seal a data key for the database. It opens again only under its own id and scope (project or organization)."""
    return keyring.seal(data_key._cipher.key(), bind("data_keys", data_key.id, "key", scope_id))


def unwrap(keyring: Keyring, key_id: UUID, wrapped_key: bytes, scope_id: UUID) -> DataKey:
    """Undo `wrap`; raises `SealBroken`."""
    return DataKey(key_id, keyring.open(wrapped_key, bind("data_keys", key_id, "key", scope_id)))


def bind(table: str, row_id: UUID, field: str, scope_id: UUID) -> bytes:
    """Name one place in the database as associated data: a value moved to another row, field or tenant does not open.

    The ids have a fixed length and the table's name carries its own, so two places never share a name.
    """
    return binder(table, field, scope_id)(row_id)


def binder(table: str, field: str, scope_id: UUID) -> Callable[[UUID], bytes]:
    """Return `bind` for many rows: what they share is put together once."""
    name = table.encode()
    head, tail = scope_id.bytes, bytes((len(name),)) + name + field.encode()
    return lambda row_id: head + row_id.bytes + tail


def key_id_of(sealed: bytes) -> UUID:
    """Say which data key opens this value; raises `SealBroken` for what is no sealed value."""
    if len(sealed) < _HEADER_BYTES or sealed[0] != VERSION:
        raise SealBroken
    return UUID(bytes=bytes(sealed[1:_HEADER_BYTES]))


def open_many(keys: Mapping[UUID, DataKey], items: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """Open (sealed, associated) pairs in order with whichever key each needs; one that does not open breaks it all."""
    by_header = {key._header: key for key in keys.values()}
    plain: list[bytes] = []
    for sealed, associated in items:
        header = sealed[:_HEADER_BYTES]
        key = by_header.get(header)
        if key is None:
            raise SealBroken
        plain.append(key._cipher.open(sealed, header + associated, _HEADER_BYTES))
    return plain
