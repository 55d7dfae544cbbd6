"""Environments of a project."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoQuery, Slug, Title, View
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.domain.environments import HIGHEST_POSITION, Environment, EnvironmentWish
from strongroom_identity.usecases import environments

routes = Routes("Environments")

CURRENT = "/api/v1/projects/{projectId:uuid}/environments"
OLDER = "/api/v1/workspace/{projectId:uuid}/environments"

Position = Annotated[int, Field(ge=1, le=HIGHEST_POSITION, strict=True)]


class CreateEnvironmentBody(Body):
    """A new environment; without a position it becomes the last."""

    name: Title
    slug: Slug
    position: Position | None = None


class ChangeEnvironmentBody(Body):
    """What is absent stays as it is."""

    name: Title | None = None
    slug: Slug | None = None
    position: Position | None = None

    def to_wish(self) -> EnvironmentWish:
        """What the caller wants, in our words."""
        return EnvironmentWish(self.name, self.slug, self.position)


class WholeEnvironmentView(View):
    """An environment."""

    id: UUID
    name: str
    slug: str
    position: int
    project_id: UUID
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, environment: Environment) -> "WholeEnvironmentView":
        """Show an environment."""
        return cls(**{name: getattr(environment, name) for name in cls.model_fields})


class EnvironmentAnswer(View):
    """One environment."""

    environment: WholeEnvironmentView


class EnvironmentDone(EnvironmentAnswer):
    """What was done to which environment."""

    message: str
    project_id: UUID


class OlderEnvironmentDone(EnvironmentAnswer):
    """The same, as older clients know it: `workspace` is the project's id."""

    message: str
    workspace: UUID


@routes.get(
    f"{CURRENT}/{{envId:uuid}}",
    f"{OLDER}/{{envId:uuid}}",
    returns=EnvironmentAnswer,
    permission="project: environments read",
)
async def get(call: BareCall) -> EnvironmentAnswer:
    """Return an environment."""
    project_id, environment_id = _ids(call)
    environment = await environments.get(call.service, call.caller, environment_id, project_id)
    return EnvironmentAnswer(environment=WholeEnvironmentView.of(environment))


@routes.get(
    "/api/v1/workspace/environments/{envId:uuid}", returns=EnvironmentAnswer, permission="project: environments read"
)
async def get_by_id(call: BareCall) -> EnvironmentAnswer:
    """Return an environment by its id alone, as the Terraform provider asks for it."""
    environment = await environments.get(call.service, call.caller, UUID(call.path["envId"]))
    return EnvironmentAnswer(environment=WholeEnvironmentView.of(environment))


_CREATE: Mapping[str, Any] = {
    "body": CreateEnvironmentBody,
    "permission": "project: environments create",
    "audit": "create-environment",
}
_CHANGE: Mapping[str, Any] = {
    "body": ChangeEnvironmentBody,
    "permission": "project: environments edit",
    "audit": "update-environment",
}
_DELETE: Mapping[str, Any] = {"permission": "project: environments delete", "audit": "delete-environment"}


@routes.post(CURRENT, returns=EnvironmentDone, **_CREATE)
async def create(call: Call[CreateEnvironmentBody, NoQuery]) -> EnvironmentDone:
    """Make an environment; if its position is taken, that one and all later ones move up."""
    return _done(await _create(call), "The environment was created")


@routes.post(OLDER, returns=OlderEnvironmentDone, **_CREATE)
async def create_older(call: Call[CreateEnvironmentBody, NoQuery]) -> OlderEnvironmentDone:
    """Make an environment; if its position is taken, that one and all later ones move up."""
    return _done_older(await _create(call), "The environment was created")


@routes.patch(f"{CURRENT}/{{envId:uuid}}", returns=EnvironmentDone, **_CHANGE)
async def change(call: Call[ChangeEnvironmentBody, NoQuery]) -> EnvironmentDone:
    """Rename or move an environment; those between its old and its new place close up."""
    return _done(await _change(call), "The environment was changed")


@routes.patch(f"{OLDER}/{{envId:uuid}}", returns=OlderEnvironmentDone, **_CHANGE)
async def change_older(call: Call[ChangeEnvironmentBody, NoQuery]) -> OlderEnvironmentDone:
    """Rename or move an environment; those between its old and its new place close up."""
    return _done_older(await _change(call), "The environment was changed")


@routes.delete(f"{CURRENT}/{{envId:uuid}}", returns=EnvironmentDone, **_DELETE)
async def delete(call: BareCall) -> EnvironmentDone:
    """Delete an environment with its folders and secrets; its position stays empty."""
    return _done(await _delete(call), "The environment was deleted")


@routes.delete(f"{OLDER}/{{envId:uuid}}", returns=OlderEnvironmentDone, **_DELETE)
async def delete_older(call: BareCall) -> OlderEnvironmentDone:
    """Delete an environment with its folders and secrets; its position stays empty."""
    return _done_older(await _delete(call), "The environment was deleted")


async def _create(call: Call[CreateEnvironmentBody, NoQuery]) -> Environment:
    project_id, body = UUID(call.path["projectId"]), call.body
    return await environments.create(
        call.service, call.caller, call.origin, project_id, body.name, body.slug, body.position
    )


async def _change(call: Call[ChangeEnvironmentBody, NoQuery]) -> Environment:
    return await environments.change(call.service, call.caller, call.origin, *_ids(call), call.body.to_wish())


async def _delete(call: BareCall) -> Environment:
    return await environments.delete(call.service, call.caller, call.origin, *_ids(call))


def _ids(call: Call[Any, NoQuery]) -> tuple[UUID, UUID]:
    return UUID(call.path["projectId"]), UUID(call.path["envId"])


def _done(environment: Environment, message: str) -> EnvironmentDone:
    shown = WholeEnvironmentView.of(environment)
    return EnvironmentDone(message=message, project_id=environment.project_id, environment=shown)


def _done_older(environment: Environment, message: str) -> OlderEnvironmentDone:
    shown = WholeEnvironmentView.of(environment)
    return OlderEnvironmentDone(message=message, workspace=environment.project_id, environment=shown)
