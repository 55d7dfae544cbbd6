"""What a foreign token says about its bearer, and what must be true of it before the bearer is one of ours.

Bounds are an administrator's, claims a stranger's: what a claim holds is compared as plain text and never read as a
pattern. A bound is a comma list of which one entry must fit, exactly or as a glob (`access.globs`); an entry that is no
glob stands for itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from strongroom_common.access.globs import BadGlob, Glob, MissingFact

LEEWAY = timedelta(seconds=10)
"""By how much the issuer's clock may differ from ours."""

MOST_ENTRIES = 100
LARGEST_NUMBER = 2**53


class NotWithin(Exception):
    """Says which bound the token is not within; never what the token holds."""


@dataclass(frozen=True)
class Bounds:
    """What an administrator demands. An empty text demands nothing."""

    issuer: str = ""
    audiences: str = ""
    subject: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)


def verify_in_force(claims: Mapping[str, Any], now: datetime, *, needs_end: bool) -> None:
    """Raise `NotWithin` for a token that has expired or has not begun; `needs_end`: one without an end as well."""
    moment, leeway = now.timestamp(), LEEWAY.total_seconds()
    for name in ("exp", "nbf", "iat"):
        value = claims.get(name, 0)
        # The comparison is false for NaN as well.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST_NUMBER:
            raise NotWithin(f"its {name} is not a moment")
    if needs_end and "exp" not in claims:
        raise NotWithin("it has no end")
    if "exp" in claims and moment >= claims["exp"] + leeway:
        raise NotWithin("it has expired")
    if moment < max(claims.get("nbf", moment), claims.get("iat", moment)) - leeway:
        raise NotWithin("it has not begun")


def verify_within(claims: Mapping[str, Any], bounds: Bounds) -> None:
    """Raise `NotWithin` unless every bound holds."""
    if bounds.issuer and claims.get("iss") != bounds.issuer:
        raise NotWithin("another issuer")
    if bounds.subject and not fits(bounds.subject, claims.get("sub"), is_list=False):
        raise NotWithin("another subject")
    if bounds.audiences and not fits(bounds.audiences, claims.get("aud")):
        raise NotWithin("another audience")
    for name, bound in bounds.claims.items():
        if not fits(bound, claim_at(claims, name)):
            raise NotWithin("a claim that is not allowed")


def fits(bound: str, value: Any, *, is_list: bool = True) -> bool:
    """Say whether a claim fits a bound; of a claim with several values, whether one of them does."""
    texts = [text for item in (value if isinstance(value, list) else [value]) if (text := _text(item)) is not None]
    entries = entries_of(bound) if is_list else [bound.strip()]
    return any(_matches(entry, text) for entry in entries for text in texts[:MOST_ENTRIES])


def claim_at(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its own name, else by the dots in it; None where there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def claim_text(claims: Mapping[str, Any], name: str) -> str | None:
    """Return a claim as text; None where there is none, or it is no single value."""
    return _text(claim_at(claims, name))


def entries_of(text: str) -> Sequence[str]:
    """Read a comma list, without its empty entries."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and abs(value) < LARGEST_NUMBER else None


def _matches(entry: str, text: str) -> bool:
    if entry == text:
        return True
    try:
        return Glob(entry).matches(text)
    except (BadGlob, MissingFact):
        return False
