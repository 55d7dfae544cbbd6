"""The roles of an organization. The short paths mean the organization that the caller works in."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field

from strongroom_common.access.catalogue import ORGANIZATION
from strongroom_common.access.roles import ORGANIZATION_ROLES, PredefinedRole
from strongroom_common.access.rules import MOST_RULES, parse_rules
from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import Body, Description, Instant, NoQuery, Slug, Title, View
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.changes import given
from strongroom_identity.api.organization_members import MembershipView
from strongroom_identity.api.organizations import OF_ORGANIZATION
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.roles import CUSTOM, CustomRole, placeholder_id
from strongroom_identity.usecases import organization_roles
from strongroom_identity.usecases.organization_roles import NewRole

routes = Routes("Organization roles")

LONG = OF_ORGANIZATION + "/roles"
SHORT = "/api/v1/organization/roles"


def _not_reserved(slug: str) -> str:
    if slug == CUSTOM or slug in ORGANIZATION_ROLES:
        raise ValueError("This slug is reserved")
    return slug


RoleSlug = Annotated[Slug, AfterValidator(_not_reserved)]
Rules = Annotated[Sequence[Any], Field(max_length=MOST_RULES)]
"""Rules as they are sent; what is wrong with them is said by the one parser of rules."""


class CreateOrganizationRoleBody(Body):
    """A new role."""

    slug: RoleSlug
    name: Title
    description: Description | None = None
    permissions: Rules

    def to_wish(self) -> NewRole:
        """What the caller wants, in our words; raises `InvalidInput` for a rule that is none."""
        return NewRole(self.slug, self.name, self.description, parse_rules(self.permissions, ORGANIZATION))


class ChangeOrganizationRoleBody(Body):
    """What is to be different."""

    slug: RoleSlug | None = None
    name: Title | None = None
    description: Description | None = None
    permissions: Rules | None = None

    def to_changes(self) -> dict[str, Any]:
        """What is to be different, in our words; raises `InvalidInput` for a rule that is none."""
        changes = given(self, "description")
        if "permissions" in changes:
            changes["permissions"] = parse_rules(changes["permissions"], ORGANIZATION)
        return changes


class OrganizationRoleView(View):
    """A role."""

    id: UUID
    name: str
    slug: str
    description: str | None
    permissions: Sequence[Mapping[str, Any]]
    org_id: UUID
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, role: CustomRole) -> "OrganizationRoleView":
        """Show a role of the organization's own."""
        return cls(
            id=role.id,
            name=role.name,
            slug=role.slug,
            description=role.description,
            permissions=role.permissions,
            org_id=role.organization_id,
            created_at=role.created_at,
            updated_at=role.updated_at,
        )

    @classmethod
    def of_predefined(cls, role: PredefinedRole, organization: Organization) -> "OrganizationRoleView":
        """Show a role that every organization has."""
        return cls(
            id=placeholder_id(role.slug),
            name=role.name,
            slug=role.slug,
            description=role.description,
            permissions=[rule.to_wire() for rule in role.rules],
            org_id=organization.id,
            created_at=organization.created_at,
            updated_at=organization.created_at,
        )


class OrganizationRoleAnswer(View):
    """One role."""

    role: OrganizationRoleView


class OrganizationRolesView(View):
    """The roles, predefined ones first."""

    roles: Sequence[OrganizationRoleView]


class OrganizationRolesAnswer(View):
    """The roles of an organization."""

    data: OrganizationRolesView


class OrganizationPermissionsAnswer(View):
    """What the caller may do, and as what."""

    permissions: Sequence[Mapping[str, Any]]
    membership: MembershipView


async def _create(call: Call[CreateOrganizationRoleBody, NoQuery], organization_id: UUID) -> OrganizationRoleAnswer:
    made = await organization_roles.create(call.service, call.caller, call.origin, organization_id, call.body.to_wish())
    return OrganizationRoleAnswer(role=OrganizationRoleView.of(made))


async def _change(call: Call[ChangeOrganizationRoleBody, NoQuery], organization_id: UUID) -> OrganizationRoleAnswer:
    role_id, changes = UUID(call.path["roleId"]), call.body.to_changes()
    changed = await organization_roles.change(call.service, call.caller, call.origin, organization_id, role_id, changes)
    return OrganizationRoleAnswer(role=OrganizationRoleView.of(changed))


async def _delete(call: BareCall, organization_id: UUID) -> OrganizationRoleAnswer:
    role_id = UUID(call.path["roleId"])
    gone = await organization_roles.delete(call.service, call.caller, call.origin, organization_id, role_id)
    return OrganizationRoleAnswer(role=OrganizationRoleView.of(gone))


async def _get(call: BareCall, organization_id: UUID) -> OrganizationRoleAnswer:
    found = await organization_roles.get(call.service, call.caller, organization_id, UUID(call.path["roleId"]))
    return OrganizationRoleAnswer(role=OrganizationRoleView.of(found))


@routes.post(
    LONG,
    body=CreateOrganizationRoleBody,
    returns=OrganizationRoleAnswer,
    callers=USER,
    permission="organization: role create",
    audit="create-organization-role",
)
async def create(call: Call[CreateOrganizationRoleBody, NoQuery]) -> OrganizationRoleAnswer:
    """Make a role."""
    return await _create(call, UUID(call.path["organizationId"]))


@routes.post(
    SHORT,
    body=CreateOrganizationRoleBody,
    returns=OrganizationRoleAnswer,
    permission="organization: role create",
    audit="create-organization-role",
)
async def create_own(call: Call[CreateOrganizationRoleBody, NoQuery]) -> OrganizationRoleAnswer:
    """Make a role in the caller's organization."""
    return await _create(call, call.caller.organization_id)


@routes.patch(
    LONG + "/{roleId:uuid}",
    body=ChangeOrganizationRoleBody,
    returns=OrganizationRoleAnswer,
    callers=USER,
    permission="organization: role edit",
    audit="update-organization-role",
)
async def change(call: Call[ChangeOrganizationRoleBody, NoQuery]) -> OrganizationRoleAnswer:
    """Change a role."""
    return await _change(call, UUID(call.path["organizationId"]))


@routes.patch(
    SHORT + "/{roleId:uuid}",
    body=ChangeOrganizationRoleBody,
    returns=OrganizationRoleAnswer,
    permission="organization: role edit",
    audit="update-organization-role",
)
async def change_own(call: Call[ChangeOrganizationRoleBody, NoQuery]) -> OrganizationRoleAnswer:
    """Change a role of the caller's organization."""
    return await _change(call, call.caller.organization_id)


@routes.delete(
    LONG + "/{roleId:uuid}",
    returns=OrganizationRoleAnswer,
    callers=USER,
    permission="organization: role delete",
    audit="delete-organization-role",
)
async def delete(call: BareCall) -> OrganizationRoleAnswer:
    """Delete a role that nobody has."""
    return await _delete(call, UUID(call.path["organizationId"]))


@routes.delete(
    SHORT + "/{roleId:uuid}",
    returns=OrganizationRoleAnswer,
    permission="organization: role delete",
    audit="delete-organization-role",
)
async def delete_own(call: BareCall) -> OrganizationRoleAnswer:
    """Delete a role of the caller's organization that nobody has."""
    return await _delete(call, call.caller.organization_id)


@routes.get(LONG + "/{roleId:uuid}", returns=OrganizationRoleAnswer, callers=USER, permission="organization: role read")
async def get(call: BareCall) -> OrganizationRoleAnswer:
    """Return a role of the organization's own."""
    return await _get(call, UUID(call.path["organizationId"]))


@routes.get(SHORT + "/{roleId:uuid}", returns=OrganizationRoleAnswer, permission="organization: role read")
async def get_own(call: BareCall) -> OrganizationRoleAnswer:
    """Return a role of the caller's organization."""
    return await _get(call, call.caller.organization_id)


@routes.get(SHORT + "/slug/{roleSlug}", returns=OrganizationRoleAnswer, permission="organization: role read")
async def get_by_slug(call: BareCall) -> OrganizationRoleAnswer:
    """Return a role of the caller's organization by its slug, a predefined one too."""
    slug = call.path["roleSlug"].strip().lower()
    organization, role = await organization_roles.get_by_slug(call.service, call.caller, slug)
    if isinstance(role, PredefinedRole):
        return OrganizationRoleAnswer(role=OrganizationRoleView.of_predefined(role, organization))
    return OrganizationRoleAnswer(role=OrganizationRoleView.of(role))


@routes.get(LONG, returns=OrganizationRolesAnswer, callers=USER, permission="organization: role read")
async def list_(call: BareCall) -> OrganizationRolesAnswer:
    """List the organization's roles, the predefined ones first."""
    organization, own = await organization_roles.list_all(call.service, call.caller, UUID(call.path["organizationId"]))
    predefined = [OrganizationRoleView.of_predefined(role, organization) for role in ORGANIZATION_ROLES.values()]
    roles = [*predefined, *(OrganizationRoleView.of(role) for role in own)]
    return OrganizationRolesAnswer(data=OrganizationRolesView(roles=roles))


@routes.get(
    OF_ORGANIZATION + "/permissions", returns=OrganizationPermissionsAnswer, callers=USER, permission="membership"
)
async def get_permissions(call: BareCall) -> OrganizationPermissionsAnswer:
    """Return the rules that hold for the caller in the organization."""
    member = await organization_roles.get_permissions(call.service, call.caller, UUID(call.path["organizationId"]))
    permissions = [rule.to_wire() for rule in call.caller.rules.rules]
    return OrganizationPermissionsAnswer(permissions=permissions, membership=MembershipView.of(member))
