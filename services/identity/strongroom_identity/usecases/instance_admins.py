"""What only administrators of the instance may do: see and end users, identities and organizations of any tenant."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged, TokensRevoked
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict, Forbidden
from strongroom_identity.domain import mails as letters
from strongroom_identity.domain.errors import IdentityNotFound, UserNotFound
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.memberships import INVITED
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.users import User
from strongroom_identity.store import instance_admins, organization_members, organizations, users
from strongroom_identity.store.pages import Page
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import mails, one_time_codes
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.invitations import Link
from strongroom_identity.usecases.organization_members import verify_not_last_admin
from strongroom_identity.usecases.organizations import add_admin, delete_with_all


async def verify(context: IdentityContext, caller: Caller) -> None:
    """Raise `Forbidden` unless the caller administrates the instance.

    Both must say so: the session, which may lack its second factor, and the database, for memories may be old.
    """
    access = caller.access
    if access.is_instance_admin and await instance_admins.is_admin(context.database, access.kind, access.subject_id):
        return
    raise Forbidden("Only an administrator of the instance may do this")


async def list_users(
    context: IdentityContext, caller: Caller, origin: Origin, page: Page, *, admins_only: bool
) -> tuple[list[User], int]:
    """List the users of the instance, with how many there are altogether."""
    await verify(context, caller)
    found = await instance_admins.list_users(context.database, page, admins_only=admins_only)
    await context.trail.note(audit_record(origin, context.clock, "get-instance-users", {}))
    return found


async def list_identities(
    context: IdentityContext, caller: Caller, origin: Origin, page: Page
) -> tuple[list[Identity], int]:
    """List the identities of the instance, with how many there are altogether."""
    await verify(context, caller)
    found = await instance_admins.list_identities(context.database, page)
    await context.trail.note(audit_record(origin, context.clock, "get-instance-identities", {}))
    return found


async def list_organizations(
    context: IdentityContext, caller: Caller, origin: Origin, page: Page
) -> tuple[list[Organization], int]:
    """List the organizations of the instance, with how many there are altogether."""
    await verify(context, caller)
    found = await instance_admins.list_organizations(context.database, page)
    await context.trail.note(audit_record(origin, context.clock, "get-instance-organizations", {}))
    return found


async def delete_user(context: IdentityContext, caller: Caller, origin: Origin, user_id: UUID) -> User:
    """Delete a user everywhere.

    Raises `UserNotFound`, and `Conflict` for the last administrator of the instance or of an organization.
    """
    await verify(context, caller)
    async with context.database.begin(origin) as work:
        user = await _lock_user(work, user_id)
        await _verify_not_last(work, user)
        heard = []
        for organization_id in await instance_admins.list_organizations_of(work, user_id):
            await organizations.lock(work, organization_id)
            members = await organization_members.list_working_admins(work, organization_id, [user_id])
            if members:
                await verify_not_last_admin(work, organization_id, members)
            heard.append(AccessChanged(organization_id=organization_id, subject_ids=[user_id]))
        await instance_admins.delete_user(work, user_id)
        dead = TokensRevoked(subject_ids=[user_id])
        for message in (*heard, dead):
            work.send(message)
        metadata = {"userId": str(user_id), "email": user.email}
        work.record(audit_record(origin, context.clock, "delete-user", metadata))
        await work.commit()
    for change in heard:
        context.doorkeeper.hear_access_changed(change)
    context.doorkeeper.hear_tokens_revoked(dead)
    return user


async def set_user_admin(
    context: IdentityContext, caller: Caller, origin: Origin, user_id: UUID, *, is_admin: bool
) -> User:
    """Make a user an administrator of the instance, or take that away again; the last one stays."""
    await verify(context, caller)
    async with context.database.begin(origin) as work:
        user = await _lock_user(work, user_id)
        if not is_admin:
            await _verify_not_last(work, user)
        user = replace(user, is_instance_admin=is_admin, updated_at=context.clock.now())
        await users.save(work, user)
        heard = [
            AccessChanged(organization_id=organization_id, subject_ids=[user_id])
            for organization_id in await instance_admins.list_organizations_of(work, user_id)
        ]
        for change in heard:
            work.send(change)
        event = "grant-instance-admin-access" if is_admin else "revoke-instance-admin-access"
        work.record(audit_record(origin, context.clock, event, {"userId": str(user_id)}))
        await work.commit()
    for change in heard:
        context.doorkeeper.hear_access_changed(change)
    return user


async def revoke_identity_admin(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID
) -> Identity:
    """Take the administration of the instance from an identity."""
    await verify(context, caller)
    async with context.database.begin(origin) as work:
        identity = await instance_admins.lock_identity(work, identity_id)
        if identity is None:
            raise IdentityNotFound
        identity = replace(identity, is_instance_admin=False, updated_at=context.clock.now())
        await instance_admins.save_identity(work, identity)
        heard = AccessChanged(organization_id=identity.organization_id, subject_ids=[identity_id])
        work.send(heard)
        metadata = {"identityId": str(identity_id)}
        work.record(audit_record(origin, context.clock, "revoke-instance-admin-access", metadata))
        await work.commit()
    context.doorkeeper.hear_access_changed(heard)
    return identity


async def create_organization(
    context: IdentityContext, caller: Caller, origin: Origin, name: str, mailboxes: Sequence[str]
) -> tuple[Organization, list[Link]]:
    """Begin an organization and invite its admins; without a mail server, return the links that let them in."""
    await verify(context, caller)
    organization = Organization.new(name, context.clock.now())
    links = []
    at_once = Conflict("Somebody else has just invited one of them: try again")
    with refusing({users.EMAIL_TAKEN: at_once, users.USERNAME_TAKEN: at_once}):
        async with context.database.begin(origin) as work:
            await organizations.add(work, organization)
            known = await users.lock_by_emails(work, mailboxes)
            for mailbox in dict.fromkeys(mailboxes):
                user = known.get(mailbox)
                if user is None:
                    user = User.invited(mailbox, context.clock.now())
                    await users.add(work, user)
                await add_admin(work, organization, "user", user.id, status=INVITED)
                code = await one_time_codes.make(context, work, "invitation", mailbox, organization.id)
                link = letters.invitation_link(context.site_url, mailbox, organization.id, code)
                if context.mailer.is_configured:
                    letter = letters.invitation(organization.name, caller.access.name, link)
                    await mails.post(context, work, mailbox, letter)
                else:
                    links.append(Link(mailbox, link))
            metadata = {"organizationId": str(organization.id), "name": name, "admins": len(set(mailboxes))}
            work.record(audit_record(origin, context.clock, "create-instance-organization", metadata))
            await work.commit()
    return organization, links


async def delete_organization(
    context: IdentityContext, caller: Caller, origin: Origin, organization_id: UUID
) -> Organization:
    """Delete any organization of the instance and all that hangs on it."""
    await verify(context, caller)
    return await delete_with_all(context, origin, organization_id, "delete-instance-organization")


async def _lock_user(work: UnitOfWork, user_id: UUID) -> User:
    # Administrators are counted and changed by one work at a time.
    await instance_admins.lock(work)
    user = await users.lock(work, user_id)
    if user is None:
        raise UserNotFound
    return user


async def _verify_not_last(work: UnitOfWork, user: User) -> None:
    if user.is_instance_admin and not await instance_admins.has_other_admins(work, user.id):
        raise Conflict("The instance needs an administrator: make somebody else one first")
