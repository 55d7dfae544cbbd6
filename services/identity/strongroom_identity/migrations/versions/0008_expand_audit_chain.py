"""Expand: the chained audit log."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_UP = (
    "ALTER TABLE instance ADD COLUMN sealed_audit_mac_key bytea, ADD COLUMN sealed_audit_signing_key bytea",
    """
    ALTER TABLE audit_heads
        ADD COLUMN chained_number bigint DEFAULT 0 NOT NULL,
        ADD COLUMN last_mac bytea
    """,
    "COMMENT ON COLUMN audit_heads.last_mac IS 'of the record chained last'",
    """
    ALTER TABLE audit_records
        ADD COLUMN user_agent_type text DEFAULT 'other' NOT NULL,
        ADD COLUMN mac bytea,
        ADD COLUMN content_hash bytea,
        ADD COLUMN removal_mac bytea
    """,
    "COMMENT ON COLUMN audit_records.user_agent_type IS 'read from user_agent'",
    "COMMENT ON COLUMN audit_records.mac IS 'over the record and the MAC before it'",
    "COMMENT ON COLUMN audit_records.content_hash IS 'only where retention has removed the content'",
    "COMMENT ON COLUMN audit_records.removal_mac IS 'that it was retention'",
    "CREATE INDEX audit_records_organization_event_idx ON audit_records (organization_id, event, occurred_at)",
    """
    CREATE INDEX audit_records_organization_actor_idx ON audit_records (organization_id, actor_id, occurred_at)
    WHERE actor_id IS NOT NULL
    """,
    "CREATE INDEX audit_records_metadata_idx ON audit_records USING gin (metadata jsonb_path_ops)",
    """
    CREATE TABLE audit_checkpoints (
        organization_id uuid NOT NULL,
        number bigint NOT NULL,
        last_mac bytea NOT NULL,
        root bytea NOT NULL,
        frontier bytea NOT NULL,
        key_id text NOT NULL,
        signature bytea NOT NULL,
        created_at timestamptz NOT NULL,
        CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (organization_id, number)
    )
    """,
    "COMMENT ON COLUMN audit_checkpoints.number IS 'of the last record that it covers'",
)

_DOWN = (
    "DROP TABLE audit_checkpoints",
    "DROP INDEX audit_records_metadata_idx",
    "DROP INDEX audit_records_organization_actor_idx",
    "DROP INDEX audit_records_organization_event_idx",
    """
    ALTER TABLE audit_records
        DROP COLUMN removal_mac, DROP COLUMN content_hash, DROP COLUMN mac, DROP COLUMN user_agent_type
    """,
    "ALTER TABLE audit_heads DROP COLUMN last_mac, DROP COLUMN chained_number",
    "ALTER TABLE instance DROP COLUMN sealed_audit_signing_key, DROP COLUMN sealed_audit_mac_key",
)


def upgrade() -> None:
    for statement in _UP:
        op.execute(statement)


def downgrade() -> None:
    for statement in _DOWN:
        op.execute(statement)
