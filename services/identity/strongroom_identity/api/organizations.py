"""Organizations."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import Body, Instant, NoQuery, Slug, Title, View
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.changes import given
from strongroom_identity.domain.durations import parse_duration
from strongroom_identity.domain.organizations import Organization, OwnOrganization
from strongroom_identity.domain.projects import Project
from strongroom_identity.usecases import organizations

routes = Routes("Organizations")

OF_ORGANIZATION = "/api/v1/organization/{organizationId:uuid}"
V2_OF_ORGANIZATION = "/api/v2/organizations/{organizationId:uuid}"


def _length(text: str) -> str:
    parse_duration(text)
    return text


Expiration = Annotated[
    str, StringConstraints(strip_whitespace=True, pattern=r"^[1-9][0-9]{0,5}[mhdw]$"), AfterValidator(_length)
]


class ChangeOrganizationBody(Body):
    """What is to be different."""

    name: Title | None = None
    slug: Slug | None = None
    auth_enforced: bool | None = None
    bypass_org_auth_enabled: bool | None = None
    scim_enabled: bool | None = None
    default_membership_role_slug: Slug | None = None
    enforce_mfa: bool | None = None
    selected_mfa_method: Literal["totp"] | None = None
    user_token_expiration: Expiration | None = None
    secrets_product_enabled: bool | None = None
    pki_product_enabled: bool | None = None
    kms_product_enabled: bool | None = None
    ssh_product_enabled: bool | None = None
    scanner_product_enabled: bool | None = None
    share_secrets_product_enabled: bool | None = None
    allow_secret_sharing_outside_organization: bool | None = None
    max_shared_secret_lifetime: Annotated[int | None, Field(ge=300, le=2_592_000)] = None
    max_shared_secret_view_limit: Annotated[int | None, Field(ge=1, le=1000)] = None

    def to_changes(self) -> dict[str, Any]:
        """What is to be different, in our words."""
        changes = given(self, "max_shared_secret_view_limit", "user_token_expiration")
        if "default_membership_role_slug" in changes:
            changes["default_membership_role"] = changes.pop("default_membership_role_slug")
        return changes


class CreateOrganizationBody(Body):
    """A new organization."""

    name: Title


class OrganizationView(View):
    """An organization."""

    id: UUID
    name: str
    slug: str
    customer_id: str | None
    auth_enforced: bool
    bypass_org_auth_enabled: bool
    scim_enabled: bool
    default_membership_role: str
    enforce_mfa: bool
    selected_mfa_method: str | None
    user_token_expiration: str | None
    secrets_product_enabled: bool
    pki_product_enabled: bool
    kms_product_enabled: bool
    ssh_product_enabled: bool
    scanner_product_enabled: bool
    share_secrets_product_enabled: bool
    should_use_new_privilege_system: bool
    allow_secret_sharing_outside_organization: bool
    max_shared_secret_lifetime: int
    max_shared_secret_view_limit: int | None
    root_org_id: UUID | None
    parent_org_id: UUID | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, organization: Organization) -> "OrganizationView":
        """Show an organization."""
        return cls(**_columns(organization))


class OwnOrganizationView(OrganizationView):
    """An organization, and what the caller is in it."""

    user_role: str
    org_auth_method: str
    user_joined_at: Instant

    @classmethod
    def of_own(cls, own: OwnOrganization, auth_method: str) -> "OwnOrganizationView":
        """Show an organization to one of its members."""
        return cls(
            **_columns(own.organization),
            user_role=own.role,
            org_auth_method=auth_method,
            user_joined_at=own.joined_at,
        )


class OrganizationAnswer(View):
    """One organization."""

    organization: OrganizationView


class ChangedOrganizationAnswer(OrganizationAnswer):
    """One organization, with words for people."""

    message: str


class DeletedOrganizationAnswer(OrganizationAnswer):
    """The organization as it was, and a token to go on with elsewhere."""

    access_token: str


class OwnOrganizationsAnswer(View):
    """The caller's organizations."""

    organizations: Sequence[OwnOrganizationView]


class EnvironmentView(View):
    """An environment in brief."""

    name: str
    slug: str


class WorkspaceView(View):
    """A project in brief."""

    id: UUID
    name: str
    slug: str
    organization: UUID
    environments: Sequence[EnvironmentView]

    @classmethod
    def of(cls, project: Project) -> "WorkspaceView":
        """Show a project."""
        return cls(
            id=project.id,
            name=project.name,
            slug=project.slug,
            organization=project.organization_id,
            environments=[EnvironmentView(name=one.name, slug=one.slug) for one in project.environments],
        )


class WorkspacesAnswer(View):
    """The caller's projects in the organization."""

    workspaces: Sequence[WorkspaceView]


@routes.get(
    "/api/v1/organization",
    returns=OwnOrganizationsAnswer,
    callers=USER,
    permission="membership",
    needs_organization=False,
)
async def list_own(call: BareCall) -> OwnOrganizationsAnswer:
    """List the organizations that the caller works in, to select one."""
    found = await organizations.list_own(call.service, call.caller)
    method = call.caller.access.auth_method
    return OwnOrganizationsAnswer(organizations=[OwnOrganizationView.of_own(one, method) for one in found])


@routes.get(OF_ORGANIZATION, returns=OrganizationAnswer, callers=USER, permission="membership")
async def get(call: BareCall) -> OrganizationAnswer:
    """Return the organization that the caller works in."""
    found = await organizations.get(call.service, call.caller, UUID(call.path["organizationId"]))
    return OrganizationAnswer(organization=OrganizationView.of(found))


@routes.patch(
    OF_ORGANIZATION,
    body=ChangeOrganizationBody,
    returns=ChangedOrganizationAnswer,
    callers=USER,
    permission="organization: settings edit",
    audit="update-organization",
)
async def change(call: Call[ChangeOrganizationBody, NoQuery]) -> ChangedOrganizationAnswer:
    """Change an organization."""
    changed = await organizations.change(
        call.service, call.caller, call.origin, UUID(call.path["organizationId"]), call.body.to_changes()
    )
    view = OrganizationView.of(changed)
    return ChangedOrganizationAnswer(message="Successfully changed the organization", organization=view)


@routes.post(
    "/api/v2/organizations",
    body=CreateOrganizationBody,
    returns=OrganizationAnswer,
    callers=USER,
    permission="any user",
    audit="create-organization",
    needs_organization=False,
)
async def create(call: Call[CreateOrganizationBody, NoQuery]) -> OrganizationAnswer:
    """Begin an organization; the caller becomes its admin."""
    made = await organizations.begin(call.service, call.caller, call.origin, call.body.name)
    return OrganizationAnswer(organization=OrganizationView.of(made))


@routes.delete(
    V2_OF_ORGANIZATION,
    returns=DeletedOrganizationAnswer,
    callers=USER,
    permission="organization: role admin",
    audit="delete-organization",
)
async def delete(call: BareCall) -> DeletedOrganizationAnswer:
    """Delete an organization and all that hangs on it."""
    gone, token = await organizations.delete(call.service, call.caller, call.origin, UUID(call.path["organizationId"]))
    return DeletedOrganizationAnswer(organization=OrganizationView.of(gone), access_token=token.reveal())


@routes.get(V2_OF_ORGANIZATION + "/workspaces", returns=WorkspacesAnswer, permission="membership")
async def list_workspaces(call: BareCall) -> WorkspacesAnswer:
    """List the organization's projects that the caller is a member of."""
    found = await organizations.list_own_projects(call.service, call.caller, UUID(call.path["organizationId"]))
    return WorkspacesAnswer(workspaces=[WorkspaceView.of(project) for project in found])


def _columns(organization: Organization) -> dict[str, Any]:
    named = OrganizationView.model_fields.keys() - {"customer_id", "root_org_id", "parent_org_id"}
    return {
        **{name: getattr(organization, name) for name in named},
        "customer_id": None,
        "root_org_id": organization.root_id,
        "parent_org_id": organization.parent_id,
    }
