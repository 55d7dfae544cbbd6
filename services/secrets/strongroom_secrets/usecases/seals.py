"""Sealing what is secret in a secret, and opening it for a reader.

Value, comment and encrypted metadata are sealed each to its project, table, row and field. A version's row has seals of
its own, bound to its number as well: no ciphertext can take another one's place.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from strongroom_common.contracts.envelopes import Actor
from strongroom_common.crypto.data_keys import DataKey, bind, binder, open_many
from strongroom_common.kernel.secret import Secret
from strongroom_secrets.domain.metadata import MetadataEntry
from strongroom_secrets.domain.secrets import HIDDEN, Facts, SecretState, SeenSecret
from strongroom_secrets.domain.tags import marks_of
from strongroom_secrets.store.secrets import SealedSecret, stored_metadata
from strongroom_secrets.usecases.context import SecretsContext

_SECRETS: Final = "secrets"
_VERSIONS: Final = "secret_versions"
_KEY_HEADER: Final = 17
"""A sealed value begins with what names its key: the format's version and the key's id."""


def seal(key: DataKey, project_id: UUID, state: SecretState) -> SealedSecret:
    """Seal one state to its row and to its version's row."""
    value, comment = state.value.reveal().encode(), state.comment.encode()

    def sealed(content: bytes, table: str, field: str) -> bytes:
        return key.seal(content, bind(table, state.id, field, project_id))

    def metadata(table: str, suffix: str) -> str | None:
        return stored_metadata(
            [
                (
                    entry.key,
                    sealed(entry.value.encode(), table, f"metadata:{entry.key}{suffix}")
                    if entry.is_encrypted
                    else entry.value,
                    entry.is_encrypted,
                )
                for entry in state.metadata
            ]
        )

    of_version = f":{state.version}"
    return SealedSecret(
        state=state,
        value=sealed(value, _SECRETS, "value"),
        comment=sealed(comment, _SECRETS, "comment") if comment else None,
        metadata=metadata(_SECRETS, ""),
        version_value=sealed(value, _VERSIONS, f"value{of_version}"),
        version_comment=sealed(comment, _VERSIONS, f"comment{of_version}") if comment else None,
        version_metadata=metadata(_VERSIONS, of_version),
    )


async def see(
    context: SecretsContext,
    project_id: UUID,
    rows: Sequence[tuple[Facts, str, bool]],
    *,
    are_versions: bool = False,
) -> list[SeenSecret]:
    """Open rows for a reader; each comes with its path and whether its value is to be shown.

    What is not shown is not opened. One seal that does not open breaks the whole reading.
    """
    wanted: list[tuple[bytes, bytes]] = []
    bind_value, bind_comment = binder(_SECRETS, "value", project_id), binder(_SECRETS, "comment", project_id)
    table, end = _SECRETS, ""
    for row, _, is_shown in rows:
        if are_versions:
            table, end = _VERSIONS, f":{row['version']}"
            bind_value = binder(table, f"value{end}", project_id)
            bind_comment = binder(table, f"comment{end}", project_id)
        secret_id, sealed_comment = row["id"], row["sealed_comment"]
        if is_shown:
            wanted.append((row["sealed_value"], bind_value(secret_id)))
        if sealed_comment is not None:
            wanted.append((sealed_comment, bind_comment(secret_id)))
        if is_shown and row["metadata"]:
            for entry in row["metadata"]:
                if entry["isEncrypted"]:
                    place = bind(table, secret_id, f"metadata:{entry['key']}{end}", project_id)
                    wanted.append((base64.b64decode(entry["value"]), place))
    opened = await _open_all(context, wanted)
    return [_seen(row, path, is_shown, opened) for row, path, is_shown in rows]


async def read_states(context: SecretsContext, project_id: UUID, rows: Sequence[Any]) -> list[SecretState]:
    """Open rows completely, to change them."""
    facts: list[tuple[Facts, str, bool]] = [(row._mapping, "", True) for row in rows]
    return [
        SecretState(
            id=row.id,
            folder_id=row.folder_id,
            name=row.name,
            owner_id=row.owner_id,
            version=row.version,
            value=Secret(seen.value),
            comment=seen.comment,
            metadata=tuple(seen.metadata),
            skip_multiline_encoding=row.skip_multiline_encoding,
            reminder_note=row.reminder_note,
            reminder_repeat_days=row.reminder_repeat_days,
            rotation_id=row.rotation_id,
            created_at=row.created_at,
            updated_at=row.updated_at,
            actor=Actor(kind=row.actor_kind, id=row.actor_id, name=row.actor_name),
            tags=marks_of(row.tags),
        )
        for row, seen in zip(rows, await see(context, project_id, facts), strict=True)
    ]


async def _open_all(context: SecretsContext, wanted: Sequence[tuple[bytes, bytes]]) -> Iterator[bytes]:
    headers = {bytes(sealed[:_KEY_HEADER]) for sealed, _ in wanted}
    keys: Mapping[UUID, DataKey] = await context.data_keys.opening(list(headers)) if headers else {}
    return iter(open_many(keys, wanted))


def _seen(row: Facts, path: str, is_shown: bool, opened: Iterator[bytes]) -> SeenSecret:
    """Take this row's texts from the opened ones, in the order in which `see` asked for them."""
    value = next(opened).decode() if is_shown else HIDDEN
    comment = next(opened).decode() if row["sealed_comment"] is not None else ""
    return SeenSecret(row, path, value, not is_shown, comment, _entries(row["metadata"], is_shown, opened))


def _entries(
    stored: Iterable[Mapping[str, Any]] | None, is_shown: bool, opened: Iterator[bytes]
) -> Sequence[MetadataEntry]:
    if not stored:
        return ()
    return [
        MetadataEntry(
            entry["key"],
            (next(opened).decode() if is_shown else HIDDEN) if entry["isEncrypted"] else entry["value"],
            entry["isEncrypted"],
        )
        for entry in stored
    ]
