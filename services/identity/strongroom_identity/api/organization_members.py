"""The users of an organization."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, QueryString, Slug, View
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.identities import MetadataBody
from strongroom_identity.api.organizations import OF_ORGANIZATION, V2_OF_ORGANIZATION
from strongroom_identity.domain.organizations import Member, ProjectMembership
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases import organization_members
from strongroom_identity.usecases.organization_members import MemberChanges

routes = Routes("Organization memberships")

OF_MEMBERSHIP = V2_OF_ORGANIZATION + "/memberships/{membershipId:uuid}"


class WholeListQuery(QueryString):
    """Which part of a list that most clients want whole."""

    limit: Annotated[int, Field(ge=1, le=20_000)] = 10_000
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0

    def to_page(self) -> Page:
        """The part, in our words."""
        return Page("", self.limit, self.offset)


class ChangeMembershipBody(Body):
    """What is to be different; metadata replaces what was there."""

    role: Slug | None = None
    is_active: bool | None = None
    metadata: Annotated[Sequence[MetadataBody] | None, Field(max_length=100)] = None

    def to_changes(self) -> MemberChanges:
        """What is to be different, in our words."""
        metadata = None if self.metadata is None else [(one.key, one.value) for one in self.metadata]
        return MemberChanges(role=self.role, is_active=self.is_active, metadata=metadata)


class RemoveMembershipsBody(Body):
    """Who is to go."""

    membership_ids: Annotated[Sequence[UUID], Field(min_length=1, max_length=1000)]


class MemberUserView(View):
    """Who it is."""

    id: UUID
    username: str
    email: str
    is_email_verified: bool
    first_name: str
    last_name: str
    public_key: str | None

    @classmethod
    def of(cls, member: Member) -> "MemberUserView":
        """Show the user. Nobody has a public key here: clients of old sealed secrets with it."""
        return cls(
            id=member.user_id,
            username=member.username,
            email=member.email,
            is_email_verified=member.is_email_verified,
            first_name=member.first_name,
            last_name=member.last_name,
            public_key=None,
        )


class MembershipView(View):
    """A user in an organization."""

    id: UUID
    role: str
    role_id: UUID | None
    custom_role_slug: str | None
    status: str
    is_active: bool
    org_id: UUID
    user_id: UUID
    invite_email: str | None
    metadata: Sequence[Mapping[str, str]]
    last_login_auth_method: str | None
    last_login_time: Instant | None
    created_at: Instant
    updated_at: Instant
    user: MemberUserView

    @classmethod
    def of(cls, member: Member) -> "MembershipView":
        """Show a membership."""
        return cls(
            id=member.id,
            role=member.role,
            role_id=member.custom_role_id,
            custom_role_slug=member.custom_role_slug,
            status=member.status,
            is_active=member.is_active,
            org_id=member.organization_id,
            user_id=member.user_id,
            invite_email=member.email if member.status == "invited" else None,
            metadata=member.metadata,
            last_login_auth_method=member.last_login_method,
            last_login_time=member.last_login_at,
            created_at=member.created_at,
            updated_at=member.updated_at,
            user=MemberUserView.of(member),
        )


class UsersAnswer(View):
    """The users of an organization."""

    users: Sequence[MembershipView]


class MembershipAnswer(View):
    """One membership."""

    membership: MembershipView


class MembershipsAnswer(View):
    """Several memberships."""

    memberships: Sequence[MembershipView]


class ProjectView(View):
    """A project in brief."""

    id: UUID
    name: str
    slug: str
    type: str


class ProjectMembershipView(View):
    """A user in a project."""

    id: UUID
    user_id: UUID
    project_id: UUID
    user: MemberUserView
    project: ProjectView
    roles: Sequence[Mapping[str, Any]]
    created_at: Instant

    @classmethod
    def of(cls, member: Member, found: ProjectMembership) -> "ProjectMembershipView":
        """Show a membership in a project."""
        return cls(
            id=found.id,
            user_id=member.user_id,
            project_id=found.project_id,
            user=MemberUserView.of(member),
            project=ProjectView(
                id=found.project_id, name=found.project_name, slug=found.project_slug, type=found.project_type
            ),
            roles=found.roles,
            created_at=found.created_at,
        )


class ProjectMembershipsAnswer(View):
    """Where a user is."""

    memberships: Sequence[ProjectMembershipView]


@routes.get(
    OF_ORGANIZATION + "/users",
    query=WholeListQuery,
    returns=UsersAnswer,
    callers=USER,
    permission="organization: member read",
)
async def list_users(call: Call[NoBody, WholeListQuery]) -> UsersAnswer:
    """List the organization's users."""
    return await _list(call)


@routes.get(
    V2_OF_ORGANIZATION + "/memberships",
    query=WholeListQuery,
    returns=UsersAnswer,
    permission="organization: member read",
)
async def list_(call: Call[NoBody, WholeListQuery]) -> UsersAnswer:
    """List the organization's users."""
    return await _list(call)


@routes.get(OF_MEMBERSHIP, returns=MembershipAnswer, permission="organization: member read")
async def get(call: BareCall) -> MembershipAnswer:
    """Return one of the organization's users."""
    found = await organization_members.get(call.service, call.caller, *_ids(call.path))
    return MembershipAnswer(membership=MembershipView.of(found))


@routes.patch(
    OF_MEMBERSHIP,
    body=ChangeMembershipBody,
    returns=MembershipAnswer,
    permission="organization: member edit",
    audit="update-organization-membership",
)
async def change(call: Call[ChangeMembershipBody, NoQuery]) -> MembershipAnswer:
    """Change a user's role in the organization, or whether he may come in."""
    changed = await organization_members.change(
        call.service, call.caller, call.origin, *_ids(call.path), call.body.to_changes()
    )
    return MembershipAnswer(membership=MembershipView.of(changed))


@routes.delete(
    OF_MEMBERSHIP,
    returns=MembershipAnswer,
    permission="organization: member delete",
    audit="delete-organization-membership",
)
async def remove(call: BareCall) -> MembershipAnswer:
    """Remove a user from the organization and all its projects."""
    organization_id, membership_id = _ids(call.path)
    (gone,) = await organization_members.remove(
        call.service, call.caller, call.origin, organization_id, [membership_id]
    )
    return MembershipAnswer(membership=MembershipView.of(gone))


@routes.delete(
    V2_OF_ORGANIZATION + "/memberships",
    body=RemoveMembershipsBody,
    returns=MembershipsAnswer,
    permission="organization: member delete",
    audit="delete-organization-membership",
)
async def remove_many(call: Call[RemoveMembershipsBody, NoQuery]) -> MembershipsAnswer:
    """Remove users from the organization and all its projects: all of them, or none."""
    gone = await organization_members.remove(
        call.service, call.caller, call.origin, UUID(call.path["organizationId"]), call.body.membership_ids
    )
    return MembershipsAnswer(memberships=[MembershipView.of(one) for one in gone])


@routes.get(
    OF_MEMBERSHIP + "/project-memberships",
    query=WholeListQuery,
    returns=ProjectMembershipsAnswer,
    permission="organization: member read",
)
async def list_project_memberships(call: Call[NoBody, WholeListQuery]) -> ProjectMembershipsAnswer:
    """List in which of the organization's projects a user is a member himself."""
    member, found = await organization_members.list_project_memberships(
        call.service, call.caller, *_ids(call.path), call.query.to_page()
    )
    return ProjectMembershipsAnswer(memberships=[ProjectMembershipView.of(member, one) for one in found])


async def _list(call: Call[NoBody, WholeListQuery]) -> UsersAnswer:
    organization_id = UUID(call.path["organizationId"])
    found = await organization_members.list_all(call.service, call.caller, organization_id, call.query.to_page())
    return UsersAnswer(users=[MembershipView.of(member) for member in found])


def _ids(path: Mapping[str, str]) -> tuple[UUID, UUID]:
    return UUID(path["organizationId"]), UUID(path["membershipId"])
