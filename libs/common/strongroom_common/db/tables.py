"""The tables that every service has, whatever it is about."""

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

NAMING = {
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


def instant(name: str, *, nullable: bool = False, now: bool = False) -> Column[object]:
    """A `timestamptz` column; with `now` the database fills it in."""
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=text("now()") if now else None)


def service_metadata() -> MetaData:
    """Return the metadata of a new service's database, with the common tables in it."""
    metadata = MetaData(naming_convention=NAMING)
    # Messages of ours, written with what made them true; the relay publishes them in the order of `seq`.
    Table(
        "outbox",
        metadata,
        Column("seq", BigInteger, Identity(always=True), primary_key=True),
        Column("id", Uuid, nullable=False),
        Column("aggregate", Text, nullable=False),
        Column("envelope", LargeBinary, nullable=False),
        instant("created_at", now=True),
        instant("sent_at", nullable=True),
        instant("dead_at", nullable=True),
        Column("last_error", Text),
        # The relay: what is next?
        Index("outbox_waiting_idx", "seq", postgresql_where=text("sent_at IS NULL AND dead_at IS NULL")),
        # Housekeeping: what was sent long ago?
        Index("outbox_sent_idx", "sent_at", postgresql_where=text("sent_at IS NOT NULL")),
        # The dead-letters command of a process without a broker.
        Index("outbox_dead_idx", "dead_at", postgresql_where=text("dead_at IS NOT NULL")),
    )
    # Messages of others whose work is done here; a second delivery finds its row and does nothing.
    Table(
        "inbox",
        metadata,
        Column("consumer", Text, nullable=False),
        Column("message_id", Uuid, nullable=False),
        instant("handled_at", now=True),
        PrimaryKeyConstraint("consumer", "message_id"),
        # Housekeeping: what is older than any redelivery?
        Index("inbox_handled_idx", "handled_at"),
    )
    # Audit records that are durable here and on their way to identity.
    Table(
        "audit_spool",
        metadata,
        Column("seq", BigInteger, Identity(always=True), primary_key=True),
        Column("records", LargeBinary, nullable=False),
    )
    # Answers to requests that carried an Idempotency-Key.
    Table(
        "idempotency_keys",
        metadata,
        Column("scope", LargeBinary, nullable=False, comment="hash of caller, method, path and key"),
        Column("fingerprint", LargeBinary, nullable=False, comment="hash of the request's query and body"),
        instant("claimed_at", now=True),
        instant("committed_at", nullable=True),
        Column("status", SmallInteger),
        Column("answer", LargeBinary, comment="sealed"),
        PrimaryKeyConstraint("scope"),
        # Housekeeping: what is older than a day?
        Index("idempotency_keys_claimed_idx", "claimed_at"),
    )
    # Keys of the envelope encryption, wrapped by the master key; one active key per scope (project or organization).
    Table(
        "data_keys",
        metadata,
        Column("id", Uuid, primary_key=True),
        Column("scope_id", Uuid, nullable=False),
        Column("generation", Integer, nullable=False),
        Column("wrapped_key", LargeBinary, nullable=False),
        instant("created_at", now=True),
        UniqueConstraint("scope_id", "generation"),
    )
    # Public keys of identity, so that tokens can be verified while identity is away.
    Table(
        "verification_keys",
        metadata,
        Column("kid", Text, primary_key=True),
        Column("key", Text, nullable=False),
        instant("heard_at", now=True),
    )
    return metadata
