"""Sessions of people: login, organization, refresh, logout (wire-identity 9.1)."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from aiohttp.web import StreamResponse
from pydantic import Field, StringConstraints

from strongroom_common.http.door import refusal
from strongroom_common.http.endpoints import PUBLIC, USER, Arrival, Reply, Routes
from strongroom_common.http.models import Body, Instant, NoQuery, OptionalText, View
from strongroom_common.kernel.errors import Conflict, StrongroomError
from strongroom_identity.api.calls import BareCall, Call, SecretText, Text
from strongroom_identity.api.cookies import bearer_of, cleared, refresh_token_of, with_cookie
from strongroom_identity.domain.sessions import TOTP, Session
from strongroom_identity.usecases import second_factors, sessions
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.sessions import Selected

routes = Routes("Sessions")

LoginName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=320)]
"""What is typed as a mailbox at login: one that is none is nobody's, and gets the answer that nobody gets."""


class LoginBody(Body):
    """What a person presents. The last two fields are for ways in that this instance has not."""

    email: LoginName
    password: SecretText
    provider_auth_token: OptionalText = None
    captcha_token: OptionalText = None


class SelectBody(Body):
    """The organization to work in."""

    organization_id: Text
    user_agent: OptionalText = None


class SelectSubBody(Body):
    """The sub-organization to work in."""

    sub_organization_id: Text
    user_agent: OptionalText = None


class VerifyMfaBody(Body):
    """A code of the authenticator, or a recovery code."""

    mfa_token: SecretText
    mfa_method: Literal["totp"] = TOTP
    email: OptionalText = None


class LoginView(View):
    """A token without an organization yet."""

    access_token: str


class SelectedView(View):
    """A token for an organization; with a second factor, a token that is good for that alone."""

    token: str
    is_mfa_enabled: bool
    mfa_method: str | None = None


class SubOrganizationView(View):
    """A sub-organization in brief."""

    id: UUID
    name: str
    slug: str


class SubSelectedView(SelectedView):
    """The same for a sub-organization."""

    sub_organization: SubOrganizationView | None = None


class VerifiedView(View):
    """A token for the organization. The other fields belong to an encryption that this instance has not."""

    token: str
    encryption_version: int | None = None
    public_key: str | None = None
    encrypted_private_key: str | None = None
    iv: str | None = None
    tag: str | None = None
    protected_key: str | None = None
    protected_key_iv: str | None = Field(None, alias="protectedKeyIV")
    protected_key_tag: str | None = None


class RefreshedView(View):
    """A fresh token, for the organization that was selected before, if one was."""

    token: str
    organization_id: UUID | None = None
    sub_organization_id: UUID | None = None


class Message(View):
    """Words for people."""

    message: str


class SessionView(View):
    """One of the caller's sessions."""

    id: UUID
    ip: str
    user_agent: str
    auth_method: str
    is_mfa_verified: bool
    is_current: bool
    last_used: Instant
    expires_at: Instant
    created_at: Instant

    @classmethod
    def of(cls, session: Session, current: UUID) -> "SessionView":
        """Show a session."""
        return cls(
            id=session.id,
            ip=session.client_address,
            user_agent=session.user_agent,
            auth_method=session.auth_method,
            is_mfa_verified=session.is_mfa_verified,
            is_current=session.id == current,
            last_used=session.last_used_at,
            expires_at=session.expires_at,
            created_at=session.created_at,
        )


class SessionsAnswer(View):
    """All of them: a user has a hundred at most."""

    sessions: Sequence[SessionView]


def require_user_agent(arrival: Arrival) -> None:
    """Refuse a login without a `User-Agent`, with the 500 that clients know (wire-identity 9.1)."""
    if not arrival.user_agent.strip():
        raise StrongroomError("A User-Agent header is required")


@routes.post(
    "/api/v3/auth/login",
    body=LoginBody,
    returns=LoginView,
    callers=PUBLIC,
    permission="the password itself",
    audit="login-user",
    rate="auth",
    is_bearer_ignored=True,
)
async def login(call: Call[LoginBody, NoQuery]) -> Reply:
    """Exchange a password for a session."""
    require_user_agent(call.arrival)
    tokens = await sessions.login(call.service, call.origin, call.body.email, call.body.password)
    return with_cookie(call.service, tokens, LoginView(access_token=tokens.access_token.reveal()))


@routes.post(
    "/api/v3/auth/login1",
    "/api/v3/auth/login2",
    returns=Message,
    callers=PUBLIC,
    permission="none: it is always refused",
    rate="auth",
    is_bearer_ignored=True,
)
async def login_with_srp(call: BareCall) -> Message:
    """Refuse the older login, by SRP: no account of this instance has what it needs."""
    raise Conflict("SRP login is not supported: use POST /api/v3/auth/login")


@routes.post(
    "/api/v3/auth/select-organization",
    body=SelectBody,
    returns=SelectedView,
    callers=USER,
    permission="a member of the organization",
    audit="select-organization",
    rate="auth",
    needs_organization=False,
)
async def select_organization(call: Call[SelectBody, NoQuery]) -> Reply:
    """Begin to work in an organization."""
    selected = await sessions.select_organization(call.service, call.caller, call.origin, call.body.organization_id)
    return _selected(call.service, selected, SelectedView(**_token_of(selected)))


@routes.post(
    "/api/v3/auth/select-sub-organization",
    body=SelectSubBody,
    returns=SubSelectedView,
    callers=USER,
    permission="a member of the sub-organization",
    audit="select-organization",
    rate="auth",
    needs_organization=False,
)
async def select_sub_organization(call: Call[SelectSubBody, NoQuery]) -> Reply:
    """Begin to work in a sub-organization."""
    selected = await sessions.select_organization(
        call.service, call.caller, call.origin, call.body.sub_organization_id, is_sub=True
    )
    place = selected.workplace
    shown = SubOrganizationView(id=place.id, name=place.name, slug=place.slug)
    return _selected(call.service, selected, SubSelectedView(**_token_of(selected), sub_organization=shown))


@routes.post(
    "/api/v2/auth/mfa/verify",
    body=VerifyMfaBody,
    returns=VerifiedView,
    callers=PUBLIC,
    permission="the token of select-organization, and the code",
    audit="verify-second-factor",
    rate="mfa",
    is_bearer_ignored=True,
)
async def verify_mfa(call: Call[VerifyMfaBody, NoQuery]) -> Reply:
    """Show the second factor."""
    tokens = await second_factors.verify(
        call.service, call.origin, bearer_of(call.headers), call.body.mfa_token.reveal()
    )
    return with_cookie(call.service, tokens, VerifiedView(token=tokens.access_token.reveal()))


@routes.post(
    "/api/v1/auth/checkAuth",
    returns=Message,
    callers=USER,
    permission="any session",
    audit="check-user-session",
    needs_organization=False,
)
async def check(call: BareCall) -> Message:
    """Say that the token is good."""
    await sessions.check(call.service, call.caller, call.origin)
    return Message(message="Authenticated")


@routes.post(
    "/api/v1/auth/token",
    returns=RefreshedView,
    callers=PUBLIC,
    permission="the cookie itself",
    audit="refresh-user-session",
    rate="auth",
    is_bearer_ignored=True,
)
async def refresh(call: BareCall) -> Reply | StreamResponse:
    """Exchange the cookie for a fresh token and cookie."""
    try:
        tokens = await sessions.refresh(call.service, call.origin, refresh_token_of(call.headers))
    except StrongroomError as error:
        if error.family not in {"unauthenticated", "forbidden"}:
            raise
        return _forgotten(call, error)
    view = RefreshedView(
        token=tokens.access_token.reveal(),
        organization_id=tokens.organization_id,
        sub_organization_id=tokens.sub_organization_id,
    )
    return with_cookie(call.service, tokens, view)


@routes.post(
    "/api/v1/auth/logout",
    returns=Message,
    callers=PUBLIC,
    permission="the cookie itself",
    audit="log-out-user",
    rate="auth",
    is_bearer_ignored=True,
)
async def logout(call: BareCall) -> Reply | StreamResponse:
    """End the session of the cookie."""
    try:
        await sessions.logout(call.service, call.origin, refresh_token_of(call.headers))
    except StrongroomError as error:
        if error.family not in {"unauthenticated", "forbidden"}:
            raise
        return _forgotten(call, error)
    return Reply(Message(message="Successfully logged out"), cleared(call.service))


@routes.get(
    "/api/v1/user/me/sessions",
    returns=SessionsAnswer,
    callers=USER,
    permission="the caller's own",
    needs_organization=False,
)
async def list_own(call: BareCall) -> SessionsAnswer:
    """List the caller's sessions."""
    found = await sessions.list_own(call.service, call.caller)
    current = call.caller.access.token_id
    return SessionsAnswer(sessions=[SessionView.of(session, current) for session in found])


@routes.delete(
    "/api/v1/user/me/sessions",
    returns=Message,
    callers=USER,
    permission="the caller's own",
    audit="end-user-sessions",
    needs_organization=False,
)
async def end_all(call: BareCall) -> Reply:
    """Log the caller out everywhere."""
    await sessions.end_all_own(call.service, call.caller, call.origin)
    return Reply(Message(message="Successfully ended all sessions"), cleared(call.service))


@routes.delete(
    "/api/v1/user/me/sessions/{sessionId:uuid}",
    returns=Message,
    callers=USER,
    permission="the caller's own",
    audit="end-user-session",
    needs_organization=False,
)
async def end(call: BareCall) -> Message:
    """End one of the caller's sessions."""
    await sessions.end_own(call.service, call.caller, call.origin, UUID(call.path["sessionId"]))
    return Message(message="Successfully ended the session")


def _token_of(selected: Selected) -> dict[str, Any]:
    if selected.mfa_token is not None:
        return {"token": selected.mfa_token.reveal(), "is_mfa_enabled": True, "mfa_method": TOTP}
    return {"token": selected.tokens.access_token.reveal() if selected.tokens else "", "is_mfa_enabled": False}


def _selected(context: IdentityContext, selected: Selected, view: View) -> Reply:
    return with_cookie(context, selected.tokens, view) if selected.tokens else Reply(view)


def _forgotten(call: BareCall, error: StrongroomError) -> StreamResponse:
    answer = refusal(error, call.arrival.request_id)
    answer.headers.update(cleared(call.service))
    return answer
