"""Lengths of time as clients write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_identity.domain.durations import LONGEST, parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1h", timedelta(hours=1)),
        ("30m", timedelta(minutes=30)),
        ("90 seconds", timedelta(seconds=90)),
        (" 1.5D ", timedelta(hours=36)),
        ("2 weeks", timedelta(weeks=2)),
        ("250", timedelta(milliseconds=250)),
    ],
)
def test_a_length_is_read(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text", ["", "h", "0", "0h", "-1h", "1 fortnight", "1h30m", "1e9d", "11 years", "\u0661h", "9" * 40]
)
def test_what_is_no_positive_length_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_duration(text)


@given(st.text(max_size=20))
def test_any_text_is_a_length_or_refused(text: str) -> None:
    try:
        length = parse_duration(text)
    except ValueError:
        return
    assert timedelta(0) < length <= LONGEST
