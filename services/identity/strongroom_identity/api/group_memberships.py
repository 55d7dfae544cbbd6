"""Groups as members of projects."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Instant, NoBody, NoQuery, QueryString, View
from strongroom_identity.api.calls import BareCall, Call, Text
from strongroom_identity.api.memberships import ChangeRolesBody, MembershipRoleView
from strongroom_identity.store.pages import Page
from strongroom_identity.store.project_members import ProjectMember
from strongroom_identity.usecases import group_memberships

routes = Routes("Project groups")

LISTS = (
    "/api/v2/workspace/{projectId:uuid}/groups",
    "/api/v1/projects/{projectId:uuid}/groups",
    "/api/v1/workspace/{projectId:uuid}/groups",
)
ONES = tuple(f"{path}/{{groupIdOrName}}" for path in LISTS)


class ListGroupsQuery(QueryString):
    """Which part of the groups."""

    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=20_000)] = 100
    search: Text = ""

    def to_page(self) -> Page:
        """What the caller looks for, in our words."""
        return Page(search=self.search, limit=self.limit, offset=self.offset)


class GroupInProjectView(View):
    """A group in brief."""

    id: UUID
    name: str
    slug: str
    org_id: UUID


class GroupMembershipView(View):
    """A group in a project."""

    id: UUID
    group_id: UUID
    project_id: UUID | None
    created_at: Instant
    updated_at: Instant
    roles: Sequence[MembershipRoleView]
    group: GroupInProjectView

    @classmethod
    def of(cls, member: ProjectMember) -> "GroupMembershipView":
        """Show a membership."""
        membership, group = member.membership, member.subject
        return cls(
            id=membership.id,
            group_id=membership.subject_id,
            project_id=membership.project_id,
            created_at=membership.created_at,
            updated_at=membership.updated_at,
            roles=[MembershipRoleView.of(role) for role in membership.roles],
            group=GroupInProjectView(
                id=membership.subject_id,
                name=group["name"],
                slug=group["slug"],
                org_id=membership.organization_id,
            ),
        )


class GroupMembershipAnswer(View):
    """One membership."""

    group_membership: GroupMembershipView

    @classmethod
    def of(cls, member: ProjectMember) -> "GroupMembershipAnswer":
        """Show a membership."""
        return cls(group_membership=GroupMembershipView.of(member))


class GroupMembershipsAnswer(View):
    """A part of the memberships, and how many there are in all."""

    group_memberships: Sequence[GroupMembershipView]
    total_count: int


@routes.post(
    *ONES,
    body=ChangeRolesBody,
    returns=GroupMembershipAnswer,
    permission="project: groups create",
    audit="create-group-project-membership",
)
async def add(call: Call[ChangeRolesBody, NoQuery]) -> GroupMembershipAnswer:
    """Make a group a member of a project."""
    added = await group_memberships.add(call.service, call.caller, call.origin, *_place(call), call.body.to_entries())
    return GroupMembershipAnswer.of(added)


@routes.patch(
    *ONES,
    body=ChangeRolesBody,
    returns=GroupMembershipAnswer,
    permission="project: groups edit",
    audit="update-group-project-membership",
)
async def change(call: Call[ChangeRolesBody, NoQuery]) -> GroupMembershipAnswer:
    """Give a group other roles in place of those it has."""
    changed = await group_memberships.change(
        call.service, call.caller, call.origin, *_place(call), call.body.to_entries()
    )
    return GroupMembershipAnswer.of(changed)


@routes.delete(
    *ONES,
    returns=GroupMembershipAnswer,
    permission="project: groups delete",
    audit="delete-group-project-membership",
)
async def remove(call: BareCall) -> GroupMembershipAnswer:
    """End a group's membership."""
    return GroupMembershipAnswer.of(
        await group_memberships.remove(call.service, call.caller, call.origin, *_place(call))
    )


@routes.get(*ONES, returns=GroupMembershipAnswer, permission="project: groups read")
async def get(call: BareCall) -> GroupMembershipAnswer:
    """Return a group's membership."""
    return GroupMembershipAnswer.of(await group_memberships.get(call.service, call.caller, *_place(call)))


@routes.get(*LISTS, query=ListGroupsQuery, returns=GroupMembershipsAnswer, permission="project: groups read")
async def list_(call: Call[NoBody, ListGroupsQuery]) -> GroupMembershipsAnswer:
    """List the groups of a project by name."""
    project_id = UUID(call.path["projectId"])
    found, many = await group_memberships.list_all(call.service, call.caller, project_id, call.query.to_page())
    shown = [GroupMembershipView.of(member) for member in found]
    return GroupMembershipsAnswer(group_memberships=shown, total_count=many)


def _place(call: Call[Any, Any]) -> tuple[UUID, str]:
    return UUID(call.path["projectId"]), call.path["groupIdOrName"]
