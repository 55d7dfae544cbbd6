"""How somebody gets an account (wire-identity 9.2), and the first one of an instance (2.3)."""

from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, Field, model_validator

from strongroom_common.http.endpoints import PUBLIC, Reply, Routes
from strongroom_common.http.models import Body, Email, NoQuery, OptionalText, Title, View
from strongroom_common.kernel import names
from strongroom_common.kernel.errors import InvalidInput
from strongroom_identity.api.calls import Call, SecretText
from strongroom_identity.api.cookies import bearer_of, with_cookie
from strongroom_identity.api.sessions import Message, require_user_agent
from strongroom_identity.api.users import UserView
from strongroom_identity.usecases import sign_ups
from strongroom_identity.usecases.sign_ups import NewAccount

routes = Routes("Sign-up")

Name = Annotated[
    str, AfterValidator(lambda text: names.canonical_text(text, longest=255, label="text")), Field(max_length=1024)
]
"""A part of a person's name, which may be empty."""


class MailboxBody(Body):
    """Who wants an account."""

    email: Email


class CodeBody(Body):
    """The code that was mailed."""

    email: Email
    code: SecretText


class AccountBody(Body):
    """What somebody tells of himself."""

    email: Email
    password: SecretText
    first_name: Title
    last_name: Name = ""

    def to_account(self) -> NewAccount:
        """What was told, in our words."""
        return NewAccount(self.email, self.password, self.first_name, self.last_name)


class CompleteBody(AccountBody):
    """The same, and the organization to begin with: one of his own, or the instance's default one."""

    organization_name: Title | None = None
    use_default_org: bool = False

    @model_validator(mode="after")
    def check_organization(self) -> Self:
        """One or the other."""
        if self.organization_name is None and not self.use_default_org:
            raise InvalidInput.of_field(["organizationName"], "invalid_type", "Required")
        return self


class CompleteInvitedBody(AccountBody):
    """The same; what clients send along from the invitation is not needed."""

    token_metadata: OptionalText = None


class FirstBody(AccountBody):
    """The first administrator and the first organization."""

    organization_name: Title = "Admin Org"


class VerifiedView(View):
    """A token to complete the account with."""

    message: str
    token: str
    user: UserView


class SignedUpView(View):
    """An account with a session."""

    message: str
    user: UserView
    token: str


class CompletedView(SignedUpView):
    """The same, with the organization to select."""

    organization_id: UUID | None = None


class OrganizationView(View):
    """An organization in brief."""

    id: UUID
    name: str
    slug: str


class FirstView(SignedUpView):
    """What an instance begins with. `new` is for clients of old: it says nothing."""

    organization: OrganizationView
    new: str = "true"


@routes.post(
    "/api/v3/signup/email/signup",
    body=MailboxBody,
    returns=Message,
    callers=PUBLIC,
    permission="none: the answer goes to the mailbox",
    audit="ask-sign-up",
    rate="auth",
    is_bearer_ignored=True,
)
async def ask(call: Call[MailboxBody, NoQuery]) -> Message:
    """Send a code to a mailbox."""
    await sign_ups.ask(call.service, call.origin, call.body.email)
    return Message(message=f"Sent an e-mail verification code to {call.body.email}")


@routes.post(
    "/api/v3/signup/email/verify",
    body=CodeBody,
    returns=VerifiedView,
    callers=PUBLIC,
    permission="the code itself",
    audit="verify-sign-up",
    rate="auth",
    is_bearer_ignored=True,
)
async def verify(call: Call[CodeBody, NoQuery]) -> VerifiedView:
    """Exchange a mailed code for a token to complete the account with."""
    user, token = await sign_ups.verify(call.service, call.origin, call.body.email, call.body.code)
    return VerifiedView(
        message="Successfully verified the e-mail address", token=token.reveal(), user=UserView.of(user)
    )


@routes.post(
    "/api/v3/signup/complete-account/signup",
    body=CompleteBody,
    returns=CompletedView,
    callers=PUBLIC,
    permission="the token of email/verify",
    audit="sign-up-user",
    rate="auth",
    is_bearer_ignored=True,
)
async def complete(call: Call[CompleteBody, NoQuery]) -> Reply:
    """Make the account and its organization."""
    require_user_agent(call.arrival)
    body = call.body
    name = None if body.use_default_org else body.organization_name
    made = await sign_ups.complete(call.service, call.origin, bearer_of(call.headers), body.to_account(), name)
    view = CompletedView(
        message="Successfully set up the account",
        user=UserView.of(made.user),
        token=made.tokens.access_token.reveal(),
        organization_id=made.organization.id if made.organization else None,
    )
    return with_cookie(call.service, made.tokens, view)


@routes.post(
    "/api/v3/signup/complete-account/invite",
    body=CompleteInvitedBody,
    returns=SignedUpView,
    callers=PUBLIC,
    permission="the token of invite-org/verify",
    audit="sign-up-invited-user",
    rate="auth",
    is_bearer_ignored=True,
)
async def complete_invited(call: Call[CompleteInvitedBody, NoQuery]) -> Reply:
    """Make the account of an invited user."""
    require_user_agent(call.arrival)
    made = await sign_ups.complete_invited(call.service, call.origin, bearer_of(call.headers), call.body.to_account())
    view = SignedUpView(
        message="Successfully set up the account",
        user=UserView.of(made.user),
        token=made.tokens.access_token.reveal(),
    )
    return with_cookie(call.service, made.tokens, view)


@routes.post(
    "/api/v1/admin/signup",
    body=FirstBody,
    returns=FirstView,
    callers=PUBLIC,
    audit="sign-up-first-admin",
    rate="auth",
    is_bearer_ignored=True,
)
async def first(call: Call[FirstBody, NoQuery]) -> Reply:
    """Set the instance up with its first administrator, once."""
    require_user_agent(call.arrival)
    made, organization = await sign_ups.first(
        call.service, call.origin, call.body.to_account(), call.body.organization_name
    )
    view = FirstView(
        message="Successfully set up the first administrator",
        user=UserView.of(made.user),
        token=made.tokens.access_token.reveal(),
        organization=OrganizationView(id=organization.id, name=organization.name, slug=organization.slug),
    )
    return with_cookie(call.service, made.tokens, view)
