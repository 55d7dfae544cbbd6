"""A constraint of the database is the last word on what may not be twice; here it gets our words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError

from strongroom_common.db.errors import violated_constraint
from strongroom_common.kernel.errors import StrongroomError


@contextmanager
def refusing(violations: Mapping[str, StrongroomError]) -> Iterator[None]:
    """Raise the error of the constraint that the work inside violates."""
    try:
        yield
    except IntegrityError as violation:
        error = violations.get(violated_constraint(violation) or "")
        if error is None:
            raise
        raise error from None
