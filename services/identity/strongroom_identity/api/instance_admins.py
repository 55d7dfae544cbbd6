"""What administrators of the instance see and end."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Email, Flag, NoBody, NoQuery, QueryString, Title, View
from strongroom_identity.api.calls import BareCall, Call
from strongroom_identity.api.instance import UserView
from strongroom_identity.api.organizations import OrganizationAnswer, OrganizationView
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.users import User
from strongroom_identity.store.pages import Page
from strongroom_identity.usecases import instance_admins

routes = Routes("Admin")

USERS = "/api/v1/admin/user-management/users"
IDENTITIES = "/api/v1/admin/identity-management/identities"
ORGANIZATIONS = "/api/v1/admin/organization-management/organizations"


class SearchQuery(QueryString):
    """What is looked for, and which part of it."""

    search_term: Annotated[str, StringConstraints(strip_whitespace=True, max_length=255, pattern=r"^[^\x00]*$")] = ""
    offset: Annotated[int, Field(ge=0, le=2**31)] = 0
    limit: Annotated[int, Field(ge=1, le=100)] = 20

    def to_page(self) -> Page:
        """The part, in our words."""
        return Page(self.search_term, self.limit, self.offset)


class SearchUsersQuery(SearchQuery):
    """Which users."""

    admins_only: Flag = False


class UsersAnswer(View):
    """Users, and how many there are."""

    users: Sequence[UserView]
    total: int


class DeletedUserAnswer(View):
    """The user as he was. The contract's key is plural."""

    users: UserView


class UserAnswer(View):
    """One user."""

    user: UserView


class NothingView(View):
    """Done; there is nothing to say."""


class InstanceIdentityView(View):
    """An identity in brief."""

    id: UUID
    name: str
    is_instance_admin: bool

    @classmethod
    def of(cls, identity: Identity) -> "InstanceIdentityView":
        """Show an identity."""
        return cls(id=identity.id, name=identity.name, is_instance_admin=identity.is_instance_admin)


class InstanceIdentitiesAnswer(View):
    """Identities, and how many there are."""

    identities: Sequence[InstanceIdentityView]
    total: int


class BareIdentityView(View):
    """An identity's name."""

    id: UUID
    name: str


class BareIdentityAnswer(View):
    """One identity."""

    identity: BareIdentityView


class InstanceOrganizationsAnswer(View):
    """Organizations, and how many there are."""

    organizations: Sequence[OrganizationView]
    total: int


class CreateInstanceOrganizationBody(Body):
    """A new organization, and who its admins will be."""

    name: Title
    invite_admin_emails: Annotated[Sequence[Email], Field(min_length=1, max_length=100)]


class LinkView(View):
    """Where an invited person goes on."""

    email: str
    link: str


class CreatedOrganizationAnswer(OrganizationAnswer):
    """The new organization; without a mail server, with the links that somebody must hand over."""

    complete_invite_links: Sequence[LinkView] | None


@routes.get(USERS, query=SearchUsersQuery, returns=UsersAnswer, permission="instance admin", audit="get-instance-users")
async def list_users(call: Call[NoBody, SearchUsersQuery]) -> UsersAnswer:
    """List the users of the instance."""
    found, total = await instance_admins.list_users(
        call.service, call.caller, call.origin, call.query.to_page(), admins_only=call.query.admins_only
    )
    return UsersAnswer(users=[_user(one) for one in found], total=total)


@routes.delete(USERS + "/{userId:uuid}", returns=DeletedUserAnswer, permission="instance admin", audit="delete-user")
async def delete_user(call: BareCall) -> DeletedUserAnswer:
    """Delete a user everywhere."""
    gone = await instance_admins.delete_user(call.service, call.caller, call.origin, UUID(call.path["userId"]))
    return DeletedUserAnswer(users=_user(gone))


@routes.patch(
    USERS + "/{userId:uuid}/admin-access",
    returns=NothingView,
    permission="instance admin",
    audit="grant-instance-admin-access",
)
async def grant_user(call: BareCall) -> NothingView:
    """Make a user an administrator of the instance."""
    user_id = UUID(call.path["userId"])
    await instance_admins.set_user_admin(call.service, call.caller, call.origin, user_id, is_admin=True)
    return NothingView()


@routes.delete(
    USERS + "/{userId:uuid}/admin-access",
    returns=UserAnswer,
    permission="instance admin",
    audit="revoke-instance-admin-access",
)
async def revoke_user(call: BareCall) -> UserAnswer:
    """Take the administration of the instance from a user."""
    user_id = UUID(call.path["userId"])
    user = await instance_admins.set_user_admin(call.service, call.caller, call.origin, user_id, is_admin=False)
    return UserAnswer(user=_user(user))


@routes.get(
    IDENTITIES,
    query=SearchQuery,
    returns=InstanceIdentitiesAnswer,
    permission="instance admin",
    audit="get-instance-identities",
)
async def list_identities(call: Call[NoBody, SearchQuery]) -> InstanceIdentitiesAnswer:
    """List the identities of the instance."""
    found, total = await instance_admins.list_identities(call.service, call.caller, call.origin, call.query.to_page())
    return InstanceIdentitiesAnswer(identities=[InstanceIdentityView.of(one) for one in found], total=total)


@routes.delete(
    IDENTITIES + "/{identityId:uuid}/super-admin-access",
    returns=BareIdentityAnswer,
    permission="instance admin",
    audit="revoke-instance-admin-access",
)
async def revoke_identity(call: BareCall) -> BareIdentityAnswer:
    """Take the administration of the instance from an identity."""
    identity = await instance_admins.revoke_identity_admin(
        call.service, call.caller, call.origin, UUID(call.path["identityId"])
    )
    return BareIdentityAnswer(identity=BareIdentityView(id=identity.id, name=identity.name))


@routes.get(
    ORGANIZATIONS,
    query=SearchQuery,
    returns=InstanceOrganizationsAnswer,
    permission="instance admin",
    audit="get-instance-organizations",
)
async def list_organizations(call: Call[NoBody, SearchQuery]) -> InstanceOrganizationsAnswer:
    """List the organizations of the instance."""
    found, total = await instance_admins.list_organizations(
        call.service, call.caller, call.origin, call.query.to_page()
    )
    return InstanceOrganizationsAnswer(organizations=[OrganizationView.of(one) for one in found], total=total)


@routes.post(
    ORGANIZATIONS,
    body=CreateInstanceOrganizationBody,
    returns=CreatedOrganizationAnswer,
    permission="instance admin",
    audit="create-instance-organization",
)
async def create_organization(call: Call[CreateInstanceOrganizationBody, NoQuery]) -> CreatedOrganizationAnswer:
    """Begin an organization for others, who are invited as its admins."""
    made, links = await instance_admins.create_organization(
        call.service, call.caller, call.origin, call.body.name, call.body.invite_admin_emails
    )
    shown = [LinkView(email=one.mailbox, link=one.link.reveal()) for one in links]
    return CreatedOrganizationAnswer(organization=OrganizationView.of(made), complete_invite_links=shown or None)


@routes.delete(
    ORGANIZATIONS + "/{organizationId:uuid}",
    returns=OrganizationAnswer,
    permission="instance admin",
    audit="delete-instance-organization",
)
async def delete_organization(call: BareCall) -> OrganizationAnswer:
    """Delete any organization and all that hangs on it."""
    gone = await instance_admins.delete_organization(
        call.service, call.caller, call.origin, UUID(call.path["organizationId"])
    )
    return OrganizationAnswer(organization=OrganizationView.of(gone))


def _user(user: User) -> UserView:
    return UserView(
        id=user.id,
        username=user.username,
        first_name=user.first_name,
        last_name=user.last_name,
        email=user.email,
        super_admin=user.is_instance_admin,
    )
