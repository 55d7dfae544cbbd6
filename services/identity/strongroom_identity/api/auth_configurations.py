"""The parts of bodies and views that all kinds of login share, and how the optional form of a body is made."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field, create_model, model_validator
from pydantic.fields import FieldInfo

from strongroom_common.http.models import Body, Instant, OptionalText, View
from strongroom_identity.api.tokens import TokenSettingsBody, to_trusted_ips
from strongroom_identity.domain.auth_configurations import AuthConfiguration
from strongroom_identity.domain.lockouts import Lockout

_TOKENS: Mapping[str, str] = {
    "access_token_ttl": "ttl",
    "access_token_max_ttl": "max_ttl",
    "access_token_num_uses_limit": "uses_limit",
    "access_token_period": "period",
    "access_token_trusted_ips": "trusted_ips",
}
_LOCKOUT: Mapping[str, str] = {
    "lockout_enabled": "is_enabled",
    "lockout_threshold": "threshold",
    "lockout_duration_seconds": "duration",
    "lockout_counter_reset_seconds": "counter_reset",
}


class LockoutBody(Body):
    """When too many wrong credentials close the door. Lengths in seconds."""

    lockout_enabled: bool = True
    lockout_threshold: Annotated[int, Field(ge=1, le=30)] = 3
    lockout_duration_seconds: Annotated[int, Field(ge=30, le=86_400)] = 300
    lockout_counter_reset_seconds: Annotated[int, Field(ge=5, le=3600)] = 30


class ScopeBody(Body):
    """The sub-organization that a login is for. Two names of one field (wire-identity 3.7)."""

    sub_organization_name: OptionalText = None
    organization_slug: OptionalText = None

    @property
    def sub_organization(self) -> str | None:
        """Its slug, if one was named."""
        name = self.sub_organization_name or self.organization_slug
        return None if name is None else name.strip().lower()


class ChangeBody(Body):
    """Part of a configuration: what is not given stays."""

    @model_validator(mode="after")
    def check_maximum(self) -> Self:
        """Of two lengths that are both given, the first must not be longer than the second."""
        if {"access_token_ttl", "access_token_max_ttl"} <= self.model_fields_set:
            given = dict(self)
            TokenSettingsBody.verify_lengths(given["access_token_ttl"], given["access_token_max_ttl"])
        return self


class ConfigurationView(View):
    """What the configurations of all kinds show. Lengths in seconds."""

    id: UUID
    identity_id: UUID
    access_token_ttl: int = Field(alias="accessTokenTTL")
    access_token_max_ttl: int = Field(alias="accessTokenMaxTTL")
    access_token_num_uses_limit: int
    access_token_period: int
    access_token_trusted_ips: Sequence[Mapping[str, Any]]
    created_at: Instant
    updated_at: Instant


class LockoutView(View):
    """What those show that have a lockout. Lengths in seconds."""

    lockout_enabled: bool
    lockout_threshold: int
    lockout_duration_seconds: int
    lockout_counter_reset_seconds: int


class ClearedAnswer(View):
    """How many counters and locks were removed."""

    deleted: int


def change_body(name: str, of: type[Body], required: frozenset[str] = frozenset()) -> type[ChangeBody]:
    """Make the body of a PATCH from the body that attaches: the same fields without defaults, optional but for some."""
    fields: dict[str, Any] = {
        field_name: _optional(info, is_required=field_name in required) for field_name, info in of.model_fields.items()
    }
    made: type[ChangeBody] = create_model(name, __base__=ChangeBody, __doc__=ChangeBody.__doc__, **fields)
    return made


def token_settings_in(body: Body) -> dict[str, Any]:
    """What a body says about tokens, by the names of `TokenSettings`; raises `InvalidInput` (400) for a bad address."""
    given = _given(body, _TOKENS)
    if "trusted_ips" in given:
        given["trusted_ips"] = to_trusted_ips(given["trusted_ips"])
    return given


def lockout_in(body: Body) -> dict[str, Any]:
    """What a body says about lockout, by the names of `Lockout`."""
    return _given(body, _LOCKOUT)


def shared_fields(configuration: AuthConfiguration) -> dict[str, Any]:
    """What views show of every configuration, by the names of their fields."""
    tokens = configuration.tokens
    shared: dict[str, Any] = {name: getattr(tokens, of) for name, of in _TOKENS.items()}
    for name in ("id", "identity_id", "created_at", "updated_at"):
        shared[name] = getattr(configuration, name)
    return shared


def lockout_fields(configuration: AuthConfiguration) -> dict[str, Any]:
    """What views show of a lockout, by the names of their fields."""
    lockout = configuration.lockout or Lockout()
    return {name: getattr(lockout, of) for name, of in _LOCKOUT.items()}


def _given(body: Body, names: Mapping[str, str]) -> dict[str, Any]:
    # A body that attaches gives its defaults too; one that changes gives only what was sent.
    fields = type(body).model_fields.keys() if not isinstance(body, ChangeBody) else body.model_fields_set
    return {of: getattr(body, name) for name, of in names.items() if name in fields}


def _optional(info: FieldInfo, *, is_required: bool) -> Any:
    annotation = info.annotation
    for constraint in info.metadata:
        annotation = Annotated[annotation, constraint]  # type: ignore[assignment]  # built up at run time
    default = ... if is_required else None
    return annotation, Field(default, alias=info.alias, description=info.description, repr=info.repr)
