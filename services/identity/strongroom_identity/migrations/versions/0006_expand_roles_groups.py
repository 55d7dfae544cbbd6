"""Expand: groups of people and machines, and refusals that can be explained."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_UP = (
    """
    CREATE TABLE groups (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        name text NOT NULL,
        slug text NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT groups_pkey PRIMARY KEY (id),
        CONSTRAINT groups_organization_id_name_key UNIQUE (organization_id, name),
        CONSTRAINT groups_organization_id_slug_key UNIQUE (organization_id, slug),
        CONSTRAINT groups_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE group_members (
        organization_id uuid NOT NULL,
        group_id uuid NOT NULL,
        membership_id uuid NOT NULL,
        joined_at timestamptz NOT NULL,
        CONSTRAINT group_members_pkey PRIMARY KEY (membership_id, group_id),
        CONSTRAINT group_members_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT group_members_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups (id) ON DELETE CASCADE,
        CONSTRAINT group_members_membership_id_fkey FOREIGN KEY (membership_id)
            REFERENCES memberships (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX group_members_group_id_idx ON group_members (group_id)",
    "ALTER TABLE memberships ADD COLUMN group_id uuid",
    """
    ALTER TABLE memberships ADD CONSTRAINT memberships_group_id_fkey
        FOREIGN KEY (group_id) REFERENCES groups (id) ON DELETE CASCADE
    """,
    "ALTER TABLE memberships DROP CONSTRAINT memberships_one_subject_check",
    """
    ALTER TABLE memberships ADD CONSTRAINT memberships_one_subject_check
        CHECK (num_nonnulls(user_id, identity_id, group_id) = 1)
    """,
    "ALTER TABLE memberships ADD CONSTRAINT memberships_project_id_group_id_key UNIQUE (project_id, group_id)",
    """
    CREATE UNIQUE INDEX memberships_organization_group_idx ON memberships (organization_id, group_id)
    WHERE project_id IS NULL AND group_id IS NOT NULL
    """,
    "CREATE INDEX memberships_group_id_idx ON memberships (group_id) WHERE group_id IS NOT NULL",
    """
    CREATE TABLE access_decisions (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        project_id uuid,
        actor jsonb NOT NULL,
        refusal jsonb NOT NULL,
        decided_at timestamptz NOT NULL,
        CONSTRAINT access_decisions_pkey PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX access_decisions_decided_at_idx ON access_decisions (decided_at)",
    "CREATE INDEX access_decisions_organization_decided_idx ON access_decisions (organization_id, decided_at)",
)
_DOWN = (
    "DROP TABLE access_decisions",
    "DELETE FROM memberships WHERE group_id IS NOT NULL",
    "ALTER TABLE memberships DROP CONSTRAINT memberships_one_subject_check",
    "ALTER TABLE memberships DROP COLUMN group_id",
    """
    ALTER TABLE memberships ADD CONSTRAINT memberships_one_subject_check
        CHECK (num_nonnulls(user_id, identity_id) = 1)
    """,
    "DROP TABLE group_members",
    "DROP TABLE groups",
)


def upgrade() -> None:
    """Let groups be members too, and keep why somebody was refused."""
    for statement in _UP:
        op.execute(statement)


def downgrade() -> None:
    """Undo `upgrade`."""
    for statement in _DOWN:
        op.execute(statement)
