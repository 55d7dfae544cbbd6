"""Tags of a project (wire-secrets 10), below `projects` and, for old clients, below `workspace`."""

import re
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, View
from strongroom_common.kernel.clock import wire_instant
from strongroom_secrets.api.calls import Call
from strongroom_secrets.api.fields import id_or_none
from strongroom_secrets.domain.errors import ProjectNotFound, TagNotFound
from strongroom_secrets.domain.tags import Tag
from strongroom_secrets.usecases import tags as usecases

routes = Routes("Tags")

_SLUG = re.compile(r"[a-z0-9-]{1,64}")
_NEW, _OLD = "/api/v1/projects/{projectId}/tags", "/api/v1/workspace/{projectId}/tags"


def _tag_slug(text: str) -> str:
    slug = text.strip()
    if not _SLUG.fullmatch(slug):
        raise ValueError("may hold only lower-case letters, digits and hyphens, 64 at most")
    return slug


def _color(text: str) -> str:
    return text.strip().replace("\x00", "")


class TagBody(Body):
    """A tag as it shall be. A `name` beside the slug is ignored."""

    slug: Annotated[str, AfterValidator(_tag_slug)]
    color: Annotated[str, AfterValidator(_color), Field(max_length=64)]


class TagView(View):
    """A tag; its name is its slug."""

    id: UUID
    slug: str
    name: str
    color: str | None
    created_at: Instant
    updated_at: Instant
    created_by: UUID | None
    created_by_actor_type: str
    project_id: str


class FoundTag(View):
    tag: TagView


class TagList(View):
    tags: list[TagView]


def _about(action: str, audit: str | None = None) -> Any:
    told = {"audit": audit} if audit else {}
    return {"permission": f"project: tags {action}", "rate": "secrets", **told}


@routes.get(_NEW, _OLD, returns=TagList, **_about("read"))
async def find(call: Call[NoBody, NoQuery]) -> Mapping[str, Any]:
    """List the tags of a project."""
    found = await usecases.list_tags(call.service, call.caller, _project(call))
    return {"tags": [_view(tag) for tag in found]}


@routes.get(f"{_NEW}/{{tagId}}", f"{_OLD}/{{tagId}}", returns=FoundTag, **_about("read"))
async def get(call: Call[NoBody, NoQuery]) -> Mapping[str, Any]:
    """Get a tag by its id."""
    return _one(await usecases.get_tag(call.service, call.caller, _project(call), _tag(call)))


@routes.get(f"{_NEW}/slug/{{tagSlug}}", f"{_OLD}/slug/{{tagSlug}}", returns=FoundTag, **_about("read"))
async def get_by_slug(call: Call[NoBody, NoQuery]) -> Mapping[str, Any]:
    """Get a tag by its slug."""
    return _one(await usecases.get_tag(call.service, call.caller, _project(call), call.path["tagSlug"]))


@routes.post(_NEW, _OLD, body=TagBody, returns=FoundTag, **_about("create", "create-tag"))
async def create(call: Call[TagBody, NoQuery]) -> Mapping[str, Any]:
    """Create a tag."""
    body = call.body
    return _one(
        await usecases.create_tag(call.service, call.caller, call.origin, _project(call), body.slug, body.color)
    )


@routes.patch(f"{_NEW}/{{tagId}}", f"{_OLD}/{{tagId}}", body=TagBody, returns=FoundTag, **_about("edit", "update-tag"))
async def update(call: Call[TagBody, NoQuery]) -> Mapping[str, Any]:
    """Change slug and color of a tag."""
    project_id, tag_id, body = _project(call), _tag(call), call.body
    return _one(
        await usecases.update_tag(call.service, call.caller, call.origin, project_id, tag_id, body.slug, body.color)
    )


@routes.delete(f"{_NEW}/{{tagId}}", f"{_OLD}/{{tagId}}", returns=FoundTag, **_about("delete", "delete-tag"))
async def delete(call: Call[NoBody, NoQuery]) -> Mapping[str, Any]:
    """Delete a tag and take it from all secrets."""
    return _one(await usecases.delete_tag(call.service, call.caller, call.origin, _project(call), _tag(call)))


def _project(call: Call[Any, Any]) -> UUID:
    project_id = id_or_none(call.path["projectId"])
    if project_id is None:
        raise ProjectNotFound
    return project_id


def _tag(call: Call[Any, Any]) -> UUID:
    tag_id = id_or_none(call.path["tagId"])
    if tag_id is None:
        raise TagNotFound
    return tag_id


def _one(tag: Tag) -> Mapping[str, Any]:
    return {"tag": _view(tag)}


def _view(tag: Tag) -> dict[str, Any]:
    return {
        "id": str(tag.id),
        "slug": tag.slug,
        "name": tag.slug,
        "color": tag.color,
        "createdAt": wire_instant(tag.created_at),
        "updatedAt": wire_instant(tag.updated_at),
        "createdBy": None if tag.actor_id is None else str(tag.actor_id),
        "createdByActorType": tag.actor_kind,
        "projectId": str(tag.project_id),
    }
