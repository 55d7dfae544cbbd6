"""Expand: users, sessions and invitations."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = (
    """
    CREATE TABLE sessions (
        id uuid NOT NULL,
        user_id uuid NOT NULL,
        auth_method text NOT NULL,
        refresh_version integer NOT NULL,
        is_rotating boolean NOT NULL,
        is_mfa_verified boolean DEFAULT false NOT NULL,
        client_address text NOT NULL,
        user_agent text NOT NULL,
        rotated_at timestamptz,
        last_used_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL,
        CONSTRAINT sessions_pkey PRIMARY KEY (id),
        CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX sessions_user_id_idx ON sessions (user_id)",
    "CREATE INDEX sessions_expires_at_idx ON sessions (expires_at)",
    """
    CREATE TABLE throttles (
        key bytea NOT NULL,
        attempts integer NOT NULL,
        counted_at timestamptz NOT NULL,
        blocked_until timestamptz,
        CONSTRAINT throttles_pkey PRIMARY KEY (key)
    )
    """,
    "COMMENT ON COLUMN throttles.key IS 'keyed hash of what is counted'",
    "CREATE INDEX throttles_counted_at_idx ON throttles (counted_at)",
    """
    CREATE TABLE one_time_codes (
        id uuid NOT NULL,
        purpose text NOT NULL,
        mailbox text NOT NULL,
        organization_id uuid,
        code_hash bytea NOT NULL,
        expires_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL,
        CONSTRAINT one_time_codes_pkey PRIMARY KEY (id),
        CONSTRAINT one_time_codes_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE UNIQUE INDEX one_time_codes_organization_idx ON one_time_codes (organization_id, purpose, mailbox)
    WHERE organization_id IS NOT NULL
    """,
    """
    CREATE UNIQUE INDEX one_time_codes_mailbox_idx ON one_time_codes (purpose, mailbox)
    WHERE organization_id IS NULL
    """,
    "CREATE INDEX one_time_codes_expires_at_idx ON one_time_codes (expires_at)",
    """
    CREATE TABLE totps (
        user_id uuid NOT NULL,
        sealed_secret bytea NOT NULL,
        last_step bigint,
        confirmed_at timestamptz,
        created_at timestamptz NOT NULL,
        CONSTRAINT totps_pkey PRIMARY KEY (user_id),
        CONSTRAINT totps_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
    )
    """,
    "COMMENT ON COLUMN totps.last_step IS 'the last time step whose code was used'",
    """
    CREATE TABLE recovery_codes (
        user_id uuid NOT NULL,
        code_hash bytea NOT NULL,
        CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash),
        CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE mails (
        id uuid NOT NULL,
        sealed_mail bytea NOT NULL,
        attempts integer NOT NULL,
        next_attempt_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL,
        CONSTRAINT mails_pkey PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX mails_next_attempt_at_idx ON mails (next_attempt_at)",
)

_NAMES = ("sessions", "throttles", "one_time_codes", "totps", "recovery_codes", "mails")


def upgrade() -> None:
    """A membership that an earlier release writes has no invitation behind it: it is accepted."""
    op.execute("ALTER TABLE memberships ADD COLUMN status text DEFAULT 'accepted' NOT NULL")
    op.execute("COMMENT ON COLUMN memberships.status IS 'invited or accepted'")
    for statement in _TABLES:
        op.execute(statement)


def downgrade() -> None:
    """Take them away."""
    for name in reversed(_NAMES):
        op.execute(f"DROP TABLE {name}")
    op.execute("ALTER TABLE memberships DROP COLUMN status")
