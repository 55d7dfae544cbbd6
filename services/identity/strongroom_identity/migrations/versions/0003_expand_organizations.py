"""Expand: organizations and instance administration."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_COLUMNS = {
    "instance": (
        "allow_sign_up boolean NOT NULL DEFAULT true",
        "allowed_sign_up_domain text",
        "trust_saml_emails boolean NOT NULL DEFAULT false",
        "trust_ldap_emails boolean NOT NULL DEFAULT false",
        "trust_oidc_emails boolean NOT NULL DEFAULT false",
        "default_auth_organization_id uuid CONSTRAINT instance_default_auth_organization_id_fkey "
        "REFERENCES organizations (id) ON DELETE SET NULL",
        "enabled_login_methods jsonb",
        "auth_consent_content text",
        "page_frame_content text",
    ),
    "organizations": (
        "auth_enforced boolean NOT NULL DEFAULT false",
        "bypass_org_auth_enabled boolean NOT NULL DEFAULT false",
        "scim_enabled boolean NOT NULL DEFAULT false",
        "default_membership_role text NOT NULL DEFAULT 'member'",
        "enforce_mfa boolean NOT NULL DEFAULT false",
        "selected_mfa_method text",
        "user_token_expiration text",
        "secrets_product_enabled boolean NOT NULL DEFAULT true",
        "pki_product_enabled boolean NOT NULL DEFAULT true",
        "kms_product_enabled boolean NOT NULL DEFAULT true",
        "ssh_product_enabled boolean NOT NULL DEFAULT true",
        "scanner_product_enabled boolean NOT NULL DEFAULT true",
        "share_secrets_product_enabled boolean NOT NULL DEFAULT true",
        "should_use_new_privilege_system boolean NOT NULL DEFAULT true",
        "allow_secret_sharing_outside_organization boolean NOT NULL DEFAULT true",
        "max_shared_secret_lifetime integer NOT NULL DEFAULT 2592000",
        "max_shared_secret_view_limit integer",
    ),
    "memberships": (
        "is_active boolean NOT NULL DEFAULT true",
        "metadata jsonb NOT NULL DEFAULT '[]'::jsonb",
    ),
}

_INDEXES = {
    "organizations_name_idx": "organizations (name, id)",
    "organizations_parent_idx": "organizations (parent_id, name, id) WHERE parent_id IS NOT NULL",
    "organizations_root_id_idx": "organizations (root_id) WHERE root_id IS NOT NULL",
    "identities_name_idx": "identities (name, id)",
    "identities_instance_admin_idx": "identities (id) WHERE is_instance_admin",
}

_COMMENTS = {
    "instance.allowed_sign_up_domain": "domains, separated by commas; none: any",
    "instance.enabled_login_methods": "none: all",
    "organizations.default_membership_role": "slug of a role",
    "organizations.user_token_expiration": "such as 30d; none: that of the instance",
    "organizations.max_shared_secret_lifetime": "seconds",
    "memberships.is_active": "false: kept, without access",
    "memberships.metadata": "[{id, key, value}]",
}


def upgrade() -> None:
    """Add columns with defaults: the release before this one goes on writing rows without them."""
    for table, columns in _COLUMNS.items():
        added = ", ".join(f"ADD COLUMN {column}" for column in columns)
        op.execute(f"ALTER TABLE {table} {added}")
    for column, words in _COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN {column} IS '{words}'")
    for name, place in _INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {place}")


def downgrade() -> None:
    """Take them away."""
    for name in _INDEXES:
        op.execute(f"DROP INDEX {name}")
    for table, columns in _COLUMNS.items():
        dropped = ", ".join(f"DROP COLUMN {column.partition(' ')[0]}" for column in columns)
        op.execute(f"ALTER TABLE {table} {dropped}")
