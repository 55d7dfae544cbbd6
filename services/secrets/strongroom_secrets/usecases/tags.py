"""Tags of a project, and which of them a request gives to secrets."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.ids import new_id
from strongroom_secrets.domain.errors import ProjectNotFound, TagExists, TagNotFound, TooManyTags
from strongroom_secrets.domain.places import ProjectRef
from strongroom_secrets.domain.tags import MOST_TAGS, Mark, Tag
from strongroom_secrets.store import tags as store
from strongroom_secrets.usecases.context import SecretsContext
from strongroom_secrets.usecases.projects import learn

TAGS: Final = "tags"

MarksFor = Callable[[Sequence[str]], tuple[Mark, ...]]


async def list_tags(context: SecretsContext, caller: Caller, project_id: UUID) -> Sequence[Tag]:
    """Return the project's tags by their slugs."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("read", TAGS)
    return [Tag.of(row) for row in await context.database.fetch(store.LIST_ALL, caller.organization_id, project_id)]


async def get_tag(context: SecretsContext, caller: Caller, project_id: UUID, which: UUID | str) -> Tag:
    """Return a tag by its id or its slug. Raises `TagNotFound`."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("read", TAGS)
    statement = store.FIND_BY_SLUG if isinstance(which, str) else store.FIND_BY_ID
    rows = await context.database.fetch(statement, caller.organization_id, project_id, which)
    if not rows:
        raise TagNotFound
    return Tag.of(rows[0])


async def create_tag(
    context: SecretsContext, caller: Caller, origin: Origin, project_id: UUID, slug: str, color: str
) -> Tag:
    """Add a tag to the project. Raises `TagExists`, `TooManyTags`."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("create", TAGS)
    # The project may be so new that its event is still on its way.
    if not await context.database.fetch(store.IS_PROJECT_KNOWN, caller.organization_id, project_id):
        await learn(context, origin, caller.organization_id, ProjectRef(id=project_id))
    async with context.database.begin(origin.in_project(project_id)) as work:
        await _lock(work, caller, project_id)
        if await store.find_slug(work, project_id, slug) is not None:
            raise TagExists(slug)
        if await store.count(work, project_id) >= MOST_TAGS:
            raise TooManyTags
        now = context.clock.now()
        tag = Tag(
            id=new_id(),
            project_id=project_id,
            slug=slug,
            color=color,
            actor_kind=caller.actor.kind,
            actor_id=caller.actor.id,
            created_at=now,
            updated_at=now,
        )
        await store.insert(work, tag)
        work.record(_record(context, work.origin, "create-tag", tag))
        await work.commit()
    return tag


async def update_tag(
    context: SecretsContext, caller: Caller, origin: Origin, project_id: UUID, tag_id: UUID, slug: str, color: str
) -> Tag:
    """Change slug and color of a tag; its secrets follow. Raises `TagNotFound`, `TagExists`."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("edit", TAGS)
    async with context.database.begin(origin.in_project(project_id)) as work:
        await _lock(work, caller, project_id)
        before = await _get(work, project_id, tag_id)
        if await store.find_slug(work, project_id, slug) not in {None, tag_id}:
            raise TagExists(slug)
        tag = replace(before, slug=slug, color=color, updated_at=context.clock.now())
        await store.update(work, tag)
        work.record(_record(context, work.origin, "update-tag", tag))
        await work.commit()
    return tag


async def delete_tag(context: SecretsContext, caller: Caller, origin: Origin, project_id: UUID, tag_id: UUID) -> Tag:
    """Delete a tag; its secrets lose it without a new version. Raises `TagNotFound`."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("delete", TAGS)
    async with context.database.begin(origin.in_project(project_id)) as work:
        await _lock(work, caller, project_id)
        tag = await _get(work, project_id, tag_id)
        await store.delete(work, tag)
        work.record(_record(context, work.origin, "delete-tag", tag))
        await work.commit()
    return tag


async def hold_tags(work: UnitOfWork, project_id: UUID, wanted: Iterable[Sequence[str] | None]) -> MarksFor:
    """Hold every tag that a request gives to secrets; return what turns ids into tags. Raises `TagNotFound`."""
    texts = {text for ids in wanted for text in ids or ()}
    try:
        ids = {text: UUID(text) for text in texts}
    except ValueError:
        raise TagNotFound from None
    held = await store.hold(work, project_id, list(set(ids.values()))) if ids else {}
    if not held.keys() >= set(ids.values()):
        raise TagNotFound
    return lambda given: tuple(sorted({held[ids[text]] for text in given}, key=lambda mark: mark.slug))


async def _lock(work: UnitOfWork, caller: Caller, project_id: UUID) -> None:
    if not await store.lock_project(work, caller.organization_id, project_id):
        raise ProjectNotFound


async def _get(work: UnitOfWork, project_id: UUID, tag_id: UUID) -> Tag:
    row = await store.find(work, project_id, tag_id)
    if row is None:
        raise TagNotFound
    return Tag.of(row._mapping)


def _record(context: SecretsContext, origin: Origin, event: str, tag: Tag) -> AuditRecord:
    facts = {"tagId": str(tag.id), "tagSlug": tag.slug}
    return audit_record(origin, context.clock, event, facts, project_id=tag.project_id)
