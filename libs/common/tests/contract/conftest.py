"""What both transports' tests share."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

# The suite is not a test file itself, and its assertions should still say what they compared.
pytest.register_assert_rewrite("strongroom_common.testing.bus_contract")


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What the bus logs, unprinted: most of it is about errors that the tests mean."""
    with capture_logs() as entries:
        yield entries
