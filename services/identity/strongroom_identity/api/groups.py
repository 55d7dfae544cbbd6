"""Groups of users and machine identities."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, RootModel, StringConstraints

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, OptionalText, QueryString, Slug, View
from strongroom_common.kernel import names
from strongroom_identity.api.calls import BareCall, Call, Text
from strongroom_identity.domain.groups import Group, GroupIdentity, GroupProject, GroupUser
from strongroom_identity.store.groups import Filter
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases import groups
from strongroom_identity.usecases.groups import MOST_LISTED, GroupChange

routes = Routes("Groups")

BASE = "/api/v1/groups"
ONE = BASE + "/{id:uuid}"

_FILTERS: dict[str, Filter] = {
    "existingMembers": "in",
    "nonMembers": "out",
    "assignedProjects": "in",
    "unassignedProjects": "out",
}


def _name(text: str) -> str:
    return names.canonical_text(text, longest=50, label="name")


GroupName = Annotated[str, AfterValidator(_name), Field(min_length=1)]
GroupSlug = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=5, max_length=36),
    AfterValidator(names.canonical_slug),
]


class CreateGroupBody(Body):
    """A new group; `role` is what it has in the organization."""

    name: GroupName
    slug: GroupSlug | None = None
    role: Slug = "no-access"


class ChangeGroupBody(Body):
    """What is to be otherwise."""

    name: GroupName | None = None
    slug: GroupSlug | None = None
    role: Slug | None = None

    def to_wish(self) -> GroupChange:
        """What the caller wants, in our words."""
        return GroupChange(self.name, self.slug, self.role)


class ListGroupsQuery(QueryString):
    """Which part of the groups."""

    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = MOST_LISTED


class ListOfGroupQuery(QueryString):
    """Which part of what belongs to a group, or could."""

    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    search: Text = ""

    def to_page(self) -> Page:
        """What the caller looks for, in our words."""
        return Page(search=self.search, limit=self.limit, offset=self.offset)


class ListMembersQuery(ListOfGroupQuery):
    """Which members, or others of the organization."""

    filter: Literal["existingMembers", "nonMembers"] | None = None

    def to_filter(self) -> Filter | None:
        """What the caller looks for, in our words."""
        return None if self.filter is None else _FILTERS[self.filter]


class ListUsersQuery(ListMembersQuery):
    """Which users."""

    username: OptionalText = None


class ListProjectsQuery(ListOfGroupQuery):
    """Which projects."""

    filter: Literal["existingMembers", "nonMembers", "assignedProjects", "unassignedProjects"] | None = None
    order_by: Literal["name"] = "name"
    order_direction: Literal["asc", "desc"] = "asc"

    def to_filter(self) -> Filter | None:
        """What the caller looks for, in our words."""
        return None if self.filter is None else _FILTERS[self.filter]


class GroupView(View):
    """A group."""

    id: UUID
    org_id: UUID
    name: str
    slug: str
    role: str
    role_id: UUID | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, group: Group) -> "GroupView":
        """Show a group."""
        return cls(**_fields(group))


class ShownGroupView(GroupView):
    """A group, as whoever looks at it sees it."""

    custom_role_slug: str | None

    @classmethod
    def of(cls, group: Group) -> "ShownGroupView":
        """Show a group."""
        return cls(**_fields(group), custom_role_slug=group.role.custom_role_slug if group.role else None)


class GroupsAnswer(RootModel[Sequence[GroupView]]):
    """The groups, unwrapped."""


class UserView(View):
    """A user in brief."""

    id: UUID
    email: str | None
    username: str
    first_name: str | None
    last_name: str | None

    @classmethod
    def of(cls, user: GroupUser) -> "UserView":
        """Show a user."""
        return cls(**_user_fields(user))


class GroupUserView(UserView):
    """A user, seen from a group."""

    is_part_of_group: bool
    joined_group_at: Instant | None

    @classmethod
    def of(cls, user: GroupUser) -> "GroupUserView":
        """Show a user."""
        is_in = user.joined_at is not None
        return cls(**_user_fields(user), is_part_of_group=is_in, joined_group_at=user.joined_at)


class GroupUsersAnswer(View):
    """A part of the users, and how many there are in all."""

    users: Sequence[GroupUserView]
    total_count: int


class IdentityView(View):
    """An identity in brief."""

    id: UUID
    name: str

    @classmethod
    def of(cls, identity: GroupIdentity) -> "IdentityView":
        """Show an identity."""
        return cls(id=identity.id, name=identity.name)


class GroupIdentityView(IdentityView):
    """An identity, seen from a group."""

    is_part_of_group: bool
    joined_group_at: Instant | None

    @classmethod
    def of(cls, identity: GroupIdentity) -> "GroupIdentityView":
        """Show an identity."""
        at = identity.joined_at
        return cls(id=identity.id, name=identity.name, is_part_of_group=at is not None, joined_group_at=at)


class GroupIdentitiesAnswer(View):
    """A part of the identities, and how many there are in all."""

    machine_identities: Sequence[GroupIdentityView]
    total_count: int


class GroupProjectView(View):
    """A project, seen from a group."""

    id: UUID
    name: str
    slug: str
    description: str | None
    type: str
    joined_group_at: Instant | None

    @classmethod
    def of(cls, project: GroupProject) -> "GroupProjectView":
        """Show a project."""
        return cls(
            id=project.id,
            name=project.name,
            slug=project.slug,
            description=project.description,
            type=project.type,
            joined_group_at=project.joined_at,
        )


class GroupProjectsAnswer(View):
    """A part of the projects, and how many there are in all."""

    projects: Sequence[GroupProjectView]
    total_count: int


@routes.post(
    BASE, body=CreateGroupBody, returns=GroupView, permission="organization: groups create", audit="create-group"
)
async def create(call: Call[CreateGroupBody, NoQuery]) -> GroupView:
    """Make a group."""
    body = call.body
    return GroupView.of(await groups.create(call.service, call.caller, call.origin, body.name, body.slug, body.role))


@routes.get(BASE, query=ListGroupsQuery, returns=GroupsAnswer, permission="organization: groups read")
async def list_(call: Call[NoBody, ListGroupsQuery]) -> GroupsAnswer:
    """List the groups of the organization."""
    found = await groups.list_all(call.service, call.caller, call.query.limit, call.query.offset)
    return GroupsAnswer([GroupView.of(group) for group in found])


@routes.get(ONE, returns=ShownGroupView, permission="organization: groups read")
async def get(call: BareCall) -> ShownGroupView:
    """Return a group."""
    return ShownGroupView.of(await groups.get(call.service, call.caller, _id(call)))


@routes.patch(
    ONE, body=ChangeGroupBody, returns=GroupView, permission="organization: groups edit", audit="update-group"
)
async def change(call: Call[ChangeGroupBody, NoQuery]) -> GroupView:
    """Change a group."""
    changed = await groups.change(call.service, call.caller, call.origin, _id(call), call.body.to_wish())
    return GroupView.of(changed)


@routes.delete(ONE, returns=GroupView, permission="organization: groups delete", audit="delete-group")
async def delete(call: BareCall) -> GroupView:
    """Delete a group; its members keep what they have themselves."""
    return GroupView.of(await groups.delete(call.service, call.caller, call.origin, _id(call)))


@routes.get(ONE + "/users", query=ListUsersQuery, returns=GroupUsersAnswer, permission="organization: groups read")
async def list_users(call: Call[NoBody, ListUsersQuery]) -> GroupUsersAnswer:
    """List the users of the organization, with who of them is in the group."""
    query = call.query
    username = query.username.strip().casefold() if query.username else None
    found, many = await groups.list_users(
        call.service, call.caller, _id(call), query.to_page(), username, query.to_filter()
    )
    return GroupUsersAnswer(users=[GroupUserView.of(user) for user in found], total_count=many)


@routes.post(
    ONE + "/users/{username}",
    returns=UserView,
    permission="organization: groups add-members",
    audit="add-user-to-group",
)
async def add_user(call: BareCall) -> UserView:
    """Put a user into a group."""
    added = await groups.add_user(call.service, call.caller, call.origin, _id(call), _username(call))
    return UserView.of(added)


@routes.delete(
    ONE + "/users/{username}",
    returns=UserView,
    permission="organization: groups remove-members",
    audit="remove-user-from-group",
)
async def remove_user(call: BareCall) -> UserView:
    """Take a user out of a group."""
    removed = await groups.remove_user(call.service, call.caller, call.origin, _id(call), _username(call))
    return UserView.of(removed)


@routes.get(
    ONE + "/machine-identities",
    query=ListMembersQuery,
    returns=GroupIdentitiesAnswer,
    permission="organization: groups read",
)
async def list_identities(call: Call[NoBody, ListMembersQuery]) -> GroupIdentitiesAnswer:
    """List the identities of the organization, with which of them are in the group."""
    query = call.query
    found, many = await groups.list_identities(call.service, call.caller, _id(call), query.to_page(), query.to_filter())
    shown = [GroupIdentityView.of(identity) for identity in found]
    return GroupIdentitiesAnswer(machine_identities=shown, total_count=many)


@routes.post(
    ONE + "/machine-identities/{identityId:uuid}",
    returns=IdentityView,
    permission="organization: groups add-identities",
    audit="add-identity-to-group",
)
async def add_identity(call: BareCall) -> IdentityView:
    """Put an identity into a group."""
    identity_id = UUID(call.path["identityId"])
    return IdentityView.of(await groups.add_identity(call.service, call.caller, call.origin, _id(call), identity_id))


@routes.delete(
    ONE + "/machine-identities/{identityId:uuid}",
    returns=IdentityView,
    permission="organization: groups remove-identities",
    audit="remove-identity-from-group",
)
async def remove_identity(call: BareCall) -> IdentityView:
    """Take an identity out of a group."""
    identity_id = UUID(call.path["identityId"])
    return IdentityView.of(await groups.remove_identity(call.service, call.caller, call.origin, _id(call), identity_id))


@routes.get(
    ONE + "/projects", query=ListProjectsQuery, returns=GroupProjectsAnswer, permission="organization: groups read"
)
async def list_projects(call: Call[NoBody, ListProjectsQuery]) -> GroupProjectsAnswer:
    """List the projects that the group is in, and those of the caller that it could be put into."""
    query = call.query
    found, many = await groups.list_projects(
        call.service,
        call.caller,
        _id(call),
        query.to_page(),
        query.to_filter(),
        is_descending=query.order_direction == "desc",
    )
    return GroupProjectsAnswer(projects=[GroupProjectView.of(project) for project in found], total_count=many)


def _id(call: Call[Any, Any]) -> UUID:
    return UUID(call.path["id"])


def _username(call: Call[Any, Any]) -> str:
    return call.path["username"].casefold()


def _fields(group: Group) -> dict[str, Any]:
    return {
        "id": group.id,
        "org_id": group.organization_id,
        "name": group.name,
        "slug": group.slug,
        "role": group.role.role if group.role else "no-access",
        "role_id": group.role.custom_role_id if group.role else None,
        "created_at": group.created_at,
        "updated_at": group.updated_at,
    }


def _user_fields(user: GroupUser) -> dict[str, Any]:
    return {name: getattr(user, name) for name in UserView.model_fields}
