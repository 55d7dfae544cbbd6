"""What can be wrong, in a few families. `http.errors` turns a family into a status and body; the bus carries an error
whole, by its stable code."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict
from uuid import UUID


class Issue(TypedDict):
    """One thing wrong with one field: `path` names it, and the message never repeats the value."""

    code: str
    path: Sequence[str | int]
    message: str


class StrongroomError(Exception):
    """The root of all errors of ours. `code` is stable and crosses the bus; `label` is the wire's `error` field."""

    family: ClassVar[str] = "internal"
    label: ClassVar[str] = "InternalServerError"

    def __init__(self, message: str, *, label: str | None = None, details: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.wire_label = label or self.label
        self.details = details

    @classmethod
    def code(cls) -> str:
        """The error's name across processes, for example `NotFound` or `ProjectNotFound`."""
        return cls.__name__


class InvalidInput(StrongroomError):
    """The request cannot be understood. With issues it is 422 and names each field, without it is 400."""

    family = "invalid_input"
    label = "BadRequest"

    def __init__(
        self,
        message: str,
        *,
        issues: Sequence[Issue] = (),
        label: str | None = None,
        details: Any = None,
    ) -> None:
        super().__init__(message, label=label or ("ValidationFailure" if issues else None), details=details)
        self.issues = tuple(issues)

    @classmethod
    def of_field(cls, path: Sequence[str | int], code: str, message: str) -> "InvalidInput":
        """The common case: one field, one reason."""
        return cls(message, issues=[Issue(code=code, path=list(path), message=message)])


class Conflict(StrongroomError):
    """Well-formed, but the state of the world does not allow it (the wire contract's 400)."""

    family = "conflict"
    label = "BadRequest"


class Stale(StrongroomError):
    """Someone was faster, or the world has moved since the caller looked (409)."""

    family = "stale"
    label = "Conflict"


class Unauthenticated(StrongroomError):
    """No caller, or a token that is unknown, revoked or used up (401)."""

    family = "unauthenticated"
    label = "UnauthorizedError"


class Forbidden(StrongroomError):
    """A known caller may not do this (403)."""

    family = "forbidden"
    label = "ForbiddenError"


class TokenRefused(Forbidden):
    """The bearer is malformed, expired or badly signed (403 `TokenError`, wire-identity 1.1)."""

    label = "TokenError"


class PermissionDenied(Forbidden):
    """The caller's rules do not allow the action; `details` holds the rules that were considered.

    `refused` is what can be written down about the decision, and `decision_id` its name once that has happened.
    """

    label = "PermissionDenied"

    def __init__(self, message: str, *, label: str | None = None, details: Any = None, refused: Any = None) -> None:
        super().__init__(message, label=label, details=details)
        self.refused = refused
        self.decision_id: UUID | None = None


class NotFound(StrongroomError):
    """Absent, or not visible to this caller (404)."""

    family = "not_found"
    label = "NotFound"


class TooLarge(StrongroomError):
    """The body is larger than the limit (413)."""

    family = "too_large"
    label = "PayloadTooLarge"


class RateLimited(StrongroomError):
    """Too many requests; `retry_after` is in seconds (429)."""

    family = "rate_limited"
    label = "RateLimitExceeded"

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(StrongroomError):
    """Something we need does not answer; asking again later is right (503)."""

    family = "unavailable"
    label = "ServiceUnavailable"


class TimedOut(StrongroomError):
    """What we asked did not answer in time (504)."""

    family = "timed_out"
    label = "GatewayTimeoutError"


FAMILIES: Mapping[str, type[StrongroomError]] = {
    kind.family: kind
    for kind in (
        InvalidInput,
        Conflict,
        Stale,
        Unauthenticated,
        Forbidden,
        NotFound,
        TooLarge,
        RateLimited,
        Unavailable,
        TimedOut,
    )
}
