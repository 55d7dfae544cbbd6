"""Projects: made, looked at, deleted."""

from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.access.roles import PROJECT_ROLES
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import (
    AccessChanged,
    DescribeProject,
    ProjectCreated,
    ProjectDeleted,
    ProjectState,
)
from strongroom_common.kernel.errors import Forbidden, NotFound
from strongroom_identity.domain.errors import ProjectNotFound, SlugTaken
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.projects import DEFAULT_TEMPLATE, NewProject, Project
from strongroom_identity.store import memberships, projects
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases.context import IdentityContext


async def create(context: IdentityContext, caller: Caller, origin: Origin, wish: NewProject) -> Project:
    """Make a project whose first member, as its admin, is the caller. Raises `SlugTaken`, `NotFound` (template)."""
    if not caller.rules.may("create", "project"):
        # The two subjects are the old and the new name of one right; either gives it.
        caller.require("create", "workspace")
    if wish.template != DEFAULT_TEMPLATE:
        raise NotFound("There is no such project template")
    project = Project.new(wish, caller.organization_id, context.clock.now())
    membership = Membership.new(
        caller.access.kind,
        caller.access.subject_id,
        [MembershipRole.of(PROJECT_ROLES["admin"])],
        project.created_at,
        organization_id=project.organization_id,
        project_id=project.id,
    )
    origin = origin.in_project(project.id)
    with refusing({projects.SLUG_TAKEN: SlugTaken()}):
        async with context.database.begin(origin) as work:
            await projects.add(work, project)
            await memberships.add(work, membership)
            work.send(ProjectCreated(project=project.state()))
            metadata = {"name": project.name, "slug": project.slug, "type": project.type}
            work.record(audit_record(origin, context.clock, "create-project", metadata))
            await work.commit()
    return project


async def list_own(
    context: IdentityContext, caller: Caller, *, project_type: str | None, with_roles: bool
) -> list[Project]:
    """List the projects that the caller is a member of; their custom roles are for those who may add members."""
    if with_roles:
        caller.require("create", "member")
    return await projects.list_of(
        context.database,
        caller.access.kind,
        caller.access.subject_id,
        caller.organization_id,
        project_type=project_type,
        with_roles=with_roles,
    )


async def get(context: IdentityContext, caller: Caller, project_id: UUID) -> Project:
    """Return a project to one of its members; raises `NotFound`, `Forbidden`."""
    await context.doorkeeper.standing(caller, project_id)
    project = await projects.find(context.database, project_id)
    if project is None:
        raise ProjectNotFound
    return project


async def get_by_slug(context: IdentityContext, caller: Caller, slug: str) -> Project:
    """Return a project to one of its members; raises `NotFound`, `Forbidden`."""
    project = await projects.find_by_slug(context.database, caller.organization_id, slug)
    if project is None:
        raise ProjectNotFound
    await context.doorkeeper.standing(caller, project.id)
    return project


async def delete(context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID) -> Project:
    """Delete a project and all that hangs on it; raises `Forbidden` while it is protected."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("delete", "workspace")
    origin = origin.in_project(project_id)
    async with context.database.begin(origin) as work:
        project = await projects.lock(work, project_id)
        if project is None:
            raise ProjectNotFound
        if project.has_delete_protection:
            raise Forbidden("The project is protected from deletion: take the protection away first")
        await projects.delete(work, project_id)
        forgotten = AccessChanged(organization_id=project.organization_id, project_id=project_id)
        work.send(ProjectDeleted(project_id=project_id, organization_id=project.organization_id))
        work.send(forgotten)
        metadata = {"name": project.name, "slug": project.slug, "type": project.type}
        work.record(audit_record(origin, context.clock, "delete-project", metadata))
        await work.commit()
    context.doorkeeper.hear_access_changed(forgotten)
    return project


async def describe(context: IdentityContext, question: DescribeProject) -> ProjectState:
    """Tell another service about a project; raises `NotFound`."""
    project = None
    if question.project_id is not None:
        project = await projects.find(context.database, question.project_id)
    elif question.organization_id is not None and question.slug is not None:
        project = await projects.find_by_slug(context.database, question.organization_id, question.slug)
    if project is None:
        raise ProjectNotFound
    return project.state()
