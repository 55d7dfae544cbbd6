"""People."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from strongroom_common.kernel.ids import new_id


@dataclass(frozen=True)
class User:
    """A person with a mailbox, in its one spelling."""

    id: UUID
    username: str
    email: str
    first_name: str
    last_name: str
    password_hash: str | None
    is_email_verified: bool
    is_accepted: bool
    is_instance_admin: bool
    created_at: datetime
    updated_at: datetime

    @classmethod
    def first(cls, email: str, password_hash: str, now: datetime) -> "User":
        """The administrator with whom an instance begins."""
        return cls(
            id=new_id(),
            username=email,
            email=email,
            first_name="Admin",
            last_name="User",
            password_hash=password_hash,
            is_email_verified=True,
            is_accepted=True,
            is_instance_admin=True,
            created_at=now,
            updated_at=now,
        )

    @classmethod
    def invited(cls, email: str, now: datetime) -> "User":
        """Somebody with a mailbox who has no account yet."""
        return cls(
            id=new_id(),
            username=email,
            email=email,
            first_name="",
            last_name="",
            password_hash=None,
            is_email_verified=False,
            is_accepted=False,
            is_instance_admin=False,
            created_at=now,
            updated_at=now,
        )

    def completed(
        self, password_hash: str, first_name: str, last_name: str, now: datetime, *, is_email_verified: bool
    ) -> "User":
        """The same person with an account."""
        return replace(
            self,
            password_hash=password_hash,
            first_name=first_name,
            last_name=last_name,
            is_email_verified=self.is_email_verified or is_email_verified,
            is_accepted=True,
            updated_at=now,
        )
