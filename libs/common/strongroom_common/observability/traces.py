"""W3C Trace Context: one `traceparent` per request, continued where a valid one comes in, carried through the bus."""

import re
import secrets

_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


def continue_trace(incoming: str | None) -> str:
    """Return a `traceparent` for our own span: the caller's trace if it sent a valid one, else a new trace."""
    match = _TRACEPARENT.fullmatch(incoming) if incoming and len(incoming) == 55 else None
    trace_id, flags = (match[1], match[3]) if match else (secrets.token_hex(16), "00")
    return f"00-{trace_id}-{secrets.token_hex(8)}-{flags}"
