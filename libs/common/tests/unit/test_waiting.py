"""`eventually` waits for a fact, and says what was missing."""

import itertools

import pytest

from strongroom_common.testing.waiting import eventually


async def test_the_first_true_value_is_returned() -> None:
    numbers = itertools.count()
    assert await eventually(lambda: next(numbers), every=0) == 1


async def test_a_fact_may_be_awaitable_and_a_failed_assertion_is_not_yet() -> None:
    numbers = itertools.count()

    async def fact() -> str:
        assert next(numbers) > 2
        return "done"

    assert await eventually(fact, every=0) == "done"


async def test_what_never_becomes_true_is_a_failure_with_its_reason() -> None:
    def fact() -> bool:
        assert 1 == 2, "numbers differ"
        return True

    with pytest.raises(AssertionError) as caught:
        await eventually(fact, within=0.01, every=0)
    assert "numbers differ" in str(caught.value.__cause__)
