"""Organizations beneath the caller's organization."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, QueryString, Slug, Title, View
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.changes import given
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases import sub_organizations

routes = Routes("Sub-organizations")

BASE = "/api/v1/sub-organizations"
OF_ONE = BASE + "/{subOrgId:uuid}"


class CreateSubOrganizationBody(Body):
    """A new sub-organization; without a slug one is made of the name."""

    name: Title
    slug: Slug | None = None


class ChangeSubOrganizationBody(Body):
    """What is to be different: one of the two at least."""

    name: Title | None = None
    slug: Slug | None = None

    @model_validator(mode="after")
    def check_something(self) -> Self:
        """A change changes something."""
        if self.name is None and self.slug is None:
            raise InvalidInput.of_field(["name"], "custom", "Either name or slug is required")
        return self


class ListSubOrganizationsQuery(QueryString):
    """Which sub-organizations."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 25
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    is_accessible: Literal["true", "false"] | None = None


class SubOrganizationView(View):
    """A sub-organization."""

    id: UUID
    name: str
    slug: str
    parent_org_id: UUID | None
    root_org_id: UUID | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, organization: Organization) -> "SubOrganizationView":
        """Show a sub-organization."""
        return cls(
            id=organization.id,
            name=organization.name,
            slug=organization.slug,
            parent_org_id=organization.parent_id,
            root_org_id=organization.root_id,
            created_at=organization.created_at,
            updated_at=organization.updated_at,
        )


class SubOrganizationAnswer(View):
    """One sub-organization."""

    organization: SubOrganizationView


class SubOrganizationsAnswer(View):
    """Some sub-organizations, and how many there are."""

    organizations: Sequence[SubOrganizationView]
    total_count: int


@routes.post(
    BASE,
    body=CreateSubOrganizationBody,
    returns=SubOrganizationAnswer,
    permission="organization: sub-organization create",
    audit="create-sub-organization",
)
async def create(call: Call[CreateSubOrganizationBody, NoQuery]) -> SubOrganizationAnswer:
    """Begin a sub-organization; the caller becomes its admin."""
    made = await sub_organizations.create(call.service, call.caller, call.origin, call.body.name, call.body.slug)
    return SubOrganizationAnswer(organization=SubOrganizationView.of(made))


@routes.get(
    BASE,
    query=ListSubOrganizationsQuery,
    returns=SubOrganizationsAnswer,
    permission="organization: sub-organization direct-access, or membership there",
)
async def list_(call: Call[NoBody, ListSubOrganizationsQuery]) -> SubOrganizationsAnswer:
    """List the sub-organizations that the caller may enter."""
    query = call.query
    found, total = await sub_organizations.list_visible(
        call.service,
        call.caller,
        Page("", query.limit, query.offset),
        accessible_only=query.is_accessible == "true",
    )
    return SubOrganizationsAnswer(organizations=[SubOrganizationView.of(one) for one in found], total_count=total)


@routes.patch(
    OF_ONE,
    body=ChangeSubOrganizationBody,
    returns=SubOrganizationAnswer,
    permission="organization: sub-organization direct-access",
    audit="update-sub-organization",
)
async def change(call: Call[ChangeSubOrganizationBody, NoQuery]) -> SubOrganizationAnswer:
    """Change a sub-organization's name or slug."""
    changed = await sub_organizations.change(
        call.service, call.caller, call.origin, UUID(call.path["subOrgId"]), given(call.body)
    )
    return SubOrganizationAnswer(organization=SubOrganizationView.of(changed))


@routes.delete(
    OF_ONE,
    returns=SubOrganizationAnswer,
    permission="organization: sub-organization direct-access",
    audit="delete-sub-organization",
)
async def delete(call: BareCall) -> SubOrganizationAnswer:
    """Delete a sub-organization and all that hangs on it."""
    gone = await sub_organizations.delete(call.service, call.caller, call.origin, UUID(call.path["subOrgId"]))
    return SubOrganizationAnswer(organization=SubOrganizationView.of(gone))
