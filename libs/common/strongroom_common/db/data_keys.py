"""The data keys of a service: one active key per project or organization, made at first use, remembered unwrapped."""

from collections import OrderedDict
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from strongroom_common.crypto.data_keys import DataKey, key_id_of, unwrap, wrap
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.db.database import Database, UnitOfWork

_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('data-key:' || :scope_id, 0))")
_ACTIVE = text("SELECT id, wrapped_key FROM data_keys WHERE scope_id = :scope_id ORDER BY generation DESC LIMIT 1")
_CREATE = text("INSERT INTO data_keys (id, scope_id, generation, wrapped_key) VALUES (:id, :scope_id, 1, :wrapped_key)")
_FIND = "SELECT id, scope_id, wrapped_key FROM data_keys WHERE id = ANY($1::uuid[])"


class DataKeys:
    """Finds the key that seals and the keys that open. Remembers the most recently used ones."""

    def __init__(self, database: Database, keyring: Keyring, most: int = 10_000) -> None:
        self._database = database
        self._keyring = keyring
        self._most = most
        self._active: OrderedDict[UUID, DataKey] = OrderedDict()
        self._by_id: OrderedDict[UUID, DataKey] = OrderedDict()

    async def active(self, work: UnitOfWork, scope_id: UUID) -> DataKey:
        """Return the key that seals new values of this scope, inside the work that writes them."""
        known = self._active.get(scope_id)
        if known is not None:
            return known
        row = await work.row(_ACTIVE, {"scope_id": scope_id})
        if row is None:
            # Two first writers would make two keys: the lock lets the second one find the first one's.
            await work.execute(_LOCK, {"scope_id": str(scope_id)})
            row = await work.row(_ACTIVE, {"scope_id": scope_id})
        if row is None:
            key = DataKey.generate()
            await work.execute(
                _CREATE, {"id": key.id, "scope_id": scope_id, "wrapped_key": wrap(self._keyring, key, scope_id)}
            )
            # Not remembered: this work may yet be undone.
            return key
        key = unwrap(self._keyring, row.id, row.wrapped_key, scope_id)
        self._remember(self._active, scope_id, key)
        self._remember(self._by_id, key.id, key)
        return key

    async def opening(self, sealed_values: Sequence[bytes]) -> dict[UUID, DataKey]:
        """Return the keys that open these values, in at most one query."""
        wanted = {key_id_of(value) for value in sealed_values}
        keys = {key_id: self._by_id[key_id] for key_id in wanted if key_id in self._by_id}
        missing = wanted - keys.keys()
        if missing:
            for row in await self._database.fetch(_FIND, list(missing)):
                key = unwrap(self._keyring, row["id"], row["wrapped_key"], row["scope_id"])
                keys[key.id] = key
                self._remember(self._by_id, key.id, key)
        return keys

    def _remember(self, memory: OrderedDict[UUID, DataKey], key: UUID, value: DataKey) -> None:
        memory[key] = value
        if len(memory) > self._most:
            memory.popitem(last=False)
