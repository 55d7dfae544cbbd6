"""Migrating from zero equals the tables in code, for every service."""

import importlib
from typing import Any

import asyncpg
import pytest

from strongroom_common.db.migrations import Migrations, SchemaTooNew, SchemaTooOld
from strongroom_common.testing.postgres import PostgresServer

DATABASES = ("identity", "secrets", "pki", "automation")


@pytest.mark.parametrize("name", DATABASES)
async def test_the_migrated_schema_equals_the_tables(name: str, postgres_server: PostgresServer) -> None:
    metadata: Any = importlib.import_module(f"strongroom_{name}.store.tables").METADATA
    migrations = Migrations(f"strongroom_{name}.migrations", postgres_server.create_database())

    with pytest.raises(SchemaTooOld):
        await migrations.verify()
    assert await migrations.migrate()
    assert not await migrations.migrate()
    await migrations.verify()
    assert await migrations.differences(metadata) == []


async def test_a_schema_of_a_later_release_is_left_alone(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    migrations = Migrations("strongroom_pki.migrations", url)
    await migrations.migrate()
    connection = await asyncpg.connect(url.reveal())
    await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    await connection.close()

    for step in (migrations.verify, migrations.migrate):
        with pytest.raises(SchemaTooNew, match="9999"):
            await step()
