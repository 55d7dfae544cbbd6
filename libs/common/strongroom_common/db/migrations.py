"""alembic, per service, without an ini file: `strongroom_<service>.migrations` holds the versions."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from strongroom_common.kernel.secret import Secret

R = TypeVar("R")


class SchemaTooNew(Exception):
    """The database was migrated by a later release than this one."""


class SchemaTooOld(Exception):
    """The database lacks migrations that this release needs."""


class Migrations:
    """The schema's history of one service."""

    def __init__(self, package: str, url: Secret) -> None:
        """`package` is the service's migrations package, for example `strongroom_pki.migrations`."""
        self._package = package
        self._url = url
        module = importlib.import_module(package)
        folder = str(Path(next(iter(module.__path__))))
        self._config = Config()
        self._config.set_main_option("script_location", folder.replace("%", "%%"))
        self._config.set_main_option("path_separator", "os")
        self._scripts = ScriptDirectory.from_config(self._config)

    @property
    def head(self) -> str:
        """The revision that this release needs."""
        head = self._scripts.get_current_head()
        if head is None:
            raise RuntimeError(f"{self._package} has no versions")
        return head

    async def migrate(self) -> bool:
        """Bring the schema to this release's head; say whether anything had to be done.

        Replicas may start together: an advisory lock lets one migrate while the others wait and then find it done.
        """
        return await self._run(self._migrate)

    async def verify(self) -> None:
        """Raise `SchemaTooOld` or `SchemaTooNew` unless the database is at this release's head or a known later one."""
        await self._run(self._verify)

    async def differences(self, metadata: MetaData) -> list[Any]:
        """List what differs between the migrated database and the tables in code; empty when they are equal."""

        def compare(connection: Connection) -> list[Any]:
            context = MigrationContext.configure(
                connection, opts={"compare_type": True, "compare_server_default": True}
            )
            return list(compare_metadata(context, metadata))

        return await self._run(compare)

    async def _run(self, work: Callable[[Connection], R]) -> R:
        engine = create_async_engine(
            make_url(self._url.reveal()).set(drivername="postgresql+asyncpg"), poolclass=NullPool, hide_parameters=True
        )
        try:
            async with engine.connect() as connection:
                result = await connection.run_sync(work)
                await connection.commit()
                return result
        finally:
            await engine.dispose()

    def _current(self, connection: Connection) -> str | None:
        return MigrationContext.configure(connection).get_current_revision()

    def _verify(self, connection: Connection) -> None:
        current = self._current(connection)
        if current == self.head:
            return
        if current is not None and current not in {script.revision for script in self._scripts.walk_revisions()}:
            raise SchemaTooNew(f"the database is at {current}, which is newer than this release ({self.head})")
        raise SchemaTooOld(f"the database is at {current or 'nothing'}, this release needs {self.head}: run migrate")

    def _migrate(self, connection: Connection) -> bool:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('strongroom-migrations'))"))
        try:
            self._verify(connection)
        except SchemaTooOld:
            self._config.attributes["connection"] = connection
            command.upgrade(self._config, "head")
            return True
        return False
