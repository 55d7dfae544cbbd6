"""Machine identities of an organization."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from strongroom_common.http.endpoints import MACHINE, Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, QueryString, Slug, Title, View
from strongroom_common.kernel.errors import Forbidden
from strongroom_identity.api.calls import BareCall, Call, Text
from strongroom_identity.api.memberships import MembershipRoleView
from strongroom_identity.domain.identities import Identity, IdentityFilter, IdentityMembership, TextTest
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.roles import CUSTOM
from strongroom_identity.store.identity_memberships import ProjectMembership
from strongroom_identity.usecases import identities
from strongroom_identity.usecases.identities import IdentityChanges, NewIdentity

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


class ChangeIdentityBody(Body):
    """What to change; what is absent stays. Metadata is replaced as a whole."""

    name: Title | None = None
    role: Slug | None = None
    has_delete_protection: bool | None = None
    metadata: Annotated[Sequence[MetadataBody] | None, Field(max_length=100)] = None

    def to_wish(self) -> IdentityChanges:
        """What the caller wants, in our words."""
        return IdentityChanges(
            name=self.name,
            role=self.role,
            has_delete_protection=self.has_delete_protection,
            metadata=None if self.metadata is None else [(one.key, one.value) for one in self.metadata],
        )


class NameTestBody(Body):
    """What a name must be like."""

    eq: Annotated[Text | None, Field(alias="$eq")] = None
    contains: Annotated[Text | None, Field(alias="$contains")] = None
    among: Annotated[Sequence[Text] | None, Field(alias="$in", max_length=100)] = None

    def to_test(self) -> TextTest:
        """The same in our words."""
        return TextTest(self.eq, self.contains, self.among)


class RoleTestBody(Body):
    """What a role's slug must be like."""

    eq: Annotated[Text | None, Field(alias="$eq")] = None
    among: Annotated[Sequence[Text] | None, Field(alias="$in", max_length=100)] = None

    def to_test(self) -> TextTest:
        """The same in our words."""
        return TextTest(self.eq, None, self.among)


class ConditionBody(Body):
    """Conditions that all must hold; a plain text is `$eq`."""

    name: Text | NameTestBody | None = None
    role: Text | RoleTestBody | None = None

    def to_filter(self, any_of: Sequence[IdentityFilter] = ()) -> IdentityFilter:
        """The same in our words."""
        return IdentityFilter(_test(self.name), _test(self.role), any_of)


class FilterBody(ConditionBody):
    """Conditions that all must hold, and one of several where there are some."""

    any_of: Annotated[Sequence[ConditionBody], Field(alias="$or", max_length=20)] = ()

    def whole(self) -> IdentityFilter:
        """The same in our words."""
        return self.to_filter([one.to_filter() for one in self.any_of])


class SearchBody(Body):
    """What to look for, and which part of it."""

    order_by: Literal["name", "role"] = "name"
    order_direction: Literal["asc", "desc"] = "asc"
    limit: Annotated[int, Field(ge=1, le=100)] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    search: FilterBody = FilterBody()


class ListQuery(QueryString):
    """Whose identities, and which part of them."""

    org_id: Text
    limit: Annotated[int, Field(ge=1, le=20_000)] = 20_000
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


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
    def of(cls, identity: Identity) -> "IdentityView":
        """Show an identity. `authMethod` is what clients of old looked at: the first kind of login."""
        return cls(
            id=identity.id,
            name=identity.name,
            org_id=identity.organization_id,
            project_id=identity.project_id,
            has_delete_protection=identity.has_delete_protection,
            auth_method=identity.auth_methods[0] if identity.auth_methods else None,
            auth_methods=identity.auth_methods,
            metadata=metadata_views(identity),
            created_at=identity.created_at,
            updated_at=identity.updated_at,
        )


def metadata_views(identity: Identity) -> list[MetadataView]:
    """Show an identity's metadata."""
    return [MetadataView(id=one.id, key=one.key, value=one.value) for one in identity.metadata]


class IdentityAnswer(View):
    """One identity."""

    identity: IdentityView


class CustomRoleView(View):
    """A role that the organization has made."""

    id: UUID
    name: str
    slug: str
    description: str | None
    permissions: Sequence[Mapping[str, Any]]


class MemberView(View):
    """An identity as a member of the organization shows it."""

    id: UUID
    name: str
    org_id: UUID
    has_delete_protection: bool
    auth_methods: Sequence[str]
    active_lockout_auth_methods: Sequence[str]


class MembershipView(View):
    """An identity in the organization."""

    id: UUID
    role: str
    role_id: UUID | None
    org_id: UUID
    identity_id: UUID
    created_at: Instant
    updated_at: Instant
    last_login_auth_method: str | None
    last_login_time: Instant | None
    metadata: Sequence[MetadataView]
    custom_role: CustomRoleView | None
    identity: MemberView

    @classmethod
    def of(cls, membership: IdentityMembership) -> "MembershipView":
        """Show a membership."""
        identity, custom = membership.identity, membership.custom_role
        return cls(
            id=membership.id,
            role=CUSTOM if custom else membership.role,
            role_id=custom.id if custom else None,
            org_id=membership.organization_id,
            identity_id=identity.id,
            created_at=membership.created_at,
            updated_at=membership.updated_at,
            last_login_auth_method=membership.last_login_method,
            last_login_time=membership.last_login_at,
            metadata=metadata_views(identity),
            custom_role=None
            if custom is None
            else CustomRoleView(
                id=custom.id,
                name=custom.name,
                slug=custom.slug,
                description=custom.description,
                permissions=custom.permissions,
            ),
            identity=MemberView(
                id=identity.id,
                name=identity.name,
                org_id=identity.organization_id,
                has_delete_protection=identity.has_delete_protection,
                auth_methods=identity.auth_methods,
                active_lockout_auth_methods=membership.locked_methods,
            ),
        )


class MembershipAnswer(View):
    """One membership."""

    identity: MembershipView


class MembershipsAnswer(View):
    """Some memberships, and how many there are."""

    identities: Sequence[MembershipView]
    total_count: int


class ProjectView(View):
    """A project in brief."""

    id: UUID
    name: str
    type: str


class BriefView(View):
    """An identity in brief."""

    id: UUID
    name: str
    auth_methods: Sequence[str]


class ProjectMembershipView(View):
    """An identity in a project."""

    id: UUID
    identity_id: UUID
    project_id: UUID
    roles: Sequence[MembershipRoleView]
    identity: BriefView
    project: ProjectView
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, identity: Identity, membership: ProjectMembership) -> "ProjectMembershipView":
        """Show a membership."""
        return cls(
            id=membership.id,
            identity_id=identity.id,
            project_id=membership.project_id,
            roles=[MembershipRoleView.of(role) for role in membership.roles],
            identity=BriefView(id=identity.id, name=identity.name, auth_methods=identity.auth_methods),
            project=ProjectView(id=membership.project_id, name=membership.project_name, type=membership.project_type),
            created_at=membership.created_at,
            updated_at=membership.updated_at,
        )


class ProjectMembershipsAnswer(View):
    """Where an identity belongs."""

    identity_memberships: Sequence[ProjectMembershipView]


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
    return IdentityAnswer(identity=IdentityView.of(identity))


@routes.get("/api/v1/identities/details", returns=DetailsAnswer, callers=MACHINE, permission="own organization")
async def get_details(call: BareCall) -> DetailsAnswer:
    """Return the organization of the token itself."""
    organization = await identities.get_own_organization(call.service, call.caller)
    return DetailsAnswer(identity_details=DetailsView(organization=OrganizationView.of(organization)))


@routes.get(
    "/api/v1/identities",
    query=ListQuery,
    returns=MembershipsAnswer,
    permission="organization: identity read",
    audit="search-identities",
)
async def list_all(call: Call[NoBody, ListQuery]) -> MembershipsAnswer:
    """List the identities of the organization by name."""
    query = call.query
    if query.org_id.lower() != str(call.caller.organization_id):
        raise Forbidden("You are not a member of this organization")
    found, total = await identities.search(
        call.service, call.caller, call.origin, IdentityFilter(), limit=query.limit, offset=query.offset
    )
    return MembershipsAnswer(identities=[MembershipView.of(one) for one in found], total_count=total)


@routes.post(
    "/api/v1/identities/search",
    body=SearchBody,
    returns=MembershipsAnswer,
    permission="organization: identity read",
    audit="search-identities",
    rate="read",
)
async def search(call: Call[SearchBody, NoQuery]) -> MembershipsAnswer:
    """Look for identities of the organization."""
    body = call.body
    found, total = await identities.search(
        call.service,
        call.caller,
        call.origin,
        body.search.whole(),
        order=body.order_by,
        is_descending=body.order_direction == "desc",
        limit=body.limit,
        offset=body.offset,
    )
    return MembershipsAnswer(identities=[MembershipView.of(one) for one in found], total_count=total)


@routes.get("/api/v1/identities/{identityId:uuid}", returns=MembershipAnswer, permission="organization: identity read")
async def get(call: BareCall) -> MembershipAnswer:
    """Return an identity as a member of the organization."""
    found = await identities.get_membership(call.service, call.caller, UUID(call.path["identityId"]))
    return MembershipAnswer(identity=MembershipView.of(found))


@routes.patch(
    "/api/v1/identities/{identityId:uuid}",
    body=ChangeIdentityBody,
    returns=IdentityAnswer,
    permission="organization: identity edit",
    audit="update-identity",
)
async def change(call: Call[ChangeIdentityBody, NoQuery]) -> IdentityAnswer:
    """Change an identity."""
    identity_id, wish = UUID(call.path["identityId"]), call.body.to_wish()
    changed = await identities.change(call.service, call.caller, call.origin, identity_id, wish)
    return IdentityAnswer(identity=IdentityView.of(changed))


@routes.delete(
    "/api/v1/identities/{identityId:uuid}",
    returns=IdentityAnswer,
    permission="organization: identity delete",
    audit="delete-identity",
)
async def delete(call: BareCall) -> IdentityAnswer:
    """Delete an identity, with its logins, tokens and memberships."""
    gone = await identities.delete(call.service, call.caller, call.origin, UUID(call.path["identityId"]))
    return IdentityAnswer(identity=IdentityView.of(gone))


@routes.get(
    "/api/v1/identities/{identityId:uuid}/identity-memberships",
    returns=ProjectMembershipsAnswer,
    permission="organization or project: identity read",
)
async def list_projects(call: BareCall) -> ProjectMembershipsAnswer:
    """List the projects of the organization to which an identity belongs."""
    identity, found = await identities.list_projects(call.service, call.caller, UUID(call.path["identityId"]))
    return ProjectMembershipsAnswer(
        identity_memberships=[ProjectMembershipView.of(identity, membership) for membership in found]
    )


def _test(condition: str | NameTestBody | RoleTestBody | None) -> TextTest:
    if condition is None:
        return TextTest()
    return TextTest(equals=condition) if isinstance(condition, str) else condition.to_test()
