"""Users and their tokens, as tests of organizations need them: made in the database, past mails and passwords."""

from uuid import UUID

from strongroom_common.contracts.envelopes import Origin
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.sessions import Choice
from strongroom_identity.domain.users import User
from strongroom_identity.store import memberships, users
from strongroom_identity.usecases import organizations, roles, sessions

ROOT = "root@example.com"


async def user_token(world, email: str = ROOT, organization_id: str | None = None) -> str:
    """A session of a user's, with the organization selected; without one, none is."""
    context = world.context
    user = await users.find_by_email(context.database, email)
    async with context.database.begin(Origin()) as work:
        session, _ = await sessions.open_session(context, work, Origin(), user)
        await work.commit()
    choice = Choice(UUID(organization_id)) if organization_id else None
    return sessions.tokens_of(context, session, choice).access_token.reveal()


async def root_token(world) -> str:
    return await user_token(world, ROOT, world.tenants[0].organization_id)


async def a_user(world, email: str, role: str | None = "member", organization_id: str | None = None) -> dict[str, str]:
    """A user with an account; with a role, a member of the organization."""
    context = world.context
    organization_id = organization_id or world.tenants[0].organization_id
    now = context.clock.now()
    invited = User.invited(email, now)
    user = invited.completed("not a hash", email.partition("@")[0].title(), "Tester", now, is_email_verified=True)
    made = {"id": str(user.id), "email": email, "membership": ""}
    async with context.database.begin(Origin()) as work:
        await users.add(work, user)
        if role is not None:
            made["membership"] = await _join(world, work, user.id, role, organization_id)
        await work.commit()
    return made


async def joins(world, user_id: str, role: str, organization_id: str, project_id: str | None = None) -> str:
    """Make a user a member of an organization, or of one of its projects; return the membership."""
    async with world.context.database.begin(Origin()) as work:
        membership = await _join(world, work, UUID(user_id), role, organization_id, project_id)
        await work.commit()
    return membership


async def an_organization_of(world, email: str, name: str) -> str:
    """Another organization, with an existing user as its admin."""
    context = world.context
    user = await users.find_by_email(context.database, email)
    async with context.database.begin(Origin()) as work:
        organization = await organizations.create(work, context.clock, name, user)
        await work.commit()
    return str(organization.id)


async def a_role(world, slug: str, *rules: tuple[str, str]) -> dict[str, str]:
    """An organization's own role of (subject, action)."""
    permissions = [{"subject": subject, "action": [action]} for subject, action in rules]
    body = {"slug": slug, "name": slug.title(), "permissions": permissions}
    answer = await world.http.post("/api/v1/organization/roles", token=world.token, json=body)
    assert answer.status == 200, answer.text
    return answer.json["role"]


async def _join(world, work, user_id: UUID, role: str, organization_id: str, project_id: str | None = None) -> str:
    place = {"project_id": UUID(project_id), "project_type": "secret-manager"} if project_id else {}
    (given,) = await roles.get_all(work, [role], UUID(organization_id), **place)
    membership = Membership.new(
        "user",
        user_id,
        [MembershipRole.of(given)],
        world.context.clock.now(),
        organization_id=UUID(organization_id),
        project_id=UUID(project_id) if project_id else None,
    )
    await memberships.add(work, membership)
    return str(membership.id)
