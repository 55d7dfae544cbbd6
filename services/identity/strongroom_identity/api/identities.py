"""Machine identities of an organization."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from strongroom_common.http.endpoints import MACHINE, Routes
from strongroom_common.http.models import Body, Instant, NoQuery, Slug, Title, View
from strongroom_identity.api.calls import BareCall, Call, Text
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.usecases import identities
from strongroom_identity.usecases.identities import NewIdentity

routes = Routes("Identities")


class MetadataBody(Body):
    """A word about an identity."""

    key: Title
    value: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024, pattern=r"^[^\x00]*$")
    ]


class CreateIdentityBody(Body):
    """A new identity."""

    name: Title
    organization_id: Text
    role: Slug = "no-access"
    has_delete_protection: bool = False
    metadata: Annotated[Sequence[MetadataBody], Field(max_length=100)] = ()

    def to_wish(self) -> NewIdentity:
        """What the caller wants, in our words."""
        return NewIdentity(
            organization_id=self.organization_id,
            name=self.name,
            role=self.role,
            has_delete_protection=self.has_delete_protection,
            metadata=[(one.key, one.value) for one in self.metadata],
        )


class MetadataView(View):
    """A word about an identity."""

    id: UUID
    key: str
    value: str


class IdentityView(View):
    """An identity."""

    id: UUID
    name: str
    org_id: UUID
    project_id: UUID | None
    has_delete_protection: bool
    auth_method: str | None
    auth_methods: Sequence[str]
    metadata: Sequence[MetadataView]
    created_at: Instant
    updated_at: Instant

    @classmethod
    def new(cls, identity: Identity) -> "IdentityView":
        """Show an identity that was just made: it cannot log in yet."""
        return cls(
            id=identity.id,
            name=identity.name,
            org_id=identity.organization_id,
            project_id=identity.project_id,
            has_delete_protection=identity.has_delete_protection,
            auth_method=None,
            auth_methods=[],
            metadata=[MetadataView(id=one.id, key=one.key, value=one.value) for one in identity.metadata],
            created_at=identity.created_at,
            updated_at=identity.updated_at,
        )


class IdentityAnswer(View):
    """One identity."""

    identity: IdentityView


class OrganizationView(View):
    """An organization in brief."""

    id: UUID
    name: str
    slug: str

    @classmethod
    def of(cls, organization: Organization) -> "OrganizationView":
        """Show an organization."""
        return cls(id=organization.id, name=organization.name, slug=organization.slug)


class DetailsView(View):
    """Where the caller is."""

    organization: OrganizationView


class DetailsAnswer(View):
    """Who the caller is."""

    identity_details: DetailsView


@routes.post(
    "/api/v1/identities",
    body=CreateIdentityBody,
    returns=IdentityAnswer,
    permission="organization: identity create",
    audit="create-identity",
)
async def create(call: Call[CreateIdentityBody, NoQuery]) -> IdentityAnswer:
    """Make a machine identity."""
    identity = await identities.create(call.service, call.caller, call.origin, call.body.to_wish())
    return IdentityAnswer(identity=IdentityView.new(identity))


@routes.get("/api/v1/identities/details", returns=DetailsAnswer, callers=MACHINE, permission="own organization")
async def get_details(call: BareCall) -> DetailsAnswer:
    """Return the organization of the token itself."""
    organization = await identities.get_own_organization(call.service, call.caller)
    return DetailsAnswer(identity_details=DetailsView(organization=OrganizationView.of(organization)))
