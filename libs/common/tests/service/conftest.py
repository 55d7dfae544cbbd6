"""A database with the tables that every service has, and what speaks through it."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Column, Integer, Table, Text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from strongroom_common.contracts.envelopes import Postmaster
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.db.database import Database
from strongroom_common.db.tables import service_metadata
from strongroom_common.kernel import faults
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.postgres import PostgresServer

METADATA = service_metadata()
THINGS = Table(
    "things", METADATA, Column("id", Integer, primary_key=True), Column("name", Text, nullable=False, unique=True)
)


async def _create(url: Secret) -> None:
    engine = create_async_engine(make_url(url.reveal()).set(drivername="postgresql+asyncpg"), poolclass=NullPool)
    async with engine.begin() as connection:
        await connection.run_sync(METADATA.create_all)
    await engine.dispose()


@pytest.fixture
def url(postgres_server: PostgresServer) -> Secret:
    return postgres_server.clone(postgres_server.template("common", _create))


@pytest.fixture(scope="session")
def bus_keyring() -> Keyring:
    return Keyring.generate()


@pytest.fixture
def postmaster(bus_keyring: Keyring) -> Postmaster:
    return Postmaster(SystemClock(), bus_keyring.seal, bus_keyring.open)


@pytest.fixture
async def database(url: Secret, postmaster: Postmaster) -> AsyncIterator[Database]:
    async with Database(url, postmaster, work_connections=5, read_connections=5) as opened:
        yield opened
    faults.disarm()
