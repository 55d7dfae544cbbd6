"""The table of routes and the limits: TOML files, checked as a whole, so that a bad one changes nothing."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from strongroom_gateway.domain.limits import Bucket
from strongroom_gateway.domain.prefixes import ANY, BadTable, Prefixes

SHIPPED_ROUTES = Path(__file__).parent.parent / "routes.toml"
SHIPPED_LIMITS = Path(__file__).parent.parent / "limits.toml"

Limited = Literal["off", "logins", "all"]
"""Which rules count: none, those with `always`, every one."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""What the gateway lets through."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _RoutesFile(_Part):
    services: dict[str, list[str]]


class _BucketPart(_Part):
    most: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(gt=0, strict=False)] = 60.0
    key: Literal["address", "bearer"] = "address"


class _RulePart(_Part):
    bucket: str
    paths: Annotated[list[str], Field(min_length=1)]
    methods: list[str] = sorted(METHODS)
    always: bool = False


class _LimitsFile(_Part):
    buckets: dict[str, _BucketPart]
    rules: list[_RulePart]


F = TypeVar("F", bound=_Part)


def read_routes(path: Path, services: Iterable[str]) -> Prefixes[str]:
    """Read who owns which path; raises `BadTable`. A service that is not one of `services` is a mistake."""
    known = frozenset(services)
    owners: dict[str, str] = {}
    for service, patterns in _read(path, _RoutesFile).services.items():
        if service not in known:
            raise BadTable(f"{path}: there is no service {service!r}, only {', '.join(sorted(known))}")
        for pattern in patterns:
            if owners.setdefault(pattern, service) != service:
                raise BadTable(f"{path}: {pattern!r} has two owners, {owners[pattern]} and {service}")
            if pattern.split("/")[1:2] in ([""], [ANY], ["internal"]):
                raise BadTable(f"{path}: {pattern!r} would lead strangers to pages that are nobody's or internal")
    return _prefixes(path, owners)


def read_limits(path: Path, limited: Limited) -> Mapping[str, Prefixes[Bucket]]:
    """Read which requests are counted, and in which bucket, by method; raises `BadTable`."""
    found = _read(path, _LimitsFile)
    buckets = {name: Bucket(name, part.most, part.seconds, part.key) for name, part in found.buckets.items()}
    rules: dict[str, dict[str, _RulePart]] = {method: {} for method in METHODS}
    for rule in found.rules:
        if rule.bucket not in buckets:
            raise BadTable(f"{path}: there is no bucket {rule.bucket!r}")
        for method in rule.methods:
            if method not in METHODS:
                raise BadTable(f"{path}: there is no method {method!r}")
            for pattern in rule.paths:
                if pattern in rules[method]:
                    raise BadTable(f"{path}: {method} {pattern} falls into two buckets")
                rules[method][pattern] = rule
    for patterns in rules.values():
        _prefixes(path, patterns)
    return {
        method: Prefixes(
            {
                pattern: buckets[rule.bucket]
                for pattern, rule in patterns.items()
                if limited == "all" or (limited == "logins" and rule.always)
            }
        )
        for method, patterns in rules.items()
    }


def _read(path: Path, model: type[F]) -> F:
    try:
        return model.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise BadTable(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadTable(f"{path}: not TOML: {error}") from None
    except ValidationError as error:
        finding = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, finding["loc"]))
        raise BadTable(f"{path}: {where}: {finding['msg']}") from None


def _prefixes(path: Path, patterns: dict[str, Any]) -> Prefixes[Any]:
    try:
        return Prefixes(patterns)
    except BadTable as error:
        raise BadTable(f"{path}: {error}") from None
