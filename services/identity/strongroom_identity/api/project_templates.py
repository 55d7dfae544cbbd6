"""Project templates."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import orjson
from pydantic import AfterValidator, Field

from strongroom_common.access.catalogue import PROJECT
from strongroom_common.access.rules import parse_rules
from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, QueryString, Slug, Title, View
from strongroom_common.kernel import names
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.domain.project_templates import PARTS, ProjectTemplate
from strongroom_identity.domain.projects import DEFAULT_TEMPLATE, ProjectType
from strongroom_identity.usecases import project_templates

routes = Routes("Project templates")

BASE = "/api/v1/project-templates"
ONE = BASE + "/{templateId:uuid}"


LARGEST_PART = 32_768
"""Bytes of one part, as JSON."""


def _not_reserved(name: str) -> str:
    if name == DEFAULT_TEMPLATE:
        raise ValueError("this name is reserved")
    return name


def _canonical_username(text: str) -> str:
    return names.canonical_text(text, longest=254, label="username").casefold()


TemplateName = Annotated[Slug, AfterValidator(_not_reserved)]
ShortDescription = Annotated[str, AfterValidator(lambda text: text.strip().replace("\x00", "")), Field(max_length=256)]
Username = Annotated[str, AfterValidator(_canonical_username), Field(min_length=1)]
RoleSlugs = Annotated[Sequence[Slug], Field(min_length=1)]


class TemplateRoleBody(Body):
    """A custom role of projects to come. Its rules are checked as those of any role (wire-identity 12)."""

    name: Title
    slug: Slug
    permissions: Sequence[Any]


class TemplateEnvironmentBody(Body):
    """An environment of projects to come."""

    name: Title
    slug: Slug
    position: Annotated[int, Field(ge=1, strict=True)]


class TemplateUserBody(Body):
    """A member of projects to come."""

    username: Username
    roles: RoleSlugs


class TemplateGroupBody(Body):
    """A group that is a member of projects to come."""

    group_slug: Slug
    roles: RoleSlugs


_FIELDS = {"name", "description", *PARTS}


class _Parts(Body):
    """What creating and changing have in common."""

    description: ShortDescription | None = None
    roles: Sequence[TemplateRoleBody] | None = None
    environments: Sequence[TemplateEnvironmentBody] | None = None
    users: Sequence[TemplateUserBody] | None = None
    groups: Sequence[TemplateGroupBody] | None = None

    def to_fields(self) -> dict[str, Any]:
        """What was sent, in our words. Null means nothing, but for `environments`, whose absence is a wish of its own.

        Raises `InvalidInput` for a part that is too large, and for rules that this release does not understand.
        """
        sent = self.model_dump(mode="json", by_alias=True, include=_FIELDS & self.model_fields_set)
        for name in sent:
            if name in PARTS and len(orjson.dumps(sent[name])) > LARGEST_PART:
                raise InvalidInput.of_field([name], "too_big", f"At most {LARGEST_PART} bytes of JSON")
        for place, role in enumerate(sent.get("roles") or ()):
            rules = parse_rules(role["permissions"], PROJECT, ["roles", place, "permissions"])
            role["permissions"] = [rule.to_wire() for rule in rules]
        return {name: value for name, value in sent.items() if value is not None or name == "environments"}


class CreateTemplateBody(_Parts):
    """A new template."""

    name: TemplateName
    type: ProjectType


class ChangeTemplateBody(_Parts):
    """What is absent stays as it is."""

    name: TemplateName | None = None


class ListTemplatesQuery(QueryString):
    """Of one type of project, or of all."""

    type: ProjectType | None = None


class TemplateRoleView(View):
    """A role that projects will have."""

    name: str
    slug: str
    permissions: Sequence[Any]


class TemplateEnvironmentView(View):
    """An environment that projects will have."""

    name: str
    slug: str
    position: int


class TemplateUserView(View):
    """A user who will be a member."""

    username: str
    roles: Sequence[str]


class TemplateGroupView(View):
    """A group that will be a member."""

    group_slug: str
    roles: Sequence[str]


class TemplateView(View):
    """A template. `roles` begins with the predefined ones of its type of project."""

    id: UUID
    name: str
    description: str | None
    type: str
    org_id: UUID
    created_at: Instant
    updated_at: Instant
    roles: Sequence[TemplateRoleView]
    environments: Sequence[TemplateEnvironmentView] | None
    users: Sequence[TemplateUserView]
    groups: Sequence[TemplateGroupView]

    @classmethod
    def of(cls, template: ProjectTemplate) -> "TemplateView":
        """Show a template."""
        predefined = [
            {
                # Here, and only here, this role goes by its slug's name (wire-identity 12.5).
                "name": "Member" if role.slug == "member" else role.name,
                "slug": role.slug,
                "permissions": [rule.to_wire() for rule in role.rules],
            }
            for role in template.predefined_roles()
        ]
        return cls.model_validate(
            {
                "id": template.id,
                "name": template.name,
                "description": template.description,
                "type": template.type,
                "org_id": template.organization_id,
                "created_at": template.created_at,
                "updated_at": template.updated_at,
                "roles": [*predefined, *template.roles],
                "environments": template.environments,
                "users": template.users,
                "groups": template.groups,
            }
        )


class TemplateAnswer(View):
    """One template."""

    project_template: TemplateView

    @classmethod
    def of(cls, template: ProjectTemplate) -> "TemplateAnswer":
        """Show a template."""
        return cls(project_template=TemplateView.of(template))


class TemplatesAnswer(View):
    """The organization's templates, the built-in ones first."""

    project_templates: Sequence[TemplateView]


@routes.get(
    BASE,
    query=ListTemplatesQuery,
    returns=TemplatesAnswer,
    permission="organization: project-templates read",
    audit="get-project-templates",
)
async def list_(call: Call[NoBody, ListTemplatesQuery]) -> TemplatesAnswer:
    """List the organization's templates, the built-in ones first."""
    found = await project_templates.list_all(call.service, call.caller, call.origin, call.query.type)
    return TemplatesAnswer(project_templates=[TemplateView.of(template) for template in found])


@routes.get(
    ONE, returns=TemplateAnswer, permission="organization: project-templates read", audit="get-project-template"
)
async def get(call: BareCall) -> TemplateAnswer:
    """Return a template."""
    return TemplateAnswer.of(await project_templates.get(call.service, call.caller, call.origin, _id(call)))


@routes.post(
    BASE,
    body=CreateTemplateBody,
    returns=TemplateAnswer,
    permission="organization: project-templates create",
    audit="create-project-template",
)
async def create(call: Call[CreateTemplateBody, NoQuery]) -> TemplateAnswer:
    """Make a template."""
    fields = call.body.to_fields()
    return TemplateAnswer.of(
        await project_templates.create(call.service, call.caller, call.origin, call.body.type, fields)
    )


@routes.patch(
    ONE,
    body=ChangeTemplateBody,
    returns=TemplateAnswer,
    permission="organization: project-templates edit",
    audit="update-project-template",
)
async def change(call: Call[ChangeTemplateBody, NoQuery]) -> TemplateAnswer:
    """Change a template; projects made from it stay as they are."""
    changes = call.body.to_fields()
    return TemplateAnswer.of(await project_templates.change(call.service, call.caller, call.origin, _id(call), changes))


@routes.delete(
    ONE,
    returns=TemplateAnswer,
    permission="organization: project-templates delete",
    audit="delete-project-template",
)
async def delete(call: BareCall) -> TemplateAnswer:
    """Delete a template; projects made from it stay as they are."""
    return TemplateAnswer.of(await project_templates.delete(call.service, call.caller, call.origin, _id(call)))


def _id(call: Call[Any, NoQuery]) -> UUID:
    return UUID(call.path["templateId"])
