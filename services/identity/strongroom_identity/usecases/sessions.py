"""Sessions of people: opened by a login, narrowed to an organization, refreshed, ended (wire-identity 9.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.contracts.identity import TokensRevoked
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Forbidden, NotFound, Unauthenticated
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.errors import NotAMember, SessionOver, WrongPassword
from strongroom_identity.domain.sessions import (
    REFRESH,
    REFRESH_LIFE,
    Choice,
    RefreshTokenReused,
    Session,
    SessionTokens,
    longest_life,
)
from strongroom_identity.domain.throttles import canonical_mailbox
from strongroom_identity.domain.users import User
from strongroom_identity.store import sessions, users
from strongroom_identity.store.sessions import Workplace
from strongroom_identity.usecases import throttles
from strongroom_identity.usecases.context import IdentityContext


@dataclass(frozen=True)
class Selected:
    """What selecting an organization gives: tokens, or a token that is good for the second factor alone."""

    workplace: Workplace
    tokens: SessionTokens | None
    mfa_token: Secret | None = None


async def login(context: IdentityContext, origin: Origin, mailbox: str, password: Secret) -> SessionTokens:
    """Exchange a password for a session. Raises `WrongPassword`, and `RateLimited` after too many of them.

    The text of the refusal and the work behind it are the same for a mailbox that nobody has.
    """
    name = canonical_mailbox(mailbox)
    counted = await throttles.of_login(context, origin, name)
    await throttles.count(context, counted)
    user = await users.find_by_email(context.database, name)
    known_hash = user.password_hash if user is not None and user.is_accepted else None
    is_right = await context.passwords.verify(known_hash, password)
    if user is None or known_hash is None or not is_right:
        # The mailbox is not repeated: people type their password into the wrong field.
        metadata = {"userId": str(user.id)} if user else {}
        await context.trail.note(audit_record(origin, context.clock, "login-user-failed", metadata))
        raise WrongPassword
    new_hash = await context.passwords.hash(password) if context.passwords.needs_rehash(known_hash) else None
    origin = replace(origin, actor=actor_of(user))
    async with context.database.begin(origin) as work:
        if new_hash is not None:
            await users.save_password(work, user.id, new_hash, context.clock.now())
        opened, dead = await open_session(context, work, origin, user)
        work.record(audit_record(origin, context.clock, "login-user", {"sessionId": str(opened.id)}))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)
    await throttles.forgive(context, counted)
    return tokens_of(context, opened)


async def open_session(
    context: IdentityContext, work: UnitOfWork, origin: Origin, user: User
) -> tuple[Session, TokensRevoked]:
    """Begin a session; the oldest of too many ends for it, which the caller tells the doorkeeper after the commit."""
    session = Session.new(user.id, origin.client_address, origin.user_agent, context.clock.now())
    dead = TokensRevoked(token_ids=await sessions.add(work, session))
    if dead.token_ids:
        work.send(dead)
    return session, dead


async def select_organization(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: str, *, is_sub: bool = False
) -> Selected:
    """Give tokens for an organization to one of its members; with a second factor, a token for that first.

    Raises `NotAMember`, and `Forbidden` where the organization wants a second factor and the user has none.
    """
    workplace = await get_workplace(context, caller.access.subject_id, organization_id)
    if is_sub and workplace.parent_id is None:
        raise NotFound("There is no such sub-organization")
    origin = replace(origin, organization_id=workplace.id)
    async with context.database.begin(origin) as work:
        session = await sessions.lock(work, caller.access.token_id, context.clock.now())
        if session is None:
            raise SessionOver
        metadata = {"organizationId": str(workplace.id), "sessionId": str(session.id)}
        if (workplace.has_second_factor or workplace.enforce_mfa) and not session.is_mfa_verified:
            if not workplace.has_second_factor:
                raise Forbidden("This organization wants a second factor: set one up first")
            mfa_token = _sign(context, session.mfa_claims(context.clock.now(), choice_of(workplace)))
            work.record(audit_record(origin, context.clock, "ask-for-second-factor", metadata))
            await work.commit()
            return Selected(workplace, None, mfa_token)
        await sessions.note_login(work, workplace.id, session.user_id, session.auth_method, context.clock.now())
        work.record(audit_record(origin, context.clock, "select-organization", metadata))
        await work.commit()
    return Selected(workplace, tokens_of(context, session, choice_of(workplace)))


async def refresh(context: IdentityContext, origin: Origin, presented: Secret) -> SessionTokens:
    """Exchange a refresh token for a new pair. A token that comes a second time ends the session.

    Raises `TokenRefused` (bad, expired), `Unauthenticated` (of another kind, session over), `NotAMember`.
    """
    claims = await context.keys.verify(presented.reveal())
    session_id, user_id = read_session(claims, REFRESH)
    chosen = claims.get("organizationId")
    choice = None if chosen is None else choice_of(await get_workplace(context, user_id, str(chosen)))
    user = await users.find(context.database, user_id)
    if user is None:
        raise SessionOver
    origin = replace(origin, actor=actor_of(user), organization_id=choice.organization_id if choice else None)
    async with context.database.begin(origin) as work:
        session = await sessions.lock(work, session_id, context.clock.now())
        if session is None or session.user_id != user.id:
            raise SessionOver
        try:
            session = session.refreshed(claims.get("refreshVersion"), context.clock.now())
        except RefreshTokenReused:
            dead = TokensRevoked(token_ids=[session.id])
            await sessions.end(work, session.id, user.id)
            work.send(dead)
            metadata = {"sessionId": str(session.id), "reason": "a refresh token was used a second time"}
            work.record(audit_record(origin, context.clock, "end-user-session", metadata))
            await work.commit()
            context.doorkeeper.hear_tokens_revoked(dead)
            raise
        await sessions.save(work, session)
        work.record(audit_record(origin, context.clock, "refresh-user-session", {"sessionId": str(session.id)}))
        await work.commit()
    return tokens_of(context, session, choice)


async def logout(context: IdentityContext, origin: Origin, presented: Secret) -> None:
    """End the session of a refresh token, of any version; raises `TokenRefused`, `Unauthenticated`."""
    session_id, user_id = read_session(await context.keys.verify(presented.reveal()), REFRESH)
    user = await users.find(context.database, user_id)
    if user is None:
        raise SessionOver
    if not await _end(context, replace(origin, actor=actor_of(user)), user.id, session_id, "log-out-user"):
        raise SessionOver


async def check(context: IdentityContext, caller: Caller, origin: Origin) -> None:
    """Note that a session looked whether it is good; the doorkeeper has seen that it is."""
    metadata = {"sessionId": str(caller.access.token_id)}
    await context.trail.note(audit_record(origin, context.clock, "check-user-session", metadata))


async def list_own(context: IdentityContext, caller: Caller) -> list[Session]:
    """List the caller's sessions, the one used last first."""
    return await sessions.list_of(context.database, caller.access.subject_id, context.clock.now())


async def end_own(context: IdentityContext, caller: Caller, origin: Origin, session_id: UUID) -> None:
    """End one of the caller's sessions; raises `NotFound`."""
    if not await _end(context, origin, caller.access.subject_id, session_id, "end-user-session"):
        raise NotFound("There is no such session")


async def end_all_own(context: IdentityContext, caller: Caller, origin: Origin) -> int:
    """Log the caller out everywhere, here too; return how many sessions ended."""
    async with context.database.begin(origin) as work:
        dead = await end_all(context, work, origin, caller.access.subject_id)
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)
    return len(dead.token_ids)


async def end_all(
    context: IdentityContext, work: UnitOfWork, origin: Origin, user_id: UUID, *, but: UUID | None = None
) -> TokensRevoked:
    """End a user's sessions, or all but one; the caller tells the doorkeeper after the commit."""
    dead = TokensRevoked(token_ids=await sessions.end_all(work, user_id, but=but))
    if dead.token_ids:
        work.send(dead)
        metadata = {"userId": str(user_id), "sessions": len(dead.token_ids)}
        work.record(audit_record(origin, context.clock, "end-user-sessions", metadata))
    return dead


async def drop_expired(context: IdentityContext) -> None:
    """Forget sessions that are over."""
    while await sessions.drop_expired(context.database, context.clock.now()):
        pass


async def get_workplace(context: IdentityContext, user_id: UUID, organization_id: str) -> Workplace:
    """Return an organization to one of its active members; raises `NotAMember` for any other text."""
    try:
        wanted = UUID(organization_id)
    except ValueError:
        raise NotAMember from None
    workplace = await sessions.find_workplace(context.database, wanted, user_id)
    if workplace is None:
        raise NotAMember
    return workplace


def tokens_of(context: IdentityContext, session: Session, choice: Choice | None = None) -> SessionTokens:
    """Sign a session's tokens as it now is."""
    now = context.clock.now()
    return SessionTokens(
        access_token=_sign(context, session.access_claims(now, choice)),
        refresh_token=_sign(context, session.refresh_claims(now, choice)),
        refresh_life=min(REFRESH_LIFE, choice.longest) if choice else REFRESH_LIFE,
        organization_id=choice.organization_id if choice else None,
        sub_organization_id=choice.organization_id if choice and choice.is_sub else None,
    )


def choice_of(workplace: Workplace) -> Choice:
    """The organization as tokens name it."""
    return Choice(workplace.id, workplace.parent_id is not None, longest_life(workplace.user_token_expiration))


def read_session(claims: Mapping[str, Any], kind: str) -> tuple[UUID, UUID]:
    """Return the session and the user of a token of this kind; raises `Unauthenticated`."""
    if claims.get("authTokenType") != kind:
        raise Unauthenticated("This is another kind of token")
    try:
        return UUID(claims["tokenVersionId"]), UUID(claims["userId"])
    except (KeyError, ValueError, TypeError, AttributeError):
        raise SessionOver from None


def actor_of(user: User) -> Actor:
    """A user in the audit trail."""
    metadata = {"userId": str(user.id), "email": user.email, "username": user.username}
    return Actor(kind="user", id=user.id, name=user.username, metadata=metadata)


async def _end(context: IdentityContext, origin: Origin, user_id: UUID, session_id: UUID, event: str) -> bool:
    dead = TokensRevoked(token_ids=[session_id])
    async with context.database.begin(origin) as work:
        if not await sessions.end(work, session_id, user_id):
            return False
        work.send(dead)
        work.record(audit_record(origin, context.clock, event, {"sessionId": str(session_id)}))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)
    return True


def _sign(context: IdentityContext, claims: Mapping[str, Any]) -> Secret:
    return Secret(context.secrets.signing_key.sign(claims))
