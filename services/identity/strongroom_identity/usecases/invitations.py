"""Inviting people into an organization, and into some of its projects at once (wire-identity 9.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict, Forbidden, NotFound
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain import mails as letters
from strongroom_identity.domain.memberships import ACCEPTED, INVITED, Membership, MembershipRole
from strongroom_identity.domain.roles import Role
from strongroom_identity.domain.throttles import CODE_FROM_ADDRESS, CODE_OF_MAILBOX
from strongroom_identity.domain.users import User
from strongroom_identity.store import invitations, memberships, organizations, users
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import mails, one_time_codes, roles, sessions, sign_ups, throttles
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.one_time_codes import Proof

LABEL = "InviteUser"


@dataclass(frozen=True)
class NewInvitation:
    """What a caller wants: who, as what, and in which projects (by id, with the slugs of roles there)."""

    mailboxes: Sequence[str]
    organization_id: str
    role: str
    projects: Sequence[tuple[UUID, Sequence[str]]]


@dataclass(frozen=True)
class Link:
    """Where an invited person goes on, for whoever hands it over where there is no mail server."""

    mailbox: str
    link: Secret


async def invite(context: IdentityContext, caller: Caller, origin: Origin, wish: NewInvitation) -> list[Link]:
    """Invite people, with roles that the caller may give; who is a member already only joins the projects.

    Raises `Forbidden`, `BeyondOwnRights`, `RoleNotFound`, and `Conflict` where there is nothing to do for somebody.
    """
    if wish.organization_id.lower() != str(caller.organization_id):
        raise Forbidden("You are not a member of this organization")
    caller.require("create", "member")
    organization = await organizations.find(context.database, caller.organization_id)
    if organization is None:
        raise Forbidden("You are not a member of this organization")
    standings = {project_id: await context.doorkeeper.standing(caller, project_id) for project_id, _ in wish.projects}
    for standing in standings.values():
        standing.require("create", "member")
    links: list[Link] = []
    at_once = Conflict("Somebody else has just invited one of them: try again", label=LABEL)
    with refusing({users.EMAIL_TAKEN: at_once, memberships.ALREADY_IN_ORGANIZATION: at_once}):
        async with context.database.begin(origin) as work:
            given = await roles.get_all(work, [wish.role], caller.organization_id)
            roles.verify_grantable(caller.rules, given)
            in_projects: dict[UUID, Sequence[Role]] = {}
            for project_id, slugs in wish.projects:
                standing = standings[project_id]
                in_projects[project_id] = await roles.get_all(
                    work, slugs, caller.organization_id, project_id=project_id, project_type=standing.project.type
                )
                roles.verify_grantable(standing.rules, in_projects[project_id])
            people = await _people(context, work, wish.mailboxes)
            known = await invitations.statuses(work, organization.id, [user.id for user in people])
            changed = await _join_projects(context, work, organization.id, people, in_projects)
            touched = {subject_id for change in changed for subject_id in change.subject_ids or ()}
            for user in people:
                status = known.get(user.id)
                if status == ACCEPTED and user.id not in touched:
                    raise Conflict("One of them is a member already", label=LABEL)
                if status is None:
                    await _add(context, work, organization.id, user.id, given, status=INVITED)
                if status != ACCEPTED:
                    links += await _send(context, work, organization.id, organization.name, caller.access.name, user)
            metadata = {"userIds": [str(user.id) for user in people], "role": wish.role}
            metadata |= {"projectIds": [str(project_id) for project_id in in_projects]} if in_projects else {}
            work.record(audit_record(origin, context.clock, "invite-organization-members", metadata))
            await work.commit()
    for change in changed:
        context.doorkeeper.hear_access_changed(change)
    return links


async def resend(context: IdentityContext, caller: Caller, origin: Origin, membership_id: UUID) -> Link | None:
    """Send an open invitation again, or return its link; the former link is worthless.

    Raises `NotFound`, `Conflict` for one that was accepted.
    """
    caller.require("create", "member")
    invitation = await invitations.find(context.database, membership_id, caller.organization_id)
    if invitation is None:
        raise NotFound("There is no such membership")
    if invitation.status != INVITED:
        raise Conflict("The invitation was accepted already", label=LABEL)
    async with context.database.begin(origin) as work:
        user = (await users.lock_by_emails(work, [invitation.mailbox]))[invitation.mailbox]
        links = await _send(context, work, caller.organization_id, invitation.organization, caller.access.name, user)
        metadata = {"userId": str(user.id), "membershipId": str(membership_id)}
        work.record(audit_record(origin, context.clock, "resend-organization-invitation", metadata))
        await work.commit()
    return links[0] if links else None


async def verify(
    context: IdentityContext, origin: Origin, mailbox: str, organization_id: UUID, code: Secret
) -> tuple[User, Secret | None]:
    """Accept an invitation: who has an account is in; who has none gets a token to make one with.

    Raises `WrongCode`, `RateLimited`.
    """
    counted = throttles.of_guesser(origin, CODE_OF_MAILBOX, mailbox, CODE_FROM_ADDRESS)
    await throttles.count(context, counted)
    proof = Proof("invitation", mailbox, code, organization_id)
    changed = None
    token = None
    async with context.database.begin(origin) as work:
        await one_time_codes.verify(context, work, proof)
        user = (await users.lock_by_emails(work, [mailbox]))[mailbox]
        if user.is_accepted:
            changed = await sign_ups.accept(context, work, user, organization_id)
        else:
            # The code stays good until the account is complete: a closed window must not cost the invitation.
            token = sign_ups.sign_up_token(context, user, organization_id)
            in_organization = replace(origin, actor=sessions.actor_of(user), organization_id=organization_id)
            work.record(audit_record(in_organization, context.clock, "verify-organization-invitation", {}))
        await work.commit()
    if changed is not None:
        context.doorkeeper.hear_access_changed(changed)
    await throttles.forgive(context, counted)
    return user, token


async def _people(context: IdentityContext, work: UnitOfWork, mailboxes: Sequence[str]) -> list[User]:
    known = await users.lock_by_emails(work, mailboxes)
    people = []
    for mailbox in dict.fromkeys(mailboxes):
        user = known.get(mailbox)
        if user is None:
            user = User.invited(mailbox, context.clock.now())
            await users.add(work, user)
        people.append(user)
    return people


async def _join_projects(
    context: IdentityContext,
    work: UnitOfWork,
    organization_id: UUID,
    people: Sequence[User],
    in_projects: Mapping[UUID, Sequence[Role]],
) -> list[AccessChanged]:
    members = await invitations.list_in_projects(work, in_projects.keys(), [user.id for user in people])
    changed = []
    for project_id, given in in_projects.items():
        joining = [user.id for user in people if (project_id, user.id) not in members]
        for user_id in joining:
            await _add(context, work, organization_id, user_id, given, project_id=project_id)
        if joining:
            changed.append(AccessChanged(organization_id=organization_id, project_id=project_id, subject_ids=joining))
    for change in changed:
        work.send(change)
    return changed


async def _add(
    context: IdentityContext,
    work: UnitOfWork,
    organization_id: UUID,
    user_id: UUID,
    given: Sequence[Role],
    *,
    project_id: UUID | None = None,
    status: str = ACCEPTED,
) -> None:
    held = [MembershipRole.of(role) for role in given]
    now = context.clock.now()
    membership = Membership.new("user", user_id, held, now, organization_id=organization_id, project_id=project_id)
    await memberships.add(work, replace(membership, status=status))


async def _send(
    context: IdentityContext, work: UnitOfWork, organization_id: UUID, organization: str, inviter: str, user: User
) -> list[Link]:
    code = await one_time_codes.make(context, work, "invitation", user.email, organization_id)
    link = letters.invitation_link(context.site_url, user.email, organization_id, code)
    if not context.mailer.is_configured:
        return [Link(user.email, link)]
    await mails.post(context, work, user.email, letters.invitation(organization, inviter, link))
    return []
