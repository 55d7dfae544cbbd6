"""What tests about users do on their way: log in, select an organization, read a mailbox."""

from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from strongroom_common.testing.service_harness import Answer

PASSWORD = "correct horse"
EMAIL = "root@example.com"
NEW_PASSWORD = "battery staple 9"


@dataclass
class Person:
    """Somebody with a session: a token (for an organization, if one is selected) and the cookie."""

    token: str
    cookie: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": f"jid={self.cookie}"}


def cookie_of(answer: Answer) -> str:
    """The value of the cookie `jid` that an answer sets; empty where it clears it."""
    return SimpleCookie(answer.headers["Set-Cookie"])["jid"].value


async def login(world: Any, email: str = EMAIL, password: str = PASSWORD, **more: Any) -> Answer:
    body = {"email": email, "password": password}
    answer: Answer = await world.http.post("/api/v3/auth/login", json=body, **more)
    return answer


async def person(world: Any, email: str = EMAIL, password: str = PASSWORD, **more: Any) -> Person:
    """Log in, without an organization."""
    answer = await login(world, email, password, **more)
    assert answer.status == 200, answer.text
    return Person(answer.json["accessToken"], cookie_of(answer))


async def select(world: Any, who: Person, organization_id: str | None = None, **more: Any) -> Answer:
    body = {"organizationId": organization_id or world.tenants[0].organization_id}
    answer: Answer = await world.http.post("/api/v3/auth/select-organization", token=who.token, json=body, **more)
    return answer


async def member(
    world: Any, email: str = EMAIL, password: str = PASSWORD, organization_id: str | None = None
) -> Person:
    """Log in and select an organization."""
    answer = await select(world, await person(world, email, password), organization_id)
    assert answer.status == 200, answer.text
    return Person(answer.json["token"], cookie_of(answer))


def code_of(link: str) -> str:
    """The code in a link."""
    return parse_qs(urlsplit(link).query)["token"][0]


async def invite(world: Any, who: Person, *emails: str, **more: Any) -> Answer:
    body = {"inviteeEmails": list(emails), "organizationId": world.tenants[0].organization_id, **more}
    answer: Answer = await world.http.post("/api/v1/invite-org/signup", token=who.token, json=body)
    return answer


async def verify_invitation(world: Any, email: str, code: str, organization_id: str | None = None) -> Answer:
    body = {"email": email, "organizationId": organization_id or world.tenants[0].organization_id, "code": code}
    answer: Answer = await world.http.post("/api/v1/invite-org/verify", json=body)
    return answer


async def complete(world: Any, token: str, email: str, password: str = NEW_PASSWORD) -> Answer:
    body = {"email": email, "password": password, "firstName": "Ada", "lastName": "Byron"}
    answer: Answer = await world.http.post("/api/v3/signup/complete-account/invite", token=token, json=body)
    return answer


async def colleague(world: Any, email: str = "ada@example.com", **more: Any) -> Person:
    """Invite somebody to the first organization, make the account, and log in there. No mail server is needed."""
    invited = await invite(world, await member(world), email, **more)
    assert invited.status == 200, invited.text
    code = code_of(invited.json["completeInviteLinks"][0]["link"])
    verified = await verify_invitation(world, email, code)
    assert verified.status == 200, verified.text
    done = await complete(world, verified.json["token"], email)
    assert done.status == 200, done.text
    return await member(world, email, NEW_PASSWORD)


async def dump_of(world: Any, *tables: str) -> str:
    """All rows of tables as one text, to look for what must not be in it."""
    lines = [await world.rows(f"SELECT row_to_json(t)::text AS line FROM {table} t") for table in tables]  # noqa: S608
    return str(lines)
