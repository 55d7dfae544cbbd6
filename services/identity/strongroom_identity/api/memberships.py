"""Machine identities as members of projects, and what all members' roles look like."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AwareDatetime, Field, model_validator
from pydantic.alias_generators import to_camel

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, QueryString, Slug, View
from strongroom_common.kernel.errors import InvalidInput, Issue
from strongroom_identity.api.calls import BareCall, Call, Text
from strongroom_identity.domain.durations import parse_duration
from strongroom_identity.domain.memberships import Membership, MembershipRole, RoleEntry, Temporary
from strongroom_identity.store.pages import Page
from strongroom_identity.store.project_members import ProjectMember
from strongroom_identity.usecases import memberships
from strongroom_identity.usecases.memberships import IdentityMember

routes = Routes("Project memberships")


class RoleEntryBody(Body):
    """A role, for ever or (`isTemporary`) for a time; the last three fields are then required."""

    role: Slug
    is_temporary: bool = False
    temporary_mode: Literal["relative"] | None = None
    temporary_range: str | None = None
    temporary_access_start_time: AwareDatetime | None = None

    def find_issues(self, at: Sequence[str | int]) -> Iterator[Issue]:
        """A temporary role says in which way, for how long and since when. `at` is the entry's place in the body."""
        if not self.is_temporary:
            return
        for name in ("temporary_mode", "temporary_range", "temporary_access_start_time"):
            if getattr(self, name) is None:
                yield Issue(code="invalid_type", path=[*at, to_camel(name)], message="Required")
        try:
            parse_duration(self.temporary_range or "1h")
        except ValueError as error:
            yield Issue(code="custom", path=[*at, "temporaryRange"], message=str(error))

    def to_entry(self) -> RoleEntry:
        """What the caller wants, in our words."""
        if not self.is_temporary or self.temporary_range is None or self.temporary_access_start_time is None:
            return RoleEntry(self.role)
        return RoleEntry(self.role, Temporary.relative(self.temporary_range, self.temporary_access_start_time))


class AddIdentityBody(Body):
    """The roles; `role` is the older way to give just one."""

    role: Slug = "no-access"
    roles: Annotated[Sequence[RoleEntryBody] | None, Field(min_length=1, max_length=50)] = None

    @model_validator(mode="after")
    def check_entries(self) -> Self:
        """Every entry is whole."""
        check_entries(self.roles or ())
        return self

    def to_entries(self) -> Sequence[RoleEntry]:
        """What the caller wants, in our words."""
        return [RoleEntry(self.role)] if self.roles is None else [one.to_entry() for one in self.roles]


def check_entries(entries: Sequence[RoleEntryBody]) -> None:
    """Raise `InvalidInput` unless every entry is whole."""
    issues = [issue for place, one in enumerate(entries) for issue in one.find_issues(["roles", place])]
    if issues:
        raise InvalidInput("the body is not valid: roles", issues=issues)


Entries = Annotated[Sequence[RoleEntryBody], Field(min_length=1, max_length=50)]


class ChangeRolesBody(Body):
    """The roles in place of all there were."""

    roles: Entries

    @model_validator(mode="after")
    def check_entries(self) -> Self:
        """Every entry is whole."""
        check_entries(self.roles)
        return self

    def to_entries(self) -> Sequence[RoleEntry]:
        """What the caller wants, in our words."""
        return [one.to_entry() for one in self.roles]


class ListIdentitiesQuery(QueryString):
    """Which identities; `identity_name` is the newer name of `search`."""

    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=20_000)] = 100
    order_by: Literal["name"] = "name"
    order_direction: Literal["asc", "desc"] = "asc"
    search: Text = ""
    identity_name: Text = ""

    def to_page(self) -> Page:
        """What the caller looks for, in our words."""
        return Page(search=self.identity_name or self.search, limit=self.limit, offset=self.offset)


class MembershipRoleView(View):
    """One role of a membership."""

    id: UUID
    role: str
    custom_role_id: UUID | None
    custom_role_name: str | None
    custom_role_slug: str | None
    is_temporary: bool
    temporary_mode: str | None
    temporary_range: str | None
    temporary_access_start_time: Instant | None
    temporary_access_end_time: Instant | None

    @classmethod
    def of(cls, role: MembershipRole) -> "MembershipRoleView":
        """Show a role."""
        temporary = role.temporary
        return cls(
            id=role.id,
            role=role.role,
            custom_role_id=role.custom_role_id,
            custom_role_name=role.custom_role_name,
            custom_role_slug=role.custom_role_slug,
            is_temporary=temporary is not None,
            temporary_mode=temporary.mode if temporary else None,
            temporary_range=temporary.range if temporary else None,
            temporary_access_start_time=temporary.starts_at if temporary else None,
            temporary_access_end_time=temporary.ends_at if temporary else None,
        )


class GivenRoleView(MembershipRoleView):
    """One role of a membership that was just given its roles."""

    project_membership_id: UUID
    created_at: Instant
    updated_at: Instant

    @classmethod
    def all_of(cls, membership: Membership) -> "Sequence[GivenRoleView]":
        """Show the roles of a membership: they are as old as its last change."""
        return [
            cls(
                **MembershipRoleView.of(role).model_dump(),
                project_membership_id=membership.id,
                created_at=membership.updated_at,
                updated_at=membership.updated_at,
            )
            for role in membership.roles
        ]


class RolesAnswer(View):
    """The roles that a member now has."""

    roles: Sequence[GivenRoleView]


class IdentityMembershipView(View):
    """An identity in a project."""

    id: UUID
    project_id: UUID | None
    identity_id: UUID | None
    roles: Sequence[MembershipRoleView]
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, membership: Membership) -> "IdentityMembershipView":
        """Show a membership."""
        return cls(
            id=membership.id,
            project_id=membership.project_id,
            identity_id=membership.identity_id,
            roles=[MembershipRoleView.of(role) for role in membership.roles],
            created_at=membership.created_at,
            updated_at=membership.updated_at,
        )


class IdentityMembershipAnswer(View):
    """One membership."""

    identity_membership: IdentityMembershipView


class IdentityInProjectView(View):
    """An identity in brief."""

    id: UUID
    name: str
    auth_methods: Sequence[str]
    active_lockout_auth_methods: Sequence[str]


class ProjectInBriefView(View):
    """The project that a membership is in."""

    id: UUID
    name: str
    type: str

    @classmethod
    def of(cls, member: ProjectMember) -> "ProjectInBriefView":
        """Show where somebody is a member."""
        project_id = member.membership.project_id
        if project_id is None:
            raise ValueError("not a membership in a project")
        return cls(id=project_id, name=member.project_name, type=member.project_type)


class ShownIdentityMembershipView(View):
    """An identity in a project, as whoever looks at it sees it."""

    id: UUID
    identity_id: UUID
    project_id: UUID | None
    created_at: Instant
    updated_at: Instant
    roles: Sequence[MembershipRoleView]
    identity: IdentityInProjectView
    project: ProjectInBriefView

    @classmethod
    def of(cls, shown: IdentityMember) -> "ShownIdentityMembershipView":
        """Show a membership."""
        membership = shown.member.membership
        return cls(
            id=membership.id,
            identity_id=membership.subject_id,
            project_id=membership.project_id,
            created_at=membership.created_at,
            updated_at=membership.updated_at,
            roles=[MembershipRoleView.of(role) for role in membership.roles],
            identity=IdentityInProjectView(
                id=membership.subject_id,
                name=shown.member.subject["name"],
                auth_methods=shown.auth_methods,
                active_lockout_auth_methods=shown.locked_methods,
            ),
            project=ProjectInBriefView.of(shown.member),
        )


class ShownIdentityMembershipAnswer(View):
    """One membership."""

    identity_membership: ShownIdentityMembershipView


class IdentityMembershipsAnswer(View):
    """A part of the memberships, and how many there are in all."""

    identity_memberships: Sequence[ShownIdentityMembershipView]
    total_count: int


LISTS = (
    "/api/v1/projects/{projectId:uuid}/memberships/identities",
    "/api/v1/projects/{projectId:uuid}/identity-memberships",
    "/api/v2/workspace/{projectId:uuid}/identity-memberships",
)
ONES = tuple(f"{path}/{{identityId:uuid}}" for path in LISTS)


@routes.post(
    *ONES,
    body=AddIdentityBody,
    returns=IdentityMembershipAnswer,
    permission="project: identity create",
    audit="create-identity-project-membership",
)
async def add_identity(call: Call[AddIdentityBody, NoQuery]) -> IdentityMembershipAnswer:
    """Make an identity a member of a project."""
    membership = await memberships.add_identity(
        call.service,
        call.caller,
        call.origin,
        UUID(call.path["projectId"]),
        UUID(call.path["identityId"]),
        call.body.to_entries(),
    )
    return IdentityMembershipAnswer(identity_membership=IdentityMembershipView.of(membership))


@routes.patch(
    *ONES,
    body=ChangeRolesBody,
    returns=RolesAnswer,
    permission="project: identity edit",
    audit="update-identity-project-membership",
)
async def change_identity(call: Call[ChangeRolesBody, NoQuery]) -> RolesAnswer:
    """Give an identity other roles in place of those it has."""
    membership = await memberships.change(
        call.service,
        call.caller,
        call.origin,
        UUID(call.path["projectId"]),
        "identity",
        UUID(call.path["identityId"]),
        call.body.to_entries(),
    )
    return RolesAnswer(roles=GivenRoleView.all_of(membership))


@routes.delete(
    *ONES,
    returns=IdentityMembershipAnswer,
    permission="project: identity delete",
    audit="delete-identity-project-membership",
)
async def remove_identity(call: BareCall) -> IdentityMembershipAnswer:
    """End an identity's membership."""
    project_id, identity_id = UUID(call.path["projectId"]), UUID(call.path["identityId"])
    (removed,) = await memberships.remove_all(
        call.service, call.caller, call.origin, project_id, "identity", [identity_id]
    )
    return IdentityMembershipAnswer(identity_membership=IdentityMembershipView.of(removed.membership))


@routes.get(*LISTS, query=ListIdentitiesQuery, returns=IdentityMembershipsAnswer, permission="project: identity read")
async def list_identities(call: Call[NoBody, ListIdentitiesQuery]) -> IdentityMembershipsAnswer:
    """List the identities of a project by name."""
    found, many = await memberships.list_identities(
        call.service,
        call.caller,
        UUID(call.path["projectId"]),
        call.query.to_page(),
        is_descending=call.query.order_direction == "desc",
    )
    shown = [ShownIdentityMembershipView.of(one) for one in found]
    return IdentityMembershipsAnswer(identity_memberships=shown, total_count=many)


@routes.get(*ONES, returns=ShownIdentityMembershipAnswer, permission="project: identity read")
async def get_identity(call: BareCall) -> ShownIdentityMembershipAnswer:
    """Return an identity's membership."""
    member = await memberships.get(
        call.service, call.caller, UUID(call.path["projectId"]), "identity", UUID(call.path["identityId"])
    )
    return await _shown(call, member)


@routes.get(
    "/api/v2/workspace/identity-memberships/{identityMembershipId:uuid}",
    returns=ShownIdentityMembershipAnswer,
    permission="project: identity read",
)
async def get_identity_by_id(call: BareCall) -> ShownIdentityMembershipAnswer:
    """Return an identity's membership by the id of the membership."""
    membership_id = UUID(call.path["identityMembershipId"])
    return await _shown(call, await memberships.get_by_id(call.service, call.caller, "identity", membership_id))


async def _shown(call: BareCall, member: ProjectMember) -> ShownIdentityMembershipAnswer:
    (shown,) = await memberships.with_logins(call.service, [member])
    return ShownIdentityMembershipAnswer(identity_membership=ShownIdentityMembershipView.of(shown))
