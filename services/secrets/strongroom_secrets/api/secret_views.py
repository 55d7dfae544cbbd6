"""Secrets as answers. Plain dictionaries: a list may hold thousands, and no model looks at each of them again.

The `View` classes are what the API's document is made from.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from strongroom_common.http.models import Instant, View
from strongroom_common.kernel.clock import wire_instant
from strongroom_secrets.domain.secrets import SHARED, SeenSecret
from strongroom_secrets.usecases.read_secrets import SecretsAt

WireSecret = dict[str, Any]


def listing(found: SecretsAt) -> dict[str, Any]:
    """A list: where each secret lies, whether its value is hidden, metadata and tags."""
    # Secrets that were written together share their instants.
    instants: dict[datetime, str] = {}
    project_id, environment = str(found.project_id), found.environment
    secrets = []
    for secret in found.secrets:
        view = _base(secret, project_id, environment, instants)
        view["secretPath"] = secret.path
        view["secretValueHidden"] = secret.is_hidden
        view["secretMetadata"] = _metadata(secret) if secret.metadata else []
        view["tags"] = _tags(secret)
        secrets.append(view)
    return {"secrets": secrets, "imports": []}


def by_name(found: SecretsAt) -> dict[str, WireSecret]:
    """One secret, found by its name."""
    (secret,) = found.secrets
    return {"secret": {**_by_id(found, secret), "secretValueHidden": secret.is_hidden}}


def by_id(found: SecretsAt) -> dict[str, WireSecret]:
    """One secret, found by its id."""
    (secret,) = found.secrets
    return {"secret": _by_id(found, secret)}


def created(found: SecretsAt) -> list[WireSecret]:
    """New secrets: the base shape and nothing else."""
    project_id, environment = str(found.project_id), found.environment
    instants: dict[datetime, str] = {}
    return [{**_base(secret, project_id, environment, instants), "actor": _actor(secret)} for secret in found.secrets]


def changed(found: SecretsAt) -> list[WireSecret]:
    """Secrets that were updated or deleted."""
    views = created(found)
    for view, secret in zip(views, found.secrets, strict=True):
        view["secretValueHidden"] = secret.is_hidden
    return views


def _by_id(found: SecretsAt, secret: SeenSecret) -> WireSecret:
    return {
        **_base(secret, str(found.project_id), found.environment, {}),
        "actor": _actor(secret),
        "secretPath": secret.path,
        "secretMetadata": _metadata(secret),
        "tags": _tags(secret),
    }


def _base(secret: SeenSecret, project_id: str, environment: str, instants: dict[datetime, str]) -> WireSecret:
    facts = secret.facts
    secret_id = str(facts["id"])
    rotation_id: UUID | None = facts["rotation_id"]
    created_at, updated_at = facts["created_at"], facts["updated_at"]
    created = _instant(created_at, instants)
    return {
        "id": secret_id,
        "_id": secret_id,
        "workspace": project_id,
        "environment": environment,
        "version": facts["version"],
        "type": "shared" if facts["owner_id"] == SHARED else "personal",
        "secretKey": facts["name"],
        "secretValue": secret.value,
        "secretComment": secret.comment,
        "secretReminderNote": facts["reminder_note"],
        "secretReminderRepeatDays": facts["reminder_repeat_days"],
        "skipMultilineEncoding": facts["skip_multiline_encoding"],
        "createdAt": created,
        "updatedAt": created if updated_at == created_at else _instant(updated_at, instants),
        "isRotatedSecret": rotation_id is not None,
        "rotationId": None if rotation_id is None else str(rotation_id),
    }


def _instant(instant: datetime, known: dict[datetime, str]) -> str:
    text = known.get(instant)
    if text is None:
        text = known[instant] = wire_instant(instant)
    return text


def _metadata(secret: SeenSecret) -> list[Mapping[str, Any]]:
    return [{"key": entry.key, "value": entry.value, "isEncrypted": entry.is_encrypted} for entry in secret.metadata]


def _tags(secret: SeenSecret) -> list[Mapping[str, Any]]:
    return [{**tag, "name": tag["slug"]} for tag in secret.facts["tags"] or ()]


def _actor(secret: SeenSecret) -> Mapping[str, str | None]:
    actor_id = secret.facts["actor_id"]
    return {
        "actorId": None if actor_id is None else str(actor_id),
        "actorType": secret.facts["actor_kind"],
        "name": secret.facts["actor_name"],
        "membershipId": None,
        "groupId": None,
    }


class SecretActorView(View):
    """Who changed a secret last."""

    actor_id: str | None
    actor_type: str | None
    name: str | None
    membership_id: str | None
    group_id: str | None


class SecretMetadataView(View):
    """One entry of a secret's metadata."""

    key: str
    value: str
    is_encrypted: bool


class SecretTagView(View):
    """A tag."""

    id: UUID
    slug: str
    color: str | None
    name: str


class SecretView(View):
    """A secret, as creating answers it. `_id` is `id` once more, for old clients."""

    id: UUID
    same_id: UUID = Field(alias="_id")
    workspace: str
    environment: str
    version: int
    type: Literal["shared", "personal"]
    secret_key: str
    secret_value: str
    secret_comment: str
    secret_reminder_note: str | None
    secret_reminder_repeat_days: int | None
    skip_multiline_encoding: bool | None
    created_at: Instant
    updated_at: Instant
    actor: SecretActorView | None = None
    is_rotated_secret: bool
    rotation_id: UUID | None


class ChangedSecretView(SecretView):
    """A secret, as updating and deleting answer it."""

    secret_value_hidden: bool


class FoundSecretView(SecretView):
    """A secret, as reading by id answers it."""

    secret_path: str
    secret_metadata: Sequence[SecretMetadataView]
    tags: Sequence[SecretTagView]


class NamedSecretView(FoundSecretView):
    """A secret, as lists and reading by name answer it."""

    secret_value_hidden: bool


class ImportedSecretsView(View):
    """What one import of the folder brings in."""

    secret_path: str
    environment: str
    folder_id: str | None = None
    secrets: Sequence[SecretView]


class SecretList(View):
    """`secrets` by path, name and type."""

    secrets: Sequence[NamedSecretView]
    imports: Sequence[ImportedSecretsView]


class CreatedSecret(View):
    secret: SecretView


class ChangedSecret(View):
    secret: ChangedSecretView


class FoundSecret(View):
    secret: FoundSecretView


class NamedSecret(View):
    secret: NamedSecretView


class CreatedSecrets(View):
    secrets: Sequence[SecretView]


class ChangedSecrets(View):
    secrets: Sequence[ChangedSecretView]
