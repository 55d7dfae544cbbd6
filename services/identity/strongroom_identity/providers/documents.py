"""JSON that somebody outside publishes: fetched through the guard, bounded, and remembered for a while.

The address is always one that an administrator configured, or one that the document at such an address names.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import aiohttp

from strongroom_common.egress.guard import Guard, read_at_most
from strongroom_common.http.bodies import check_json_bounds
from strongroom_common.kernel.errors import StrongroomError
from strongroom_identity.domain.auth_methods import Tools
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.providers.outside_tls import outside_context

LONGEST: Final = timedelta(seconds=5)
LARGEST: Final = 512 * 1024  # bytes
LIFE: Final = timedelta(minutes=10)
"""How long a document is believed to be the same."""
FRESH: Final = timedelta(seconds=30)
"""A document younger than this is not fetched again, whatever a token claims: else strangers would make us ask."""
FAILURE_LIFE: Final = timedelta(seconds=10)
MOST: Final = 500


@dataclass
class _Remembered:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    document: Mapping[str, Any] | None = None
    fetched_at: float = float("-inf")
    tried_at: float = float("-inf")


async def get_document(tools: Tools, url: str, ca_certificates: str, *, age: timedelta = LIFE) -> Mapping[str, Any]:
    """Return the object at `url`, at most `age` old, or `LIFE` where a newer one cannot be had right now.

    Raises `BadCredentials`, with a reason for the audit trail, when there is none; that is remembered as well.
    """
    remembered = _BY_GUARD.setdefault(tools.guard, OrderedDict())
    entry = remembered.setdefault((url, ca_certificates), _Remembered())
    remembered.move_to_end((url, ca_certificates))
    if len(remembered) > MOST:
        remembered.popitem(last=False)
    async with entry.lock:
        now = tools.clock.monotonic()
        if entry.document is not None and now - entry.fetched_at < age.total_seconds():
            return entry.document
        if now - entry.tried_at >= FAILURE_LIFE.total_seconds():
            entry.tried_at = now
            try:
                entry.document = await _fetch(tools, url, ca_certificates)
                entry.fetched_at = now
            except BadCredentials:
                if not _is_alive(entry, now):
                    entry.document = None
                    raise
        if entry.document is None or not _is_alive(entry, now):
            raise BadCredentials("a document of the issuer could not be read a moment ago")
        return entry.document


def _is_alive(entry: _Remembered, now: float) -> bool:
    return now - entry.fetched_at < LIFE.total_seconds()


async def _fetch(tools: Tools, url: str, ca_certificates: str) -> Mapping[str, Any]:
    if not is_https(url):
        raise BadCredentials("a document of the issuer is not at an https address")
    try:
        async with (
            tools.guard.session(total=LONGEST) as session,
            session.get(url, ssl=outside_context(ca_certificates), headers={"Accept": "application/json"}) as response,
        ):
            raw = await read_at_most(response, LARGEST)
            if response.status != 200:
                raise BadCredentials("a document of the issuer is not there")
        check_json_bounds(raw)
        document = json.loads(raw)
    except BadCredentials:
        raise
    except StrongroomError as error:
        raise BadCredentials(f"a document of the issuer could not be fetched: {error.wire_label}") from None
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError):
        raise BadCredentials("a document of the issuer could not be fetched") from None
    if not isinstance(document, dict):
        raise BadCredentials("a document of the issuer is no JSON object")
    return document


def is_https(url: str) -> bool:
    """Say whether this is a plain https address: without TLS, whoever is on the way could name the keys."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False


def judge_url(tools: Tools, url: str) -> None:
    """Refuse, before it is kept, an address that no login will be allowed to ask; raises `AddressRefused`.

    A name is not resolved here: what it leads to is judged for each connection.
    """
    tools.guard.judge_host(urlsplit(url).hostname or "")


# Each service has a guard of its own: what is remembered goes with it.
_BY_GUARD: WeakKeyDictionary[Guard, OrderedDict[tuple[str, str], _Remembered]] = WeakKeyDictionary()
