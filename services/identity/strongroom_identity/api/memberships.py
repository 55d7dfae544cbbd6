"""Members of a project."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AwareDatetime, Field, model_validator
from pydantic.alias_generators import to_camel

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoQuery, Slug, View
from strongroom_common.kernel.errors import InvalidInput, Issue
from strongroom_identity.api.calls import Call
from strongroom_identity.domain.durations import parse_duration
from strongroom_identity.domain.memberships import Membership, MembershipRole, RoleEntry, Temporary
from strongroom_identity.usecases import memberships

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
        issues = [issue for place, one in enumerate(self.roles or ()) for issue in one.find_issues(["roles", place])]
        if issues:
            raise InvalidInput("the body is not valid: roles", issues=issues)
        return self

    def to_entries(self) -> Sequence[RoleEntry]:
        """What the caller wants, in our words."""
        return [RoleEntry(self.role)] if self.roles is None else [one.to_entry() for one in self.roles]


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


@routes.post(
    "/api/v1/projects/{projectId:uuid}/memberships/identities/{identityId:uuid}",
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
