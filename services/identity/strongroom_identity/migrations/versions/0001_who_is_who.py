"""Who is who, who may what, and the audit log."""

from alembic import op

from strongroom_common.db import common_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    """
    CREATE TABLE audit_heads (
        organization_id uuid NOT NULL,
        last_number bigint NOT NULL,
        CONSTRAINT audit_heads_pkey PRIMARY KEY (organization_id)
    )
    """,
    """
    CREATE TABLE audit_records (
        organization_id uuid NOT NULL,
        number bigint NOT NULL,
        id uuid NOT NULL,
        project_id uuid,
        event text NOT NULL,
        actor_kind text NOT NULL,
        actor_id uuid,
        actor_metadata jsonb NOT NULL,
        metadata jsonb NOT NULL,
        client_address text NOT NULL,
        user_agent text NOT NULL,
        occurred_at timestamptz NOT NULL,
        recorded_at timestamptz NOT NULL,
        CONSTRAINT audit_records_pkey PRIMARY KEY (organization_id, number),
        CONSTRAINT audit_records_organization_id_id_key UNIQUE (organization_id, id)
    )
    """,
    "CREATE INDEX audit_records_organization_occurred_idx ON audit_records (organization_id, occurred_at)",
    """
    CREATE INDEX audit_records_project_occurred_idx ON audit_records (project_id, occurred_at)
    WHERE project_id IS NOT NULL
    """,
    """
    CREATE TABLE instance (
        id smallint NOT NULL CONSTRAINT instance_only_one_check CHECK (id = 1),
        instance_id uuid NOT NULL,
        sealed_pepper bytea NOT NULL,
        initialized_at timestamptz,
        created_at timestamptz NOT NULL,
        CONSTRAINT instance_pkey PRIMARY KEY (id)
    )
    """,
    """
    CREATE TABLE organizations (
        id uuid NOT NULL,
        name text NOT NULL,
        slug text NOT NULL,
        parent_id uuid,
        root_id uuid,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT organizations_pkey PRIMARY KEY (id),
        CONSTRAINT organizations_slug_key UNIQUE (slug),
        CONSTRAINT organizations_parent_id_fkey FOREIGN KEY (parent_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT organizations_root_id_fkey FOREIGN KEY (root_id)
            REFERENCES organizations (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE signing_keys (
        kid text NOT NULL,
        sealed_private_key bytea NOT NULL,
        public_key text NOT NULL,
        created_at timestamptz NOT NULL,
        retired_at timestamptz,
        CONSTRAINT signing_keys_pkey PRIMARY KEY (kid)
    )
    """,
    "COMMENT ON COLUMN signing_keys.public_key IS 'JSON Web Key (RFC 8037)'",
    """
    CREATE TABLE users (
        id uuid NOT NULL,
        username text NOT NULL,
        email text NOT NULL,
        first_name text NOT NULL,
        last_name text NOT NULL,
        password_hash text,
        is_email_verified boolean DEFAULT false NOT NULL,
        is_accepted boolean DEFAULT false NOT NULL,
        is_instance_admin boolean DEFAULT false NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT users_pkey PRIMARY KEY (id),
        CONSTRAINT users_username_key UNIQUE (username),
        CONSTRAINT users_email_key UNIQUE (email)
    )
    """,
    "COMMENT ON COLUMN users.password_hash IS 'argon2id; none for who logs in elsewhere'",
    """
    CREATE TABLE projects (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        name text NOT NULL,
        slug text NOT NULL,
        description text,
        type text NOT NULL,
        default_product text,
        auto_capitalization boolean DEFAULT false NOT NULL,
        has_delete_protection boolean DEFAULT false NOT NULL,
        secret_sharing boolean DEFAULT true NOT NULL,
        show_snapshots_legacy boolean DEFAULT false NOT NULL,
        version integer NOT NULL,
        upgrade_status text,
        pit_version_limit integer NOT NULL,
        audit_logs_retention_days integer,
        kms_certificate_key_id uuid,
        secret_detection_ignore_values jsonb DEFAULT '[]'::jsonb NOT NULL,
        revision bigint NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT projects_pkey PRIMARY KEY (id),
        CONSTRAINT projects_organization_id_slug_key UNIQUE (organization_id, slug),
        CONSTRAINT projects_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE
    )
    """,
    "COMMENT ON COLUMN projects.revision IS 'grows with each change that other services hear of'",
    """
    CREATE TABLE environments (
        id uuid NOT NULL,
        project_id uuid NOT NULL,
        name text NOT NULL,
        slug text NOT NULL,
        position integer NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT environments_pkey PRIMARY KEY (id),
        CONSTRAINT environments_project_id_slug_key UNIQUE (project_id, slug),
        CONSTRAINT environments_project_id_fkey FOREIGN KEY (project_id)
            REFERENCES projects (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE identities (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        project_id uuid,
        name text NOT NULL,
        has_delete_protection boolean DEFAULT false NOT NULL,
        is_instance_admin boolean DEFAULT false NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT identities_pkey PRIMARY KEY (id),
        CONSTRAINT identities_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT identities_project_id_fkey FOREIGN KEY (project_id)
            REFERENCES projects (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX identities_organization_id_idx ON identities (organization_id)",
    "CREATE INDEX identities_project_id_idx ON identities (project_id) WHERE project_id IS NOT NULL",
    """
    CREATE TABLE roles (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        project_id uuid,
        slug text NOT NULL,
        name text NOT NULL,
        description text,
        permissions jsonb NOT NULL,
        version integer NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT roles_pkey PRIMARY KEY (id),
        CONSTRAINT roles_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT roles_project_id_fkey FOREIGN KEY (project_id)
            REFERENCES projects (id) ON DELETE CASCADE
    )
    """,
    "CREATE UNIQUE INDEX roles_organization_slug_idx ON roles (organization_id, slug) WHERE project_id IS NULL",
    "CREATE UNIQUE INDEX roles_project_slug_idx ON roles (project_id, slug) WHERE project_id IS NOT NULL",
    """
    CREATE TABLE auth_configurations (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        identity_id uuid NOT NULL,
        method text NOT NULL,
        access_token_ttl bigint NOT NULL,
        access_token_max_ttl bigint NOT NULL,
        access_token_uses_limit bigint NOT NULL,
        access_token_period bigint NOT NULL,
        access_token_trusted_ips jsonb NOT NULL,
        lockout_enabled boolean,
        lockout_threshold integer,
        lockout_duration integer,
        lockout_counter_reset integer,
        client_id uuid,
        settings jsonb DEFAULT '{}'::jsonb NOT NULL,
        sealed_settings bytea,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT auth_configurations_pkey PRIMARY KEY (id),
        CONSTRAINT auth_configurations_identity_id_method_key UNIQUE (identity_id, method),
        CONSTRAINT auth_configurations_client_id_key UNIQUE (client_id),
        CONSTRAINT auth_configurations_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT auth_configurations_identity_id_fkey FOREIGN KEY (identity_id)
            REFERENCES identities (id) ON DELETE CASCADE
    )
    """,
    "COMMENT ON COLUMN auth_configurations.access_token_ttl IS 'seconds'",
    "COMMENT ON COLUMN auth_configurations.access_token_max_ttl IS 'seconds'",
    "COMMENT ON COLUMN auth_configurations.access_token_period IS 'seconds'",
    "COMMENT ON COLUMN auth_configurations.lockout_duration IS 'seconds'",
    "COMMENT ON COLUMN auth_configurations.lockout_counter_reset IS 'seconds'",
    "COMMENT ON COLUMN auth_configurations.client_id IS 'universal auth'",
    """
    CREATE TABLE identity_metadata (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        identity_id uuid NOT NULL,
        position integer NOT NULL,
        key text NOT NULL,
        value text NOT NULL,
        CONSTRAINT identity_metadata_pkey PRIMARY KEY (id),
        CONSTRAINT identity_metadata_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT identity_metadata_identity_id_fkey FOREIGN KEY (identity_id)
            REFERENCES identities (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX identity_metadata_identity_id_idx ON identity_metadata (identity_id)",
    """
    CREATE TABLE memberships (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        project_id uuid,
        user_id uuid,
        identity_id uuid,
        last_login_method text,
        last_login_at timestamptz,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT memberships_pkey PRIMARY KEY (id),
        CONSTRAINT memberships_one_subject_check CHECK (num_nonnulls(user_id, identity_id) = 1),
        CONSTRAINT memberships_project_id_user_id_key UNIQUE (project_id, user_id),
        CONSTRAINT memberships_project_id_identity_id_key UNIQUE (project_id, identity_id),
        CONSTRAINT memberships_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT memberships_project_id_fkey FOREIGN KEY (project_id)
            REFERENCES projects (id) ON DELETE CASCADE,
        CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id)
            REFERENCES users (id) ON DELETE CASCADE,
        CONSTRAINT memberships_identity_id_fkey FOREIGN KEY (identity_id)
            REFERENCES identities (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX memberships_identity_id_idx ON memberships (identity_id) WHERE identity_id IS NOT NULL",
    """
    CREATE UNIQUE INDEX memberships_organization_identity_idx ON memberships (organization_id, identity_id)
    WHERE project_id IS NULL AND identity_id IS NOT NULL
    """,
    """
    CREATE UNIQUE INDEX memberships_organization_user_idx ON memberships (organization_id, user_id)
    WHERE project_id IS NULL AND user_id IS NOT NULL
    """,
    "CREATE INDEX memberships_user_id_idx ON memberships (user_id) WHERE user_id IS NOT NULL",
    """
    CREATE TABLE client_secrets (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        configuration_id uuid NOT NULL,
        description text NOT NULL,
        prefix text NOT NULL,
        secret_hash bytea NOT NULL,
        uses bigint NOT NULL,
        uses_limit bigint NOT NULL,
        ttl bigint NOT NULL,
        is_revoked boolean DEFAULT false NOT NULL,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT client_secrets_pkey PRIMARY KEY (id),
        CONSTRAINT client_secrets_configuration_id_secret_hash_key UNIQUE (configuration_id, secret_hash),
        CONSTRAINT client_secrets_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT client_secrets_configuration_id_fkey FOREIGN KEY (configuration_id)
            REFERENCES auth_configurations (id) ON DELETE CASCADE
    )
    """,
    "COMMENT ON COLUMN client_secrets.uses_limit IS '0: without limit'",
    "COMMENT ON COLUMN client_secrets.ttl IS 'seconds, 0: without end'",
    """
    CREATE TABLE membership_roles (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        membership_id uuid NOT NULL,
        position integer NOT NULL,
        role text NOT NULL,
        custom_role_id uuid,
        is_temporary boolean DEFAULT false NOT NULL,
        temporary_mode text,
        temporary_range text,
        starts_at timestamptz,
        ends_at timestamptz,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT membership_roles_pkey PRIMARY KEY (id),
        CONSTRAINT membership_roles_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT membership_roles_membership_id_fkey FOREIGN KEY (membership_id)
            REFERENCES memberships (id) ON DELETE CASCADE,
        CONSTRAINT membership_roles_custom_role_id_fkey FOREIGN KEY (custom_role_id)
            REFERENCES roles (id)
    )
    """,
    """
    CREATE INDEX membership_roles_custom_role_id_idx ON membership_roles (custom_role_id)
    WHERE custom_role_id IS NOT NULL
    """,
    "CREATE INDEX membership_roles_membership_id_idx ON membership_roles (membership_id)",
    """
    CREATE TABLE access_tokens (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        identity_id uuid NOT NULL,
        auth_method text NOT NULL,
        name text,
        ttl bigint NOT NULL,
        max_ttl bigint NOT NULL,
        period bigint NOT NULL,
        uses bigint NOT NULL,
        uses_limit bigint NOT NULL,
        client_secret_id uuid,
        sub_organization_id uuid,
        identity_auth jsonb,
        is_revoked boolean DEFAULT false NOT NULL,
        last_used_at timestamptz,
        last_renewed_at timestamptz,
        expires_at timestamptz,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        CONSTRAINT access_tokens_pkey PRIMARY KEY (id),
        CONSTRAINT access_tokens_organization_id_fkey FOREIGN KEY (organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE,
        CONSTRAINT access_tokens_identity_id_fkey FOREIGN KEY (identity_id)
            REFERENCES identities (id) ON DELETE CASCADE,
        CONSTRAINT access_tokens_client_secret_id_fkey FOREIGN KEY (client_secret_id)
            REFERENCES client_secrets (id) ON DELETE CASCADE,
        CONSTRAINT access_tokens_sub_organization_id_fkey FOREIGN KEY (sub_organization_id)
            REFERENCES organizations (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX access_tokens_client_secret_id_idx ON access_tokens (client_secret_id)
    WHERE client_secret_id IS NOT NULL
    """,
    "CREATE INDEX access_tokens_expires_at_idx ON access_tokens (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX access_tokens_identity_id_idx ON access_tokens (identity_id)",
    "COMMENT ON COLUMN access_tokens.ttl IS 'seconds'",
    "COMMENT ON COLUMN access_tokens.max_ttl IS 'seconds'",
    "COMMENT ON COLUMN access_tokens.period IS 'seconds'",
    "COMMENT ON COLUMN access_tokens.uses_limit IS '0: without limit'",
    "COMMENT ON COLUMN access_tokens.identity_auth IS 'claims of the login, where the kind has some'",
)

_NAMES = (
    "audit_heads",
    "audit_records",
    "instance",
    "organizations",
    "signing_keys",
    "users",
    "projects",
    "environments",
    "identities",
    "roles",
    "auth_configurations",
    "identity_metadata",
    "memberships",
    "client_secrets",
    "membership_roles",
    "access_tokens",
)


def upgrade() -> None:
    common_schema.create_v1()
    for statement in _TABLES:
        op.execute(statement)


def downgrade() -> None:
    for name in reversed(_NAMES):
        op.execute(f"DROP TABLE {name}")
    common_schema.drop_v1()
