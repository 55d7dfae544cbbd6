"""Lengths of time as people write them: `1h`, `30 minutes`, `1.5d`."""

import re
from datetime import timedelta

LONGEST = timedelta(days=3650)

_FORM = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([a-z]+)?")
_UNITS = {
    timedelta(milliseconds=1): ("ms", "msec", "msecs", "millisecond", "milliseconds"),
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(hours=1): ("h", "hr", "hrs", "hour", "hours"),
    timedelta(days=1): ("d", "day", "days"),
    timedelta(weeks=1): ("w", "week", "weeks"),
    timedelta(days=365.25): ("y", "yr", "yrs", "year", "years"),
}
_LENGTHS = {name: length for length, names in _UNITS.items() for name in names}


def parse_duration(text: str) -> timedelta:
    """Read a positive length, ten years at most; a bare number counts milliseconds. Raises `ValueError`."""
    match = _FORM.fullmatch(text.strip().lower())
    unit = _LENGTHS.get((match[2] or "ms") if match else "")
    if match is None or unit is None:
        raise ValueError("must be a length of time such as 30m, 1h or 7d")
    length = unit * float(match[1])
    if not timedelta(0) < length <= LONGEST:
        raise ValueError("must be longer than nothing and at most ten years")
    return length
