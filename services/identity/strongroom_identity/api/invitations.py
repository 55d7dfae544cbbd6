"""Inviting people into an organization (wire-identity 9.2)."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from strongroom_common.http.endpoints import PUBLIC, USER, Routes
from strongroom_common.http.models import Body, Email, NoQuery, Slug, View
from strongroom_common.kernel import names
from strongroom_identity.api.calls import Call, SecretText, Text
from strongroom_identity.api.users import UserView
from strongroom_identity.usecases import invitations
from strongroom_identity.usecases.invitations import NewInvitation

routes = Routes("Invitations")

BASE = "/api/v1/invite-org"


def _lower_case_email(text: str) -> str:
    if text != text.lower():
        raise ValueError("must be in lower case")
    return names.canonical_email(text)


LowerCaseEmail = Annotated[str, Field(min_length=1, max_length=320), AfterValidator(_lower_case_email)]
"""A mailbox that is spelled as it is stored, but for spaces around it."""


class ProjectBody(Body):
    """A project to be a member of, and as what."""

    id: UUID
    project_role_slug: Annotated[Sequence[Slug], Field(min_length=1, max_length=20)] = ("member",)


class InviteBody(Body):
    """Who is invited, and where to."""

    invitee_emails: Annotated[Sequence[LowerCaseEmail], Field(min_length=1, max_length=100)]
    organization_id: Text
    organization_role_slug: Slug = "member"
    projects: Annotated[Sequence[ProjectBody], Field(max_length=50)] = ()

    def to_wish(self) -> NewInvitation:
        """What the caller wants, in our words."""
        return NewInvitation(
            mailboxes=self.invitee_emails,
            organization_id=self.organization_id,
            role=self.organization_role_slug,
            projects=[(one.id, one.project_role_slug) for one in self.projects],
        )


class ResendBody(Body):
    """The membership that nobody has accepted yet."""

    membership_id: UUID


class VerifyBody(Body):
    """The code of the link."""

    email: Email
    organization_id: UUID
    code: SecretText


class LinkView(View):
    """A link for whoever hands it over."""

    email: str
    link: str


class InvitedAnswer(View):
    """What happened; the links only where there is no mail server."""

    message: str
    complete_invite_links: Sequence[LinkView] | None = None


class ResentAnswer(View):
    """The link, where there is no mail server."""

    signup_token: LinkView | None = None


class VerifiedAnswer(View):
    """The user, and a token to complete the account with, where there is none yet."""

    message: str
    token: str | None = None
    user: UserView


@routes.post(
    BASE + "/signup",
    body=InviteBody,
    returns=InvitedAnswer,
    callers=USER,
    permission="organization: member create; project: member create",
    audit="invite-organization-members",
    rate="mail",
)
async def invite(call: Call[InviteBody, NoQuery]) -> InvitedAnswer:
    """Invite people into the organization."""
    links = await invitations.invite(call.service, call.caller, call.origin, call.body.to_wish())
    if call.service.mailer.is_configured:
        return InvitedAnswer(message="Sent the invitations")
    shown = [LinkView(email=one.mailbox, link=one.link.reveal()) for one in links]
    return InvitedAnswer(message="No mail server is configured: hand the links over", complete_invite_links=shown)


@routes.post(
    BASE + "/signup-resend",
    body=ResendBody,
    returns=ResentAnswer,
    callers=USER,
    permission="organization: member create",
    audit="resend-organization-invitation",
    rate="mail",
)
async def resend(call: Call[ResendBody, NoQuery]) -> ResentAnswer:
    """Send an open invitation again."""
    link = await invitations.resend(call.service, call.caller, call.origin, call.body.membership_id)
    return ResentAnswer(signup_token=None if link is None else LinkView(email=link.mailbox, link=link.link.reveal()))


@routes.post(
    BASE + "/verify",
    body=VerifyBody,
    returns=VerifiedAnswer,
    callers=PUBLIC,
    permission="the code itself",
    audit="accept-organization-invitation, verify-organization-invitation",
    rate="invite",
    is_bearer_ignored=True,
)
async def verify(call: Call[VerifyBody, NoQuery]) -> VerifiedAnswer:
    """Accept an invitation."""
    body = call.body
    user, token = await invitations.verify(call.service, call.origin, body.email, body.organization_id, body.code)
    return VerifiedAnswer(
        message="Successfully verified the invitation",
        token=token.reveal() if token else None,
        user=UserView.of(user),
    )
