"""Sessions of people: what a login begins, what its tokens say, and how its theft shows (wire-identity 9.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.durations import parse_duration
from strongroom_identity.domain.errors import SessionOver

ACCESS = "accessToken"
REFRESH = "refreshToken"
MFA = "mfaToken"
SIGN_UP = "signupToken"
"""The claim `authTokenType` of these tokens."""

ACCESS_LIFE = timedelta(days=10)
REFRESH_LIFE = timedelta(days=90)
MFA_LIFE = timedelta(minutes=5)
SIGN_UP_LIFE = timedelta(minutes=15)
"""The longest lives; an organization may shorten the first two for those who work in it."""

GRACE = timedelta(seconds=10)
"""How long the refresh token before the newest is good for: an answer may get lost, and tabs refresh together."""

EMAIL: Final = "email"
TOTP: Final = "totp"

_TOOL = "cli"
"""How a client names itself that keeps the refresh token of its login and never reads a newer one."""


@dataclass(frozen=True)
class SessionTokens:
    """What a client goes on with. `refresh_life` is how long its cookie lives."""

    access_token: Secret
    refresh_token: Secret
    refresh_life: timedelta
    organization_id: UUID | None = None
    sub_organization_id: UUID | None = None


@dataclass(frozen=True)
class Choice:
    """The organization that tokens are for; `is_sub` says that it is a sub-organization, which tokens then name."""

    organization_id: UUID
    is_sub: bool = False
    longest: timedelta = REFRESH_LIFE


@dataclass(frozen=True)
class Session:
    """A login that goes on. `refresh_version` is that of the newest refresh token."""

    id: UUID
    user_id: UUID
    auth_method: str
    refresh_version: int
    is_rotating: bool
    is_mfa_verified: bool
    client_address: str
    user_agent: str
    rotated_at: datetime | None
    last_used_at: datetime
    expires_at: datetime
    created_at: datetime

    @classmethod
    def new(cls, user_id: UUID, client_address: str, user_agent: str, now: datetime) -> "Session":
        """A session that begins now."""
        return cls(
            id=new_id(),
            user_id=user_id,
            auth_method=EMAIL,
            refresh_version=1,
            is_rotating=user_agent.strip().lower().partition("/")[0] != _TOOL,
            is_mfa_verified=False,
            client_address=client_address,
            user_agent=user_agent,
            rotated_at=None,
            last_used_at=now,
            expires_at=now + REFRESH_LIFE,
            created_at=now,
        )

    def refreshed(self, version: Any, now: datetime) -> "Session":
        """The session after a refresh token of this version was presented; raises `RefreshTokenReused`.

        Each token is good for one refresh. Two parties with copies of one token therefore part sooner or later: the one
        who comes second presents a version that is over, and nobody can say which of the two is the thief.
        """
        fresh = replace(self, last_used_at=now, expires_at=now + REFRESH_LIFE)
        if not self.is_rotating and version == self.refresh_version:
            return fresh
        if version == self.refresh_version:
            return replace(fresh, refresh_version=self.refresh_version + 1, rotated_at=now)
        if version == self.refresh_version - 1 and self.rotated_at is not None and now < self.rotated_at + GRACE:
            return fresh
        raise RefreshTokenReused

    def access_claims(self, now: datetime, choice: Choice | None) -> Mapping[str, Any]:
        """What an access token of the session says."""
        return {
            "authTokenType": ACCESS,
            "authMethod": self.auth_method,
            "accessVersion": 1,
            **({"isMfaVerified": True, "mfaMethod": TOTP} if self.is_mfa_verified else {}),
            **self._claims(now, ACCESS_LIFE, choice),
        }

    def refresh_claims(self, now: datetime, choice: Choice | None) -> Mapping[str, Any]:
        """What the newest refresh token says."""
        claims = self._claims(now, REFRESH_LIFE, choice)
        return {"authTokenType": REFRESH, "refreshVersion": self.refresh_version, **claims}

    def mfa_claims(self, now: datetime, choice: Choice) -> Mapping[str, Any]:
        """What a token says that is good for nothing but the second factor."""
        return {"authTokenType": MFA, "mfaMethod": TOTP, **self._claims(now, MFA_LIFE, choice)}

    def _claims(self, now: datetime, life: timedelta, choice: Choice | None) -> dict[str, Any]:
        issued_at = int(now.timestamp())
        claims: dict[str, Any] = {"userId": str(self.user_id), "tokenVersionId": str(self.id), "iat": issued_at}
        if choice is None:
            return {**claims, "exp": issued_at + int(life.total_seconds())}
        claims["organizationId"] = str(choice.organization_id)
        if choice.is_sub:
            claims["subOrganizationId"] = str(choice.organization_id)
        return {**claims, "exp": issued_at + int(min(life, choice.longest).total_seconds())}


class RefreshTokenReused(SessionOver):
    """A refresh token came a second time: one of the two who have it is a thief, and the session ends for both."""


def longest_life(setting: str | None) -> timedelta:
    """Read an organization's `userTokenExpiration`; without one, or with one that cannot be read, the usual life."""
    try:
        return min(parse_duration(setting), REFRESH_LIFE) if setting else REFRESH_LIFE
    except ValueError:
        return REFRESH_LIFE
