"""Machine identities that a project owns."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, NoBody, NoQuery, QueryString, Title, View
from strongroom_identity.api.calls import BareCall, Call, Text
from strongroom_identity.api.identities import IdentityAnswer, IdentityView, MetadataBody
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases import identities
from strongroom_identity.usecases.identities import IdentityChanges, NewProjectIdentity

routes = Routes("Project identities")

BASE = "/api/v1/projects/{projectId:uuid}/identities"
ONE = BASE + "/{identityId:uuid}"


class CreateProjectIdentityBody(Body):
    """A new identity."""

    name: Title
    has_delete_protection: bool = False
    metadata: Annotated[Sequence[MetadataBody], Field(max_length=100)] = ()

    def to_wish(self) -> NewProjectIdentity:
        """What the caller wants, in our words."""
        metadata = [(one.key, one.value) for one in self.metadata]
        return NewProjectIdentity(self.name, self.has_delete_protection, metadata)


class ChangeProjectIdentityBody(Body):
    """What to change; what is absent stays. Metadata is replaced as a whole."""

    name: Title | None = None
    has_delete_protection: bool | None = None
    metadata: Annotated[Sequence[MetadataBody] | None, Field(max_length=100)] = None

    def to_wish(self) -> IdentityChanges:
        """What the caller wants, in our words."""
        metadata = None if self.metadata is None else [(one.key, one.value) for one in self.metadata]
        return IdentityChanges(name=self.name, has_delete_protection=self.has_delete_protection, metadata=metadata)


class ListQuery(QueryString):
    """Which part of the list."""

    search: Text = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class IdentitiesAnswer(View):
    """Some identities, and how many there are."""

    identities: Sequence[IdentityView]
    total_count: int


@routes.post(
    BASE,
    body=CreateProjectIdentityBody,
    returns=IdentityAnswer,
    permission="project: identity create",
    audit="create-identity",
)
async def create(call: Call[CreateProjectIdentityBody, NoQuery]) -> IdentityAnswer:
    """Make an identity that belongs to the project, without rights in it yet."""
    project_id, wish = UUID(call.path["projectId"]), call.body.to_wish()
    made = await identities.create_in_project(call.service, call.caller, call.origin, project_id, wish)
    return IdentityAnswer(identity=IdentityView.of(made))


@routes.get(BASE, query=ListQuery, returns=IdentitiesAnswer, permission="project: identity read")
async def list_all(call: Call[NoBody, ListQuery]) -> IdentitiesAnswer:
    """List the identities that the project owns, by name."""
    query = call.query
    page = Page(query.search, query.limit, query.offset)
    found, total = await identities.list_in_project(call.service, call.caller, UUID(call.path["projectId"]), page)
    return IdentitiesAnswer(identities=[IdentityView.of(one) for one in found], total_count=total)


@routes.get(ONE, returns=IdentityAnswer, permission="project: identity read")
async def get(call: BareCall) -> IdentityAnswer:
    """Return an identity that the project owns."""
    project_id, identity_id = UUID(call.path["projectId"]), UUID(call.path["identityId"])
    found = await identities.get_in_project(call.service, call.caller, project_id, identity_id)
    return IdentityAnswer(identity=IdentityView.of(found))


@routes.patch(
    ONE,
    body=ChangeProjectIdentityBody,
    returns=IdentityAnswer,
    permission="project: identity edit",
    audit="update-identity",
)
async def change(call: Call[ChangeProjectIdentityBody, NoQuery]) -> IdentityAnswer:
    """Change an identity that the project owns."""
    project_id, identity_id = UUID(call.path["projectId"]), UUID(call.path["identityId"])
    wish = call.body.to_wish()
    changed = await identities.change_in_project(call.service, call.caller, call.origin, project_id, identity_id, wish)
    return IdentityAnswer(identity=IdentityView.of(changed))


@routes.delete(ONE, returns=IdentityAnswer, permission="project: identity delete", audit="delete-identity")
async def delete(call: BareCall) -> IdentityAnswer:
    """Delete an identity that the project owns, with its logins, tokens and memberships."""
    project_id, identity_id = UUID(call.path["projectId"]), UUID(call.path["identityId"])
    gone = await identities.delete_in_project(call.service, call.caller, call.origin, project_id, identity_id)
    return IdentityAnswer(identity=IdentityView.of(gone))
