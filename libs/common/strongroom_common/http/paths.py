"""A request's path, made canonical before anything looks at it.

Whatever could be read in two ways is refused, not repaired: dot segments, empty parts, encoded separators, control
characters, doubly encoded forms of all of these (CVE-2026-3605 and its kin).
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from strongroom_common.kernel.errors import InvalidInput

LONGEST_TARGET = 8_000

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# An address is printable ASCII (RFC 3986); what the server makes of other bytes is not text that can be passed on.
_FORBIDDEN = re.compile(r"[^\x21-\x7e]|[\\#]")
_FORBIDDEN_IN_QUERY = re.compile(r"[^\x21-\x7e]")
_PLAIN = re.compile(r"(?:/[A-Za-z0-9_-]+)+")
_SEPARATOR = re.compile(r"[/\\\x00-\x1f\x7f]")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: the path as sent less a trailing slash, its decoded segments, the raw query."""

    raw_path: str
    segments: tuple[str, ...]
    query: str


def parse_target(raw: str) -> Target:
    """Read a request target in origin form; raises `InvalidInput` (400) on anything ambiguous."""
    if len(raw) > LONGEST_TARGET:
        raise InvalidInput("the address is too long")
    path, _, query = raw.partition("?")
    if not path.startswith("/") or _FORBIDDEN.search(path):
        raise _refused()
    if _FORBIDDEN_IN_QUERY.search(query):
        raise InvalidInput("the query holds a character that must be percent-encoded")
    if len(path) > 1 and path.endswith("/"):
        path = path[:-1]
    if path == "/":
        return Target(path, (), query)
    if _PLAIN.fullmatch(path):
        # Nearly every path: letters and digits need no second look.
        return Target(path, tuple(path[1:].split("/")), query)
    return Target(path, tuple(_segment(part) for part in path[1:].split("/")), query)


def _segment(raw: str) -> str:
    if not raw:
        raise _refused()
    if "%" in raw:
        if _BAD_ESCAPE.search(raw):
            raise _refused()
        try:
            decoded = unquote_to_bytes(raw).decode()
        except UnicodeDecodeError:
            raise _refused() from None
    else:
        decoded = raw
    _refuse_tricks(decoded)
    if _ESCAPE.search(decoded):
        # A second decoding somewhere behind us must not find what we would have refused.
        _refuse_tricks(unquote_to_bytes(decoded).decode("utf-8", "replace"))
    return decoded


def _refuse_tricks(segment: str) -> None:
    if not segment.strip(". ") or _SEPARATOR.search(segment):
        raise _refused()


def _refused() -> InvalidInput:
    return InvalidInput("the path holds an empty part, a dot segment, a control character or an encoded separator")
