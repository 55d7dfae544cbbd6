"""How often one may knock: requests per caller are counted in windows, in bounded memory."""

import math
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Literal

MOST_CALLERS = 50_000
"""Windows remembered per bucket; beyond that the oldest is forgotten, which favours its caller."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """So many requests of one caller in so many seconds."""

    name: str
    most: int
    seconds: float
    key: Literal["address", "bearer"] = "address"


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a caller stands after a request; `reset` is in whole seconds."""

    limit: int
    remaining: int
    reset: int
    is_over: bool


@dataclass(slots=True)
class _Window:
    ends_at: float
    count: int


class Windows:
    """The open windows of all callers. Each process counts for itself."""

    def __init__(self, most_callers: int = MOST_CALLERS) -> None:
        self._most_callers = most_callers
        # A caller's window is put at the end when it opens, so that the first one of a bucket is always its oldest.
        self._open: dict[str, dict[str, _Window]] = {}

    def count(self, bucket: Bucket, caller: str, now: float) -> Reading:
        """Count one request; `now` is in seconds that never run backwards."""
        windows = self._open.setdefault(bucket.name, {})
        window = windows.get(caller)
        if window is None or window.ends_at <= now:
            windows.pop(caller, None)
            window = windows[caller] = _Window(now + bucket.seconds, 0)
            self._forget(windows, now)
        # Not beyond one more than the limit: whoever keeps knocking is not remembered any better.
        window.count = min(window.count + 1, bucket.most + 1)
        return Reading(
            limit=bucket.most,
            remaining=max(0, bucket.most - window.count),
            reset=max(1, math.ceil(window.ends_at - now)),
            is_over=window.count > bucket.most,
        )

    def _forget(self, windows: dict[str, _Window], now: float) -> None:
        # Two for each one that opens: what has ended is gone long before the limit is reached.
        for _ in range(2):
            oldest = next(iter(windows))
            if windows[oldest].ends_at > now:
                break
            del windows[oldest]
        if len(windows) > self._most_callers:
            del windows[next(iter(windows))]

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))


@lru_cache(maxsize=4096)
def caller_of(address: str) -> str:
    """Return what to count by: an address, or its /64 network for IPv6, all of which one customer commonly owns."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else address
