"""Passwords: changed, forgotten, replaced."""

from uuid import UUID

from strongroom_common.http.endpoints import ANYONE_KNOWN, PUBLIC, USER, Routes
from strongroom_common.http.models import Body, Email, NoQuery, View
from strongroom_identity.api.calls import BareCall, Call, SecretText
from strongroom_identity.api.sessions import Message
from strongroom_identity.usecases import passwords

routes = Routes("Passwords")


class ChangeBody(Body):
    """The old and the new password; `totp` where the session has not shown the second factor."""

    old_password: SecretText
    new_password: SecretText
    totp: SecretText | None = None


class AskBody(Body):
    """Whose password is forgotten."""

    email: Email


class RecoverBody(Body):
    """The code of the link, and the new password."""

    email: Email
    code: SecretText
    password: SecretText


class RecoveryLinkAnswer(View):
    """The link, where there is no mail server that could send it."""

    message: str
    link: str | None


@routes.patch(
    "/api/v1/user/me/password",
    body=ChangeBody,
    returns=Message,
    callers=USER,
    permission="the caller's own, with password and second factor",
    audit="change-user-password",
    rate="auth",
    needs_organization=False,
)
async def change(call: Call[ChangeBody, NoQuery]) -> Message:
    """Change the caller's password; all other sessions end."""
    body = call.body
    code = body.totp.reveal() if body.totp else None
    await passwords.change(call.service, call.caller, call.origin, body.old_password, body.new_password, code)
    return Message(message="Successfully changed the password")


@routes.post(
    "/api/v1/auth/password-recovery",
    body=AskBody,
    returns=Message,
    callers=PUBLIC,
    permission="none: the answer goes to the mailbox",
    audit="ask-password-recovery",
    rate="auth",
    is_bearer_ignored=True,
)
async def ask_recovery(call: Call[AskBody, NoQuery]) -> Message:
    """Send a link to a new password to a mailbox."""
    await passwords.ask_recovery(call.service, call.origin, call.body.email)
    return Message(message="If there is an account with this e-mail address, a link is on its way")


@routes.post(
    "/api/v1/auth/password-recovery/complete",
    body=RecoverBody,
    returns=Message,
    callers=PUBLIC,
    permission="the code itself",
    audit="recover-user-password",
    rate="auth",
    is_bearer_ignored=True,
)
async def recover(call: Call[RecoverBody, NoQuery]) -> Message:
    """Replace a forgotten password; all sessions end."""
    body = call.body
    await passwords.recover(call.service, call.origin, body.email, body.code, body.password)
    return Message(message="Successfully changed the password: log in")


@routes.post(
    "/api/v1/admin/user-management/users/{userId:uuid}/password-recovery",
    returns=RecoveryLinkAnswer,
    callers=ANYONE_KNOWN,
    permission="instance admin",
    audit="make-password-recovery",
    needs_organization=False,
)
async def make_recovery_link(call: BareCall) -> RecoveryLinkAnswer:
    """Send a user a link to a new password, or show it where there is no mail server."""
    link = await passwords.make_recovery_link(call.service, call.caller, call.origin, UUID(call.path["userId"]))
    if link is None:
        return RecoveryLinkAnswer(message="A link is on its way", link=None)
    return RecoveryLinkAnswer(message="No mail server is configured: hand the link over yourself", link=link.reveal())
