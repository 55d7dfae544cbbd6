"""Project templates: made, looked at, changed, deleted, and applied to new projects."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.access.roles import PROJECT_ROLES
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.errors import ProjectTemplateNameTaken, ProjectTemplateNotFound
from strongroom_identity.domain.memberships import MemberKind, Membership, MembershipRole
from strongroom_identity.domain.project_templates import MOST_TEMPLATES, Part, ProjectTemplate, built_in
from strongroom_identity.domain.projects import Project
from strongroom_identity.domain.roles import CustomRole, Role
from strongroom_identity.store import memberships, project_templates
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases.context import IdentityContext

SUBJECT = "project-templates"
_NAME_TAKEN = {project_templates.NAME_TAKEN: ProjectTemplateNameTaken()}


async def list_all(
    context: IdentityContext, caller: Caller, origin: Origin, project_type: str | None
) -> list[ProjectTemplate]:
    """List the organization's templates, of one type of project if one is named; the built-in ones come first."""
    caller.require("read", SUBJECT)
    types = None if project_type is None else [project_type]
    found = await project_templates.list_of(context.database, caller.organization_id, project_type)
    facts = {"count": len(found)}
    await context.trail.note(audit_record(origin, context.clock, "get-project-templates", facts))
    return [*built_in(caller.organization_id, types, context.clock.now()), *found]


async def get(context: IdentityContext, caller: Caller, origin: Origin, template_id: UUID) -> ProjectTemplate:
    """Return a template of the organization; raises `ProjectTemplateNotFound`."""
    caller.require("read", SUBJECT)
    template = await project_templates.find(context.database, caller.organization_id, template_id)
    if template is None:
        raise ProjectTemplateNotFound
    await context.trail.note(audit_record(origin, context.clock, "get-project-template", _facts(template)))
    return template


async def create(
    context: IdentityContext, caller: Caller, origin: Origin, project_type: str, fields: Mapping[str, Any]
) -> ProjectTemplate:
    """Make a template for projects of this type; `fields` are the others of one. Raises `InvalidInput`, `Conflict`."""
    caller.require("create", SUBJECT)
    template = ProjectTemplate.new(caller.organization_id, project_type, context.clock.now(), **fields)
    template.verify()
    with refusing(_NAME_TAKEN):
        async with context.database.begin(origin) as work:
            if await project_templates.count(work, caller.organization_id) >= MOST_TEMPLATES:
                raise Conflict(f"An organization can have at most {MOST_TEMPLATES} project templates")
            await _verify_known(work, template)
            await project_templates.add(work, template)
            work.record(audit_record(origin, context.clock, "create-project-template", _facts(template)))
            await work.commit()
    return template


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, template_id: UUID, changes: Mapping[str, Any]
) -> ProjectTemplate:
    """Change the fields that `changes` names. Raises `ProjectTemplateNotFound`, `InvalidInput`, `Conflict`."""
    caller.require("edit", SUBJECT)
    with refusing(_NAME_TAKEN):
        async with context.database.begin(origin) as work:
            template = (await _lock(work, caller, template_id)).changed(changes, context.clock.now())
            template.verify()
            await _verify_known(work, template)
            await project_templates.save(work, template)
            facts = {**_facts(template), "fields": sorted(changes)}
            work.record(audit_record(origin, context.clock, "update-project-template", facts))
            await work.commit()
    return template


async def delete(context: IdentityContext, caller: Caller, origin: Origin, template_id: UUID) -> ProjectTemplate:
    """Delete a template; projects made from it stay as they are. Raises `ProjectTemplateNotFound`."""
    caller.require("delete", SUBJECT)
    async with context.database.begin(origin) as work:
        template = await _lock(work, caller, template_id)
        await project_templates.delete(work, template_id)
        work.record(audit_record(origin, context.clock, "delete-project-template", _facts(template)))
        await work.commit()
    return template


async def get_for_use(context: IdentityContext, caller: Caller, name: str, project_type: str) -> ProjectTemplate:
    """Return the template of this name for a new project; raises `ProjectTemplateNotFound`.

    Whoever makes a project from it sees all that is in it, so the right to read templates is needed.
    """
    caller.require("read", SUBJECT)
    template = await project_templates.find_by_name(context.database, caller.organization_id, name)
    if template is None or template.type != project_type:
        raise ProjectTemplateNotFound
    return template


async def apply(work: UnitOfWork, template: ProjectTemplate, project: Project, creator: Caller) -> None:
    """Give a new project the template's roles and members; its environments it has already.

    Who has left the organization since the template was made is left out, and so is the creator, who is an admin.
    """
    own = [_custom_role(role, project) for role in template.roles]
    await project_templates.add_roles(work, own)
    roles: dict[str, Role] = {**PROJECT_ROLES, **{role.slug: role for role in own}}
    users = await project_templates.find_users(work, project.organization_id, _names(template.users, "username"))
    groups = await project_templates.find_groups(work, project.organization_id, _names(template.groups, "groupSlug"))
    kinds: list[tuple[MemberKind, Part, str, Mapping[str, UUID]]] = [
        ("user", template.users, "username", users),
        ("group", template.groups, "groupSlug", groups),
    ]
    for kind, members, name, ids in kinds:
        for member in members:
            subject_id = ids.get(member[name])
            if subject_id is None or subject_id == creator.access.subject_id:
                continue
            membership = Membership.new(
                kind,
                subject_id,
                [MembershipRole.of(roles[slug]) for slug in dict.fromkeys(member["roles"])],
                project.created_at,
                organization_id=project.organization_id,
                project_id=project.id,
            )
            await memberships.add(work, membership)


async def _verify_known(work: UnitOfWork, template: ProjectTemplate) -> None:
    users = _names(template.users, "username")
    if len(await project_templates.find_users(work, template.organization_id, users)) < len(users):
        raise Conflict("The template names a user who is not a member of the organization")
    groups = _names(template.groups, "groupSlug")
    if len(await project_templates.find_groups(work, template.organization_id, groups)) < len(groups):
        raise Conflict("The template names a group that the organization does not have")


async def _lock(work: UnitOfWork, caller: Caller, template_id: UUID) -> ProjectTemplate:
    template = await project_templates.lock(work, caller.organization_id, template_id)
    if template is None:
        raise ProjectTemplateNotFound
    return template


def _names(members: Part, name: str) -> list[str]:
    return [member[name] for member in members]


def _custom_role(role: Mapping[str, Any], project: Project) -> CustomRole:
    return CustomRole(
        id=new_id(),
        organization_id=project.organization_id,
        project_id=project.id,
        slug=role["slug"],
        name=role["name"],
        description=None,
        permissions=role["permissions"],
        version=1,
        created_at=project.created_at,
        updated_at=project.created_at,
    )


def _facts(template: ProjectTemplate) -> Mapping[str, Any]:
    return {"templateId": str(template.id), "name": template.name, "type": template.type}
