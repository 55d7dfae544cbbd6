"""Users as members of projects."""

from collections.abc import Sequence
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import Body, Flag, Instant, NoBody, NoQuery, QueryString, Slug, View
from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.names import canonical_email, canonical_text
from strongroom_identity.api.calls import BareCall, Call, Text
from strongroom_identity.api.memberships import (
    ChangeRolesBody,
    GivenRoleView,
    MembershipRoleView,
    ProjectInBriefView,
    RolesAnswer,
)
from strongroom_identity.domain.memberships import Membership, RoleEntry
from strongroom_identity.store.pages import Page
from strongroom_identity.store.project_members import ProjectMember
from strongroom_identity.usecases import memberships, user_memberships
from strongroom_identity.usecases.user_memberships import MOST_LISTED, Names

routes = Routes("Project members")

LISTS = ("/api/v1/projects/{projectId:uuid}/memberships", "/api/v1/workspace/{projectId:uuid}/memberships")
# Writes by name are known under a third path.
WRITTEN = (*LISTS, "/api/v2/workspace/{projectId:uuid}/memberships")
ONES = tuple(f"{path}/{{membershipId:uuid}}" for path in LISTS)

MOST_NAMES = 1000


def _lower_case(name: str) -> str:
    if name != name.lower():
        raise ValueError("must be in lower case")
    return name


def _username(name: str) -> str:
    return canonical_text(name, longest=254, label="username").casefold()


LowerCaseEmail = Annotated[
    str, StringConstraints(strip_whitespace=True), AfterValidator(_lower_case), AfterValidator(canonical_email)
]
LowerCaseName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    AfterValidator(_lower_case),
    AfterValidator(_username),
]


class NamesBody(Body):
    """Whom the caller means."""

    emails: Annotated[Sequence[LowerCaseEmail], Field(max_length=MOST_NAMES)] = ()
    usernames: Annotated[Sequence[LowerCaseName], Field(max_length=MOST_NAMES)] = ()

    @model_validator(mode="after")
    def check_somebody(self) -> Self:
        """It is about somebody."""
        if not self.emails and not self.usernames:
            raise InvalidInput.of_field(["emails"], "too_small", "Name at least one e-mail address or user name")
        return self

    def to_names(self) -> Names:
        """Whom the caller means, in our words."""
        return Names(self.emails, self.usernames)


class AddUsersBody(NamesBody):
    """New members, all with the same roles."""

    role_slugs: Annotated[Sequence[Slug], Field(min_length=1, max_length=50)] = ("member",)

    def to_entries(self) -> Sequence[RoleEntry]:
        """The roles, in our words."""
        return [RoleEntry(slug) for slug in self.role_slugs]


class UsernameBody(Body):
    """Whom the caller means."""

    username: Text


class ChangeUserRolesBody(ChangeRolesBody):
    """The roles in place of all there were; one at least is for ever."""

    @model_validator(mode="after")
    def check_one_is_permanent(self) -> Self:
        """A user without a permanent role would fall out of the project by himself."""
        if all(one.is_temporary for one in self.roles):
            raise InvalidInput.of_field(["roles"], "custom", "At least one role must be permanent")
        return self


class ListUsersQuery(QueryString):
    """Which part of the members."""

    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = MOST_LISTED

    def to_page(self) -> Page:
        """What the caller looks for, in our words."""
        return Page(search="", limit=self.limit, offset=self.offset)


class ListProjectUsersQuery(ListUsersQuery):
    """Which users: those with one of these roles (slugs, separated by commas), with those of groups or without."""

    include_group_members: Flag = False
    roles: Text = ""

    def to_roles(self) -> Sequence[str] | None:
        """The roles, in our words; None for any."""
        return [slug.strip().lower() for slug in self.roles.split(",") if slug.strip()] or None


class UserInProjectView(View):
    """A user in brief."""

    id: UUID
    email: str | None
    username: str
    first_name: str | None
    last_name: str | None
    public_key: str | None = None


class UserMembershipView(View):
    """A user in a project."""

    id: UUID
    user_id: UUID
    project_id: UUID | None
    created_at: Instant
    updated_at: Instant
    user: UserInProjectView
    roles: Sequence[MembershipRoleView]

    @classmethod
    def of(cls, member: ProjectMember) -> "UserMembershipView":
        """Show a membership."""
        return cls(**_fields(member))


class ProjectUserView(UserMembershipView):
    """A user in a project, with the project; `is_group_member`: the membership is that of a group."""

    project: ProjectInBriefView
    is_group_member: bool

    @classmethod
    def of(cls, member: ProjectMember) -> "ProjectUserView":
        """Show a user."""
        is_group_member = member.membership.group_id is not None
        return cls(**_fields(member), project=ProjectInBriefView.of(member), is_group_member=is_group_member)


class UserMembershipAnswer(View):
    """One membership."""

    membership: UserMembershipView


class UserMembershipsAnswer(View):
    """Some memberships."""

    memberships: Sequence[UserMembershipView]


class ProjectUsersAnswer(View):
    """The users of a project."""

    users: Sequence[ProjectUserView]


class OwnMembershipView(View):
    """A membership that gives the caller what it may do; of a group, where `group_id` is set."""

    id: UUID
    project_id: UUID | None
    user_id: UUID | None
    group_id: UUID | None
    roles: Sequence[MembershipRoleView]
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, membership: Membership) -> "OwnMembershipView":
        """Show a membership."""
        return cls(
            id=membership.id,
            project_id=membership.project_id,
            user_id=membership.user_id,
            group_id=membership.group_id,
            roles=[MembershipRoleView.of(role) for role in membership.roles],
            created_at=membership.created_at,
            updated_at=membership.updated_at,
        )


class OwnPermissionsView(View):
    """What the caller may do in a project, and through which memberships."""

    permissions: Sequence[Any]
    memberships: Sequence[OwnMembershipView]


class OwnPermissionsAnswer(View):
    """What the caller may do in a project."""

    data: OwnPermissionsView


@routes.get(*LISTS, query=ListUsersQuery, returns=UserMembershipsAnswer, permission="project: member read")
async def list_(call: Call[NoBody, ListUsersQuery]) -> UserMembershipsAnswer:
    """List the users who are members of a project."""
    found = await user_memberships.list_all(call.service, call.caller, _project(call), call.query.to_page())
    return UserMembershipsAnswer(memberships=[UserMembershipView.of(member) for member in found])


@routes.get(*ONES, returns=UserMembershipAnswer, permission="project: member read")
async def get(call: BareCall) -> UserMembershipAnswer:
    """Return a user's membership."""
    found = await user_memberships.get(call.service, call.caller, _project(call), UUID(call.path["membershipId"]))
    return UserMembershipAnswer(membership=UserMembershipView.of(found))


@routes.post(
    *(f"{path}/details" for path in LISTS),
    body=UsernameBody,
    returns=UserMembershipAnswer,
    permission="project: member read",
    audit="get-user-project-membership",
)
async def get_by_username(call: Call[UsernameBody, NoQuery]) -> UserMembershipAnswer:
    """Return the membership of the user with this name."""
    username = call.body.username.casefold()
    found = await user_memberships.get_by_username(call.service, call.caller, call.origin, _project(call), username)
    return UserMembershipAnswer(membership=UserMembershipView.of(found))


@routes.post(
    *WRITTEN,
    body=AddUsersBody,
    returns=UserMembershipsAnswer,
    permission="project: member create",
    audit="create-user-project-membership",
)
async def add(call: Call[AddUsersBody, NoQuery]) -> UserMembershipsAnswer:
    """Make users members of a project, and of the organization where they are not."""
    body = call.body
    added = await user_memberships.add(
        call.service, call.caller, call.origin, _project(call), body.to_names(), body.to_entries()
    )
    return UserMembershipsAnswer(memberships=[UserMembershipView.of(member) for member in added])


@routes.patch(
    *ONES,
    body=ChangeUserRolesBody,
    returns=RolesAnswer,
    permission="project: member edit",
    audit="update-user-project-membership",
)
async def change(call: Call[ChangeUserRolesBody, NoQuery]) -> RolesAnswer:
    """Give a user other roles in place of those he has."""
    project_id = _project(call)
    member = await user_memberships.get(call.service, call.caller, project_id, UUID(call.path["membershipId"]))
    membership = await memberships.change(
        call.service,
        call.caller,
        call.origin,
        project_id,
        "user",
        member.membership.subject_id,
        call.body.to_entries(),
    )
    return RolesAnswer(roles=GivenRoleView.all_of(membership))


@routes.delete(
    *WRITTEN,
    body=NamesBody,
    returns=UserMembershipsAnswer,
    permission="project: member delete",
    audit="delete-user-project-membership",
)
async def remove_all(call: Call[NamesBody, NoQuery]) -> UserMembershipsAnswer:
    """End the memberships of users by name."""
    removed = await user_memberships.remove(
        call.service, call.caller, call.origin, _project(call), call.body.to_names()
    )
    return UserMembershipsAnswer(memberships=[UserMembershipView.of(member) for member in removed])


@routes.delete(
    *ONES,
    returns=UserMembershipAnswer,
    permission="project: member delete",
    audit="delete-user-project-membership",
)
async def remove(call: BareCall) -> UserMembershipAnswer:
    """End a user's membership."""
    project_id = _project(call)
    member = await user_memberships.get(call.service, call.caller, project_id, UUID(call.path["membershipId"]))
    (removed,) = await memberships.remove_all(
        call.service, call.caller, call.origin, project_id, "user", [member.membership.subject_id]
    )
    return UserMembershipAnswer(membership=UserMembershipView.of(removed))


@routes.get(
    "/api/v1/projects/{projectId:uuid}/users",
    "/api/v1/workspace/{projectId:uuid}/users",
    query=ListProjectUsersQuery,
    returns=ProjectUsersAnswer,
    callers=USER,
    permission="project: member read",
)
async def list_users(call: Call[NoBody, ListProjectUsersQuery]) -> ProjectUsersAnswer:
    """List the users of a project."""
    query = call.query
    listed = user_memberships.list_with_groups if query.include_group_members else user_memberships.list_all
    found = await listed(call.service, call.caller, _project(call), query.to_page(), query.to_roles())
    return ProjectUsersAnswer(users=[ProjectUserView.of(member) for member in found])


@routes.get(
    "/api/v1/projects/{projectId:uuid}/permissions",
    "/api/v1/workspace/{projectId:uuid}/permissions",
    returns=OwnPermissionsAnswer,
    callers=USER,
    permission="membership",
)
async def get_own_permissions(call: BareCall) -> OwnPermissionsAnswer:
    """Return what the caller may do in a project."""
    standing, own = await user_memberships.get_own(call.service, call.caller, _project(call))
    data = OwnPermissionsView(
        permissions=[rule.to_wire() for rule in standing.rules.rules],
        memberships=[OwnMembershipView.of(membership) for membership in own],
    )
    return OwnPermissionsAnswer(data=data)


def _project(call: Call[Any, Any]) -> UUID:
    return UUID(call.path["projectId"])


def _fields(member: ProjectMember) -> dict[str, Any]:
    membership, user = member.membership, member.subject
    return {
        "id": membership.id,
        "user_id": UUID(user["id"]),
        "project_id": membership.project_id,
        "created_at": membership.created_at,
        "updated_at": membership.updated_at,
        "user": UserInProjectView(
            id=UUID(user["id"]),
            email=user["email"],
            username=user["username"],
            first_name=user["first_name"],
            last_name=user["last_name"],
        ),
        "roles": [MembershipRoleView.of(role) for role in membership.roles],
    }
