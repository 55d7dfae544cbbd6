"""Audit records of secrets and folders: who did what where. Keys, ids and versions; never a value."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Origin
from strongroom_secrets.domain.secrets import SeenSecret
from strongroom_secrets.usecases.context import SecretsContext


def record(
    context: SecretsContext, origin: Origin, project_id: UUID, event: str, environment: str, path: str, **more: Any
) -> AuditRecord:
    """Record something that happened at one place."""
    facts = {"environment": environment, "secretPath": path, **more}
    return audit_record(origin, context.clock, event, facts, project_id=project_id)


def about_one(secret: SeenSecret) -> dict[str, Any]:
    """What a record says of one secret."""
    return {
        "secretId": str(secret.facts["id"]),
        "secretKey": secret.facts["name"],
        "secretVersion": secret.facts["version"],
    }


def about_change(secret: SeenSecret) -> dict[str, Any]:
    """What a record says of a secret that was written: the plain part of its metadata as well."""
    return {**about_one(secret), "secretMetadata": [_plain(entry) for entry in secret.metadata]}


def about_many(secrets: Sequence[SeenSecret]) -> dict[str, Any]:
    """What a record says of a batch."""
    return {"secrets": [{**about_change(secret), "secretPath": secret.path} for secret in secrets]}


def _plain(entry: Any) -> Mapping[str, Any]:
    return {
        "key": entry.key,
        "value": "" if entry.is_encrypted else entry.value,
        "isEncrypted": entry.is_encrypted,
    }
