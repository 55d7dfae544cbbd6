"""The secrets of universal auth."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from strongroom_common.kernel.ids import new_id

PREFIX = 4
"""How many characters of a secret stay readable, so that people can tell theirs apart."""


@dataclass(frozen=True)
class MatchingSecret:
    """The secret that a login came with, as far as the login's decision goes."""

    id: UUID
    ttl: int
    created_at: datetime

    def is_expired(self, now: datetime) -> bool:
        """It is older than it may become."""
        return self.ttl > 0 and now >= self.created_at + timedelta(seconds=self.ttl)


@dataclass(frozen=True)
class ClientSecret:
    """What is known of a secret once it was shown. A `uses_limit` or `ttl` (seconds) of 0 is none."""

    id: UUID
    organization_id: UUID
    configuration_id: UUID
    description: str
    prefix: str
    secret_hash: bytes
    uses: int
    uses_limit: int
    ttl: int
    is_revoked: bool
    created_at: datetime
    updated_at: datetime

    @classmethod
    def new(
        cls,
        organization_id: UUID,
        configuration_id: UUID,
        *,
        description: str,
        prefix: str,
        secret_hash: bytes,
        uses_limit: int,
        ttl: int,
        now: datetime,
    ) -> "ClientSecret":
        """A new secret."""
        return cls(
            id=new_id(),
            organization_id=organization_id,
            configuration_id=configuration_id,
            description=description,
            prefix=prefix,
            secret_hash=secret_hash,
            uses=0,
            uses_limit=uses_limit,
            ttl=ttl,
            is_revoked=False,
            created_at=now,
            updated_at=now,
        )
