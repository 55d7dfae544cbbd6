"""Request bodies: bounded in size, depth and width before a parser allocates anything for them."""

import re
from urllib.parse import parse_qsl

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import BaseRequest, RequestPayloadError

from strongroom_common.kernel.errors import InvalidInput, TooLarge

MOST_DEPTH = 32
MOST_ITEMS = 200_000
MOST_FIELDS = 200

_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))


async def read_body(request: BaseRequest, most_bytes: int) -> bytes:
    """Read the whole body, or raise `TooLarge` as soon as it is known to be too large, unpacked."""
    if not request.body_exists:
        return b""
    if request.content_length is not None and request.content_length > most_bytes:
        raise _too_large(most_bytes)
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size > most_bytes:
                raise _too_large(most_bytes)
            chunks.append(chunk)
    except (RequestPayloadError, HttpProcessingError, ConnectionError):
        raise InvalidInput("the body broke off or is not well-formed") from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def check_json_bounds(raw: bytes) -> None:
    """Refuse JSON that is too deep or too wide, in time linear in its size and without parsing it."""
    structure = _STRINGS.sub(b"", raw).translate(None, _NOT_STRUCTURE)
    if len(structure) > 2 * MOST_ITEMS:
        raise InvalidInput(f"the body holds more than {MOST_ITEMS} items")
    brackets = structure.translate(None, b",")
    for _ in range(MOST_DEPTH):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        raise InvalidInput(f"the body is not well-formed JSON, or nested more than {MOST_DEPTH} levels deep")


def parse_form(raw: bytes) -> dict[str, str]:
    """Read a form body; the last of several fields of one name counts."""
    try:
        return dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except (ValueError, UnicodeDecodeError):
        raise InvalidInput("the body is not a well-formed form") from None


def parse_query(raw: str) -> dict[str, str]:
    """Read a query string; the last of several fields of one name counts."""
    if not raw:
        return {}
    try:
        return dict(parse_qsl(raw, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except (ValueError, UnicodeDecodeError):
        raise InvalidInput("the query string is not well-formed") from None


def _too_large(most_bytes: int) -> TooLarge:
    return TooLarge(f"the body is larger than {most_bytes} bytes")
