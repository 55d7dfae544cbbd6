"""Running instances for the journeys."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from journey.houses import Standalone


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    house = Standalone(tmp_path)
    try:
        yield house
    finally:
        house.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """One running instance for all tests of a module."""
    house = Standalone(tmp_path_factory.mktemp("standalone"))
    try:
        house.start()
        yield house
    finally:
        house.close()
