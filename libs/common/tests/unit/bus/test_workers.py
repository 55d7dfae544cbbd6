"""Tasks in hand are waited for, turns are taken in order, and patterns fit as in a topic exchange."""

import asyncio
from datetime import timedelta

import pytest

from strongroom_common.bus.workers import InHand, Turns, matches


@pytest.mark.parametrize(
    ("pattern", "message_type", "fits"),
    [
        ("a.b.c.v1", "a.b.c.v1", True),
        ("*.b.c.v1", "a.b.c.v1", True),
        ("a.*.*.v1", "a.b.c.v1", True),
        ("a.*.v1", "a.b.c.v1", False),
        ("*", "a.b", False),
        ("a.b.c.v1", "a.b.c.v2", False),
        ("a.b*.c.v1", "a.bb.c.v1", False),
    ],
)
def test_a_star_stands_for_one_whole_word(pattern: str, message_type: str, fits: bool) -> None:
    assert matches(["no.such.type.v1", pattern], message_type) is fits


async def test_turns_are_taken_in_order_of_arrival_and_forgotten_after_use() -> None:
    turns = Turns()
    order: list[int] = []

    async def take(number: int) -> None:
        async with turns.take("chair"):
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*(take(number) for number in range(10)))
    assert order == list(range(10))
    assert len(turns._locks) == 0


async def test_a_waiter_that_gives_up_does_not_block_the_next() -> None:
    turns = Turns()
    async with turns.take("chair"):
        waiting = [asyncio.ensure_future(turns.take("chair").__aenter__()) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    await waiting[1]


async def test_finishing_waits_for_what_ends_in_time_and_cancels_the_rest() -> None:
    in_hand = InHand()
    go_on, never = asyncio.Event(), asyncio.Event()
    short, long = in_hand.spawn(go_on.wait()), in_hand.spawn(never.wait())
    go_on.set()
    await in_hand.finish(timedelta(milliseconds=20))
    assert short.result() is True
    assert long.cancelled()


async def test_finishing_is_no_error_when_there_is_nothing_to_do_or_something_failed() -> None:
    in_hand = InHand()
    await in_hand.finish(timedelta())

    async def fail() -> None:
        raise ValueError("a mistake")

    failed = in_hand.spawn(fail())
    await in_hand.finish(timedelta(seconds=1))
    assert isinstance(failed.exception(), ValueError)
