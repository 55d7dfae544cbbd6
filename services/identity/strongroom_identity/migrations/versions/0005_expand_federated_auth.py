"""Expand: federated authentication and identity templates."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


_UP = (
    """
    CREATE TABLE identity_templates (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        name text NOT NULL,
        method text NOT NULL,
        sealed_fields bytea NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT identity_templates_pkey PRIMARY KEY (id),
        CONSTRAINT identity_templates_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX identity_templates_organization_name_idx ON identity_templates (organization_id, name, id)",
    "CREATE INDEX auth_configurations_template_idx ON auth_configurations ((settings ->> 'templateId'))"
    " WHERE (settings ->> 'templateId') IS NOT NULL",
)
_DOWN = ("DROP INDEX auth_configurations_template_idx", "DROP TABLE identity_templates")


def upgrade() -> None:
    for statement in _UP:
        op.execute(statement)


def downgrade() -> None:
    for statement in _DOWN:
        op.execute(statement)
