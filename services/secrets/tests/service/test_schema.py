"""The schema's history leads to the tables in code."""

from strongroom_common.db.migrations import Migrations
from strongroom_common.kernel.secret import Secret
from strongroom_secrets.service import MIGRATIONS
from strongroom_secrets.store.tables import METADATA


async def test_the_migrated_schema_equals_the_tables(database_url: Secret) -> None:
    assert await Migrations(MIGRATIONS, database_url).differences(METADATA) == []
