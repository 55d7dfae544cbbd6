"""Identity templates: the directory that many identities log in with, kept in one place."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, RootModel, StringConstraints

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, QueryString, View
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.tokens import Message
from strongroom_identity.domain.identity_templates import OpenTemplate, TemplateUse
from strongroom_identity.providers.auth_methods.ldap_auth import Dn, OptionalCertificates, Password, Url
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases import identity_templates

routes = Routes("Identity templates")

BASE = "/api/v1/identity-templates"
ONE = BASE + "/{templateId:uuid}"

TemplateName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]


class TemplateFieldsBody(Body):
    """A directory, and the account that searches it."""

    url: Url
    bind_dn: Dn = Field(alias="bindDN")
    bind_pass: Password
    search_base: Dn
    ldap_ca_certificate: OptionalCertificates = ""


class ChangedFieldsBody(Body):
    """What is absent stays as it is."""

    url: Url = ""
    bind_dn: Dn = Field("", alias="bindDN")
    bind_pass: Password = ""
    search_base: Dn = ""
    ldap_ca_certificate: OptionalCertificates = ""


class CreateTemplateBody(Body):
    """A new template."""

    name: TemplateName
    auth_method: Literal["ldap"]
    template_fields: TemplateFieldsBody


class ChangeTemplateBody(Body):
    """What is absent stays as it is."""

    name: TemplateName | None = None
    template_fields: ChangedFieldsBody = Field(default_factory=ChangedFieldsBody)

    def to_changes(self) -> Mapping[str, Any]:
        """The fields that were sent, by their wire names."""
        return self.template_fields.model_dump(by_alias=True, exclude_unset=True)


class ListQuery(QueryString):
    """Of one kind."""

    auth_method: Literal["ldap"]


class SearchQuery(QueryString):
    """Part of a name, and a page."""

    search: Annotated[str, StringConstraints(strip_whitespace=True, max_length=64)] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class UnlinkBody(Body):
    """Whom to unlink."""

    identity_ids: Annotated[Sequence[UUID], Field(max_length=1000)]


class TemplateFieldsView(View):
    """A directory; the password is there for those who may change it, when they ask for the one template."""

    url: str
    bind_dn: str = Field(alias="bindDN")
    bind_pass: str | None
    search_base: str
    ldap_ca_certificate: str


class TemplateView(View):
    """A template."""

    id: UUID
    name: str
    auth_method: str
    org_id: UUID
    created_at: Instant
    updated_at: Instant
    template_fields: TemplateFieldsView

    @classmethod
    def of(cls, found: OpenTemplate) -> "TemplateView":
        """Show a template."""
        template = found.template
        return cls(
            id=template.id,
            name=template.name,
            auth_method=template.method,
            org_id=template.organization_id,
            created_at=template.created_at,
            updated_at=template.updated_at,
            template_fields=TemplateFieldsView.model_validate(found.fields),
        )


class TemplatesAnswer(RootModel[Sequence[TemplateView]]):
    """All templates of one kind."""


class FoundTemplatesAnswer(View):
    """A page of templates."""

    templates: Sequence[TemplateView]
    total_count: int


class UseView(View):
    """An identity that uses a template."""

    identity_id: UUID
    identity_name: str


class UsesAnswer(RootModel[Sequence[UseView]]):
    """Who uses a template."""


class UnlinkedView(View):
    """An identity that no longer uses a template."""

    auth_id: UUID
    identity_id: UUID
    identity_name: str

    @classmethod
    def of(cls, use: TemplateUse) -> "UnlinkedView":
        """Show who it is."""
        return cls(auth_id=use.configuration_id, identity_id=use.identity_id, identity_name=use.identity_name)


class UnlinkedAnswer(RootModel[Sequence[UnlinkedView]]):
    """Who no longer uses a template."""


@routes.post(
    BASE,
    body=CreateTemplateBody,
    returns=TemplateView,
    permission="organization: machine-identity-auth-template create-templates",
    audit="create-identity-auth-template",
)
async def create(call: Call[CreateTemplateBody, NoQuery]) -> TemplateView:
    """Make a template."""
    fields = call.body.template_fields.model_dump(by_alias=True)
    made = await identity_templates.create(call.service, call.caller, call.origin, call.body.name, fields)
    return TemplateView.of(made)


@routes.get(
    BASE,
    query=ListQuery,
    returns=TemplatesAnswer,
    permission="organization: machine-identity-auth-template list-templates",
    audit="get-identity-auth-templates",
)
async def list_(call: Call[NoBody, ListQuery]) -> TemplatesAnswer:
    """List the organization's templates of one kind."""
    found = await identity_templates.list_all(call.service, call.caller, call.origin, call.query.auth_method)
    return TemplatesAnswer([TemplateView.of(template) for template in found])


@routes.get(
    BASE + "/search",
    query=SearchQuery,
    returns=FoundTemplatesAnswer,
    permission="organization: machine-identity-auth-template list-templates",
    audit="get-identity-auth-templates",
)
async def search(call: Call[NoBody, SearchQuery]) -> FoundTemplatesAnswer:
    """List templates by a part of their names."""
    page = Page(call.query.search, call.query.limit, call.query.offset)
    found, total = await identity_templates.search(call.service, call.caller, call.origin, page)
    return FoundTemplatesAnswer(templates=[TemplateView.of(template) for template in found], total_count=total)


@routes.get(
    ONE,
    returns=TemplateView,
    permission="organization: machine-identity-auth-template list-templates",
    audit="get-identity-auth-template",
)
async def get(call: BareCall) -> TemplateView:
    """Return a template."""
    return TemplateView.of(await identity_templates.get(call.service, call.caller, call.origin, _id(call)))


@routes.patch(
    ONE,
    body=ChangeTemplateBody,
    returns=TemplateView,
    permission="organization: machine-identity-auth-template edit-templates",
    audit="update-identity-auth-template",
)
async def change(call: Call[ChangeTemplateBody, NoQuery]) -> TemplateView:
    """Change a template, and every identity that uses it."""
    changed = await identity_templates.change(
        call.service, call.caller, call.origin, _id(call), call.body.name, call.body.to_changes()
    )
    return TemplateView.of(changed)


@routes.delete(
    ONE,
    returns=Message,
    permission="organization: machine-identity-auth-template delete-templates",
    audit="delete-identity-auth-template",
)
async def delete(call: BareCall) -> Message:
    """Delete a template; who used it keeps what came from it."""
    await identity_templates.delete(call.service, call.caller, call.origin, _id(call))
    return Message(message="Successfully deleted the template")


@routes.get(
    ONE + "/usage",
    returns=UsesAnswer,
    permission="organization: machine-identity-auth-template list-templates",
    audit="get-identity-auth-template-usage",
)
async def list_uses(call: BareCall) -> UsesAnswer:
    """List the identities that use a template."""
    found = await identity_templates.list_uses(call.service, call.caller, call.origin, _id(call))
    return UsesAnswer([UseView(identity_id=use.identity_id, identity_name=use.identity_name) for use in found])


@routes.post(
    ONE + "/delete-usage",
    body=UnlinkBody,
    returns=UnlinkedAnswer,
    permission="organization: machine-identity-auth-template unlink-templates",
    audit="delete-identity-auth-template-usage",
)
async def unlink(call: Call[UnlinkBody, NoQuery]) -> UnlinkedAnswer:
    """Unlink identities from a template; they keep what came from it."""
    unlinked = await identity_templates.unlink(
        call.service, call.caller, call.origin, _id(call), call.body.identity_ids
    )
    return UnlinkedAnswer([UnlinkedView.of(use) for use in unlinked])


def _id(call: Call[Any, NoQuery]) -> UUID:
    return UUID(call.path["templateId"])
