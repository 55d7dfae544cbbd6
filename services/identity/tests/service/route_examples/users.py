"""People: sessions, second factors, passwords, sign-up, invitations."""

from urllib.parse import parse_qs, urlsplit

import pyotp
from services.identity.tests.service.organization_people import a_user, joins, user_token
from services.identity.tests.service.people import NEW_PASSWORD, PASSWORD
from services.identity.tests.service.route_examples import Cast, RouteExample, Sent, unique
from services.identity.tests.service.route_examples.user_memberships import people

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.store import organizations, users
from strongroom_identity.usecases import one_time_codes, sessions, sign_ups

ME = "/api/v1/user/me"


async def a_person(world, **more) -> Sent:
    """Somebody of whom nothing else depends; `newcomers` then gives his token. His password is the usual one."""
    if not hasattr(world, "usual_hash"):
        world.usual_hash = await world.context.passwords.hash(Secret(PASSWORD))
    emails = [f"{unique('person')}@example.com" for _ in range(3)]
    for email, role in zip(emails, ("member", None, "no-access"), strict=True):
        await a_user(world, email, role)
        await world.rows("UPDATE users SET password_hash = $2 WHERE email = $1", email, world.usual_hash)
    ours = world.tenants[0].organization_id
    tokens = [
        await user_token(world, email, organization)
        for email, organization in zip(emails, (ours, None, ours), strict=True)
    ]
    world.newcomers = Cast(*tokens)
    world.newcomer = emails[0]
    return Sent(**more)


async def newcomers(world) -> Cast:
    cast: Cast = world.newcomers
    return cast


async def a_session(world) -> Sent:
    await a_person(world)
    (row,) = await world.rows(
        "SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.email = $1", world.newcomer
    )
    return Sent(path={"sessionId": str(row["id"])})


async def a_cookie(world) -> Sent:
    await a_person(world)
    context = world.context
    user = await users.find_by_email(context.database, world.newcomer)
    async with context.database.begin(Origin()) as work:
        session, _ = await sessions.open_session(context, work, Origin(), user)
        await work.commit()
    return Sent(headers={"Cookie": f"jid={sessions.tokens_of(context, session).refresh_token.reveal()}"})


async def credentials(world) -> Sent:
    await a_person(world)
    return Sent(body={"email": world.newcomer, "password": PASSWORD})


async def an_organization(world) -> Sent:
    return await a_person(world, body={"organizationId": world.tenants[0].organization_id})


async def a_sub_organization(world) -> Sent:
    await a_person(world)
    context = world.context
    parent = await organizations.find(context.database, world.tenants[0].organization_id)
    beneath = Organization.new(unique("Sub"), context.clock.now(), parent=parent)
    async with context.database.begin(Origin()) as work:
        await organizations.add(work, beneath)
        await work.commit()
    user = await users.find_by_email(context.database, world.newcomer)
    await joins(world, str(user.id), "member", str(beneath.id))
    return Sent(body={"subOrganizationId": str(beneath.id)})


async def a_begun_factor(world) -> Sent:
    await a_person(world)
    answer = await world.http.post(f"{ME}/totp/register", token=world.newcomers.able)
    secret = parse_qs(urlsplit(answer.json["otpUrl"]).query)["secret"][0]
    world.newcomer_totp = pyotp.TOTP(secret)
    return Sent(body={"totp": world.newcomer_totp.at(int(world.context.clock.now().timestamp()))})


async def a_factor(world) -> Sent:
    begun = await a_begun_factor(world)
    confirmed = await world.http.post(f"{ME}/totp/verify", token=world.newcomers.able, json=begun.body)
    assert confirmed.status == 200, confirmed.text
    return Sent(body={"password": PASSWORD})


async def a_factor_to_show(world) -> Sent:
    await a_factor(world)
    token = await user_token(world, world.newcomer)
    body = {"organizationId": world.tenants[0].organization_id}
    asked = await world.http.post("/api/v3/auth/select-organization", token=token, json=body)
    # The clock stands still: the next step's code, since this one's was used.
    code = world.newcomer_totp.at(int(world.context.clock.now().timestamp()) + 30)
    return Sent(body={"mfaToken": code}, headers={"Authorization": f"Bearer {asked.json['token']}"})


async def a_new_password(world) -> Sent:
    return await a_person(world, body={"oldPassword": PASSWORD, "newPassword": NEW_PASSWORD})


async def a_code(world, purpose: str, email: str, organization_id=None) -> str:
    async with world.context.database.begin(Origin()) as work:
        code = await one_time_codes.make(world.context, work, purpose, email, organization_id)
        await work.commit()
    return code.reveal()


async def a_mailbox(world) -> Sent:
    return Sent(body={"email": f"{unique('new')}@example.com"})


async def a_recovery(world) -> Sent:
    await a_person(world)
    code = await a_code(world, "password-recovery", world.newcomer)
    return Sent(body={"email": world.newcomer, "code": code, "password": NEW_PASSWORD})


async def a_user_of_ours(world) -> Sent:
    return Sent(path={"userId": (await a_user(world, f"{unique('ada')}@example.com"))["id"]})


async def a_sign_up(world) -> Sent:
    email = f"{unique('new')}@example.com"
    return Sent(body={"email": email, "code": await a_code(world, "sign-up", email)})


async def a_verified_sign_up(world) -> Sent:
    sent = await a_sign_up(world)
    verified = await world.http.post("/api/v3/signup/email/verify", json=sent.body)
    body = {"email": sent.body["email"], "password": NEW_PASSWORD, "firstName": "New", "organizationName": "New Ltd"}
    return Sent(body=body, headers={"Authorization": f"Bearer {verified.json['token']}"})


async def an_invitation_to_write(world) -> Sent:
    emails = [f"{unique('guest')}@example.com"]
    return Sent(body={"inviteeEmails": emails, "organizationId": world.tenants[0].organization_id})


async def an_invited(world) -> dict[str, str]:
    sent = await an_invitation_to_write(world)
    token = (await people(world)).able
    answer = await world.http.post("/api/v1/invite-org/signup", token=token, json=sent.body)
    (link,) = answer.json["completeInviteLinks"]
    (row,) = await world.rows(
        "SELECT m.id FROM memberships m JOIN users u ON u.id = m.user_id WHERE u.email = $1", link["email"]
    )
    code = parse_qs(urlsplit(link["link"]).query)["token"][0]
    return {"membershipId": str(row["id"]), "email": link["email"], "code": code}


async def an_open_invitation(world) -> Sent:
    return Sent(body={"membershipId": (await an_invited(world))["membershipId"]})


async def an_invitation_to_accept(world) -> Sent:
    invited = await an_invited(world)
    body = {"email": invited["email"], "code": invited["code"], "organizationId": world.tenants[0].organization_id}
    return Sent(body=body)


async def an_accepted_invitation(world) -> Sent:
    sent = await an_invitation_to_accept(world)
    user = await users.find_by_email(world.context.database, sent.body["email"])
    token = sign_ups.sign_up_token(world.context, user, world.tenants[0].organization_id)
    body = {"email": user.email, "password": NEW_PASSWORD, "firstName": "Guest"}
    return Sent(body=body, headers={"Authorization": f"Bearer {token.reveal()}"})


async def a_first_administrator(world) -> Sent:
    return Sent(body={"email": "late@example.com", "password": NEW_PASSWORD, "firstName": "Late"})


async def nothing(world) -> Sent:
    return Sent()


def own(method: str, path: str, make=a_person, **more) -> RouteExample:
    """A route about the caller himself: everybody may call it, and sees himself."""
    return RouteExample(method, path, make, cast=newcomers, anyone=True, **more)


EXAMPLES = [
    RouteExample("POST", "/api/v3/auth/login", credentials, bad="email"),
    RouteExample("POST", "/api/v3/auth/login1", nothing, status=400),
    RouteExample("POST", "/api/v3/auth/login2", nothing, status=400),
    own(
        "POST",
        "/api/v3/auth/select-organization",
        an_organization,
        bad="organizationId",
    ),
    own(
        "POST",
        "/api/v3/auth/select-sub-organization",
        a_sub_organization,
        ids=["subOrganizationId"],
        unknown={"subOrganizationId": 403},
        bad="subOrganizationId",
    ),
    RouteExample("POST", "/api/v2/auth/mfa/verify", a_factor_to_show, bad="mfaToken"),
    own("POST", "/api/v1/auth/checkAuth"),
    RouteExample("POST", "/api/v1/auth/token", a_cookie),
    RouteExample("POST", "/api/v1/auth/logout", a_cookie),
    own("GET", "/api/v1/user"),
    own("GET", f"{ME}/sessions"),
    own("DELETE", f"{ME}/sessions"),
    own("DELETE", ME + "/sessions/{sessionId:uuid}", a_session, ids=["sessionId"]),
    own("GET", f"{ME}/totp"),
    own("POST", f"{ME}/totp/register"),
    own("POST", f"{ME}/totp/verify", a_begun_factor, bad="totp"),
    own("DELETE", f"{ME}/totp", a_factor, bad="password"),
    own("POST", f"{ME}/totp/recovery-codes", a_factor, bad="password"),
    own("PATCH", f"{ME}/password", a_new_password, bad="newPassword"),
    RouteExample("POST", "/api/v1/auth/password-recovery", a_mailbox, bad="email"),
    RouteExample("POST", "/api/v1/auth/password-recovery/complete", a_recovery, bad="code"),
    RouteExample(
        "POST",
        "/api/v1/admin/user-management/users/{userId:uuid}/password-recovery",
        a_user_of_ours,
        ids=["userId"],
    ),
    # Without a mail server nobody signs up by mail.
    RouteExample("POST", "/api/v3/signup/email/signup", a_mailbox, bad="email", status=403),
    RouteExample("POST", "/api/v3/signup/email/verify", a_sign_up, bad="code"),
    RouteExample("POST", "/api/v3/signup/complete-account/signup", a_verified_sign_up, bad="firstName"),
    RouteExample("POST", "/api/v3/signup/complete-account/invite", an_accepted_invitation, bad="password"),
    # The shared world was set up already: the good call comes too late.
    RouteExample("POST", "/api/v1/admin/signup", a_first_administrator, bad="email", status=400),
    RouteExample(
        "POST",
        "/api/v1/invite-org/signup",
        an_invitation_to_write,
        ids=["organizationId"],
        unknown={"organizationId": 403},
        bad="inviteeEmails",
        cast=people,
    ),
    RouteExample(
        "POST",
        "/api/v1/invite-org/signup-resend",
        an_open_invitation,
        ids=["membershipId"],
        bad="membershipId",
        cast=people,
    ),
    RouteExample("POST", "/api/v1/invite-org/verify", an_invitation_to_accept, bad="code"),
]
