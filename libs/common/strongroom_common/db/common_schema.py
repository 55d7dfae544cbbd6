"""The DDL of the common tables, frozen by version, for the first migration of each service.

A later change of `tables.py` comes with a function of a new version here and a migration in each service.
"""

from alembic import op

_V1 = (
    """
    CREATE TABLE outbox (
        seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT outbox_pkey PRIMARY KEY,
        id uuid NOT NULL,
        aggregate text NOT NULL,
        envelope bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        sent_at timestamptz,
        dead_at timestamptz,
        last_error text
    )
    """,
    "CREATE INDEX outbox_waiting_idx ON outbox (seq) WHERE sent_at IS NULL AND dead_at IS NULL",
    "CREATE INDEX outbox_sent_idx ON outbox (sent_at) WHERE sent_at IS NOT NULL",
    "CREATE INDEX outbox_dead_idx ON outbox (dead_at) WHERE dead_at IS NOT NULL",
    """
    CREATE TABLE inbox (
        consumer text NOT NULL,
        message_id uuid NOT NULL,
        handled_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT inbox_pkey PRIMARY KEY (consumer, message_id)
    )
    """,
    "CREATE INDEX inbox_handled_idx ON inbox (handled_at)",
    """
    CREATE TABLE audit_spool (
        seq bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_spool_pkey PRIMARY KEY,
        records bytea NOT NULL
    )
    """,
    """
    CREATE TABLE idempotency_keys (
        scope bytea NOT NULL CONSTRAINT idempotency_keys_pkey PRIMARY KEY,
        fingerprint bytea NOT NULL,
        claimed_at timestamptz NOT NULL DEFAULT now(),
        committed_at timestamptz,
        status smallint,
        answer bytea
    )
    """,
    "COMMENT ON COLUMN idempotency_keys.scope IS 'hash of caller, method, path and key'",
    "COMMENT ON COLUMN idempotency_keys.fingerprint IS 'hash of the request''s query and body'",
    "COMMENT ON COLUMN idempotency_keys.answer IS 'sealed'",
    "CREATE INDEX idempotency_keys_claimed_idx ON idempotency_keys (claimed_at)",
    """
    CREATE TABLE data_keys (
        id uuid NOT NULL CONSTRAINT data_keys_pkey PRIMARY KEY,
        scope_id uuid NOT NULL,
        generation integer NOT NULL,
        wrapped_key bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT data_keys_scope_id_generation_key UNIQUE (scope_id, generation)
    )
    """,
    """
    CREATE TABLE verification_keys (
        kid text NOT NULL CONSTRAINT verification_keys_pkey PRIMARY KEY,
        key text NOT NULL,
        heard_at timestamptz NOT NULL DEFAULT now()
    )
    """,
)

_V1_TABLES = ("outbox", "inbox", "audit_spool", "idempotency_keys", "data_keys", "verification_keys")


def create_v1() -> None:
    """Create the common tables as the first release had them."""
    for statement in _V1:
        op.execute(statement)


def drop_v1() -> None:
    """Undo `create_v1`."""
    for table in _V1_TABLES:
        op.execute(f"DROP TABLE {table}")
