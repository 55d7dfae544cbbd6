"""The first request of an instance's life."""

from uuid import UUID

from strongroom_common.http.endpoints import PUBLIC, Routes
from strongroom_common.http.models import Body, Email, NoQuery, Title, View
from strongroom_identity.api.calls import Call, SecretText
from strongroom_identity.usecases import instance
from strongroom_identity.usecases.instance import Bootstrap, Bootstrapped

routes = Routes("Admin")


class BootstrapBody(Body):
    """The first administrator and the first organization."""

    email: Email
    password: SecretText
    organization: Title


class UserView(View):
    """The administrator."""

    id: UUID
    username: str
    first_name: str
    last_name: str
    email: str
    super_admin: bool


class OrganizationView(View):
    """An organization in brief."""

    id: UUID
    name: str
    slug: str


class CredentialsView(View):
    """Shown once."""

    token: str


class IdentityView(View):
    """The identity with which automation goes on."""

    id: UUID
    name: str
    credentials: CredentialsView


class BootstrappedView(View):
    """What the instance begins with."""

    message: str
    user: UserView
    organization: OrganizationView
    identity: IdentityView

    @classmethod
    def of(cls, begun: Bootstrapped) -> "BootstrappedView":
        """Show it, token included."""
        user, organization, identity = begun.user, begun.organization, begun.identity
        return cls(
            message="Successfully bootstrapped instance",
            user=UserView(
                id=user.id,
                username=user.username,
                first_name=user.first_name,
                last_name=user.last_name,
                email=user.email,
                super_admin=user.is_instance_admin,
            ),
            organization=OrganizationView(id=organization.id, name=organization.name, slug=organization.slug),
            identity=IdentityView(
                id=identity.id, name=identity.name, credentials=CredentialsView(token=begun.token.reveal())
            ),
        )


@routes.post(
    "/api/v1/admin/bootstrap",
    body=BootstrapBody,
    returns=BootstrappedView,
    callers=PUBLIC,
    audit="bootstrap-instance",
    rate="auth",
)
async def bootstrap(call: Call[BootstrapBody, NoQuery]) -> BootstrappedView:
    """Set the instance up, once: its administrator, its organization, and an identity with a token."""
    body = call.body
    wish = Bootstrap(email=body.email, password=body.password, organization=body.organization)
    return BootstrappedView.of(await instance.bootstrap(call.service, call.origin, wish))
