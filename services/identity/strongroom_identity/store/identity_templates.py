"""The queries about identity templates, and about the configurations that are linked to one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import delete, func, insert, select, text, update

from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.auth_configurations import AuthConfiguration
from strongroom_identity.domain.identity_templates import IdentityTemplate, TemplateUse
from strongroom_identity.store.auth_configurations import configuration_of
from strongroom_identity.store.identity_template_tables import IDENTITY_TEMPLATES
from strongroom_identity.store.pages import Page
from strongroom_identity.store.rows import columns_of, value_of

_FIND = "SELECT * FROM identity_templates WHERE id = $1 AND organization_id = $2"
_LIST = "SELECT * FROM identity_templates WHERE organization_id = $1 AND method = $2 ORDER BY name, id"
_SEARCH = """
SELECT t.*, count(*) OVER () AS total FROM identity_templates t
WHERE organization_id = $1 AND ($2 = '' OR name ILIKE $2) ORDER BY name, id LIMIT $3 OFFSET $4
"""
_COUNT = "SELECT count(*) AS total FROM identity_templates WHERE organization_id = $1 AND ($2 = '' OR name ILIKE $2)"
_USES = """
SELECT c.id AS configuration_id, c.identity_id, i.name AS identity_name
FROM auth_configurations c JOIN identities i ON i.id = c.identity_id
WHERE c.settings ->> 'templateId' = $1 AND c.organization_id = $2 ORDER BY i.name, c.id LIMIT $3
"""
_IS_LINKED = "c.settings ->> 'templateId' = :template_id AND c.organization_id = :organization_id"
_LINKED = text(f"SELECT * FROM auth_configurations c WHERE {_IS_LINKED} ORDER BY c.id FOR UPDATE")  # noqa: S608 - fixed text
_REWRITE = text("""
UPDATE auth_configurations c
SET settings = c.settings || CAST(:plain AS jsonb), sealed_settings = u.sealed, updated_at = :now
FROM unnest(CAST(:ids AS uuid[]), CAST(:sealed AS bytea[])) AS u (id, sealed)
WHERE c.id = u.id
""")
_UNLINK = text(f"""
UPDATE auth_configurations c SET settings = c.settings || '{{"templateId": null}}', updated_at = :now
FROM identities i
WHERE i.id = c.identity_id AND {_IS_LINKED}
    AND (CAST(:identity_ids AS uuid[]) IS NULL OR c.identity_id = ANY(CAST(:identity_ids AS uuid[])))
RETURNING c.id AS configuration_id, c.identity_id, i.name AS identity_name
""")  # noqa: S608 - fixed text


async def add(work: UnitOfWork, template: IdentityTemplate) -> None:
    """Keep a new template."""
    await work.execute(insert(IDENTITY_TEMPLATES).values(columns_of(IDENTITY_TEMPLATES, template)))


async def save(work: UnitOfWork, template: IdentityTemplate) -> None:
    """Keep what was changed in a template."""
    statement = update(IDENTITY_TEMPLATES).where(IDENTITY_TEMPLATES.c.id == template.id)
    values = {"name": template.name, "sealed_fields": template.sealed_fields, "updated_at": template.updated_at}
    await work.execute(statement.values(**values))


async def remove(work: UnitOfWork, template_id: UUID) -> None:
    """Forget a template."""
    await work.execute(delete(IDENTITY_TEMPLATES).where(IDENTITY_TEMPLATES.c.id == template_id))


async def lock(work: UnitOfWork, organization_id: UUID, template_id: UUID) -> IdentityTemplate | None:
    """Return a template of the organization, and keep it from changing until the work ends; or None."""
    table = IDENTITY_TEMPLATES
    statement = select(table).where(table.c.id == template_id, table.c.organization_id == organization_id)
    row = await work.row(statement.with_for_update())
    return None if row is None else value_of(IdentityTemplate, row._mapping)


async def count(work: UnitOfWork, organization_id: UUID) -> int:
    """Say how many templates the organization has."""
    statement = select(func.count()).where(IDENTITY_TEMPLATES.c.organization_id == organization_id)
    row = await work.row(statement)
    return 0 if row is None else int(row[0])


async def find(database: Database, organization_id: UUID, template_id: UUID) -> IdentityTemplate | None:
    """Return a template of the organization, or None."""
    row = await database.fetch_row(_FIND, template_id, organization_id)
    return None if row is None else value_of(IdentityTemplate, row)


async def list_of(database: Database, organization_id: UUID, method: str) -> list[IdentityTemplate]:
    """List the organization's templates of one kind by name."""
    return [value_of(IdentityTemplate, row) for row in await database.fetch(_LIST, organization_id, method)]


async def search(database: Database, organization_id: UUID, page: Page) -> tuple[list[IdentityTemplate], int]:
    """List templates by name, and say how many there are in all."""
    rows = await database.fetch(_SEARCH, organization_id, page.pattern, page.limit, page.offset)
    if rows or not page.offset:
        return [value_of(IdentityTemplate, row) for row in rows], rows[0]["total"] if rows else 0
    counted = await database.fetch_row(_COUNT, organization_id, page.pattern)
    return [], counted["total"] if counted else 0


async def list_uses(database: Database, template: IdentityTemplate, most: int) -> list[TemplateUse]:
    """List the identities that are linked to a template, by name."""
    rows = await database.fetch(_USES, str(template.id), template.organization_id, most)
    return [value_of(TemplateUse, row) for row in rows]


async def lock_linked(work: UnitOfWork, template: IdentityTemplate) -> Sequence[AuthConfiguration]:
    """Return the configurations that are linked to a template, and keep them from changing until the work ends."""
    return [configuration_of(row._mapping) for row in await work.rows(_LINKED, _names(template))]


async def rewrite(work: UnitOfWork, plain: dict[str, Any], sealed: Sequence[tuple[UUID, bytes]], now: datetime) -> None:
    """Lay new settings over those of configurations, and replace what is sealed in each."""
    values = {
        "plain": orjson.dumps(plain).decode(),
        "ids": [configuration_id for configuration_id, _ in sealed],
        "sealed": [value for _, value in sealed],
        "now": now,
    }
    await work.execute(_REWRITE, values)


async def unlink(
    work: UnitOfWork, template: IdentityTemplate, identity_ids: Sequence[UUID] | None, now: datetime
) -> list[TemplateUse]:
    """Unlink these identities from a template, or all; what came from it stays with them. Returns who was linked."""
    values = {**_names(template), "identity_ids": None if identity_ids is None else list(identity_ids), "now": now}
    return [value_of(TemplateUse, row._mapping) for row in await work.rows(_UNLINK, values)]


def _names(template: IdentityTemplate) -> dict[str, Any]:
    return {"template_id": str(template.id), "organization_id": template.organization_id}
