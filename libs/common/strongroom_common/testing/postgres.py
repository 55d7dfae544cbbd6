"""A real PostgreSQL for tests: one per run; a database per test module, cloned from a template migrated once."""

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from strongroom_common.kernel.secret import Secret
from strongroom_common.runtime.postgres import EmbeddedPostgres

R = TypeVar("R")

_ROLE = "strongroom_test"


class PostgresServer:
    """A server that forgets everything when it is left. Its methods block, so fixtures of any scope can call them.

    Like a service in production, a test's role owns its database and is no superuser; what needs one (cutting
    connections, say) goes through `embedded.administrator()`.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="strongroom-test-", ignore_cleanup_errors=True)
        self.embedded = EmbeddedPostgres(Path(self._folder.name), durable=False)
        self._numbers = itertools.count(1)
        self._templates: dict[str, str] = {}

    def __enter__(self) -> Self:
        _complete(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _complete(self.embedded.stop())
        self._folder.cleanup()

    def create_database(self) -> Secret:
        """Make an empty database; return its URL."""
        return _complete(self._create(f"test_{next(self._numbers)}"))

    def template(self, name: str, migrate: Callable[[Secret], Coroutine[Any, Any, object]]) -> str:
        """Migrate a database to be cloned, the first time it is asked for in this run; return its name for `clone`."""
        if name not in self._templates:
            database = f"template_{name}"
            _complete(self._fill(database, migrate))
            self._templates[name] = database
        return self._templates[name]

    def clone(self, template: str) -> Secret:
        """Copy a template; return the copy's URL."""
        return _complete(self._create(f"test_{next(self._numbers)}", template))

    def drop(self, url: Secret) -> None:
        """Remove a database, whoever is connected to it."""
        _complete(self._drop(url.reveal().partition("@/")[2].partition("?")[0]))

    async def _start(self) -> None:
        await self.embedded.start()
        await self.embedded.create_role_and_database(_ROLE)

    async def _create(self, name: str, template: str = "template0") -> Secret:
        async with self.embedded.administrator() as connection:
            await connection.execute(f"CREATE DATABASE {name} OWNER {_ROLE} TEMPLATE {template}")
            await connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
        return self.embedded.url_for(_ROLE, name)

    async def _fill(self, name: str, migrate: Callable[[Secret], Coroutine[Any, Any, object]]) -> None:
        await migrate(await self._create(name))
        async with self.embedded.administrator() as connection:
            # A connection left open by the migration would make every clone fail later; this says so now.
            await connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            left = await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE datname = $1", name)
        if left:
            raise RuntimeError(f"the migration of {name} left {left} connection(s) open")

    async def _drop(self, name: str) -> None:
        async with self.embedded.administrator() as connection:
            await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _complete(work: Coroutine[Any, Any, R]) -> R:
    """Run to the end on a loop and a thread of its own: the calling thread may have a loop that is running."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()
