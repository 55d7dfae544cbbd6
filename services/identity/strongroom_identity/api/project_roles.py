"""The roles of a project."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field

from strongroom_common.access.catalogue import PROJECT
from strongroom_common.access.roles import RESERVED_SLUGS
from strongroom_common.access.rules import MOST_RULES, parse_rules
from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Description, Instant, NoBody, NoQuery, QueryString, Slug, Title, View
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.domain.roles import CustomRole
from strongroom_identity.usecases import project_roles
from strongroom_identity.usecases.project_roles import MOST_LISTED, NewRole, RoleChange

routes = Routes("Project roles")

# The oldest path takes a project's slug in place of its id.
BASES = (
    "/api/v1/projects/{projectId:uuid}/roles",
    "/api/v1/workspace/{projectId}/roles",
    "/api/v2/workspace/{projectId:uuid}/roles",
)


def _not_reserved(slug: str) -> str:
    if slug in RESERVED_SLUGS:
        raise ValueError("This slug is reserved")
    return slug


RoleSlug = Annotated[Slug, AfterValidator(_not_reserved)]
Rules = Annotated[Sequence[Any], Field(max_length=MOST_RULES)]
"""Rules as they are sent; what is wrong with them is said by the one parser of rules."""


class CreateRoleBody(Body):
    """A new role."""

    slug: RoleSlug
    name: Title
    description: Description | None = None
    permissions: Rules

    def to_wish(self) -> NewRole:
        """What the caller wants, in our words; raises `InvalidInput` for a rule that is none."""
        return NewRole(self.slug, self.name, self.description, parse_rules(self.permissions, PROJECT))


class ChangeRoleBody(Body):
    """What is to be otherwise."""

    slug: RoleSlug | None = None
    name: Title | None = None
    description: Description | None = None
    permissions: Rules | None = None

    def to_wish(self) -> RoleChange:
        """What the caller wants, in our words; raises `InvalidInput` for a rule that is none."""
        rules = None if self.permissions is None else parse_rules(self.permissions, PROJECT)
        return RoleChange(self.slug, self.name, self.description, rules)


class ListRolesQuery(QueryString):
    """Which part of the project's own roles; the predefined ones always come first."""

    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = MOST_LISTED
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0


class ListedRoleView(View):
    """A role without its rules."""

    id: UUID
    name: str
    slug: str
    description: str | None
    project_id: UUID | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, role: CustomRole) -> "ListedRoleView":
        """Show a role in a list."""
        return cls(**_fields(role))


class RoleView(ListedRoleView):
    """A role."""

    permissions: Sequence[Any]

    @classmethod
    def of(cls, role: CustomRole) -> "RoleView":
        """Show a role."""
        return cls(**_fields(role), permissions=role.permissions)


class RoleAnswer(View):
    """One role."""

    role: RoleView


class RolesAnswer(View):
    """The roles that can be given in the project."""

    roles: Sequence[ListedRoleView]


@routes.post(
    *BASES,
    body=CreateRoleBody,
    returns=RoleAnswer,
    permission="project: role create",
    audit="create-project-role",
)
async def create(call: Call[CreateRoleBody, NoQuery]) -> RoleAnswer:
    """Make a role of the project's own."""
    wish = call.body.to_wish()
    role = await project_roles.create(call.service, call.caller, call.origin, call.path["projectId"], wish)
    return RoleAnswer(role=RoleView.of(role))


@routes.patch(
    *(f"{base}/{{roleId:uuid}}" for base in BASES),
    body=ChangeRoleBody,
    returns=RoleAnswer,
    permission="project: role edit",
    audit="update-project-role",
)
async def change(call: Call[ChangeRoleBody, NoQuery]) -> RoleAnswer:
    """Change a role of the project's own."""
    role = await project_roles.change(
        call.service,
        call.caller,
        call.origin,
        call.path["projectId"],
        UUID(call.path["roleId"]),
        call.body.to_wish(),
    )
    return RoleAnswer(role=RoleView.of(role))


@routes.delete(
    *(f"{base}/{{roleId:uuid}}" for base in BASES),
    returns=RoleAnswer,
    permission="project: role delete",
    audit="delete-project-role",
)
async def delete(call: BareCall) -> RoleAnswer:
    """Delete a role that nobody holds."""
    role = await project_roles.delete(
        call.service, call.caller, call.origin, call.path["projectId"], UUID(call.path["roleId"])
    )
    return RoleAnswer(role=RoleView.of(role))


@routes.get(*BASES, query=ListRolesQuery, returns=RolesAnswer, permission="project: role read")
async def list_(call: Call[NoBody, ListRolesQuery]) -> RolesAnswer:
    """List the predefined roles and the project's own."""
    query = call.query
    found = await project_roles.list_all(call.service, call.caller, call.path["projectId"], query.limit, query.offset)
    return RolesAnswer(roles=[ListedRoleView.of(role) for role in found])


@routes.get(*(f"{base}/slug/{{slug}}" for base in BASES), returns=RoleAnswer, permission="project: role read")
async def get_by_slug(call: BareCall) -> RoleAnswer:
    """Return a role, predefined or the project's own."""
    found = await project_roles.get_by_slug(call.service, call.caller, call.path["projectId"], call.path["slug"])
    return RoleAnswer(role=RoleView.of(found))


def _fields(role: CustomRole) -> dict[str, Any]:
    return {name: getattr(role, name) for name in ListedRoleView.model_fields}
