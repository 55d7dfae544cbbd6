"""The migrated schema is the one in code."""

from strongroom_common.db.migrations import Migrations
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.postgres import PostgresServer
from strongroom_identity.service import MIGRATIONS
from strongroom_identity.store.tables import METADATA


async def test_migrating_from_zero_equals_the_tables(database_url: Secret) -> None:
    assert await Migrations(MIGRATIONS, database_url).differences(METADATA) == []


async def test_migrating_again_does_nothing(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    assert await Migrations(MIGRATIONS, url).migrate()
    assert not await Migrations(MIGRATIONS, url).migrate()
    postgres_server.drop(url)
