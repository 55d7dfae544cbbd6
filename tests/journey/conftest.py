"""Running instances for the journeys."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from journey.houses import Standalone


@contextmanager
def _house() -> Iterator[Standalone]:
    # Not pytest's own folder: another run of pytest closes that to the account that root's PostgreSQL runs under.
    with tempfile.TemporaryDirectory(prefix="strongroom-journey-", ignore_cleanup_errors=True) as folder:
        house = Standalone(Path(folder))
        try:
            yield house
        finally:
            house.close()


@pytest.fixture
def standalone() -> Iterator[Standalone]:
    """An instance that the test starts and stops as it likes."""
    with _house() as house:
        yield house


@pytest.fixture(scope="module")
def running() -> Iterator[Standalone]:
    """One running instance for all tests of a module."""
    with _house() as house:
        house.start()
        yield house
