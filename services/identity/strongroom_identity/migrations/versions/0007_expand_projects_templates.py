"""Expand: projects, environments and templates."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column with a default, a fence and a table: the release before this one goes on as it is."""
    op.execute(
        "ALTER TABLE projects "
        "ADD COLUMN enforce_encrypted_secret_manager_secret_metadata boolean NOT NULL DEFAULT false"
    )
    op.execute(
        """
        ALTER TABLE environments ADD CONSTRAINT environments_project_id_position_key
        UNIQUE (project_id, position) DEFERRABLE INITIALLY DEFERRED
        """
    )
    op.execute(
        """
        CREATE TABLE project_templates (
            id uuid NOT NULL,
            organization_id uuid NOT NULL,
            name text NOT NULL,
            description text,
            type text NOT NULL,
            roles jsonb NOT NULL,
            environments jsonb,
            users jsonb NOT NULL,
            groups jsonb NOT NULL,
            created_at timestamptz NOT NULL,
            updated_at timestamptz NOT NULL,
            CONSTRAINT project_templates_pkey PRIMARY KEY (id),
            CONSTRAINT project_templates_organization_id_fkey FOREIGN KEY (organization_id)
                REFERENCES organizations (id) ON DELETE CASCADE,
            CONSTRAINT project_templates_organization_id_name_key UNIQUE (organization_id, name)
        )
        """
    )
    op.execute("COMMENT ON COLUMN project_templates.environments IS 'none: this type of project has none'")


def downgrade() -> None:
    """Take them away."""
    op.execute("DROP TABLE project_templates")
    op.execute("ALTER TABLE environments DROP CONSTRAINT environments_project_id_position_key")
    op.execute("ALTER TABLE projects DROP COLUMN enforce_encrypted_secret_manager_secret_metadata")
