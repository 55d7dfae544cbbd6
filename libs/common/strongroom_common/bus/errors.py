"""Errors and answers on the wire: an error of ours crosses the bus whole, any other becomes a bare one.

What a stranger's exception says may hold anything, a password among it; so its text stays in the log of the process in
which it was raised.
"""

from functools import lru_cache
from typing import Any

import orjson

from strongroom_common.bus.port import Answer
from strongroom_common.contracts.envelopes import Envelope
from strongroom_common.kernel import errors
from strongroom_common.kernel.errors import FAMILIES, InvalidInput, Issue, RateLimited, StrongroomError
from strongroom_common.observability.logs import get_logger

log = get_logger(__name__)

_OURS = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, StrongroomError)
}


def encode_error(error: BaseException) -> dict[str, Any]:
    """Write an error as a JSON object."""
    if not isinstance(error, StrongroomError):
        error = StrongroomError("internal error")
    return {
        "family": error.family,
        "code": error.code(),
        "label": error.wire_label,
        "message": error.message,
        # What JSON cannot hold becomes text here, and not a second error that hides the first; a Secret becomes `***`.
        "details": orjson.loads(orjson.dumps(error.details, default=str, option=orjson.OPT_NON_STR_KEYS)),
        "issues": [dict(issue) for issue in error.issues] if isinstance(error, InvalidInput) else [],
        "retryAfter": error.retry_after if isinstance(error, RateLimited) else None,
    }


def decode_error(wire: dict[str, Any]) -> StrongroomError:
    """Read what `encode_error` wrote.

    The error is an instance of its family's class, and its `code()` is the sender's, even when that class is unknown
    here. A family of a newer release becomes a bare `StrongroomError`.
    """
    message = str(wire.get("message", ""))
    kind = _class_of(str(wire.get("family", "")), str(wire.get("code", "")))
    if issubclass(kind, InvalidInput):
        issues = [Issue(code=i["code"], path=i["path"], message=i["message"]) for i in wire.get("issues") or ()]
        error: StrongroomError = kind(message, issues=issues)
    elif issubclass(kind, RateLimited):
        error = kind(message, retry_after=wire.get("retryAfter") or 1)
    else:
        error = kind(message)
    error.wire_label = wire.get("label") or error.wire_label
    error.details = wire.get("details")
    return error


@lru_cache(maxsize=256)
def _class_of(family_name: str, code: str) -> type[StrongroomError]:
    family = FAMILIES.get(family_name, StrongroomError)
    known = _OURS.get(code)
    if known is not None and issubclass(known, family):
        return known
    return type(code, (family,), {}) if code.isidentifier() else family


def reason_of(error: BaseException) -> str:
    """Say in a dead letter why it died, without the text of a stranger's exception."""
    return f"{error.code()}: {error.message}" if isinstance(error, StrongroomError) else type(error).__name__


async def encode_answer(answer: Answer, question: Envelope) -> bytes:
    """Let `answer` answer, and write what it returns or raises."""
    try:
        return orjson.dumps({"answer": await answer(question)})
    except Exception as error:  # whatever it is, somebody waits for an answer
        if not isinstance(error, StrongroomError):
            log.exception("query_failed", message_type=question.type, message_id=str(question.id))
        return orjson.dumps({"error": encode_error(error)})


def decode_answer(raw: bytes) -> dict[str, Any]:
    """Return the answer that `encode_answer` wrote, or raise its error."""
    wire = orjson.loads(raw)
    if "error" in wire:
        raise decode_error(wire["error"])
    answer: dict[str, Any] = wire["answer"]
    return answer
