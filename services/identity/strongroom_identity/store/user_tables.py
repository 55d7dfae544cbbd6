"""The tables of people: sessions, attempts, codes, second factors, and mails on their way.

None of them belongs to a tenant, since a user may be in several organizations: they are found by user or mailbox.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from strongroom_common.db.tables import instant
from strongroom_identity.store.tables import METADATA

# A login that goes on. Access and refresh tokens name it; ending it deletes the row.
SESSIONS = Table(
    "sessions",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("auth_method", Text, nullable=False),
    Column("refresh_version", Integer, nullable=False),
    Column("is_rotating", Boolean, nullable=False),
    Column("is_mfa_verified", Boolean, nullable=False, server_default=text("false")),
    Column("client_address", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    instant("rotated_at", nullable=True),
    instant("last_used_at"),
    instant("expires_at"),
    instant("created_at"),
    # A user's sessions; the foreign key.
    Index("sessions_user_id_idx", "user_id"),
    # The job that drops what has expired.
    Index("sessions_expires_at_idx", "expires_at"),
)

# How often somebody tried. The key is hashed: people type passwords into the field for the name.
THROTTLES = Table(
    "throttles",
    METADATA,
    Column("key", LargeBinary, primary_key=True, comment="keyed hash of what is counted"),
    Column("attempts", Integer, nullable=False),
    instant("counted_at"),
    instant("blocked_until", nullable=True),
    # The job that forgets the old.
    Index("throttles_counted_at_idx", "counted_at"),
)

# What was sent to a mailbox to prove that somebody reads it. A new one takes the place of the one before.
ONE_TIME_CODES = Table(
    "one_time_codes",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("purpose", Text, nullable=False),
    Column("mailbox", Text, nullable=False),
    Column("organization_id", Uuid, ForeignKey("organizations.id", ondelete="CASCADE")),
    Column("code_hash", LargeBinary, nullable=False),
    instant("expires_at"),
    instant("created_at"),
    # An invitation; the foreign key.
    Index(
        "one_time_codes_organization_idx",
        "organization_id",
        "purpose",
        "mailbox",
        unique=True,
        postgresql_where=text("organization_id IS NOT NULL"),
    ),
    # Everything else.
    Index(
        "one_time_codes_mailbox_idx",
        "purpose",
        "mailbox",
        unique=True,
        postgresql_where=text("organization_id IS NULL"),
    ),
    # The job that drops what has expired.
    Index("one_time_codes_expires_at_idx", "expires_at"),
)

# A user's second factor; without `confirmed_at` it is not asked for yet.
TOTPS = Table(
    "totps",
    METADATA,
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("sealed_secret", LargeBinary, nullable=False),
    Column("last_step", BigInteger, comment="the last time step whose code was used"),
    instant("confirmed_at", nullable=True),
    instant("created_at"),
)

# What opens the door when the second factor is lost. A used one is gone.
RECOVERY_CODES = Table(
    "recovery_codes",
    METADATA,
    Column("user_id", Uuid, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("code_hash", LargeBinary, nullable=False),
    PrimaryKeyConstraint("user_id", "code_hash"),
)

# Mails that wait to be sent, sealed, since they hold codes. What was sent is gone.
MAILS = Table(
    "mails",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("sealed_mail", LargeBinary, nullable=False),
    Column("attempts", Integer, nullable=False),
    instant("next_attempt_at"),
    instant("created_at"),
    # The job that sends: what is due?
    Index("mails_next_attempt_at_idx", "next_attempt_at"),
)
