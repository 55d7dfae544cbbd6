"""How an identity may log in: what all kinds share, and what each kind adds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.lockouts import Lockout
from strongroom_identity.domain.trusted_ips import ANYWHERE, TrustedIps

UNIVERSAL_AUTH = "universal-auth"
TOKEN_AUTH = "token-auth"  # noqa: S105 - the name of a kind

NEVER_AT_MAXIMUM = 1_000_000_000
"""The maximum that a periodic token shows, in seconds: old clients must never think that it is reached."""


@dataclass(frozen=True)
class TokenSettings:
    """What tokens of a kind are like (wire-identity 3.1). Lengths in seconds; 0 means none, or without limit."""

    ttl: int = 2_592_000
    max_ttl: int = 2_592_000
    uses_limit: int = 0
    period: int = 0
    trusted_ips: TrustedIps = ANYWHERE

    def changed(self, given: Mapping[str, Any]) -> "TokenSettings":
        """The settings with some of them changed, by the names of their fields.

        Raises `Conflict` where what is given does not fit what was there before: a token cannot live longer than its
        maximum.
        """
        changed = replace(self, **given)
        if {"ttl", "max_ttl"} & given.keys() and changed.ttl > changed.max_ttl:
            raise Conflict("accessTokenTTL must not be greater than accessTokenMaxTTL")
        return changed


@dataclass(frozen=True)
class AuthConfiguration:
    """One kind of login of one identity. `settings` is what only this kind has; some of it may lie sealed beside it."""

    id: UUID
    organization_id: UUID
    identity_id: UUID
    method: str
    tokens: TokenSettings
    created_at: datetime
    updated_at: datetime
    lockout: Lockout | None = None
    client_id: UUID | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sealed_settings: bytes | None = None

    @classmethod
    def new(
        cls, method: str, organization_id: UUID, identity_id: UUID, tokens: TokenSettings, now: datetime, **more: Any
    ) -> "AuthConfiguration":
        """A new configuration."""
        return cls(
            id=new_id(),
            organization_id=organization_id,
            identity_id=identity_id,
            method=method,
            tokens=tokens,
            created_at=now,
            updated_at=now,
            **more,
        )
