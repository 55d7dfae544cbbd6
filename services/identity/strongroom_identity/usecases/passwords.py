"""Passwords: changed by who knows the old one, or replaced by who reads the mailbox."""

from dataclasses import replace
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Forbidden, NotFound
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain import mails as letters
from strongroom_identity.domain.errors import WrongCode, WrongPassword
from strongroom_identity.domain.passwords import verify_new
from strongroom_identity.domain.throttles import (
    CODE_FROM_ADDRESS,
    CODE_OF_MAILBOX,
    LOGIN_FROM_ADDRESS,
    LOGIN_OF_MAILBOX,
    MAIL_FROM_ADDRESS,
    MAIL_TO_MAILBOX,
)
from strongroom_identity.domain.users import User
from strongroom_identity.store import users
from strongroom_identity.usecases import mails, one_time_codes, second_factors, sessions, throttles
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.one_time_codes import Proof


async def verify_own(context: IdentityContext, caller: Caller, origin: Origin, password: Secret) -> User:
    """Return the caller, who knows the password; raises `WrongPassword`, `RateLimited`.

    Counted with the logins: whoever has a token must not be able to guess the password with it.
    """
    user = await users.find(context.database, caller.access.subject_id)
    if user is None:
        raise WrongPassword
    counted = await throttles.of_login(context, origin, user.email)
    await throttles.count(context, counted)
    if not await context.passwords.verify(user.password_hash, password):
        await context.trail.note(audit_record(origin, context.clock, "verify-password-failed", {}))
        raise WrongPassword
    await throttles.forgive(context, counted)
    return user


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, old: Secret, new: Secret, code: str | None
) -> None:
    """Give the caller a new password; every other session ends.

    Raises `WrongPassword`, `InvalidInput` (422) for one that would be guessed, `WrongSecondFactor`, `RateLimited`.
    """
    user = await verify_own(context, caller, origin, old)
    verify_new(new, known_of(user))
    password_hash = await context.passwords.hash(new)
    async with context.database.begin(origin) as work:
        await second_factors.require(context, work, caller, origin, code)
        await users.save_password(work, user.id, password_hash, context.clock.now())
        dead = await sessions.end_all(context, work, origin, user.id, but=caller.access.token_id)
        await _tell(context, work, user)
        work.record(audit_record(origin, context.clock, "change-user-password", {"userId": str(user.id)}))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)


async def ask_recovery(context: IdentityContext, origin: Origin, mailbox: str) -> None:
    """Send a link to a mailbox, if somebody has it: nobody but its reader learns whether somebody does.

    Without a mail server nothing can be sent, and a link would be for whoever asks: an instance admin makes one then.
    Raises `RateLimited`.
    """
    await throttles.count(context, throttles.of_guesser(origin, MAIL_TO_MAILBOX, mailbox, MAIL_FROM_ADDRESS))
    user = await users.find_by_email(context.database, mailbox)
    async with context.database.begin(origin) as work:
        if context.mailer.is_configured:
            # A code is made for a stranger's mailbox as well, so that both take the same time.
            code = await one_time_codes.make(context, work, "password-recovery", mailbox)
            if user is not None and user.is_accepted:
                link = letters.recovery_link(context.site_url, mailbox, code)
                await mails.post(context, work, mailbox, letters.recovery(link))
        metadata = {"userId": str(user.id)} if user else {}
        work.record(audit_record(origin, context.clock, "ask-password-recovery", metadata))
        await work.commit()


async def make_recovery_link(context: IdentityContext, caller: Caller, origin: Origin, user_id: UUID) -> Secret | None:
    """Send a user a link to a new password; without a mail server, return it. For instance admins."""
    if not caller.access.is_instance_admin:
        raise Forbidden("Only an instance admin may do this")
    async with context.database.begin(origin) as work:
        user = await users.lock(work, user_id)
        if user is None or not user.is_accepted:
            raise NotFound("There is no such user")
        code = await one_time_codes.make(context, work, "password-recovery", user.email)
        link = letters.recovery_link(context.site_url, user.email, code)
        if context.mailer.is_configured:
            await mails.post(context, work, user.email, letters.recovery(link))
        work.record(audit_record(origin, context.clock, "make-password-recovery", {"userId": str(user.id)}))
        await work.commit()
    return None if context.mailer.is_configured else link


async def recover(context: IdentityContext, origin: Origin, mailbox: str, code: Secret, new: Secret) -> None:
    """Replace a password by one time's code; all sessions end, the second factor stays.

    Raises `WrongCode`, `InvalidInput` (422) for a password that would be guessed, `RateLimited`.
    """
    counted = throttles.of_guesser(origin, CODE_OF_MAILBOX, mailbox, CODE_FROM_ADDRESS)
    await throttles.count(context, counted)
    user = await users.find_by_email(context.database, mailbox)
    verify_new(new, [mailbox.partition("@")[0]])
    proof = Proof("password-recovery", mailbox, code)
    async with context.database.begin(origin) as work:
        # Looked at before the work of hashing, and again when it is used up.
        await one_time_codes.verify(context, work, proof)
    if user is None or not user.is_accepted:
        raise WrongCode
    password_hash = await context.passwords.hash(new)
    origin = replace(origin, actor=sessions.actor_of(user))
    async with context.database.begin(origin) as work:
        await one_time_codes.take(context, work, proof)
        await users.save_password(work, user.id, password_hash, context.clock.now())
        dead = await sessions.end_all(context, work, origin, user.id)
        await _tell(context, work, user)
        work.record(audit_record(origin, context.clock, "recover-user-password", {"userId": str(user.id)}))
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)
    await throttles.forgive(context, counted)
    await throttles.forgive(context, throttles.of_guesser(origin, LOGIN_OF_MAILBOX, user.email, LOGIN_FROM_ADDRESS))


def known_of(user: User) -> list[str]:
    """Words that anyone knows of a user: no password."""
    return [user.username, user.email, user.email.partition("@")[0], user.first_name, user.last_name]


async def _tell(context: IdentityContext, work: UnitOfWork, user: User) -> None:
    if context.mailer.is_configured:
        await mails.post(context, work, user.email, letters.password_changed())
