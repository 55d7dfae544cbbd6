"""Projects: made, looked at, changed, deleted."""

from collections.abc import Mapping
from typing import Any
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
    ProjectUpdated,
    TokensRevoked,
)
from strongroom_common.kernel.errors import Forbidden
from strongroom_identity.domain.errors import ProjectNotFound, SlugTaken
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.projects import DEFAULT_TEMPLATE, NewProject, Project
from strongroom_identity.store import memberships, projects
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import project_templates
from strongroom_identity.usecases.context import IdentityContext

ADMINS_ONLY = frozenset({"secret_detection_ignore_values", "audit_logs_retention_days"})
"""Fields that weaken what watches over the project: changing settings in general is not enough for them."""


async def create(context: IdentityContext, caller: Caller, origin: Origin, wish: NewProject) -> Project:
    """Make a project whose first member, as its admin, is the caller.

    Raises `SlugTaken`, `ProjectTemplateNotFound`.
    """
    if not caller.rules.may("create", "project"):
        # The two subjects are the old and the new name of one right; either gives it.
        caller.require("create", "workspace")
    template = None
    if wish.template != DEFAULT_TEMPLATE:
        template = await project_templates.get_for_use(context, caller, wish.template, wish.type)
    now = context.clock.now()
    project = Project.new(wish, caller.organization_id, now, template.stages() if template else None)
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
            if template is not None:
                await project_templates.apply(work, template, project, caller)
            work.send(ProjectCreated(project=project.state()))
            facts = {**_facts(project), "template": wish.template}
            work.record(audit_record(origin, context.clock, "create-project", facts))
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


async def verify_may_read_service_tokens(context: IdentityContext, caller: Caller, project_id: UUID) -> None:
    """Raise `Forbidden` or `NotFound` unless the caller may look at the service tokens of a project."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("read", "service-tokens")


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, project_id: UUID, changes: Mapping[str, Any]
) -> Project:
    """Change the fields that `changes` names. Raises `SlugTaken`, and `Forbidden` for a field of admins."""
    standing = await context.doorkeeper.standing(caller, project_id)
    standing.require("edit", "settings")
    if not ADMINS_ONLY.isdisjoint(changes) and "admin" not in standing.project.roles:
        raise Forbidden("Only an admin of the project may change this")
    origin = origin.in_project(project_id)
    forgotten = AccessChanged(organization_id=caller.organization_id, project_id=project_id)
    with refusing({projects.SLUG_TAKEN: SlugTaken()}):
        async with context.database.begin(origin) as work:
            old = await projects.lock(work, project_id)
            if old is None:
                raise ProjectNotFound
            project = old.changed(changes, context.clock.now())
            await projects.save(work, project)
            work.send(ProjectUpdated(project=project.state()))
            # What services remember of a member's access names the project.
            is_renamed = (project.name, project.slug) != (old.name, old.slug)
            if is_renamed:
                work.send(forgotten)
            facts = {**_facts(project), "fields": sorted(changes)}
            work.record(audit_record(origin, context.clock, "update-project", facts))
            await work.commit()
    if is_renamed:
        context.doorkeeper.hear_access_changed(forgotten)
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
        orphans = TokensRevoked(subject_ids=await projects.delete(work, project_id))
        forgotten = AccessChanged(organization_id=project.organization_id, project_id=project_id)
        work.send(ProjectDeleted(project_id=project_id, organization_id=project.organization_id))
        work.send(forgotten)
        if orphans.subject_ids:
            work.send(orphans)
        work.record(audit_record(origin, context.clock, "delete-project", _facts(project)))
        await work.commit()
    context.doorkeeper.hear_access_changed(forgotten)
    context.doorkeeper.hear_tokens_revoked(orphans)
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


def _facts(project: Project) -> Mapping[str, Any]:
    return {"name": project.name, "slug": project.slug, "type": project.type}
