"""The queries about identities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, insert, select, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.identities import (
    Identity,
    IdentityFilter,
    IdentityMembership,
    IdentityOrder,
    Metadata,
    TextTest,
)
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.store.access import ORGANIZATION_ROLES
from strongroom_identity.store.pages import Page
from strongroom_identity.store.rows import Columns, columns_of, value_of
from strongroom_identity.store.tables import IDENTITIES, IDENTITY_METADATA

HeldRoles = Sequence[tuple[str, Sequence[Mapping[str, Any]] | None]]

_FIND = f"""
SELECT i.*, {ORGANIZATION_ROLES} AS roles
FROM identities i
JOIN memberships m ON m.identity_id = i.id AND m.organization_id = $2 AND m.project_id IS NULL
WHERE i.id = $1
"""  # noqa: S608 - put together from constants
# An identity is known in an organization where it is a member, or through the project there that owns it.
_FIND_KNOWN = f"""
SELECT i.*, {ORGANIZATION_ROLES} AS roles
FROM identities i
LEFT JOIN memberships m
    ON m.identity_id = i.id AND m.organization_id = $2 AND m.project_id IS NOT DISTINCT FROM i.project_id
WHERE i.id = $1 AND (m.id IS NOT NULL OR (i.project_id IS NOT NULL AND i.organization_id = $2))
"""  # noqa: S608 - put together from constants
_METADATA = """
    (SELECT jsonb_agg(jsonb_build_object('id', d.id, 'key', d.key, 'value', d.value) ORDER BY d.position)
     FROM identity_metadata d WHERE d.identity_id = i.id) AS metadata
"""
_METHODS = "(SELECT array_agg(a.method ORDER BY a.method) FROM auth_configurations a WHERE a.identity_id = i.id)"
# The page is cut first: what hangs on an identity is fetched for those on the page only.
_SHOWN = f"""
SELECT i.*, {_METADATA}, {_METHODS} AS methods,
    (SELECT array_agg(DISTINCT l.kind) FROM lockouts l
     WHERE l.subject_id = i.id AND l.is_locked AND l.ends_at > $2) AS locked_methods,
    to_jsonb(x) AS custom_role
FROM (%s) i
LEFT JOIN roles x ON x.id = i.custom_role_id
ORDER BY i.place
"""  # noqa: S608 - put together from constants
_MEMBERSHIP = """
    i.*, m.id AS membership_id, m.organization_id AS membership_organization_id,
    m.created_at AS member_since, m.updated_at AS membership_updated_at, m.last_login_method, m.last_login_at,
    r.role, r.custom_role_id
"""
# An organization's own identities come from the index in the order of their names. Only a sub-organization has guests:
# there the memberships are looked through.
_MEMBERS = """
FROM identities i
JOIN memberships m ON m.identity_id = i.id AND m.organization_id = $1 AND m.project_id IS NULL
LEFT JOIN membership_roles r ON r.membership_id = m.id AND r.position = 0
LEFT JOIN roles x ON x.id = r.custom_role_id
"""
_OWN = "i.organization_id = $1 AND i.project_id IS NULL"
_GUESTS_TOO = "i.project_id IS NULL"
_IS_SUB = "SELECT parent_id IS NOT NULL AS is_sub FROM organizations WHERE id = $1"
_ORDERS: Mapping[IdentityOrder, str] = {"name": "i.name {0}, i.id {0}", "role": "coalesce(x.slug, r.role) {0}, i.id"}
_FIELDS = {"name": "i.name", "role": "coalesce(x.slug, r.role)"}
_OF_PROJECT = f"""
SELECT i.*, {_METADATA}, {_METHODS} AS methods FROM identities i
WHERE i.project_id = $1 AND i.name ILIKE $2 ORDER BY i.name, i.id LIMIT $3 OFFSET $4
"""  # noqa: S608 - put together from constants
_COUNT_OF_PROJECT = "SELECT count(*) AS total FROM identities i WHERE i.project_id = $1 AND i.name ILIKE $2"
_ONE_WITH_ALL = f"SELECT i.*, {_METADATA}, {_METHODS} AS methods FROM identities i WHERE i.id = $1"  # noqa: S608 - constants


@dataclass(frozen=True)
class KnownIdentity:
    """An identity with what it holds in the organization, or in the project that owns it, as (slug, rules)."""

    identity: Identity
    roles: HeldRoles


async def add(work: UnitOfWork, identity: Identity) -> None:
    """Keep a new identity with its metadata."""
    await work.execute(insert(IDENTITIES).values(columns_of(IDENTITIES, identity)))
    await _add_metadata(work, identity)


async def lock(work: UnitOfWork, identity_id: UUID) -> Identity | None:
    """Return an identity without its metadata, and keep it from changing until the work ends; or None."""
    row = await work.row(select(IDENTITIES).where(IDENTITIES.c.id == identity_id).with_for_update())
    return None if row is None else value_of(Identity, row._mapping, metadata=(), auth_methods=())


async def save(work: UnitOfWork, identity: Identity, *, with_metadata: bool) -> None:
    """Keep a changed identity; its metadata is replaced or left alone."""
    statement = update(IDENTITIES).where(IDENTITIES.c.id == identity.id)
    await work.execute(
        statement.values(
            name=identity.name,
            has_delete_protection=identity.has_delete_protection,
            updated_at=identity.updated_at,
        )
    )
    if with_metadata:
        await work.execute(delete(IDENTITY_METADATA).where(IDENTITY_METADATA.c.identity_id == identity.id))
        await _add_metadata(work, identity)


async def remove(work: UnitOfWork, identity_id: UUID) -> None:
    """Forget an identity; its logins, tokens and memberships go with it."""
    await work.execute(delete(IDENTITIES).where(IDENTITIES.c.id == identity_id))


async def find_member(database: Database, organization_id: UUID, identity_id: UUID) -> KnownIdentity | None:
    """Return an identity that belongs to the organization, without its metadata; or None."""
    return _known(await database.fetch_row(_FIND, identity_id, organization_id))


async def find_known(database: Database, organization_id: UUID, identity_id: UUID) -> KnownIdentity | None:
    """Return an identity that belongs to the organization or to one of its projects; or None."""
    return _known(await database.fetch_row(_FIND_KNOWN, identity_id, organization_id))


async def find_whole(database: Database, identity_id: UUID) -> Identity | None:
    """Return an identity with its metadata and kinds of login; or None."""
    row = await database.fetch_row(_ONE_WITH_ALL, identity_id)
    return None if row is None else _whole(row)


async def list_of_project(database: Database, project_id: UUID, page: Page) -> tuple[list[Identity], int]:
    """List the identities that a project owns, by name, and how many there are."""
    pattern = page.pattern or "%"
    rows = await database.fetch(_OF_PROJECT, project_id, pattern, page.limit, page.offset)
    (counted,) = await database.fetch(_COUNT_OF_PROJECT, project_id, pattern)
    return [_whole(row) for row in rows], counted["total"]


async def find_membership(
    database: Database, organization_id: UUID, identity_id: UUID, now: datetime
) -> IdentityMembership | None:
    """Return an identity's membership in an organization, whole; or None."""
    inner = f"SELECT {_MEMBERSHIP}, 1 AS place {_MEMBERS} WHERE i.id = $3"
    row = await database.fetch_row(_SHOWN % inner, organization_id, now, identity_id)
    return None if row is None else _membership(row)


async def search(
    database: Database,
    organization_id: UUID,
    wanted: IdentityFilter,
    order: IdentityOrder,
    *,
    is_descending: bool,
    limit: int,
    offset: int,
    now: datetime,
) -> tuple[list[IdentityMembership], int]:
    """List the identities of an organization that fit, one page of them whole, and how many fit."""
    row = await database.fetch_row(_IS_SUB, organization_id)
    scope = _GUESTS_TOO if row is not None and row["is_sub"] else _OWN
    paged, counted = page_statements(wanted, order, is_descending=is_descending, scope=scope)
    rows = await database.fetch(paged.text, organization_id, now, limit, offset, *paged.values)
    total = await database.fetch_row(counted.text, organization_id, *counted.values)
    return [_membership(row) for row in rows], total["total"] if total is not None else 0


@dataclass(frozen=True)
class Statement:
    """A statement and the values of its last parameters."""

    text: str
    values: Sequence[Any]


def page_statements(
    wanted: IdentityFilter, order: IdentityOrder, *, is_descending: bool, scope: str = _OWN
) -> tuple[Statement, Statement]:
    """The statement for a page, and the one that counts. Nothing of a filter gets into their texts."""
    by = _ORDERS[order].format("DESC" if is_descending else "ASC")
    # $1 is the organization, $2 the time, $3 and $4 the page.
    values: list[Any] = []
    fits = _fits(wanted, values, 5)
    inner = (
        f"SELECT {_MEMBERSHIP}, row_number() OVER (ORDER BY {by}) AS place {_MEMBERS} WHERE {scope} AND {fits} "
        f"ORDER BY {by} LIMIT $3 OFFSET $4"
    )
    of_count: list[Any] = []
    count = f"SELECT count(*) AS total {_MEMBERS} WHERE {scope} AND {_fits(wanted, of_count, 2)}"
    return Statement(_SHOWN % inner, values), Statement(count, of_count)


def _fits(wanted: IdentityFilter, values: list[Any], first: int) -> str:
    """Write a filter as a condition, and add its values; the first of them is parameter number `first`."""

    def parameter(value: Any) -> str:
        values.append(value)
        return f"${first + len(values) - 1}"

    def test(field: str, text: TextTest) -> list[str]:
        tests = []
        if text.equals is not None:
            tests.append(f"{field} = {parameter(text.equals)}")
        if text.contains is not None:
            tests.append(f"{field} ILIKE {parameter(Page(text.contains, 0, 0).pattern or '%')}")
        if text.among is not None:
            tests.append(f"{field} = ANY({parameter(list(text.among))}::text[])")
        return tests

    def condition(one: IdentityFilter) -> str:
        parts = [part for name, field in _FIELDS.items() for part in test(field, getattr(one, name))]
        if one.any_of:
            parts.append("(" + " OR ".join(condition(other) for other in one.any_of) + ")")
        return " AND ".join(parts) or "true"

    return condition(wanted)


async def _add_metadata(work: UnitOfWork, identity: Identity) -> None:
    if identity.metadata:
        rows = [
            {
                "id": one.id,
                "organization_id": identity.organization_id,
                "identity_id": identity.id,
                "position": position,
                "key": one.key,
                "value": one.value,
            }
            for position, one in enumerate(identity.metadata)
        ]
        await work.execute(insert(IDENTITY_METADATA), rows)


def _known(row: Columns | None) -> KnownIdentity | None:
    if row is None:
        return None
    roles = [(entry["role"], entry["rules"]) for entry in row["roles"] or ()]
    return KnownIdentity(value_of(Identity, row, metadata=(), auth_methods=()), roles)


def _whole(row: Columns) -> Identity:
    metadata = tuple(Metadata(UUID(one["id"]), one["key"], one["value"]) for one in row["metadata"] or ())
    return value_of(Identity, row, metadata=metadata, auth_methods=tuple(row["methods"] or ()))


def _membership(row: Columns) -> IdentityMembership:
    custom = row["custom_role"]
    return IdentityMembership(
        id=row["membership_id"],
        organization_id=row["membership_organization_id"],
        identity=_whole(row),
        role=row["role"] or "no-access",
        custom_role=None if custom is None else _custom_role(custom),
        locked_methods=tuple(row["locked_methods"] or ()),
        last_login_method=row["last_login_method"],
        last_login_at=row["last_login_at"],
        created_at=row["member_since"],
        updated_at=row["membership_updated_at"],
    )


def _custom_role(row: Mapping[str, Any]) -> CustomRole:
    return value_of(
        CustomRole,
        row,
        id=UUID(row["id"]),
        organization_id=UUID(row["organization_id"]),
        project_id=None,
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
    )
