"""One statement per question about access."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.db.database import Database
from strongroom_identity.domain.memberships import SubjectKind
from strongroom_identity.domain.trusted_ips import TrustedIps

HeldRoles = Sequence[tuple[str, Sequence[Mapping[str, Any]] | None]]
"""(slug, rules of a custom role) in the order in which they were given."""

_HOLDER = """
SELECT t.identity_id, t.organization_id, t.auth_method, t.uses, t.uses_limit, t.is_revoked, t.expires_at,
    i.name, i.is_instance_admin, c.access_token_trusted_ips AS trusted_ips, m.id AS membership_id,
    (SELECT jsonb_agg(jsonb_build_object('role', r.role, 'rules', x.permissions) ORDER BY r.position)
     FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id WHERE r.membership_id = m.id) AS roles
FROM access_tokens t
JOIN identities i ON i.id = t.identity_id
JOIN auth_configurations c ON c.identity_id = t.identity_id AND c.method = t.auth_method
LEFT JOIN memberships m
    ON m.identity_id = t.identity_id AND m.organization_id = t.organization_id AND m.project_id IS NULL
WHERE t.id = $1
"""
# A temporary role counts from its start until its end; the answer is valid until the next start or end.
_STANDING = """
SELECT p.id, p.organization_id, p.name, p.slug, p.type, m.id AS membership_id, r.roles, r.valid_until
FROM projects p
LEFT JOIN memberships m ON m.project_id = p.id AND m.subject_id = $3
LEFT JOIN LATERAL (
    SELECT
        jsonb_agg(jsonb_build_object('role', r.role, 'rules', x.permissions) ORDER BY r.position)
            FILTER (WHERE NOT r.is_temporary OR (r.starts_at <= $4 AND r.ends_at > $4)) AS roles,
        least(min(r.starts_at) FILTER (WHERE r.starts_at > $4), min(r.ends_at) FILTER (WHERE r.ends_at > $4))
            AS valid_until
    FROM membership_roles r LEFT JOIN roles x ON x.id = r.custom_role_id
    WHERE r.membership_id = m.id
) r ON true
WHERE p.id = $1 AND p.organization_id = $2
"""
_STANDING_OF: Mapping[SubjectKind, str] = {
    "user": _STANDING.replace("subject_id", "user_id"),
    "identity": _STANDING.replace("subject_id", "identity_id"),
}


@dataclass(frozen=True)
class TokenHolder:
    """A token and whom it speaks for, as things stand."""

    identity_id: UUID
    organization_id: UUID
    name: str
    auth_method: str
    uses: int
    uses_limit: int
    is_revoked: bool
    is_member: bool
    is_instance_admin: bool
    expires_at: datetime | None
    trusted_ips: TrustedIps
    roles: HeldRoles


@dataclass(frozen=True)
class ProjectStanding:
    """A project of the organization, and what a subject holds in it; `valid_until` is when that changes by itself."""

    project_id: UUID
    organization_id: UUID
    name: str
    slug: str
    type: str
    is_member: bool
    roles: HeldRoles
    valid_until: datetime | None


async def find_token_holder(database: Database, token_id: UUID) -> TokenHolder | None:
    """Return what is known of a token, or None."""
    row = await database.fetch_row(_HOLDER, token_id)
    if row is None:
        return None
    return TokenHolder(
        identity_id=row["identity_id"],
        organization_id=row["organization_id"],
        name=row["name"],
        auth_method=row["auth_method"],
        uses=row["uses"],
        uses_limit=row["uses_limit"],
        is_revoked=row["is_revoked"],
        is_member=row["membership_id"] is not None,
        is_instance_admin=row["is_instance_admin"],
        expires_at=row["expires_at"],
        trusted_ips=tuple(row["trusted_ips"]),
        roles=_held(row["roles"]),
    )


async def find_standing(
    database: Database, project_id: UUID, organization_id: UUID, kind: SubjectKind, subject_id: UUID, now: datetime
) -> ProjectStanding | None:
    """Return a subject's standing in a project, or None where the organization has no such project."""
    row = await database.fetch_row(_STANDING_OF[kind], project_id, organization_id, subject_id, now)
    if row is None:
        return None
    return ProjectStanding(
        project_id=row["id"],
        organization_id=row["organization_id"],
        name=row["name"],
        slug=row["slug"],
        type=row["type"],
        is_member=row["membership_id"] is not None,
        roles=_held(row["roles"]),
        valid_until=row["valid_until"],
    )


def _held(entries: Sequence[Mapping[str, Any]] | None) -> HeldRoles:
    return [(entry["role"], entry["rules"]) for entry in entries or ()]
