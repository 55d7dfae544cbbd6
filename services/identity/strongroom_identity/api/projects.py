"""Projects, under their current and their older paths."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from pydantic import AfterValidator, Field, StringConstraints

from strongroom_common.access.roles import PROJECT_ROLES
from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import (
    Body,
    Description,
    Instant,
    NoBody,
    NoQuery,
    OptionalText,
    QueryString,
    Slug,
    Title,
    View,
)
from strongroom_common.kernel import names
from strongroom_common.kernel.errors import Conflict, NotFound
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.domain.projects import DEFAULT_TEMPLATE, NewProject, Project, ProjectType
from strongroom_identity.domain.roles import CustomRole, placeholder_id
from strongroom_identity.usecases import projects

routes = Routes("Projects")

_RENAMED = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")


def _no_id(slug: str) -> str:
    # Older routes take either: a slug that reads as an id would be taken for another project's.
    try:
        UUID(slug)
    except ValueError:
        return slug
    raise ValueError("slug must not look like an id")


def _renamed(text: str) -> str:
    canonical = names.canonical_text(text, longest=64, label="slug").lower()
    if not _RENAMED.fullmatch(canonical):
        raise ValueError("slug may hold only lower-case letters, digits, and single hyphens or underscores inside")
    return canonical


ProjectSlug = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=5, max_length=36),
    AfterValidator(names.canonical_slug),
    AfterValidator(_no_id),
]
RenamedSlug = Annotated[str, AfterValidator(_renamed), AfterValidator(_no_id)]
"""A slug that an existing project may get: underscores too."""


PitVersionLimit = Annotated[int, Field(ge=1, le=100, strict=True)]
IgnoreValues = Annotated[list[Annotated[str, StringConstraints(max_length=1024)]], Field(max_length=500)]


class CreateProjectBody(Body):
    """A new project."""

    project_name: Title
    project_description: Description | None = None
    slug: ProjectSlug | None = None
    kms_key_id: OptionalText = None
    template: Slug = DEFAULT_TEMPLATE
    type: ProjectType = "secret-manager"
    should_create_default_envs: bool = True
    has_delete_protection: bool = False

    def to_wish(self) -> NewProject:
        """What the caller wants, in our words."""
        return NewProject(
            name=self.project_name,
            slug=self.slug,
            description=self.project_description,
            type=self.type,
            template=self.template,
            has_default_environments=self.should_create_default_envs,
            has_delete_protection=self.has_delete_protection,
        )


class ChangeOlderProjectBody(Body):
    """What is absent stays as it is."""

    name: Annotated[Title, Field(max_length=64)] | None = None
    description: Annotated[Description, Field(max_length=256)] | None = None
    auto_capitalization: bool | None = None
    has_delete_protection: bool | None = None

    def to_changes(self) -> Mapping[str, Any]:
        """The fields that were sent, in our words; null means nothing."""
        return self.model_dump(exclude_none=True)


class ChangeProjectBody(ChangeOlderProjectBody):
    """What is absent stays as it is."""

    slug: RenamedSlug | None = None
    secret_sharing: bool | None = None
    show_snapshots_legacy: bool | None = None
    secret_detection_ignore_values: IgnoreValues | None = None
    pit_version_limit: PitVersionLimit | None = None
    enforce_encrypted_secret_manager_secret_metadata: bool | None = None


class RetentionBody(Body):
    """For how many days the project's audit records are kept; 0: as long as all others."""

    audit_logs_retention_days: Annotated[int, Field(ge=0, le=36_500, strict=True)]


class VersionLimitBody(Body):
    """How many versions, snapshots and commits of each item are kept."""

    pit_version_limit: PitVersionLimit


class ListProjectsQuery(QueryString):
    """Which projects, and how much of each."""

    include_roles: Literal["true", "false"] = "false"
    type: ProjectType | None = None


class EnvironmentView(View):
    """An environment in brief."""

    id: UUID
    name: str
    slug: str


class RoleView(View):
    """A role of a project."""

    id: UUID
    name: str
    slug: str
    description: str | None
    project_id: UUID | None
    permissions: Sequence[Any]
    version: int
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, role: CustomRole) -> "RoleView":
        """Show a role."""
        return cls(
            id=role.id,
            name=role.name,
            slug=role.slug,
            description=role.description,
            project_id=role.project_id,
            permissions=role.permissions,
            version=role.version,
            created_at=role.created_at,
            updated_at=role.updated_at,
        )


class BareProjectView(View):
    """A project without what hangs on it."""

    id: UUID
    name: str
    slug: str
    description: str | None
    type: str
    default_product: str | None
    org_id: UUID
    auto_capitalization: bool
    has_delete_protection: bool
    secret_sharing: bool
    show_snapshots_legacy: bool
    version: int
    upgrade_status: str | None
    pit_version_limit: int
    audit_logs_retention_days: int | None
    kms_certificate_key_id: UUID | None
    secret_detection_ignore_values: Sequence[str]
    enforce_encrypted_secret_manager_secret_metadata: bool
    created_at: Instant
    updated_at: Instant

    @classmethod
    def bare(cls, project: Project) -> "BareProjectView":
        """Show a project without what hangs on it."""
        return BareProjectView(**_bare(project))


class ProjectView(BareProjectView):
    """A project with its environments."""

    also_id: UUID = Field(alias="_id")
    environments: Sequence[EnvironmentView]

    @classmethod
    def of(cls, project: Project) -> "ProjectView":
        """Show a project."""
        return cls(**_with_environments(project))


class ListedProjectView(ProjectView):
    """A project in a list that was asked for with roles."""

    roles: Sequence[RoleView]


class ProjectAnswer(View):
    """One project."""

    project: ProjectView


class BareProjectAnswer(View):
    """The project as it now is, or was."""

    project: BareProjectView


class ProjectsAnswer(View):
    """The caller's projects."""

    projects: Sequence[ListedProjectView | ProjectView]


class ProjectDone(BareProjectAnswer):
    """What was done to which project."""

    message: str


class WorkspaceAnswer(View):
    """One project, as older clients know it."""

    workspace: ProjectView


class BareWorkspaceAnswer(View):
    """The project as it now is, or was, as older clients know it."""

    workspace: BareProjectView


class WorkspacesAnswer(View):
    """The caller's projects, as older clients know them."""

    workspaces: Sequence[ListedProjectView | ProjectView]


class WorkspaceDone(BareWorkspaceAnswer):
    """What was done to which project, as older clients know it."""

    message: str


class ServiceTokensAnswer(View):
    """The service tokens of a project: tokens of a kind that is no longer issued or accepted."""

    service_token_data: Sequence[Any] = ()


_CREATE: Mapping[str, Any] = {
    "body": CreateProjectBody,
    "returns": ProjectAnswer,
    "permission": "organization: project create",
    "audit": "create-project",
}
_LIST: Mapping[str, Any] = {"query": ListProjectsQuery, "permission": "membership"}
_CHANGE: Mapping[str, Any] = {"permission": "project: settings edit", "audit": "update-project"}
_DELETE: Mapping[str, Any] = {"permission": "project: workspace delete", "audit": "delete-project"}


@routes.post("/api/v1/projects", "/api/v2/workspace", **_CREATE)
async def create(call: Call[CreateProjectBody, NoQuery]) -> ProjectAnswer:
    """Make a project; the caller becomes its admin."""
    if call.body.kms_key_id is not None:
        # Nobody must believe that a key of their own seals the project.
        raise NotFound("There is no such KMS key")
    project = await projects.create(call.service, call.caller, call.origin, call.body.to_wish())
    return ProjectAnswer(project=ProjectView.of(project))


@routes.get("/api/v1/projects", returns=ProjectsAnswer, **_LIST)
async def list_(call: Call[NoBody, ListProjectsQuery]) -> Mapping[str, Any]:
    """List the projects that the caller is a member of."""
    return {"projects": await _list(call)}


@routes.get("/api/v1/workspace", returns=WorkspacesAnswer, **_LIST)
async def list_workspaces(call: Call[NoBody, ListProjectsQuery]) -> Mapping[str, Any]:
    """List the projects that the caller is a member of."""
    return {"workspaces": await _list(call)}


@routes.get("/api/v1/projects/{projectId:uuid}", returns=ProjectAnswer, permission="membership")
async def get(call: BareCall) -> ProjectAnswer:
    """Return a project."""
    return ProjectAnswer(project=ProjectView.of(await projects.get(call.service, call.caller, _id(call))))


@routes.get("/api/v1/workspace/{projectId:uuid}", returns=WorkspaceAnswer, permission="membership")
async def get_workspace(call: BareCall) -> WorkspaceAnswer:
    """Return a project."""
    return WorkspaceAnswer(workspace=ProjectView.of(await projects.get(call.service, call.caller, _id(call))))


@routes.get(
    "/api/v1/projects/slug/{slug}",
    "/api/v1/workspace/slug/{slug}",
    "/api/v2/workspace/{slug}",
    returns=ProjectView,
    permission="membership",
)
async def get_by_slug(call: BareCall) -> ProjectView:
    """Return a project by its slug, unwrapped."""
    return ProjectView.of(await _by_slug(call, "slug"))


@routes.get("/api/v2/workspace/{projectId:uuid}/encrypted-key", returns=ProjectView, permission="membership")
async def get_encrypted_key(call: BareCall) -> ProjectView:
    """Refuse clients from when each member held the project's key: no project here has such a key."""
    await projects.get(call.service, call.caller, _id(call))
    raise Conflict("Projects no longer have encrypted keys: use a client that reads secrets in plain text over TLS")


@routes.patch("/api/v1/projects/{projectId:uuid}", body=ChangeProjectBody, returns=BareProjectAnswer, **_CHANGE)
async def change(call: Call[ChangeProjectBody, NoQuery]) -> BareProjectAnswer:
    """Change a project."""
    return BareProjectAnswer(project=await _change(call, _id(call), call.body.to_changes()))


@routes.patch("/api/v1/workspace/{projectId:uuid}", body=ChangeProjectBody, returns=BareWorkspaceAnswer, **_CHANGE)
async def change_workspace(call: Call[ChangeProjectBody, NoQuery]) -> BareWorkspaceAnswer:
    """Change a project."""
    return BareWorkspaceAnswer(workspace=await _change(call, _id(call), call.body.to_changes()))


@routes.patch("/api/v2/workspace/{slug}", body=ChangeOlderProjectBody, returns=BareProjectView, **_CHANGE)
async def change_by_slug(call: Call[ChangeOlderProjectBody, NoQuery]) -> BareProjectView:
    """Change a project by its slug, unwrapped."""
    return await _change(call, (await _by_slug(call, "slug")).id, call.body.to_changes())


@routes.put(
    "/api/v1/projects/{projectId:uuid}/audit-logs-retention", body=RetentionBody, returns=ProjectDone, **_CHANGE
)
async def change_retention(call: Call[RetentionBody, NoQuery]) -> ProjectDone:
    """Say for how long the project's audit records are kept; for its admins."""
    project = await _change(call, _id(call), call.body.model_dump())
    return ProjectDone(message="The retention of audit logs was changed", project=project)


@routes.put("/api/v1/workspace/{project}/audit-logs-retention", body=RetentionBody, returns=WorkspaceDone, **_CHANGE)
async def change_workspace_retention(call: Call[RetentionBody, NoQuery]) -> WorkspaceDone:
    """Say for how long the audit records of the project of this id or slug are kept; for its admins."""
    project = await _change(call, await _id_or_slug(call), call.body.model_dump())
    return WorkspaceDone(message="The retention of audit logs was changed", workspace=project)


@routes.put("/api/v1/workspace/{project}/version-limit", body=VersionLimitBody, returns=WorkspaceDone, **_CHANGE)
async def change_version_limit(call: Call[VersionLimitBody, NoQuery]) -> WorkspaceDone:
    """Say how many versions of each secret the project of this id or slug keeps (wire-secrets 6.4)."""
    project = await _change(call, await _id_or_slug(call), call.body.model_dump())
    return WorkspaceDone(message="The version limit was changed", workspace=project)


@routes.delete("/api/v1/projects/{projectId:uuid}", returns=BareProjectAnswer, **_DELETE)
async def delete(call: BareCall) -> BareProjectAnswer:
    """Delete a project and all that hangs on it."""
    return BareProjectAnswer(project=await _delete(call, _id(call)))


@routes.delete("/api/v1/workspace/{projectId:uuid}", returns=BareWorkspaceAnswer, **_DELETE)
async def delete_workspace(call: BareCall) -> BareWorkspaceAnswer:
    """Delete a project and all that hangs on it."""
    return BareWorkspaceAnswer(workspace=await _delete(call, _id(call)))


@routes.delete("/api/v2/workspace/{slug}", returns=BareProjectView, **_DELETE)
async def delete_by_slug(call: BareCall) -> BareProjectView:
    """Delete a project by its slug and all that hangs on it; unwrapped."""
    return await _delete(call, (await _by_slug(call, "slug")).id)


@routes.get(
    "/api/v1/projects/{projectId:uuid}/service-token-data",
    "/api/v1/workspace/{projectId:uuid}/service-token-data",
    returns=ServiceTokensAnswer,
    callers=USER,
    permission="project: service-tokens read",
)
async def list_service_tokens(call: BareCall) -> ServiceTokensAnswer:
    """Say that the project has no service tokens: machines have identities instead."""
    await projects.verify_may_read_service_tokens(call.service, call.caller, _id(call))
    return ServiceTokensAnswer()


def _id(call: Call[Any, NoQuery]) -> UUID:
    return UUID(call.path["projectId"])


async def _by_slug(call: Call[Any, NoQuery], name: str) -> Project:
    return await projects.get_by_slug(call.service, call.caller, call.path[name].lower())


async def _id_or_slug(call: Call[Any, NoQuery]) -> UUID:
    try:
        return UUID(call.path["project"])
    except ValueError:
        return (await _by_slug(call, "project")).id


async def _list(call: Call[NoBody, ListProjectsQuery]) -> Sequence[Mapping[str, Any]]:
    with_roles = call.query.include_roles == "true"
    found = await projects.list_own(call.service, call.caller, project_type=call.query.type, with_roles=with_roles)
    return [_listed(project) for project in found]


async def _change(call: Call[Any, NoQuery], project_id: UUID, changes: Mapping[str, Any]) -> BareProjectView:
    project = await projects.change(call.service, call.caller, call.origin, project_id, changes)
    return BareProjectView.bare(project)


async def _delete(call: BareCall, project_id: UUID) -> BareProjectView:
    project = await projects.delete(call.service, call.caller, call.origin, project_id)
    return BareProjectView.bare(project)


def _listed(project: Project) -> Mapping[str, Any]:
    shown = ProjectView.of(project).model_dump(mode="json", by_alias=True)
    if project.roles is not None:
        custom = [RoleView.of(role).model_dump(mode="json", by_alias=True) for role in project.roles]
        shown["roles"] = [*custom, *_predefined(project, shown)]
    return shown


# The same for all projects, and long: written as JSON once.
_PREDEFINED_RULES = {
    slug: orjson.Fragment(orjson.dumps([rule.to_wire() for rule in role.rules])) for slug, role in PROJECT_ROLES.items()
}


def _predefined(project: Project, shown: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    # Whoever invites somebody picks from this list, so the roles that every project has belong into it.
    for role in PROJECT_ROLES.values():
        if role.project_type in {None, project.type}:
            yield {
                "id": placeholder_id(role.slug),
                "name": role.name,
                "slug": role.slug,
                "description": role.description,
                "projectId": shown["id"],
                "permissions": _PREDEFINED_RULES[role.slug],
                "version": 1,
                "createdAt": shown["createdAt"],
                "updatedAt": shown["createdAt"],
            }


def _with_environments(project: Project) -> dict[str, Any]:
    environments = [EnvironmentView(id=one.id, name=one.name, slug=one.slug) for one in project.environments]
    return {**_bare(project), "also_id": project.id, "environments": environments}


def _bare(project: Project) -> dict[str, Any]:
    names_of_fields = BareProjectView.model_fields.keys() - {"org_id"}
    return {name: getattr(project, name) for name in names_of_fields} | {"org_id": project.organization_id}
