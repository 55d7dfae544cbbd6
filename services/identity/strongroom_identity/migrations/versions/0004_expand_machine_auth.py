"""Expand: machine authentication and lockouts."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


_UP = (
    """
    CREATE TABLE lockouts (
        subject_id uuid NOT NULL,
        kind text NOT NULL,
        name_hash bytea NOT NULL,
        count integer NOT NULL,
        is_locked boolean DEFAULT false NOT NULL,
        ends_at timestamptz NOT NULL,
        CONSTRAINT lockouts_pkey PRIMARY KEY (subject_id, kind, name_hash)
    )
    """,
    "CREATE INDEX lockouts_ends_at_idx ON lockouts (ends_at)",
    "CREATE INDEX identities_organization_name_idx ON identities (organization_id, name, id) WHERE project_id IS NULL",
    "CREATE INDEX identities_project_name_idx ON identities (project_id, name, id) WHERE project_id IS NOT NULL",
    "DROP INDEX identities_project_id_idx",
    "CREATE INDEX access_tokens_identity_updated_idx ON access_tokens (identity_id, auth_method, updated_at, id)",
    "DROP INDEX access_tokens_identity_id_idx",
    "ALTER TABLE signing_keys ADD COLUMN signs_from timestamptz",
)
_DOWN = (
    "ALTER TABLE signing_keys DROP COLUMN signs_from",
    "CREATE INDEX access_tokens_identity_id_idx ON access_tokens (identity_id)",
    "DROP INDEX access_tokens_identity_updated_idx",
    "CREATE INDEX identities_project_id_idx ON identities (project_id) WHERE project_id IS NOT NULL",
    "DROP INDEX identities_project_name_idx",
    "DROP INDEX identities_organization_name_idx",
    "DROP TABLE lockouts",
)


def upgrade() -> None:
    for statement in _UP:
        op.execute(statement)


def downgrade() -> None:
    for statement in _DOWN:
        op.execute(statement)
