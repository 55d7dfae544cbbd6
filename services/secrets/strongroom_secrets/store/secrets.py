"""The queries about secrets. A read is one statement; a write of any number of secrets is one statement, too."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Row

from strongroom_common.db.database import UnitOfWork
from strongroom_secrets.domain.places import Place
from strongroom_secrets.domain.secrets import SHARED, SecretState
from strongroom_secrets.domain.tags import Mark
from strongroom_secrets.store.places import FOLDER_AT, SELECTORS, located


def _tags(joins: str) -> str:
    """Return what gathers tags, by slug; NULL when there are none."""
    return f"""(
        SELECT jsonb_agg(jsonb_build_object('id', t.id, 'slug', t.slug, 'color', t.color) ORDER BY t.slug) {joins})"""


# Of the secrets table, where each secret has the tags that it has now.
_TAGS: Final = _tags(
    """FROM secret_tags st JOIN tags t ON t.project_id = st.project_id AND t.id = st.tag_id
        WHERE st.project_id = s.project_id AND st.secret_id = s.id"""
)
_SHOWN: Final = f"""
    s.id, s.name, s.owner_id, s.version, s.sealed_value, s.sealed_comment, s.metadata, s.skip_multiline_encoding,
    s.reminder_note, s.reminder_repeat_days, s.rotation_id, s.created_at, s.updated_at,
    {_TAGS} AS tags"""
_ACTOR: Final = "s.actor_kind, s.actor_id, s.actor_name"

# $4 path, $5 name, $6 owner.
FIND_BY_NAME: Final = {
    selector: located(
        selector,
        f"f.id AS folder_id, {_SHOWN}, {_ACTOR}",
        f"""{FOLDER_AT}
        LEFT JOIN secrets s ON s.project_id = p.id AND s.folder_id = f.id AND s.name = $5 AND s.owner_id = $6""",
    )
    for selector in SELECTORS
}

_ONCE_NAMED: Final = """
    LEFT JOIN LATERAL (
        SELECT * FROM secret_versions v
        WHERE v.project_id = p.id AND v.folder_id = f.id AND v.name = $5 AND v.owner_id = $6 AND v.version = $7
        ORDER BY v.created_at DESC, v.secret_id DESC LIMIT 1
    ) s ON true"""
_TAGS_THEN: Final = _tags("FROM tags t WHERE t.project_id = p.id AND t.id = ANY (s.tag_ids)")
# What rules look at: the tags of the secret's last version, also when the secret is gone.
_TAGS_AT_LAST: Final = _tags(
    """FROM tags t WHERE t.project_id = p.id AND t.id = ANY ((
            SELECT last.tag_ids FROM secret_versions last
            WHERE last.project_id = p.id AND last.secret_id = s.secret_id ORDER BY last.version DESC LIMIT 1
        )::uuid[])"""
)
# $4 path, $5 name, $6 owner, $7 version: what once had this name in this folder; the latest, if several had.
FIND_VERSION: Final = {
    selector: located(
        selector,
        f"""f.id AS folder_id, s.secret_id AS id, s.name, s.owner_id, s.version, s.sealed_value, s.sealed_comment,
        s.metadata, s.skip_multiline_encoding, NULL::text AS reminder_note, NULL::int AS reminder_repeat_days,
        NULL::uuid AS rotation_id, s.created_at, s.created_at AS updated_at, {_ACTOR},
        {_TAGS_THEN} AS tags, {_TAGS_AT_LAST} AS tags_at_last""",
        f"{FOLDER_AT} {_ONCE_NAMED}",
    )
    for selector in SELECTORS
}

_OF_OWNERS: Final = (
    "LEFT JOIN secrets s ON s.project_id = p.id AND s.folder_id = f.id AND s.owner_id = ANY ($5::uuid[])"
)
_IN_ORDER: Final = f"ORDER BY f.path, s.name, s.owner_id = '{SHARED}'"

# $4 path, $5 owners.
LIST_IN_FOLDER: Final = {
    selector: located(selector, f"f.path, {_SHOWN}", f"{FOLDER_AT} {_OF_OWNERS}") + _IN_ORDER for selector in SELECTORS
}

# $4 path, $5 owners; $6 and $7: the bounds of all paths below it.
LIST_RECURSIVELY: Final = {
    selector: located(
        selector,
        f"f.path, {_SHOWN}",
        f"""LEFT JOIN folders f
            ON f.project_id = p.id AND f.environment_id = e.id AND (f.path = $4 OR (f.path >= $6 AND f.path < $7))
        {_OF_OWNERS}""",
    )
    + _IN_ORDER
    for selector in SELECTORS
}

# $1 the caller's organization, $2 the secret.
FIND_BY_ID: Final = f"""
    SELECT p.id AS project_id, e.slug AS environment, f.path, {_SHOWN}, {_ACTOR}
    FROM secrets s
    JOIN projects p ON p.id = s.project_id
    JOIN folders f ON f.project_id = p.id AND f.id = s.folder_id
    JOIN environments e ON e.project_id = p.id AND e.id = f.environment_id
    WHERE s.id = $2 AND p.organization_id = $1 AND p.deleted_at IS NULL
    """  # noqa: S608 - put together from constants of this module

_FIND_NAMED = text(
    f"""
    SELECT s.folder_id, {_SHOWN}, {_ACTOR} FROM secrets s
    WHERE project_id = :project_id AND folder_id = ANY (CAST(:folder_ids AS uuid[]))
        AND name = ANY (CAST(:names AS text[])) AND owner_id = ANY (CAST(:owner_ids AS uuid[]))
    """  # noqa: S608 - put together from constants of this module
).columns(metadata=JSONB, tags=JSONB)

_ARRAYS: Final = {
    "id": "uuid",
    "folder_id": "uuid",
    "environment_id": "uuid",
    "name": "text",
    "owner_id": "uuid",
    "version": "int",
    "sealed_value": "bytea",
    "sealed_comment": "bytea",
    "metadata": "text",
    "version_sealed_value": "bytea",
    "version_sealed_comment": "bytea",
    "version_metadata": "text",
    "skip_multiline_encoding": "boolean",
    "reminder_note": "text",
    "reminder_repeat_days": "int",
    "tag_ids": "text",
}
_FRESH: Final = (
    "WITH fresh AS (SELECT * FROM unnest("  # noqa: S608 - put together from constants of this module
    + ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in _ARRAYS.items())
    + f") AS t ({', '.join(_ARRAYS)})),"
)
_TAG: Final = """
    tagged AS (
        INSERT INTO secret_tags (project_id, secret_id, tag_id)
        SELECT CAST(:project_id AS uuid), fresh.id, tag_id FROM fresh, unnest(CAST(fresh.tag_ids AS uuid[])) tag_id
        ON CONFLICT DO NOTHING
    )"""
_KEEP_VERSIONS: Final = """
    touched AS (
        UPDATE folders SET last_secret_modified = :now
        WHERE project_id = :project_id AND id IN (SELECT folder_id FROM fresh WHERE :is_shared)
    )
    INSERT INTO secret_versions (
        project_id, secret_id, version, environment_id, folder_id, name, owner_id, sealed_value, sealed_comment,
        metadata, tag_ids, skip_multiline_encoding, actor_kind, actor_id, actor_name, created_at)
    SELECT CAST(:project_id AS uuid), id, version, environment_id, folder_id, name, owner_id, version_sealed_value,
        version_sealed_comment, CAST(version_metadata AS jsonb), CAST(tag_ids AS uuid[]), skip_multiline_encoding,
        CAST(:actor_kind AS text), CAST(:actor_id AS uuid), CAST(:actor_name AS text), CAST(:now AS timestamptz)
    FROM fresh"""
_INSERT = text(
    f"""
    {_FRESH} made AS (
        INSERT INTO secrets (
            project_id, id, folder_id, name, owner_id, version, sealed_value, sealed_comment, metadata,
            skip_multiline_encoding, reminder_note, reminder_repeat_days, actor_kind, actor_id, actor_name,
            created_at, updated_at)
        SELECT CAST(:project_id AS uuid), id, folder_id, name, owner_id, version, sealed_value, sealed_comment,
            CAST(metadata AS jsonb), skip_multiline_encoding, reminder_note, reminder_repeat_days,
            CAST(:actor_kind AS text), CAST(:actor_id AS uuid), CAST(:actor_name AS text),
            CAST(:now AS timestamptz), CAST(:now AS timestamptz)
        FROM fresh
    ), {_TAG}, {_KEEP_VERSIONS}
    """  # noqa: S608 - put together from constants of this module
)
_UPDATE = text(
    f"""
    {_FRESH} changed AS (
        UPDATE secrets s
        SET name = fresh.name, version = fresh.version, sealed_value = fresh.sealed_value,
            sealed_comment = fresh.sealed_comment, metadata = CAST(fresh.metadata AS jsonb),
            skip_multiline_encoding = fresh.skip_multiline_encoding, reminder_note = fresh.reminder_note,
            reminder_repeat_days = fresh.reminder_repeat_days, actor_kind = :actor_kind, actor_id = :actor_id,
            actor_name = :actor_name, updated_at = :now
        FROM fresh WHERE s.project_id = :project_id AND s.id = fresh.id
    ), untagged AS (
        DELETE FROM secret_tags st USING fresh
        WHERE st.project_id = :project_id AND st.secret_id = fresh.id
            AND st.tag_id <> ALL (coalesce(CAST(fresh.tag_ids AS uuid[]), '{{}}'))
    ), {_TAG}, {_KEEP_VERSIONS}
    """  # noqa: S608 - put together from constants of this module
)
# An override follows the name of what it overrides; that is no change of its own.
_RENAME_OVERRIDES = text(
    """
    UPDATE secrets SET name = new_name
    FROM unnest(CAST(:folder_ids AS uuid[]), CAST(:names AS text[]), CAST(:new_names AS text[]))
        AS t (renamed_in, old_name, new_name)
    WHERE project_id = :project_id AND folder_id = renamed_in AND name = old_name AND owner_id <> :shared
    """
)
_DELETE = text(
    """
    WITH gone AS (
        DELETE FROM secrets
        WHERE project_id = :project_id AND folder_id = :folder_id
            AND (name = ANY (CAST(:names AS text[])) OR id = ANY (CAST(:ids AS uuid[])))
    )
    UPDATE folders SET last_secret_modified = :now
    WHERE project_id = :project_id AND id = :folder_id AND cardinality(CAST(:names AS text[])) > 0
    """
)


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A state of a secret with all that is secret in it sealed twice: to its own row, and to the row of its version."""

    state: SecretState
    value: bytes
    comment: bytes | None
    metadata: str | None
    version_value: bytes
    version_comment: bytes | None
    version_metadata: str | None


async def find_named(
    work: UnitOfWork, project_id: UUID, folder_ids: Sequence[UUID], names: Sequence[str], owner_ids: Sequence[UUID]
) -> Sequence[Row[Any]]:
    """Return what has any of these names in any of these folders. The caller holds the folders' locks."""
    parameters = {"project_id": project_id, "folder_ids": folder_ids, "names": names, "owner_ids": owner_ids}
    return await work.rows(_FIND_NAMED, parameters)


async def insert(work: UnitOfWork, secrets: Sequence[SealedSecret], places: Sequence[Place]) -> None:
    """Add new secrets of one owner, each with its first version."""
    await work.execute(_INSERT, _parameters(secrets, places))


async def update(work: UnitOfWork, secrets: Sequence[SealedSecret], places: Sequence[Place]) -> None:
    """Replace secrets of one owner by their next state, and keep that as a version."""
    await work.execute(_UPDATE, _parameters(secrets, places))


async def rename_overrides(work: UnitOfWork, project_id: UUID, renames: Sequence[tuple[UUID, str, str]]) -> None:
    """Let the personal overrides of renamed secrets follow; each rename is folder, old name, new name."""
    folder_ids, names, new_names = zip(*renames, strict=True)
    await work.execute(
        _RENAME_OVERRIDES,
        {
            "project_id": project_id,
            "folder_ids": list(folder_ids),
            "names": list(names),
            "new_names": list(new_names),
            "shared": SHARED,
        },
    )


async def delete(
    work: UnitOfWork, place: Place, shared_names: Sequence[str], personal_ids: Sequence[UUID], now: Any
) -> None:
    """Remove shared secrets with all overrides of them, and personal ones alone. Their versions stay."""
    await work.execute(
        _DELETE,
        {
            "project_id": place.project_id,
            "folder_id": place.folder_id,
            "names": shared_names,
            "ids": personal_ids,
            "now": now,
        },
    )


def stored_metadata(entries: Sequence[tuple[str, str | bytes, bool]]) -> str | None:
    """Write metadata as it is stored: (key, plain text or sealed bytes, is encrypted)."""
    if not entries:
        return None
    return orjson.dumps(
        [
            {
                "key": key,
                "value": base64.b64encode(value).decode() if isinstance(value, bytes) else value,
                "isEncrypted": is_encrypted,
            }
            for key, value, is_encrypted in entries
        ]
    ).decode()


def _array(tags: Sequence[Mark]) -> str | None:
    return "{" + ",".join(str(tag.id) for tag in tags) + "}" if tags else None


def _parameters(secrets: Sequence[SealedSecret], places: Sequence[Place]) -> dict[str, Any]:
    environments = {place.folder_id: place.environment_id for place in places}
    first = secrets[0].state
    states = [secret.state for secret in secrets]
    return {
        "project_id": places[0].project_id,
        "is_shared": first.owner_id == SHARED,
        "now": first.updated_at,
        "actor_kind": first.actor.kind,
        "actor_id": first.actor.id,
        "actor_name": first.actor.name,
        "id": [state.id for state in states],
        "folder_id": [state.folder_id for state in states],
        "environment_id": [environments[state.folder_id] for state in states],
        "name": [state.name for state in states],
        "owner_id": [state.owner_id for state in states],
        "version": [state.version for state in states],
        "sealed_value": [secret.value for secret in secrets],
        "sealed_comment": [secret.comment for secret in secrets],
        "metadata": [secret.metadata for secret in secrets],
        "version_sealed_value": [secret.version_value for secret in secrets],
        "version_sealed_comment": [secret.version_comment for secret in secrets],
        "version_metadata": [secret.version_metadata for secret in secrets],
        "skip_multiline_encoding": [state.skip_multiline_encoding for state in states],
        "reminder_note": [state.reminder_note for state in states],
        "reminder_repeat_days": [state.reminder_repeat_days for state in states],
        # Arrays of arrays would have to be equally long: each secret's ids come as one text.
        "tag_ids": [_array(state.tags) for state in states],
    }
