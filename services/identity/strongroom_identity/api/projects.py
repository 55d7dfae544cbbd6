"""Projects."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from strongroom_common.access.roles import PROJECT_ROLES
from strongroom_common.http.endpoints import Routes
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
from strongroom_common.kernel.errors import NotFound
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.domain.projects import DEFAULT_TEMPLATE, NewProject, Project, ProjectType
from strongroom_identity.domain.roles import CustomRole, placeholder_id
from strongroom_identity.usecases import projects

routes = Routes("Projects")

ProjectSlug = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=5, max_length=36),
    AfterValidator(names.canonical_slug),
]


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
    secret_detection_ignore_values: Sequence[Any]
    created_at: Instant
    updated_at: Instant


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


class DeletedProjectAnswer(View):
    """The project as it was."""

    project: BareProjectView


class ProjectsAnswer(View):
    """The caller's projects."""

    projects: Sequence[ListedProjectView | ProjectView]


@routes.post(
    "/api/v1/projects",
    body=CreateProjectBody,
    returns=ProjectAnswer,
    permission="organization: project create",
    audit="create-project",
)
async def create(call: Call[CreateProjectBody, NoQuery]) -> ProjectAnswer:
    """Make a project; the caller becomes its admin."""
    if call.body.kms_key_id is not None:
        # Nobody must believe that a key of their own seals the project.
        raise NotFound("There is no such KMS key")
    project = await projects.create(call.service, call.caller, call.origin, call.body.to_wish())
    return ProjectAnswer(project=ProjectView.of(project))


@routes.get("/api/v1/projects", query=ListProjectsQuery, returns=ProjectsAnswer, permission="membership")
async def list_(call: Call[NoBody, ListProjectsQuery]) -> ProjectsAnswer:
    """List the projects that the caller is a member of."""
    with_roles = call.query.include_roles == "true"
    found = await projects.list_own(call.service, call.caller, project_type=call.query.type, with_roles=with_roles)
    return ProjectsAnswer(projects=[_listed(project) for project in found])


@routes.get("/api/v1/projects/{projectId:uuid}", returns=ProjectAnswer, permission="membership")
async def get(call: BareCall) -> ProjectAnswer:
    """Return a project."""
    project = await projects.get(call.service, call.caller, UUID(call.path["projectId"]))
    return ProjectAnswer(project=ProjectView.of(project))


@routes.get("/api/v1/projects/slug/{slug}", returns=ProjectView, permission="membership")
async def get_by_slug(call: BareCall) -> ProjectView:
    """Return a project by its slug, unwrapped."""
    return ProjectView.of(await projects.get_by_slug(call.service, call.caller, call.path["slug"].lower()))


@routes.delete(
    "/api/v1/projects/{projectId:uuid}",
    returns=DeletedProjectAnswer,
    permission="project: workspace delete",
    audit="delete-project",
)
async def delete(call: BareCall) -> DeletedProjectAnswer:
    """Delete a project and all that hangs on it."""
    project = await projects.delete(call.service, call.caller, call.origin, UUID(call.path["projectId"]))
    return DeletedProjectAnswer(project=BareProjectView(**_bare(project)))


def _listed(project: Project) -> ListedProjectView | ProjectView:
    if project.roles is None:
        return ProjectView.of(project)
    roles = [*(RoleView.of(role) for role in project.roles), *_predefined(project)]
    return ListedProjectView(**_with_environments(project), roles=roles)


def _predefined(project: Project) -> Iterator[RoleView]:
    # Whoever invites somebody picks from this list, so the roles that every project has belong into it.
    for role in PROJECT_ROLES.values():
        if role.project_type in {None, project.type}:
            yield RoleView(
                id=placeholder_id(role.slug),
                name=role.name,
                slug=role.slug,
                created_at=project.created_at,
                updated_at=project.created_at,
                project_id=project.id,
                description=role.description,
                permissions=[rule.to_wire() for rule in role.rules],
                version=1,
            )


def _with_environments(project: Project) -> dict[str, Any]:
    environments = [EnvironmentView(id=one.id, name=one.name, slug=one.slug) for one in project.environments]
    return {**_bare(project), "also_id": project.id, "environments": environments}


def _bare(project: Project) -> dict[str, Any]:
    names_of_fields = BareProjectView.model_fields.keys() - {"org_id"}
    return {name: getattr(project, name) for name in names_of_fields} | {"org_id": project.organization_id}
