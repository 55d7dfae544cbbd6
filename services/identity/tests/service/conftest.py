"""The identity service as its clients meet it, on an empty database of its own."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import insert

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.migrations import Migrations
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.clock import FakeClock
from strongroom_common.testing.postgres import PostgresServer
from strongroom_common.testing.service_harness import Answer, HttpClient, RunningService, running_service, settings_for
from strongroom_identity.domain.auth_configurations import TOKEN_AUTH, AuthConfiguration, TokenSettings
from strongroom_identity.domain.identities import Identity
from strongroom_identity.service import MIGRATIONS, build
from strongroom_identity.settings import IdentitySettings
from strongroom_identity.store import auth_configurations
from strongroom_identity.store.tables import ROLES
from strongroom_identity.usecases import organizations, tokens

UNIVERSAL = "/api/v1/auth/universal-auth"


@pytest.fixture
def database_url(postgres_server: PostgresServer) -> Iterator[Secret]:
    async def migrate(url: Secret) -> None:
        await Migrations(MIGRATIONS, url).migrate()

    url = postgres_server.clone(postgres_server.template("identity", migrate))
    yield url
    postgres_server.drop(url)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@dataclass
class Tenant:
    """An organization with an identity that may do everything in it."""

    organization_id: str
    identity_id: str
    token: str


@dataclass
class Machine:
    """An identity that can log in."""

    id: str
    client_id: str
    client_secret: str


@dataclass
class Actions:
    """What most tests do on their way."""

    identity: RunningService
    tenants: list[Tenant] = field(default_factory=list)

    @property
    def http(self) -> HttpClient:
        return self.identity.http

    @property
    def context(self) -> Any:
        return self.identity.service.context

    @property
    def token(self) -> str:
        return self.tenants[0].token

    async def bootstrap(self, **more: Any) -> Answer:
        body = {"email": "Root@Example.com ", "password": "correct horse", "organization": "Acme Inc.", **more}
        answer = await self.http.post("/api/v1/admin/bootstrap", json=body)
        if answer.status == 200:
            found = answer.json
            token = found["identity"]["credentials"]["token"]
            self.tenants.append(Tenant(found["organization"]["id"], found["identity"]["id"], token))
        return answer

    async def another_tenant(self, name: str = "Other Ltd") -> Tenant:
        """A second organization: there is no route for it yet."""
        context, origin = self.context, Origin()
        async with context.database.begin(origin) as work:
            organization = await organizations.create(work, context.clock, name)
            identity = Identity.new(organization.id, "robot", context.clock.now())
            await organizations.add_admin_identity(work, identity)
            configuration = AuthConfiguration.new(
                TOKEN_AUTH, organization.id, identity.id, TokenSettings(), context.clock.now()
            )
            await auth_configurations.add(work, configuration)
            issued = await tokens.issue(context, work, configuration)
            await work.commit()
        return Tenant(str(organization.id), str(identity.id), issued.access_token.reveal())

    async def project(self, name: str = "Payments", token: str | None = None, **more: Any) -> dict[str, Any]:
        body = {"projectName": name, **more}
        answer = await self.http.post("/api/v1/projects", token=token or self.token, json=body)
        assert answer.status == 200, answer.text
        found: dict[str, Any] = answer.json["project"]
        return found

    async def machine(
        self,
        name: str = "robot",
        role: str = "no-access",
        *,
        auth: dict[str, Any] | None = None,
        secret: dict[str, Any] | None = None,
    ) -> Machine:
        """An identity with universal auth and one client secret."""
        body = {"name": name, "organizationId": self.tenants[0].organization_id, "role": role}
        made = await self.http.post("/api/v1/identities", token=self.token, json=body)
        assert made.status == 200, made.text
        identity_id = made.json["identity"]["id"]
        path = f"{UNIVERSAL}/identities/{identity_id}"
        attached = await self.http.post(path, token=self.token, json=auth or {})
        assert attached.status == 200, attached.text
        given = await self.http.post(f"{path}/client-secrets", token=self.token, json=secret or {})
        assert given.status == 200, given.text
        client_id = attached.json["identityUniversalAuth"]["clientId"]
        return Machine(identity_id, client_id, given.json["clientSecret"])

    async def login(self, machine: Machine, **more: Any) -> Answer:
        body = {"clientId": machine.client_id, "clientSecret": machine.client_secret}
        return await self.http.post(f"{UNIVERSAL}/login", json=body, **more)

    async def token_of(self, machine: Machine) -> str:
        answer = await self.login(machine)
        assert answer.status == 200, answer.text
        token: str = answer.json["accessToken"]
        return token

    async def join(self, project_id: str, machine: Machine, token: str | None = None, **body: Any) -> Answer:
        path = f"/api/v1/projects/{project_id}/memberships/identities/{machine.id}"
        return await self.http.post(path, token=token or self.token, json=body)

    async def custom_role(self, project: dict[str, Any], slug: str, rules: list[dict[str, Any]]) -> str:
        """A project's own role: there is no route for it yet."""
        role_id, now = uuid4(), self.context.clock.now()
        async with self.context.database.begin(Origin()) as work:
            values = {
                "id": role_id,
                "organization_id": UUID(project["orgId"]),
                "project_id": UUID(project["id"]),
                "slug": slug,
                "name": slug.capitalize(),
                "permissions": rules,
                "version": 1,
                "created_at": now,
                "updated_at": now,
            }
            await work.execute(insert(ROLES).values(**values))
            await work.commit()
        return str(role_id)

    async def details(self, token: str, **more: Any) -> Answer:
        """The cheapest question that needs a living token."""
        return await self.http.get("/api/v1/identities/details", token=token, **more)

    async def rows(self, statement: str, *arguments: Any) -> list[Any]:
        found: list[Any] = await self.context.database.fetch(statement, *arguments)
        return found

    async def audited(self, event: str) -> list[Any]:
        """The audit log's records of one event."""
        return await self.rows("SELECT * FROM audit_records WHERE event = $1 ORDER BY organization_id, number", event)


Start = Callable[..., AbstractAsyncContextManager[Actions]]


@pytest.fixture
def start(database_url: Secret, clock: FakeClock) -> Start:
    """Start the service, as often as a test likes, on the same database and with the same keys."""
    settings = settings_for(IdentitySettings, database_url)

    @asynccontextmanager
    async def started(**more: Any) -> AsyncIterator[Actions]:
        async with running_service(build, settings.model_copy(update=more), clock=clock) as identity:
            yield Actions(identity)

    return started


@pytest.fixture
async def fresh(start: Start) -> AsyncIterator[Actions]:
    """The service before anyone has set it up."""
    async with start() as actions:
        yield actions


@pytest.fixture
async def world(fresh: Actions) -> Actions:
    """The service with its first organization."""
    answer = await fresh.bootstrap()
    assert answer.status == 200, answer.text
    return fresh


def error_of(answer: Answer) -> tuple[int, str]:
    """The status and kind of a refusal, after a look at the rest of its body."""
    body = answer.json
    assert body["statusCode"] == answer.status
    assert len(body["reqId"]) == 18
    return answer.status, body["error"]


@pytest.fixture
def refusal() -> Callable[[Answer], tuple[int, str]]:
    return error_of
