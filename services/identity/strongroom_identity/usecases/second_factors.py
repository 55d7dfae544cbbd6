"""The second factor of a user: set up, asked for, taken away."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.crypto.data_keys import bind
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.errors import SessionOver, WrongSecondFactor
from strongroom_identity.domain.second_factors import Totp, canonical_code, new_recovery_codes, new_totp_secret
from strongroom_identity.domain.sessions import MFA, Session, SessionTokens
from strongroom_identity.domain.throttles import LOGIN_FROM_ADDRESS, SECOND_FACTOR
from strongroom_identity.store import second_factors, sessions, users
from strongroom_identity.usecases import passwords, throttles
from strongroom_identity.usecases import sessions as session_usecases
from strongroom_identity.usecases.context import IdentityContext

_INSTANCE = UUID(int=0)


@dataclass(frozen=True)
class Enrolment:
    """What an authenticator app needs; the recovery codes are shown this once."""

    address: Secret
    recovery_codes: list[Secret]


async def is_on(context: IdentityContext, caller: Caller) -> bool:
    """Say whether the caller has a second factor."""
    return await second_factors.is_on(context.database, caller.access.subject_id)


async def enrol(context: IdentityContext, caller: Caller, origin: Origin) -> Enrolment:
    """Begin to set a second factor up; it is asked for once `confirm` has seen a code of it. Raises `Conflict`."""
    user_id, now = caller.access.subject_id, context.clock.now()
    totp = Totp(user_id, new_totp_secret(), None, None)
    codes = new_recovery_codes()
    async with context.database.begin(origin) as work:
        sealed = context.keyring.seal(totp.secret.reveal().encode(), _place_of(user_id))
        if not await second_factors.put_unconfirmed(work, user_id, sealed, now):
            raise Conflict("A second factor is set up already: take it away first")
        await _replace_recovery_codes(context, work, user_id, codes)
        work.record(audit_record(origin, context.clock, "enrol-second-factor", {"method": "totp"}))
        await work.commit()
    return Enrolment(totp.address(caller.access.name), codes)


async def confirm(context: IdentityContext, caller: Caller, origin: Origin, code: str) -> None:
    """Ask for the second factor from now on. This session has shown it; all others of the user end.

    Raises `Conflict` where none is being set up, `WrongSecondFactor`, `RateLimited`.
    """
    user_id = caller.access.subject_id
    counted = throttles.of_guesser(origin, SECOND_FACTOR, str(user_id), LOGIN_FROM_ADDRESS)
    await throttles.count(context, counted)
    async with context.database.begin(origin) as work:
        session = await _own_session(context, work, caller)
        totp = await _lock(context, work, user_id)
        if totp is None or totp.confirmed_at is not None:
            raise Conflict("No second factor is being set up")
        if not await _use_step(work, totp, code, context.clock.now()):
            raise WrongSecondFactor
        await sessions.save(work, replace(session, is_mfa_verified=True))
        dead = await session_usecases.end_all(context, work, origin, user_id, but=session.id)
        work.record(audit_record(origin, context.clock, "confirm-second-factor", {"method": "totp"}))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)
    await throttles.forgive(context, counted)


async def verify(context: IdentityContext, origin: Origin, mfa_token: Secret, code: str) -> SessionTokens:
    """Exchange a token of `select-organization` and a code for tokens of that organization.

    Raises `TokenRefused`, `Unauthenticated`, `WrongSecondFactor`, `NotAMember`, `RateLimited`.
    """
    claims = await context.keys.verify(mfa_token.reveal())
    session_id, user_id = session_usecases.read_session(claims, MFA)
    choice = session_usecases.choice_of(
        await session_usecases.get_workplace(context, user_id, str(claims.get("organizationId")))
    )
    user = await users.find(context.database, user_id)
    if user is None:
        raise SessionOver
    origin = replace(origin, actor=session_usecases.actor_of(user), organization_id=choice.organization_id)
    counted = throttles.of_guesser(origin, SECOND_FACTOR, str(user_id), LOGIN_FROM_ADDRESS)
    await throttles.count(context, counted)
    metadata = {"sessionId": str(session_id)}
    async with context.database.begin(origin) as work:
        session = await sessions.lock(work, session_id, context.clock.now())
        if session is None or session.user_id != user_id:
            raise SessionOver
        if not await _use(context, work, user_id, code):
            work.record(audit_record(origin, context.clock, "verify-second-factor-failed", metadata))
            await work.commit()
            raise WrongSecondFactor
        session = replace(session, is_mfa_verified=True)
        await sessions.save(work, session)
        await sessions.note_login(work, choice.organization_id, user_id, session.auth_method, context.clock.now())
        work.record(audit_record(origin, context.clock, "verify-second-factor", metadata))
        await work.commit()
    await throttles.forgive(context, counted)
    return session_usecases.tokens_of(context, session, choice)


async def disable(context: IdentityContext, caller: Caller, origin: Origin, password: Secret, code: str | None) -> None:
    """Take the second factor away. It takes the password, and the factor itself where the session has not shown it.

    Raises `WrongPassword`, `WrongSecondFactor`, `RateLimited`.
    """
    await passwords.verify_own(context, caller, origin, password)
    async with context.database.begin(origin) as work:
        await require(context, work, caller, origin, code)
        await second_factors.drop(work, caller.access.subject_id)
        work.record(audit_record(origin, context.clock, "disable-second-factor", {"method": "totp"}))
        await work.commit()


async def renew_recovery_codes(
    context: IdentityContext, caller: Caller, origin: Origin, password: Secret, code: str | None
) -> list[Secret]:
    """Make new recovery codes; the old ones are worthless. Raises as `disable`, and `Conflict` without a factor."""
    await passwords.verify_own(context, caller, origin, password)
    codes = new_recovery_codes()
    async with context.database.begin(origin) as work:
        await require(context, work, caller, origin, code)
        if await _lock(context, work, caller.access.subject_id) is None:
            raise Conflict("No second factor is set up")
        await _replace_recovery_codes(context, work, caller.access.subject_id, codes)
        work.record(audit_record(origin, context.clock, "renew-recovery-codes", {}))
        await work.commit()
    return codes


async def require(context: IdentityContext, work: UnitOfWork, caller: Caller, origin: Origin, code: str | None) -> None:
    """Raise `WrongSecondFactor` where the caller has a second factor and neither the session nor the code shows it.

    For what a password alone must not do: it would undo the second factor.
    """
    session = await _own_session(context, work, caller)
    totp = await _lock(context, work, session.user_id)
    if totp is None or totp.confirmed_at is None or session.is_mfa_verified:
        return
    await throttles.count(
        context, throttles.of_guesser(origin, SECOND_FACTOR, str(session.user_id), LOGIN_FROM_ADDRESS)
    )
    if code is None or not await _use(context, work, session.user_id, code):
        raise WrongSecondFactor


async def _use(context: IdentityContext, work: UnitOfWork, user_id: UUID, code: str) -> bool:
    # The row's lock makes a second use of one code wait until the first one is true; then it is a used code.
    totp = await _lock(context, work, user_id)
    if totp is None or totp.confirmed_at is None:
        return False
    if await _use_step(work, totp, code, context.clock.now()):
        return True
    return await second_factors.take_recovery_code(work, user_id, _hash(context, Secret(code)))


async def _use_step(work: UnitOfWork, totp: Totp, code: str, now: datetime) -> bool:
    step = totp.find_step(code, now)
    if step is not None:
        await second_factors.note_step(work, totp.user_id, step, now)
    return step is not None


async def _lock(context: IdentityContext, work: UnitOfWork, user_id: UUID) -> Totp | None:
    kept = await second_factors.lock(work, user_id)
    if kept is None:
        return None
    secret = Secret(context.keyring.open(kept.sealed_secret, _place_of(user_id)).decode())
    return Totp(user_id, secret, kept.last_step, kept.confirmed_at)


async def _own_session(context: IdentityContext, work: UnitOfWork, caller: Caller) -> Session:
    session = await sessions.lock(work, caller.access.token_id, context.clock.now())
    if session is None:
        raise SessionOver
    return session


async def _replace_recovery_codes(
    context: IdentityContext, work: UnitOfWork, user_id: UUID, codes: list[Secret]
) -> None:
    await second_factors.replace_recovery_codes(work, user_id, [_hash(context, code) for code in codes])


def _hash(context: IdentityContext, code: Secret) -> bytes:
    return context.secrets.pepper.hash(Secret(f"recovery-code|{canonical_code(code.reveal())}"))


def _place_of(user_id: UUID) -> bytes:
    return bind("totps", user_id, "sealed_secret", _INSTANCE)
