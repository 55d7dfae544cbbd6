"""The secrets service on a real PostgreSQL, with an identity that answers over the bus."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest
import structlog
from sqlalchemy import event

from strongroom_common.bus.memory import MemoryBus
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.identity import ProjectState
from strongroom_common.db.migrations import Migrations
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.clock import FakeClock
from strongroom_common.testing.identity_double import ADMIN, Bearer, IdentityDouble, Rules
from strongroom_common.testing.postgres import PostgresServer
from strongroom_common.testing.service_harness import Answer, RunningService, running_service, settings_for
from strongroom_common.testing.waiting import eventually
from strongroom_secrets.service import MIGRATIONS, build
from strongroom_secrets.settings import SecretsSettings
from strongroom_secrets.store.tables import METADATA


async def _migrate(url: Secret) -> None:
    await Migrations(MIGRATIONS, url).migrate()


@pytest.fixture(scope="module")
def module_database_url(postgres_server: PostgresServer) -> Secret:
    """A database with the service's schema."""
    return postgres_server.clone(postgres_server.template("secrets", _migrate))


@pytest.fixture
async def database_url(module_database_url: Secret) -> Secret:
    """The module's database, emptied."""
    connection = await asyncpg.connect(module_database_url.reveal())
    try:
        await connection.execute("TRUNCATE " + ", ".join(METADATA.tables))
    finally:
        await connection.close()
    return module_database_url


@pytest.fixture(autouse=True)
def plain_tracebacks() -> Iterator[None]:
    """What structlog prints of an exception by default takes it a second to draw."""
    before = structlog.get_config()
    structlog.configure(processors=[structlog.processors.format_exc_info, structlog.processors.LogfmtRenderer()])
    yield
    structlog.configure(**before)


@dataclass
class World:
    """A running service, an identity, a project `shop` and an administrator of it."""

    running: RunningService
    identity: IdentityDouble
    project: ProjectState
    admin: Bearer
    database_url: Secret

    async def send(self, method: str, path: str, *, by: Bearer | None = None, **more: Any) -> Answer:
        """Send a request with the administrator's token, or another's."""
        return await self.running.http.send(method, path, token=(by or self.admin).token, **more)

    def place(self, **more: Any) -> dict[str, Any]:
        """A v4 body or query that names project and environment."""
        return {"projectId": str(self.project.id), "environment": "dev", **more}

    async def create(self, name: str, value: str = "v", *, by: Bearer | None = None, **more: Any) -> dict[str, Any]:
        """Create a secret; return it as answered."""
        answer = await self.send("POST", f"/api/v4/secrets/{name}", by=by, json=self.place(secretValue=value, **more))
        assert answer.status == 200, answer.text
        return answer.json["secret"]

    async def create_many(self, secrets: Mapping[str, str], **more: Any) -> list[dict[str, Any]]:
        """Create secrets in one batch; return them as answered."""
        items = [{"secretKey": name, "secretValue": value} for name, value in secrets.items()]
        answer = await self.send("POST", "/api/v4/secrets/batch", json=self.place(secrets=items, **more))
        assert answer.status == 200, answer.text
        return answer.json["secrets"]

    async def get(self, name: str, *, by: Bearer | None = None, **more: Any) -> Answer:
        """Get a secret by its name."""
        return await self.send("GET", f"/api/v4/secrets/{name}", by=by, params=self.place(**more))

    async def find(self, *, by: Bearer | None = None, **more: Any) -> Answer:
        """List secrets."""
        return await self.send("GET", "/api/v4/secrets", by=by, params=self.place(**more))

    async def names(self, *, by: Bearer | None = None, **more: Any) -> list[str]:
        """List the names of secrets."""
        answer = await self.find(by=by, **more)
        assert answer.status == 200, answer.text
        return [secret["secretKey"] for secret in answer.json["secrets"]]

    async def add_folder(self, path: str, **more: Any) -> dict[str, Any]:
        """Create a folder by its whole path."""
        parent, _, name = path.rpartition("/")
        answer = await self.send("POST", "/api/v2/folders", json=self.place(name=name, path=parent or "/", **more))
        assert answer.status == 200, answer.text
        return answer.json["folder"]

    def member(self, rules: Rules) -> Bearer:
        """A machine with exactly these rules in the project."""
        bearer = self.identity.add_machine()
        self.identity.grant(bearer, self.project, rules)
        return bearer

    def user(self, rules: Rules = ADMIN) -> Bearer:
        """A user with exactly these rules in the project."""
        bearer = self.identity.add_user()
        self.identity.grant(bearer, self.project, rules)
        return bearer

    async def rows(self, statement: str, *arguments: Any) -> list[Any]:
        """Look into the service's database."""
        connection = await asyncpg.connect(self.database_url.reveal())
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await connection.close()

    async def audited(self, event: str, count: int = 1) -> list[AuditRecord]:
        """Wait until identity has been sent so many audit records of one kind, and return all of that kind."""

        def found() -> list[AuditRecord]:
            records = [record for record in self.running.said.audit_records if record.event == event]
            return records if len(records) >= count else []

        return await eventually(found)


@pytest.fixture
async def world(database_url: Secret) -> AsyncIterator[World]:
    clock = FakeClock()
    bus = MemoryBus(clock)
    identity = IdentityDouble(bus, clock)
    settings = settings_for(SecretsSettings, database_url)
    async with running_service(build, settings, clock=clock, bus=bus) as running:
        project = identity.add_project(slug="shop")
        admin = identity.add_machine()
        identity.grant(admin, project, ADMIN)
        await identity.say_created(project)
        yield World(running, identity, project, admin, database_url)


@pytest.fixture
async def statements(world: World) -> list[str]:
    """Every statement that requests send to the database, audit records of reads included."""
    sent: list[str] = []

    def note(query: str) -> None:
        # What drivers ask about types and what jobs do in the background is no part of a request.
        if "jit" not in query and "pg_" not in query and "FROM audit_spool" not in query:
            sent.append(query.strip())

    database = world.running.service.foundations.database
    event.listen(database.engine.sync_engine, "before_cursor_execute", lambda *about: note(about[2]))
    async with AsyncExitStack() as stack:
        # Every connection of the pool is opened and listened to, so that none is left out.
        for _ in range(database.reads.get_max_size()):
            connection = await stack.enter_async_context(database.reads.acquire())
            connection._con.add_query_logger(lambda record: note(record.query))
    return sent
