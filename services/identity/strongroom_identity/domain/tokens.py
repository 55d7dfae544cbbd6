"""Access tokens of machine identities: the record, its life, and what the signed token says (wire-identity 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.auth_configurations import NEVER_AT_MAXIMUM, AuthConfiguration
from strongroom_identity.domain.errors import TokenNotAlive

ACCESS = "identityAccessToken"
"""The claim `authTokenType` of these tokens."""


@dataclass(frozen=True)
class IssuedToken:
    """What a login answers, and the record behind it. Lengths in seconds."""

    access_token: Secret
    expires_in: int
    max_ttl: int
    record: "AccessToken"


@dataclass(frozen=True)
class AccessToken:
    """One token's record. `ttl`, `max_ttl` and `period` are seconds; 0 means none."""

    id: UUID
    organization_id: UUID
    identity_id: UUID
    auth_method: str
    name: str | None
    ttl: int
    max_ttl: int
    period: int
    uses: int
    uses_limit: int
    client_secret_id: UUID | None
    sub_organization_id: UUID | None
    identity_auth: Mapping[str, Any] | None
    is_revoked: bool
    last_used_at: datetime | None
    last_renewed_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def new(
        cls,
        configuration: AuthConfiguration,
        now: datetime,
        *,
        name: str | None = None,
        client_secret_id: UUID | None = None,
        identity_auth: Mapping[str, Any] | None = None,
        scope: UUID | None = None,
    ) -> "AccessToken":
        """The record of a token issued just now; `scope` is the sub-organization that it is for, if any."""
        settings = configuration.tokens
        fresh = cls(
            id=new_id(),
            organization_id=scope or configuration.organization_id,
            identity_id=configuration.identity_id,
            auth_method=configuration.method,
            name=name,
            ttl=settings.ttl,
            max_ttl=settings.max_ttl,
            period=settings.period,
            uses=0,
            uses_limit=settings.uses_limit,
            client_secret_id=client_secret_id,
            sub_organization_id=scope,
            identity_auth=identity_auth,
            is_revoked=False,
            last_used_at=None,
            last_renewed_at=None,
            expires_at=None,
            created_at=now,
            updated_at=now,
        )
        return replace(fresh, expires_at=fresh._end_from(now))

    @property
    def life(self) -> int:
        """How many seconds a token lives from its issue or renewal; 0: without end."""
        return self.period or self.ttl

    @property
    def shown_max_ttl(self) -> int:
        """The maximum as clients are told it."""
        return NEVER_AT_MAXIMUM if self.period else self.max_ttl

    def renewed(self, now: datetime) -> "AccessToken":
        """The same token with another life ahead; raises `TokenNotAlive` when it may not have one."""
        if self.uses_limit and self.uses >= self.uses_limit:
            raise TokenNotAlive("The token has reached its usage limit")
        if self.expires_at is not None and now >= self.expires_at:
            raise TokenNotAlive("The token has expired: log in again")
        if self.max_ttl and not self.period:
            last_moment = self.created_at + timedelta(seconds=self.max_ttl)
            if now > last_moment or now + timedelta(seconds=self.ttl) > last_moment:
                raise TokenNotAlive("The token cannot live longer than its maximum: log in again")
        return replace(self, last_renewed_at=now, expires_at=self._end_from(now), updated_at=now)

    def claims(self, now: datetime) -> dict[str, Any]:
        """What the signed token says (wire-identity 3.5), and the organization beside it."""
        issued_at = int(now.timestamp())
        claims: dict[str, Any] = {
            "authTokenType": ACCESS,
            "identityId": str(self.identity_id),
            "identityAccessTokenId": str(self.id),
            "organizationId": str(self.organization_id),
            "identityAuth": dict(self.identity_auth or {}),
            "iat": issued_at,
        }
        if self.client_secret_id is not None:
            claims["clientSecretId"] = str(self.client_secret_id)
        if self.life:
            claims["exp"] = issued_at + self.life
        return claims

    def _end_from(self, now: datetime) -> datetime | None:
        return now + timedelta(seconds=self.life) if self.life else None
