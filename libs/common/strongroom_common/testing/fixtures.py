"""The real servers that tests of every service share: started when first asked for, once per run."""

from collections.abc import Iterator, Sequence

import pytest

from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.ldap import LdapServer, new_ldap_server
from strongroom_common.testing.postgres import PostgresServer
from strongroom_common.testing.rabbitmq import RabbitServer, new_rabbit_server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL that nobody else uses, fast because it may forget."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def rabbit_server() -> Iterator[RabbitServer]:
    """A RabbitMQ that nobody else uses. A test that stops it starts it again."""
    server = new_rabbit_server()
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def rabbit_url(rabbit_server: RabbitServer) -> Secret:
    """The address of an empty virtual host: queues and exchanges of other tests are not there. Takes a second."""
    return rabbit_server.add_virtual_host()


@pytest.fixture(scope="session")
def ldap_server() -> Iterator[LdapServer]:
    """An OpenLDAP that nobody else uses. A test that takes it away brings it back."""
    server = new_ldap_server()
    try:
        server.start()
        yield server
    finally:
        server.close()


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Give tests with such a server more time, and do not count its start: that has its own limit, and may install."""
    for item in items:
        wanted = {"rabbit_server", "ldap_server"} & set(getattr(item, "fixturenames", ()))
        if wanted and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(60, func_only=True))
