"""Expand: tags of a project, which secrets have them, and which a version had."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_UP = (
    """
    CREATE TABLE tags (
        project_id uuid NOT NULL,
        id uuid NOT NULL,
        slug text COLLATE "C" NOT NULL,
        color text NOT NULL,
        actor_kind text NOT NULL,
        actor_id uuid,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT tags_pkey PRIMARY KEY (project_id, id),
        CONSTRAINT tags_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
        CONSTRAINT tags_project_id_slug_key UNIQUE (project_id, slug)
    )
    """,
    """
    CREATE TABLE secret_tags (
        project_id uuid NOT NULL,
        secret_id uuid NOT NULL,
        tag_id uuid NOT NULL,
        CONSTRAINT secret_tags_pkey PRIMARY KEY (project_id, secret_id, tag_id),
        CONSTRAINT secret_tags_project_id_secret_id_fkey FOREIGN KEY (project_id, secret_id)
            REFERENCES secrets (project_id, id) ON DELETE CASCADE,
        CONSTRAINT secret_tags_project_id_tag_id_fkey FOREIGN KEY (project_id, tag_id)
            REFERENCES tags (project_id, id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX secret_tags_tag_idx ON secret_tags (project_id, tag_id)",
    "ALTER TABLE secret_versions ADD COLUMN tag_ids uuid[]",
    "COMMENT ON COLUMN secret_versions.tag_ids IS 'NULL when it had none'",
)


def upgrade() -> None:
    for statement in _UP:
        op.execute(statement)


def downgrade() -> None:
    op.execute("ALTER TABLE secret_versions DROP COLUMN tag_ids")
    for table in ("secret_tags", "tags"):
        op.execute(f"DROP TABLE {table}")
