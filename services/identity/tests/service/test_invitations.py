"""Invitations, sign-up, passwords: with a mail server and without."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

import pytest
from services.identity.tests.service.organization_people import a_role
from services.identity.tests.service.people import (
    EMAIL,
    NEW_PASSWORD,
    PASSWORD,
    code_of,
    colleague,
    complete,
    invite,
    login,
    member,
    person,
    select,
    verify_invitation,
)

from strongroom_common.egress.mail import Mail, MailRefused
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.testing.waiting import eventually
from strongroom_identity.usecases import mails

pytestmark = pytest.mark.timeout(60)

SIGN_UP = "/api/v3/signup"
PASSWORD_PATH = "/api/v1/user/me/password"
RECOVERY = "/api/v1/auth/password-recovery"


@dataclass
class Pigeonhole:
    """A mail server that a test can look into; its SMTP twin is tested in libs/common. `failures` come first."""

    is_configured: bool = True
    taken: list[Mail] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    async def send(self, mail: Mail) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.taken.append(mail)

    async def last(self, recipient: str, subject: str) -> Mail:
        def newest():
            found = [mail for mail in self.taken if mail.recipient == recipient and subject in mail.subject]
            return found[-1] if found else None

        return await eventually(newest)


@pytest.fixture
def post() -> Pigeonhole:
    return Pigeonhole()


@pytest.fixture
async def mailing(world, post) -> AsyncIterator[object]:
    """The world with a mail server."""
    service = world.identity.service
    without = service.context
    object.__setattr__(service.context, "mailer", post)
    yield world
    assert service.context is without


def link_in(mail: Mail) -> str:
    return re.search(r"http\S+", mail.text)[0]


async def memberships_of(world, email: str):
    return await world.rows(
        "SELECT m.status, m.project_id, r.role FROM memberships m JOIN users u ON u.id = m.user_id "
        "JOIN membership_roles r ON r.membership_id = m.id WHERE u.email = $1 ORDER BY m.project_id NULLS FIRST",
        email,
    )


async def test_without_a_mail_server_the_inviter_gets_links_that_work(world, refusal) -> None:
    owner = await member(world)
    project = (await world.http.post("/api/v1/projects", token=owner.token, json={"projectName": "Payments"})).json
    project_id = project["project"]["id"]
    projects = [{"id": project_id, "projectRoleSlug": ["viewer"]}]
    answer = await invite(world, owner, "ada@example.com", "bob@example.com", projects=projects)
    assert answer.status == 200
    links = {one["email"]: one["link"] for one in answer.json["completeInviteLinks"]}
    assert links.keys() == {"ada@example.com", "bob@example.com"}
    assert [(row["status"], row["role"]) for row in await memberships_of(world, "ada@example.com")] == [
        ("invited", "member"),
        ("accepted", "viewer"),
    ]
    # Nobody is in before he accepts, and nobody logs in without an account.
    assert (await login(world, "ada@example.com", NEW_PASSWORD)).status == 400
    code = code_of(links["ada@example.com"])
    assert refusal(await verify_invitation(world, "bob@example.com", code)) == (400, "BadRequest")
    verified = await verify_invitation(world, "ada@example.com", code)
    assert verified.status == 200
    assert verified.json["user"]["email"] == "ada@example.com"
    token = verified.json["token"]
    assert refusal(await world.http.get("/api/v1/user", token=token)) == (401, "UnauthorizedError")
    assert refusal(await complete(world, token, "bob@example.com")) == (403, "ForbiddenError")
    done = await complete(world, token, "ada@example.com")
    assert done.status == 200, done.text
    assert done.json["user"]["isEmailVerified"] is False
    assert refusal(await complete(world, token, "ada@example.com")) == (403, "ForbiddenError")
    assert refusal(await verify_invitation(world, "ada@example.com", code)) == (400, "BadRequest")
    ada = await member(world, "ada@example.com", NEW_PASSWORD)
    assert (await world.http.get(f"/api/v1/projects/{project_id}", token=ada.token)).status == 200
    for event in ("invite-organization-members", "accept-organization-invitation", "sign-up-invited-user"):
        assert await eventually(lambda event=event: world.audited(event))


async def test_who_has_an_account_accepts_with_the_code_alone(world, refusal) -> None:
    ada = await colleague(world)
    other = await world.http.post("/api/v2/organizations", token=ada.token, json={"name": "Ada Ltd"})
    assert other.status == 200, other.text
    organization_id = other.json["organization"]["id"]
    boss = await member(world, "ada@example.com", NEW_PASSWORD, organization_id)
    answer = await invite(world, boss, EMAIL, organizationId=organization_id)
    code = code_of(answer.json["completeInviteLinks"][0]["link"])
    root = await person(world)
    assert refusal(await select(world, root, organization_id)) == (403, "ForbiddenError")
    verified = await verify_invitation(world, EMAIL, code, organization_id)
    assert verified.status == 200
    assert verified.json["token"] is None
    assert (await select(world, root, organization_id)).status == 200


async def test_nobody_invites_beyond_his_rights(world, refusal) -> None:
    ada = await colleague(world)
    assert refusal(await invite(world, ada, "eve@example.com")) == (403, "PermissionDenied")
    owner = await member(world)
    other = await world.another_tenant()
    assert refusal(await invite(world, owner, "eve@example.com", organizationId=other.organization_id))[0] == 403
    assert refusal(await invite(world, owner, "eve@example.com", organizationRoleSlug="nonsense"))[0] == 404
    foreign = await world.project("Theirs", other.token)
    projects = [{"id": foreign["id"]}]
    assert refusal(await invite(world, owner, "eve@example.com", projects=projects)) == (404, "NotFound")
    assert refusal(await invite(world, owner, "EVE@example.com")) == (422, "ValidationFailure")
    assert refusal(await invite(world, owner)) == (422, "ValidationFailure")
    assert refusal(await invite(world, owner, EMAIL)) == (400, "InviteUser")
    assert await world.rows("SELECT FROM users WHERE email = 'eve@example.com'") == []


async def test_an_inviter_cannot_give_a_role_above_his_own(world, refusal) -> None:
    await a_role(world, "inviter", ("member", "create"))
    ada = await colleague(world, organizationRoleSlug="inviter")
    answer = await invite(world, ada, "eve@example.com", organizationRoleSlug="admin")
    assert refusal(answer) == (403, "PermissionBoundaryError")
    assert (await invite(world, ada, "eve@example.com", organizationRoleSlug="no-access")).status == 200


async def test_a_new_link_makes_the_old_one_worthless_and_each_has_an_end(world, clock, refusal) -> None:
    owner = await member(world)
    first = (await invite(world, owner, "ada@example.com")).json["completeInviteLinks"][0]["link"]
    (row,) = await world.rows(
        "SELECT m.id FROM memberships m JOIN users u ON u.id = m.user_id WHERE u.email = 'ada@example.com'"
    )
    body = {"membershipId": str(row["id"])}
    again = await world.http.post("/api/v1/invite-org/signup-resend", token=owner.token, json=body)
    second = again.json["signupToken"]["link"]
    assert refusal(await verify_invitation(world, "ada@example.com", code_of(first))) == (400, "BadRequest")
    clock.advance(timedelta(days=7))
    assert refusal(await verify_invitation(world, "ada@example.com", code_of(second))) == (400, "BadRequest")
    other = await world.another_tenant()
    (foreign,) = await world.rows("SELECT id FROM memberships WHERE organization_id = $1", other.organization_id)
    body = {"membershipId": str(foreign["id"])}
    owner = await member(world)
    answer = await world.http.post("/api/v1/invite-org/signup-resend", token=owner.token, json=body)
    assert refusal(answer) == (404, "NotFound")


async def test_with_a_mail_server_the_link_goes_to_the_mailbox_alone(mailing, post) -> None:
    owner = await member(mailing)
    answer = await invite(mailing, owner, "ada@example.com")
    assert answer.json["completeInviteLinks"] is None
    mail = await post.last("ada@example.com", "Acme Inc.")
    assert code_of(link_in(mail)) not in answer.text
    verified = await verify_invitation(mailing, "ada@example.com", code_of(link_in(mail)))
    done = await complete(mailing, verified.json["token"], "ada@example.com")
    assert done.json["user"]["isEmailVerified"] is True


async def test_signing_up_makes_an_account_and_an_organization(mailing, post, refusal) -> None:
    asked = await mailing.http.post(f"{SIGN_UP}/email/signup", json={"email": "Ada@Example.com"})
    assert asked.status == 200
    mail = await post.last("ada@example.com", "sign-up code")
    code = re.search(r"\d{6}", mail.text)[0]
    wrong = {"email": "ada@example.com", "code": f"{(int(code) + 1) % 10**6:06}"}
    assert refusal(await mailing.http.post(f"{SIGN_UP}/email/verify", json=wrong)) == (400, "BadRequest")
    right = {"email": "ada@example.com", "code": code}
    answers = await asyncio.gather(*(mailing.http.post(f"{SIGN_UP}/email/verify", json=right) for _ in range(3)))
    assert sorted(answer.status for answer in answers) == [200, 400, 400]
    (verified,) = [answer for answer in answers if answer.status == 200]
    body = {"email": "ada@example.com", "password": NEW_PASSWORD, "firstName": "Ada", "organizationName": "Ada Ltd"}
    path, token = f"{SIGN_UP}/complete-account/signup", verified.json["token"]
    assert refusal(await mailing.http.post(path, json=body)) == (401, "UnauthorizedError")
    nameless = {key: value for key, value in body.items() if key != "organizationName"}
    assert refusal(await mailing.http.post(path, token=token, json=nameless)) == (422, "ValidationFailure")
    answer = await mailing.http.post(path, token=token, json={**nameless, "useDefaultOrg": True})
    assert refusal(answer) == (400, "BadRequest")
    for password in ("short", "password1!", "x" * 257, "Ada@example.com"):
        answer = await mailing.http.post(path, token=token, json={**body, "password": password})
        assert refusal(answer) == (422, "ValidationFailure")
        assert answer.json["message"][0]["path"] == ["password"]
        assert password not in answer.text
    done = await mailing.http.post(path, token=token, json=body)
    assert done.status == 200, done.text
    assert done.json["user"]["superAdmin"] is False
    who = await member(mailing, "ada@example.com", NEW_PASSWORD, done.json["organizationId"])
    assert (await mailing.http.post("/api/v1/projects", token=who.token, json={"projectName": "Mine"})).status == 200
    assert refusal(await mailing.http.post(path, token=token, json=body)) == (403, "ForbiddenError")
    for event in ("ask-sign-up", "verify-sign-up", "sign-up-user"):
        assert await eventually(lambda event=event: mailing.audited(event))


async def test_only_the_mailbox_learns_that_there_is_an_account(mailing, post) -> None:
    new = await mailing.http.post(f"{SIGN_UP}/email/signup", json={"email": "new@example.com"})
    old = await mailing.http.post(f"{SIGN_UP}/email/signup", json={"email": EMAIL})
    assert new.status == old.status == 200
    assert new.text.replace("new@", "") == old.text.replace("root@", "")
    await post.last(EMAIL, "have an account")


async def test_sign_up_keeps_to_what_the_instance_allows(mailing, world, post, refusal) -> None:
    async def asking(email: str) -> int:
        return (await mailing.http.post(f"{SIGN_UP}/email/signup", json={"email": email})).status

    await world.rows("UPDATE instance SET allowed_sign_up_domain = 'example.org'")
    assert [await asking("a@example.com"), await asking("a@example.org")] == [403, 200]
    await world.rows("UPDATE instance SET allow_sign_up = false")
    assert await asking("b@example.org") == 403
    await world.rows("UPDATE instance SET allow_sign_up = true")
    post.is_configured = False
    assert await asking("c@example.org") == 403


async def test_mails_to_one_mailbox_are_few(mailing, refusal) -> None:
    statuses = [
        (await mailing.http.post(f"{SIGN_UP}/email/signup", json={"email": "new@example.com"})).status for _ in range(5)
    ]
    assert statuses == [200, 200, 200, 429, 429]


async def test_guessing_a_code_is_slowed_down(mailing, post) -> None:
    await mailing.http.post(f"{SIGN_UP}/email/signup", json={"email": "new@example.com"})
    body = {"email": "new@example.com", "code": "000000"}
    statuses = [(await mailing.http.post(f"{SIGN_UP}/email/verify", json=body)).status for _ in range(9)]
    assert statuses == [400] * 6 + [429] * 3


async def test_the_default_organization_takes_who_wants_it(mailing, world, post) -> None:
    await world.rows(
        "UPDATE instance SET default_auth_organization_id = $1",
        UUID(world.tenants[0].organization_id),
    )
    await mailing.http.post(f"{SIGN_UP}/email/signup", json={"email": "ada@example.com"})
    code = re.search(r"\d{6}", (await post.last("ada@example.com", "sign-up code")).text)[0]
    verified = await mailing.http.post(f"{SIGN_UP}/email/verify", json={"email": "ada@example.com", "code": code})
    body = {"email": "ada@example.com", "password": NEW_PASSWORD, "firstName": "Ada", "useDefaultOrg": True}
    done = await mailing.http.post(f"{SIGN_UP}/complete-account/signup", token=verified.json["token"], json=body)
    assert done.json["organizationId"] == world.tenants[0].organization_id
    assert [row["role"] for row in await memberships_of(world, "ada@example.com")] == ["member"]


async def test_the_first_administrator_may_sign_up_once(fresh, refusal) -> None:
    body = {"email": "Boss@example.com", "password": NEW_PASSWORD, "firstName": "The", "lastName": "Boss"}
    weak = await fresh.http.post("/api/v1/admin/signup", json={**body, "password": "12345678"})
    assert refusal(weak) == (422, "ValidationFailure")
    answers = await asyncio.gather(*(fresh.http.post("/api/v1/admin/signup", json=body) for _ in range(3)))
    assert sorted(answer.status for answer in answers) == [200, 400, 400]
    (answer,) = [answer for answer in answers if answer.status == 200]
    assert answer.json.keys() == {"message", "user", "organization", "token", "new"}
    assert answer.json["user"]["superAdmin"] is True
    assert answer.json["organization"]["name"] == "Admin Org"
    again = await fresh.http.post("/api/v1/admin/signup", json=body)
    assert (refusal(again), again.json["message"]) == ((400, "BadRequest"), "Instance has already been set up")
    assert refusal(await fresh.bootstrap()) == (400, "BadRequest")
    who = await person(fresh, "boss@example.com", NEW_PASSWORD)
    assert (await select(fresh, who, answer.json["organization"]["id"])).status == 200


async def test_before_the_beginning_nobody_signs_up(fresh, post) -> None:
    object.__setattr__(fresh.context, "mailer", post)
    answer = await fresh.http.post(f"{SIGN_UP}/email/signup", json={"email": "a@example.com"})
    assert answer.status == 403


async def test_changing_the_password_ends_the_other_sessions(mailing, post, refusal) -> None:
    here, there = await person(mailing), await member(mailing)
    body = {"oldPassword": "wrong", "newPassword": NEW_PASSWORD}
    assert refusal(await mailing.http.patch(PASSWORD_PATH, token=here.token, json=body)) == (400, "BadRequest")
    body = {"oldPassword": PASSWORD, "newPassword": "qwertyuiop"}
    assert refusal(await mailing.http.patch(PASSWORD_PATH, token=here.token, json=body)) == (422, "ValidationFailure")
    body = {"oldPassword": PASSWORD, "newPassword": NEW_PASSWORD}
    assert (await mailing.http.patch(PASSWORD_PATH, token=here.token, json=body)).status == 200
    assert (await mailing.http.get("/api/v1/user", token=here.token)).status == 200
    assert (await mailing.http.get("/api/v1/user", token=there.token)).status == 401
    assert (await login(mailing)).status == 400
    assert (await login(mailing, password=NEW_PASSWORD)).status == 200
    await post.last(EMAIL, "password was changed")
    assert await eventually(lambda: mailing.audited("change-user-password"))


async def test_a_token_does_not_help_to_guess_the_password(world) -> None:
    who = await person(world)
    body = {"oldPassword": "wrong", "newPassword": NEW_PASSWORD}
    statuses = [(await world.http.patch(PASSWORD_PATH, token=who.token, json=body)).status for _ in range(13)]
    assert statuses == [400] * 11 + [429] * 2


async def test_a_forgotten_password_is_replaced_by_who_reads_the_mailbox(mailing, post, refusal) -> None:
    before = await person(mailing)
    known = await mailing.http.post(RECOVERY, json={"email": EMAIL})
    unknown = await mailing.http.post(RECOVERY, json={"email": "nobody@example.com"})
    assert (known.status, known.json) == (unknown.status, unknown.json)
    mail = await post.last(EMAIL, "new password")
    assert [one.recipient for one in post.taken] == [EMAIL]
    body = {"email": EMAIL, "code": code_of(link_in(mail)), "password": NEW_PASSWORD}
    for change in ({"code": "0" * 64}, {"email": "nobody@example.com"}):
        answer = await mailing.http.post(f"{RECOVERY}/complete", json={**body, **change})
        assert refusal(answer) == (400, "BadRequest")
    answer = await mailing.http.post(f"{RECOVERY}/complete", json={**body, "password": "password"})
    assert refusal(answer) == (422, "ValidationFailure")
    answers = await asyncio.gather(*(mailing.http.post(f"{RECOVERY}/complete", json=body) for _ in range(2)))
    assert sorted(answer.status for answer in answers) == [200, 400]
    assert (await mailing.http.get("/api/v1/user", token=before.token)).status == 401
    assert (await login(mailing, password=NEW_PASSWORD)).status == 200


async def test_without_a_mail_server_an_instance_admin_hands_the_link_over(world, refusal) -> None:
    ada = await colleague(world)
    (user,) = await world.rows("SELECT id FROM users WHERE email = 'ada@example.com'")
    path = f"/api/v1/admin/user-management/users/{user['id']}/password-recovery"
    assert (await world.http.post(RECOVERY, json={"email": "ada@example.com"})).status == 200
    assert await world.rows("SELECT FROM mails") == []
    assert refusal(await world.http.post(path, token=ada.token)) == (403, "ForbiddenError")
    link = (await world.http.post(path, token=world.token)).json["link"]
    body = {"email": "ada@example.com", "code": code_of(link), "password": "another pass phrase"}
    assert (await world.http.post(f"{RECOVERY}/complete", json=body)).status == 200
    assert (await login(world, "ada@example.com", "another pass phrase")).status == 200


async def test_a_mail_waits_for_its_server_and_is_sealed_meanwhile(mailing, post, clock) -> None:
    post.failures = [Unavailable("away")] * 3
    await mailing.http.post(RECOVERY, json={"email": EMAIL})
    (row,) = await mailing.rows("SELECT * FROM mails")
    assert EMAIL.encode() not in row["sealed_mail"]
    for seconds in (0, 10, 20, 40):
        clock.advance(timedelta(seconds=seconds))
        await mails.deliver(mailing.context)
        assert len(await mailing.rows("SELECT FROM mails")) == (1 if seconds < 40 else 0)
    assert len(post.taken) == 1


async def test_a_mail_that_is_refused_or_too_old_is_given_up(mailing, post, clock) -> None:
    post.failures = [MailRefused("never")]
    await mailing.http.post(RECOVERY, json={"email": EMAIL})
    await mails.deliver(mailing.context)
    assert await mailing.rows("SELECT FROM mails") == []
    post.failures = [Unavailable("away")] * 2
    await mailing.http.post(RECOVERY, json={"email": EMAIL})
    await mails.deliver(mailing.context)
    clock.advance(timedelta(days=2))
    await mails.deliver(mailing.context)
    assert await mailing.rows("SELECT FROM mails") == []
    assert post.taken == []


async def test_two_that_deliver_at_the_same_moment_send_each_mail_once(mailing, post) -> None:
    owner = await member(mailing)
    post.is_configured = True
    await invite(mailing, owner, *(f"user{n}@example.com" for n in range(10)))
    await asyncio.gather(*(mails.deliver(mailing.context) for _ in range(4)))
    await eventually(lambda: len(post.taken) >= 10)
    assert len({mail.id for mail in post.taken}) == len(post.taken) == 10


async def test_a_process_that_dies_while_it_sends_loses_nothing(mailing, post, clock) -> None:
    class Died(BaseException):
        """As a kill would be: nothing after it runs."""

    died = replace(post, failures=[])

    async def die(mail: Mail) -> None:
        raise Died

    await mailing.http.post(RECOVERY, json={"email": EMAIL})
    died.send = die
    with pytest.raises(Died):
        await mails.deliver(replace(mailing.context, mailer=died))
    await mails.deliver(mailing.context)
    # Whoever died may still be sending: the mail is taken up when the lease is over.
    clock.advance(mails.LEASE)
    await mails.deliver(mailing.context)
    await eventually(lambda: post.taken)
    assert await mailing.rows("SELECT FROM mails") == []
    assert len(post.taken) == 1
