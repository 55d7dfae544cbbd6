"""One statement per question about access."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.db.database import Database
from strongroom_identity.domain.facts import Facts, facts_of_identity
from strongroom_identity.domain.memberships import SubjectKind
from strongroom_identity.domain.trusted_ips import TrustedIps
from strongroom_identity.store.rows import value_of

HeldRoles = Sequence[tuple[str, Sequence[Mapping[str, Any]] | None]]
"""(slug, rules of a custom role) in the order in which they were given."""

# What an organization's member `m` holds there: first what its groups have, then what it has itself, which so has the
# last word.
ORGANIZATION_ROLES = """
(SELECT jsonb_agg(jsonb_build_object('role', r.role, 'rules', x.permissions)
                  ORDER BY h.is_own, h.created_at, h.id, r.position)
 FROM (
     SELECT m.id, m.created_at, true AS is_own
     UNION ALL
     SELECT g.id, g.created_at, false
     FROM group_members gm JOIN memberships g ON g.group_id = gm.group_id AND g.project_id IS NULL
     WHERE gm.membership_id = m.id
 ) h
 JOIN membership_roles r ON r.membership_id = h.id LEFT JOIN roles x ON x.id = r.custom_role_id)
"""
# An identity that a project owns belongs to the organization by its membership there, whose roles are the project's.
_HOLDER = f"""
SELECT t.identity_id, t.organization_id, t.auth_method, t.uses, t.uses_limit, t.is_revoked, t.expires_at,
    t.identity_auth, i.name, i.is_instance_admin, c.access_token_trusted_ips AS trusted_ips, m.id AS membership_id,
    (SELECT jsonb_agg(jsonb_build_array(d.key, d.value))
     FROM identity_metadata d WHERE d.identity_id = i.id) AS metadata,
    CASE WHEN i.project_id IS NULL THEN {ORGANIZATION_ROLES} END AS roles
FROM access_tokens t
JOIN identities i ON i.id = t.identity_id
JOIN auth_configurations c ON c.identity_id = t.identity_id AND c.method = t.auth_method
LEFT JOIN memberships m
    ON m.identity_id = t.identity_id AND m.organization_id = t.organization_id
    AND m.project_id IS NOT DISTINCT FROM i.project_id
WHERE t.id = $1
"""  # noqa: S608 - both parts are constants
# A session without an organization finds no member; the other columns are the user's own.
_SESSION_HOLDER = f"""
SELECT s.user_id, s.auth_method, s.is_mfa_verified, s.expires_at, u.username, u.email, u.is_instance_admin,
    EXISTS (SELECT FROM totps f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL) AS has_second_factor,
    coalesce(o.enforce_mfa, false) AS is_second_factor_wanted, m.id AS membership_id,
    CASE WHEN m.id IS NOT NULL THEN {ORGANIZATION_ROLES} END AS roles
FROM sessions s
JOIN users u ON u.id = s.user_id
LEFT JOIN organizations o ON o.id = $2
LEFT JOIN memberships m
    ON m.user_id = u.id AND m.organization_id = o.id AND m.project_id IS NULL AND m.status = 'accepted' AND m.is_active
WHERE s.id = $1 AND u.is_accepted
"""  # noqa: S608 - both parts are constants
# A temporary role counts from its start until its end; the answer is valid until the next start or end.
_STANDING = """
SELECT p.id, p.organization_id, p.name, p.slug, p.type, h.is_member, h.roles, h.valid_until
FROM projects p
LEFT JOIN LATERAL (
    SELECT
        count(*) > 0 AS is_member,
        jsonb_agg(jsonb_build_object('role', r.role, 'rules', x.permissions)
                  ORDER BY held.is_own, held.created_at, held.id, r.position)
            FILTER (WHERE r.id IS NOT NULL AND (NOT r.is_temporary OR (r.starts_at <= $4 AND r.ends_at > $4))) AS roles,
        least(min(r.starts_at) FILTER (WHERE r.starts_at > $4), min(r.ends_at) FILTER (WHERE r.ends_at > $4))
            AS valid_until
    FROM (
        SELECT m.id, m.created_at, true AS is_own FROM memberships m WHERE m.project_id = p.id AND m.subject_id = $3
        UNION ALL
        SELECT g.id, g.created_at, false
        FROM memberships o
        JOIN group_members gm ON gm.membership_id = o.id
        JOIN memberships g ON g.group_id = gm.group_id AND g.project_id = p.id
        WHERE o.organization_id = p.organization_id AND o.project_id IS NULL AND o.subject_id = $3
    ) held
    LEFT JOIN membership_roles r ON r.membership_id = held.id LEFT JOIN roles x ON x.id = r.custom_role_id
) h ON true
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
    facts: Facts


@dataclass(frozen=True)
class SessionHolder:
    """A session and whose it is, as things stand, seen from one organization or from none."""

    user_id: UUID
    username: str
    email: str
    auth_method: str
    is_instance_admin: bool
    is_mfa_verified: bool
    has_second_factor: bool
    is_second_factor_wanted: bool
    is_member: bool
    expires_at: datetime
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
        facts=facts_of_identity(row["identity_id"], row["name"], row["metadata"] or (), row["identity_auth"]),
    )


async def find_session_holder(
    database: Database, session_id: UUID, organization_id: UUID | None
) -> SessionHolder | None:
    """Return what is known of a session, or None."""
    row = await database.fetch_row(_SESSION_HOLDER, session_id, organization_id)
    if row is None:
        return None
    return value_of(SessionHolder, row, is_member=row["membership_id"] is not None, roles=_held(row["roles"]))


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
        is_member=row["is_member"],
        roles=_held(row["roles"]),
        valid_until=row["valid_until"],
    )


def _held(entries: Sequence[Mapping[str, Any]] | None) -> HeldRoles:
    return [(entry["role"], entry["rules"]) for entry in entries or ()]
