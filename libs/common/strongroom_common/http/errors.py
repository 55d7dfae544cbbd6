"""One table: family of error -> status; one body: the contract's (wire-identity 1.2)."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from strongroom_common.kernel.errors import InvalidInput, Issue, PermissionDenied, RateLimited, StrongroomError
from strongroom_common.observability.redaction import redact_text

DECISION_ID = "X-Decision-Id"
"""Names the decision behind a 403: `GET /api/v1/access/decisions/{id}` explains it."""

STATUS_OF_FAMILY: Mapping[str, int] = {
    "invalid_input": 400,
    "conflict": 400,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "stale": 409,
    "too_large": 413,
    "rate_limited": 429,
    "internal": 500,
    "bad_gateway": 502,
    "unavailable": 503,
    "timed_out": 504,
}

# pydantic's names for what is wrong -> the names that clients of this API know.
_CODES = {
    "missing": "invalid_type",
    "string_too_short": "too_small",
    "too_short": "too_small",
    "greater_than": "too_small",
    "greater_than_equal": "too_small",
    "string_too_long": "too_big",
    "too_long": "too_big",
    "less_than": "too_big",
    "less_than_equal": "too_big",
    "string_pattern_mismatch": "invalid_string",
    "uuid_parsing": "invalid_string",
    "datetime_parsing": "invalid_string",
    "datetime_from_date_parsing": "invalid_string",
    "url_parsing": "invalid_string",
    "literal_error": "invalid_enum_value",
    "enum": "invalid_enum_value",
    "union_tag_invalid": "invalid_union",
    "union_tag_not_found": "invalid_union",
    "value_error": "custom",
    "assertion_error": "custom",
}

_MESSAGES = (
    ("uuid", "must be a UUID"),
    ("datetime", "must be an ISO 8601 timestamp"),
    ("date", "must be an ISO 8601 date"),
    ("url", "must be a URL"),
    ("string_unicode", "must be Unicode text"),
)


def status_of(error: StrongroomError) -> int:
    """The HTTP status of an error of ours."""
    if isinstance(error, InvalidInput) and error.issues:
        return 422
    return STATUS_OF_FAMILY.get(error.family, 500)


def error_body(error: StrongroomError, request_id: str) -> bytes:
    """The error as clients expect it; a 422 carries its issues as an array in `message`."""
    message: Any = redact_text(error.message)
    if isinstance(error, InvalidInput) and error.issues:
        message = [dict(issue) for issue in error.issues]
    body: dict[str, Any] = {
        "reqId": request_id,
        "statusCode": status_of(error),
        "error": error.wire_label,
        "message": message,
    }
    if error.details is not None:
        body["details"] = error.details
    return orjson.dumps(body)


def error_headers(error: StrongroomError) -> dict[str, str]:
    """Headers that go with an error."""
    if isinstance(error, RateLimited):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, PermissionDenied) and error.decision_id is not None:
        return {DECISION_ID: str(error.decision_id)}
    return {}


def invalid(error: ValidationError, where: str) -> InvalidInput:
    """Turn pydantic's findings into issues. What was sent is never repeated: it may be a secret in the wrong field."""
    issues = list(_issues(error))
    if len(issues) == 1 and issues[0]["code"] == "invalid_json":
        return InvalidInput("the body is not well-formed JSON")
    first = ".".join(str(part) for part in issues[0]["path"]) if issues else ""
    return InvalidInput(f"{where} is not valid: {first}", issues=issues)


def _issues(error: ValidationError) -> Iterable[Issue]:
    for finding in error.errors(include_url=False, include_input=False, include_context=True)[:100]:
        kind = finding["type"]
        path = [part for part in finding["loc"] if not (isinstance(part, str) and part.startswith("function-"))]
        if kind == "json_invalid":
            yield Issue(code="invalid_json", path=[], message="not well-formed JSON")
            return
        context = finding.get("ctx") or {}
        if kind == "missing":
            message = "Required"
        elif kind == "value_error":
            message = str(context.get("error", "not valid"))
        else:
            # pydantic quotes a character of what it could not read in some of its messages.
            message = next((text for start, text in _MESSAGES if kind.startswith(start)), finding["msg"])
        code = _CODES.get(kind, "invalid_type" if kind.endswith(("_type", "_parsing", "_from_float")) else "custom")
        issue = Issue(code=code, path=path, message=message)
        for bound in ("min_length", "ge", "gt"):
            if bound in context:
                issue["minimum"] = context[bound]  # type: ignore[typeddict-unknown-key]  # code-specific key
        for bound in ("max_length", "le", "lt"):
            if bound in context:
                issue["maximum"] = context[bound]  # type: ignore[typeddict-unknown-key]  # code-specific key
        yield issue
