"""The common tables; projects and environments as identity tells of them; folders, secrets, versions."""

from alembic import op

from strongroom_common.db import common_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_UP = (
    """
    CREATE TABLE projects (
        id uuid NOT NULL CONSTRAINT projects_pkey PRIMARY KEY,
        organization_id uuid NOT NULL,
        slug text COLLATE "C",
        auto_capitalization boolean NOT NULL,
        pit_version_limit integer NOT NULL,
        revision bigint NOT NULL,
        deleted_at timestamptz,
        CONSTRAINT projects_organization_id_slug_key UNIQUE (organization_id, slug)
    )
    """,
    """
    CREATE TABLE environments (
        project_id uuid NOT NULL,
        id uuid NOT NULL,
        name text NOT NULL,
        slug text COLLATE "C" NOT NULL,
        position integer NOT NULL,
        CONSTRAINT environments_pkey PRIMARY KEY (project_id, id),
        CONSTRAINT environments_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
        CONSTRAINT environments_project_id_slug_key UNIQUE (project_id, slug) DEFERRABLE INITIALLY DEFERRED
    )
    """,
    """
    CREATE TABLE folders (
        project_id uuid NOT NULL,
        id uuid NOT NULL,
        environment_id uuid NOT NULL,
        parent_id uuid,
        name text COLLATE "C" NOT NULL,
        path text COLLATE "C" NOT NULL,
        description text,
        version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        last_secret_modified timestamptz,
        CONSTRAINT folders_pkey PRIMARY KEY (project_id, id),
        CONSTRAINT folders_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id)
            REFERENCES environments (project_id, id) ON DELETE CASCADE,
        CONSTRAINT folders_project_id_parent_id_fkey FOREIGN KEY (project_id, parent_id)
            REFERENCES folders (project_id, id) ON DELETE CASCADE,
        CONSTRAINT folders_project_id_environment_id_path_key UNIQUE (project_id, environment_id, path)
    )
    """,
    "CREATE INDEX folders_parent_idx ON folders (project_id, parent_id)",
    "CREATE INDEX folders_id_idx ON folders (id)",
    """
    CREATE TABLE secrets (
        project_id uuid NOT NULL,
        id uuid NOT NULL,
        folder_id uuid NOT NULL,
        name text COLLATE "C" NOT NULL,
        owner_id uuid NOT NULL,
        version integer NOT NULL,
        sealed_value bytea NOT NULL,
        sealed_comment bytea,
        metadata jsonb,
        skip_multiline_encoding boolean NOT NULL,
        reminder_note text,
        reminder_repeat_days integer,
        rotation_id uuid,
        actor_kind text NOT NULL,
        actor_id uuid,
        actor_name text NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT secrets_pkey PRIMARY KEY (project_id, id),
        CONSTRAINT secrets_project_id_folder_id_fkey FOREIGN KEY (project_id, folder_id)
            REFERENCES folders (project_id, id) ON DELETE CASCADE,
        CONSTRAINT secrets_project_id_folder_id_name_owner_id_key UNIQUE (project_id, folder_id, name, owner_id)
    )
    """,
    "COMMENT ON COLUMN secrets.owner_id IS 'the user of a personal override; the nil UUID when shared'",
    "COMMENT ON COLUMN secrets.sealed_comment IS 'NULL when empty'",
    "COMMENT ON COLUMN secrets.metadata IS '[{key, value, isEncrypted}]; an encrypted value is sealed, in base64'",
    "COMMENT ON COLUMN secrets.rotation_id IS 'the rotation that owns value and name'",
    "CREATE INDEX secrets_id_idx ON secrets (id)",
    """
    CREATE TABLE secret_versions (
        project_id uuid NOT NULL,
        secret_id uuid NOT NULL,
        version integer NOT NULL,
        environment_id uuid NOT NULL,
        folder_id uuid NOT NULL,
        name text COLLATE "C" NOT NULL,
        owner_id uuid NOT NULL,
        sealed_value bytea NOT NULL,
        sealed_comment bytea,
        metadata jsonb,
        skip_multiline_encoding boolean NOT NULL,
        actor_kind text NOT NULL,
        actor_id uuid,
        actor_name text NOT NULL,
        created_at timestamptz NOT NULL,
        CONSTRAINT secret_versions_pkey PRIMARY KEY (project_id, secret_id, version)
    )
    """,
    "CREATE INDEX secret_versions_name_idx ON secret_versions (project_id, folder_id, name, version)",
)


def upgrade() -> None:
    common_schema.create_v1()
    for statement in _UP:
        op.execute(statement)


def downgrade() -> None:
    for table in ("secret_versions", "secrets", "folders", "environments", "projects"):
        op.execute(f"DROP TABLE {table}")
    common_schema.drop_v1()
