"""How somebody gets an account: by showing that he reads a mailbox, or by an invitation (wire-identity 9.2)."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged, TokensRevoked
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict, Forbidden, Unauthenticated
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain import mails as letters
from strongroom_identity.domain.errors import AlreadySetUp, SessionOver, WrongCode
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.passwords import verify_new
from strongroom_identity.domain.sessions import SIGN_UP, SIGN_UP_LIFE, SessionTokens
from strongroom_identity.domain.throttles import CODE_FROM_ADDRESS, CODE_OF_MAILBOX, MAIL_FROM_ADDRESS, MAIL_TO_MAILBOX
from strongroom_identity.domain.users import User
from strongroom_identity.store import instance, instance_configuration, invitations, memberships, users
from strongroom_identity.store import organizations as organizations_store
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import mails, one_time_codes, organizations, roles, sessions, throttles
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.one_time_codes import Proof


@dataclass(frozen=True)
class NewAccount:
    """What somebody tells of himself."""

    mailbox: str
    password: Secret
    first_name: str
    last_name: str

    @property
    def known(self) -> list[str]:
        """Words that anyone knows of him: no password."""
        return [self.mailbox, self.mailbox.partition("@")[0], self.first_name, self.last_name]


@dataclass(frozen=True)
class SignedUp:
    """An account, and the session with which it begins."""

    user: User
    tokens: SessionTokens
    organization: Organization | None = None


async def ask(context: IdentityContext, origin: Origin, mailbox: str) -> None:
    """Send a code to a mailbox; whether somebody has an account already, only its reader learns.

    Raises `Forbidden` where sign-up is off, its domain is not allowed or no mail server is configured, `RateLimited`.
    """
    configuration = await instance_configuration.get(context.database)
    if not configuration.is_initialized or not configuration.is_sign_up_allowed(mailbox):
        raise Forbidden("Signing up is not open to you: ask an administrator for an invitation")
    if not context.mailer.is_configured:
        raise Forbidden("Signing up needs a mail server, which this instance has not: ask for an invitation")
    await throttles.count(context, throttles.of_guesser(origin, MAIL_TO_MAILBOX, mailbox, MAIL_FROM_ADDRESS))
    user = await users.find_by_email(context.database, mailbox)
    async with context.database.begin(origin) as work:
        code = await one_time_codes.make(context, work, "sign-up", mailbox)
        if user is not None and user.is_accepted:
            await one_time_codes.drop(work, "sign-up", mailbox)
            await mails.post(context, work, mailbox, letters.account_exists(context.site_url))
        else:
            await mails.post(context, work, mailbox, letters.sign_up_code(code))
        work.record(audit_record(origin, context.clock, "ask-sign-up", {}))
        await work.commit()


async def verify(context: IdentityContext, origin: Origin, mailbox: str, code: Secret) -> tuple[User, Secret]:
    """Exchange a mailed code for a token to complete the account with. Raises `WrongCode`, `RateLimited`."""
    counted = throttles.of_guesser(origin, CODE_OF_MAILBOX, mailbox, CODE_FROM_ADDRESS)
    await throttles.count(context, counted)
    user = User.invited(mailbox, context.clock.now())
    with refusing({users.EMAIL_TAKEN: WrongCode(), users.USERNAME_TAKEN: WrongCode()}):
        async with context.database.begin(origin) as work:
            await one_time_codes.take(context, work, Proof("sign-up", mailbox, code))
            known = (await users.lock_by_emails(work, [mailbox])).get(mailbox)
            if known is None:
                await users.add(work, user)
            elif known.is_accepted:
                raise WrongCode
            user = known or user
            work.record(audit_record(origin, context.clock, "verify-sign-up", {"userId": str(user.id)}))
            await work.commit()
    await throttles.forgive(context, counted)
    return user, sign_up_token(context, user)


async def complete(
    context: IdentityContext, origin: Origin, presented: Secret, wish: NewAccount, organization_name: str | None
) -> SignedUp:
    """Make the account and its organization; without a name of one, the user joins the instance's default one.

    Raises `TokenRefused`, `Unauthenticated`, `Forbidden` (an account already, another mailbox), `InvalidInput` (422)
    for a password that would be guessed, `Conflict` where there is no default organization.
    """
    claims = await context.keys.verify(presented.reveal())
    user_id, invited_to = read_sign_up(claims)
    if invited_to is not None:
        raise Unauthenticated("This token is for an invitation")
    default = None
    if organization_name is None:
        default = (await instance_configuration.get(context.database)).default_auth_organization_id
        if default is None:
            raise Conflict("This instance has no default organization: name one of your own")
    verify_new(wish.password, wish.known)
    password_hash = await context.passwords.hash(wish.password)
    async with context.database.begin(origin) as work:
        user = await _complete(context, work, user_id, wish, password_hash, is_email_verified=True)
        organization = None
        if organization_name is not None:
            organization = await organizations.create(work, context.clock, organization_name, user)
        elif default is not None:
            organization = await _join(context, work, default, user)
        signed_up, dead = await _begin(context, work, origin, user, organization, "sign-up-user")
        await work.commit()
    context.doorkeeper.hear_tokens_revoked(dead)
    return signed_up


async def complete_invited(context: IdentityContext, origin: Origin, presented: Secret, wish: NewAccount) -> SignedUp:
    """Make the account of an invited user, who thereby accepts. Raises as `complete`."""
    user_id, invited_to = read_sign_up(await context.keys.verify(presented.reveal()))
    if invited_to is None:
        raise Unauthenticated("This token is for no invitation")
    verify_new(wish.password, wish.known)
    password_hash = await context.passwords.hash(wish.password)
    async with context.database.begin(origin) as work:
        # A mail proves who reads the mailbox; a link that an administrator has handed over does not.
        is_read = context.mailer.is_configured
        user = await _complete(context, work, user_id, wish, password_hash, is_email_verified=is_read)
        joined = await accept(context, work, user, invited_to)
        signed_up, dead = await _begin(context, work, origin, user, None, "sign-up-invited-user")
        await work.commit()
    context.doorkeeper.hear_access_changed(joined)
    context.doorkeeper.hear_tokens_revoked(dead)
    return signed_up


async def first(
    context: IdentityContext, origin: Origin, wish: NewAccount, organization_name: str
) -> tuple[SignedUp, Organization]:
    """Set the instance up with its first administrator, once; raises `AlreadySetUp` ever after."""
    if await instance.is_set_up(context.database):
        raise AlreadySetUp
    verify_new(wish.password, wish.known)
    password_hash = await context.passwords.hash(wish.password)
    taken = Conflict("Somebody already has this e-mail address", label="Instance initialization")
    with refusing({users.EMAIL_TAKEN: taken, users.USERNAME_TAKEN: taken}):
        async with context.database.begin(origin) as work:
            now = context.clock.now()
            if not await instance.mark_set_up(work, now):
                raise AlreadySetUp
            user = replace(
                User.first(wish.mailbox, password_hash, now), first_name=wish.first_name, last_name=wish.last_name
            )
            await users.add(work, user)
            organization = await organizations.create(work, context.clock, organization_name, user)
            signed_up, _ = await _begin(context, work, origin, user, organization, "sign-up-first-admin")
            await work.commit()
    return signed_up, organization


def sign_up_token(context: IdentityContext, user: User, organization_id: UUID | None = None) -> Secret:
    """Sign a token that is good for completing one account, and accepting one invitation with it."""
    issued_at = int(context.clock.now().timestamp())
    claims: dict[str, Any] = {
        "authTokenType": SIGN_UP,
        "userId": str(user.id),
        "iat": issued_at,
        "exp": issued_at + int(SIGN_UP_LIFE.total_seconds()),
    }
    if organization_id is not None:
        claims["organizationId"] = str(organization_id)
    return Secret(context.secrets.signing_key.sign(claims))


def read_sign_up(claims: dict[str, Any]) -> tuple[UUID, UUID | None]:
    """Return the user of a sign-up token and the organization that invited him, if one did."""
    if claims.get("authTokenType") != SIGN_UP:
        raise Unauthenticated("This is another kind of token")
    try:
        organization = claims.get("organizationId")
        return UUID(claims["userId"]), UUID(organization) if organization else None
    except (KeyError, ValueError, TypeError, AttributeError):
        raise SessionOver from None


async def accept(context: IdentityContext, work: UnitOfWork, user: User, organization_id: UUID) -> AccessChanged:
    """Let a user in where he is invited; raises `WrongCode` where he is not, or not any more."""
    if not await invitations.accept(work, organization_id, user.id, context.clock.now()):
        raise WrongCode
    await one_time_codes.drop(work, "invitation", user.email, organization_id)
    changed = AccessChanged(organization_id=organization_id, subject_ids=[user.id])
    work.send(changed)
    origin = replace(work.origin, actor=sessions.actor_of(user), organization_id=organization_id)
    work.record(audit_record(origin, context.clock, "accept-organization-invitation", {"userId": str(user.id)}))
    return changed


async def _complete(
    context: IdentityContext,
    work: UnitOfWork,
    user_id: UUID,
    wish: NewAccount,
    password_hash: str,
    *,
    is_email_verified: bool,
) -> User:
    user = await users.lock(work, user_id)
    if user is None or user.email != wish.mailbox:
        raise Forbidden("The token is for another mailbox")
    if user.is_accepted:
        raise Forbidden("The account is complete: log in")
    now = context.clock.now()
    user = user.completed(password_hash, wish.first_name, wish.last_name, now, is_email_verified=is_email_verified)
    await users.save(work, user)
    return user


async def _join(context: IdentityContext, work: UnitOfWork, organization_id: UUID, user: User) -> Organization:
    organization = await organizations_store.lock(work, organization_id)
    if organization is None:
        raise Conflict("This instance has no default organization: name one of your own")
    given = await roles.get_all(work, [organization.default_membership_role], organization.id)
    held = [MembershipRole.of(role) for role in given]
    now = context.clock.now()
    await memberships.add(work, Membership.new("user", user.id, held, now, organization_id=organization.id))
    return organization


async def _begin(
    context: IdentityContext,
    work: UnitOfWork,
    origin: Origin,
    user: User,
    organization: Organization | None,
    event: str,
) -> tuple[SignedUp, TokensRevoked]:
    origin = replace(origin, actor=sessions.actor_of(user), organization_id=organization.id if organization else None)
    session, dead = await sessions.open_session(context, work, origin, user)
    work.record(audit_record(origin, context.clock, event, {"userId": str(user.id), "sessionId": str(session.id)}))
    return SignedUp(user, sessions.tokens_of(context, session), organization), dead
