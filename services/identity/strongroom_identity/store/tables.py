"""Every table and constraint, each index under a line that names its query.

Rows of a tenant carry its organization, so that each table can be spread by it. Ids are UUIDv7, instants come from the
clock of the process that writes them.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from strongroom_common.db.tables import instant, service_metadata

METADATA = service_metadata()


def _id() -> Column[object]:
    return Column("id", Uuid, primary_key=True)


def _flag(name: str) -> Column[object]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def _flag_on(name: str) -> Column[object]:
    return Column(name, Boolean, nullable=False, server_default=text("true"))


PRODUCTS = ("secrets", "pki", "kms", "ssh", "scanner", "share_secrets")
"""What an organization can switch on and off for its members to see."""


def _belongs_to(name: str, table: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, Uuid, ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=nullable)


# The one row of the instance. It says whether the instance was set up, and holds the key of all keyed hashes.
INSTANCE = Table(
    "instance",
    METADATA,
    Column("id", SmallInteger, CheckConstraint("id = 1", name="only_one"), primary_key=True, autoincrement=False),
    Column("instance_id", Uuid, nullable=False),
    Column("sealed_pepper", LargeBinary, nullable=False),
    Column("sealed_audit_mac_key", LargeBinary),
    Column("sealed_audit_signing_key", LargeBinary),
    Column("allow_sign_up", Boolean, nullable=False, server_default=text("true")),
    Column("allowed_sign_up_domain", Text, comment="domains, separated by commas; none: any"),
    _flag("trust_saml_emails"),
    _flag("trust_ldap_emails"),
    _flag("trust_oidc_emails"),
    Column("default_auth_organization_id", Uuid, ForeignKey("organizations.id", ondelete="SET NULL")),
    Column("enabled_login_methods", JSONB, comment="none: all"),
    Column("auth_consent_content", Text),
    Column("page_frame_content", Text),
    instant("initialized_at", nullable=True),
    instant("created_at"),
)

# What tokens are signed with. The private half is sealed; a retired key neither signs nor verifies.
SIGNING_KEYS = Table(
    "signing_keys",
    METADATA,
    Column("kid", Text, primary_key=True),
    Column("sealed_private_key", LargeBinary, nullable=False),
    Column("public_key", Text, nullable=False, comment="JSON Web Key (RFC 8037)"),
    instant("created_at"),
    instant("signs_from", nullable=True),
    instant("retired_at", nullable=True),
)

# A sub-organization has a parent and a root; a root has neither.
ORGANIZATIONS = Table(
    "organizations",
    METADATA,
    _id(),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False),
    _belongs_to("parent_id", "organizations", nullable=True),
    _belongs_to("root_id", "organizations", nullable=True),
    _flag("auth_enforced"),
    _flag("bypass_org_auth_enabled"),
    _flag("scim_enabled"),
    Column("default_membership_role", Text, nullable=False, server_default=text("'member'"), comment="slug of a role"),
    _flag("enforce_mfa"),
    Column("selected_mfa_method", Text),
    Column("user_token_expiration", Text, comment="such as 30d; none: that of the instance"),
    *(_flag_on(f"{product}_product_enabled") for product in PRODUCTS),
    _flag_on("should_use_new_privilege_system"),
    _flag_on("allow_secret_sharing_outside_organization"),
    Column("max_shared_secret_lifetime", Integer, nullable=False, server_default=text("2592000"), comment="seconds"),
    Column("max_shared_secret_view_limit", Integer),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("slug"),
    # The instance's organizations in their order.
    Index("organizations_name_idx", "name", "id"),
    # The sub-organizations of one, in their order; the foreign keys.
    Index("organizations_parent_idx", "parent_id", "name", "id", postgresql_where=text("parent_id IS NOT NULL")),
    Index("organizations_root_id_idx", "root_id", postgresql_where=text("root_id IS NOT NULL")),
)

USERS = Table(
    "users",
    METADATA,
    _id(),
    Column("username", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("first_name", Text, nullable=False),
    Column("last_name", Text, nullable=False),
    Column("password_hash", Text, comment="argon2id; none for who logs in elsewhere"),
    _flag("is_email_verified"),
    _flag("is_accepted"),
    _flag("is_instance_admin"),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("username"),
    UniqueConstraint("email"),
)

# An identity belongs to its organization, or to one project of it.
IDENTITIES = Table(
    "identities",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("project_id", "projects", nullable=True),
    Column("name", Text, nullable=False),
    _flag("has_delete_protection"),
    _flag("is_instance_admin"),
    instant("created_at"),
    instant("updated_at"),
    # The organization's identities; the foreign key.
    Index("identities_organization_id_idx", "organization_id"),
    # The instance's identities in their order, for its admins.
    Index("identities_name_idx", "name", "id"),
    # Which identities are instance admins?
    Index("identities_instance_admin_idx", "id", postgresql_where=text("is_instance_admin")),
    # The organization's own identities in the order of their names.
    Index(
        "identities_organization_name_idx",
        "organization_id",
        "name",
        "id",
        postgresql_where=text("project_id IS NULL"),
    ),
    # A project's own identities in the order of their names; the foreign key.
    Index("identities_project_name_idx", "project_id", "name", "id", postgresql_where=text("project_id IS NOT NULL")),
)

IDENTITY_METADATA = Table(
    "identity_metadata",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("identity_id", "identities"),
    Column("position", Integer, nullable=False),
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False),
    # An identity's metadata; the foreign key.
    Index("identity_metadata_identity_id_idx", "identity_id"),
)

PROJECTS = Table(
    "projects",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False),
    Column("description", Text),
    Column("type", Text, nullable=False),
    Column("default_product", Text),
    _flag("auto_capitalization"),
    _flag("has_delete_protection"),
    Column("secret_sharing", Boolean, nullable=False, server_default=text("true")),
    _flag("show_snapshots_legacy"),
    Column("version", Integer, nullable=False),
    Column("upgrade_status", Text),
    Column("pit_version_limit", Integer, nullable=False),
    Column("audit_logs_retention_days", Integer),
    Column("kms_certificate_key_id", Uuid),
    Column("secret_detection_ignore_values", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
    _flag("enforce_encrypted_secret_manager_secret_metadata"),
    Column("revision", BigInteger, nullable=False, comment="grows with each change that other services hear of"),
    instant("created_at"),
    instant("updated_at"),
    # By slug within the organization.
    UniqueConstraint("organization_id", "slug"),
)

ENVIRONMENTS = Table(
    "environments",
    METADATA,
    _id(),
    _belongs_to("project_id", "projects"),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False),
    Column("position", Integer, nullable=False),
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("project_id", "slug"),
    # Checked at commit: environments move past each other.
    UniqueConstraint("project_id", "position", deferrable=True, initially="DEFERRED"),
)

# What new projects may begin with, by name. The parts are kept as clients read them (wire-identity 13).
PROJECT_TEMPLATES = Table(
    "project_templates",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("type", Text, nullable=False),
    Column("roles", JSONB, nullable=False),
    Column("environments", JSONB(none_as_null=True), comment="none: this type of project has none"),
    Column("users", JSONB, nullable=False),
    Column("groups", JSONB, nullable=False),
    instant("created_at"),
    instant("updated_at"),
    # The organization's templates; by name, for a new project; the foreign key.
    UniqueConstraint("organization_id", "name"),
)

# Custom roles of an organization, or of one project.
ROLES = Table(
    "roles",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("project_id", "projects", nullable=True),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("permissions", JSONB, nullable=False),
    Column("version", Integer, nullable=False),
    instant("created_at"),
    instant("updated_at"),
    # An organization's role by slug.
    Index(
        "roles_organization_slug_idx",
        "organization_id",
        "slug",
        unique=True,
        postgresql_where=text("project_id IS NULL"),
    ),
    # A project's role by slug; the foreign key.
    Index("roles_project_slug_idx", "project_id", "slug", unique=True, postgresql_where=text("project_id IS NOT NULL")),
)

# Who belongs to an organization (no project), or to one of its projects: a user, an identity or a group.
MEMBERSHIPS = Table(
    "memberships",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("project_id", "projects", nullable=True),
    _belongs_to("user_id", "users", nullable=True),
    _belongs_to("identity_id", "identities", nullable=True),
    _belongs_to("group_id", "groups", nullable=True),
    Column("status", Text, nullable=False, server_default=text("'accepted'"), comment="invited or accepted"),
    Column("is_active", Boolean, nullable=False, server_default=text("true"), comment="false: kept, without access"),
    Column("metadata", JSONB, nullable=False, server_default=text("'[]'::jsonb"), comment="[{id, key, value}]"),
    Column("last_login_method", Text),
    instant("last_login_at", nullable=True),
    instant("created_at"),
    instant("updated_at"),
    CheckConstraint("num_nonnulls(user_id, identity_id, group_id) = 1", name="one_subject"),
    # Is this user, this identity, this group, in this organization? The foreign key.
    Index(
        "memberships_organization_user_idx",
        "organization_id",
        "user_id",
        unique=True,
        postgresql_where=text("project_id IS NULL AND user_id IS NOT NULL"),
    ),
    Index(
        "memberships_organization_identity_idx",
        "organization_id",
        "identity_id",
        unique=True,
        postgresql_where=text("project_id IS NULL AND identity_id IS NOT NULL"),
    ),
    Index(
        "memberships_organization_group_idx",
        "organization_id",
        "group_id",
        unique=True,
        postgresql_where=text("project_id IS NULL AND group_id IS NOT NULL"),
    ),
    # Is this user, this identity, this group, in this project? The foreign key.
    UniqueConstraint("project_id", "user_id"),
    UniqueConstraint("project_id", "identity_id"),
    UniqueConstraint("project_id", "group_id"),
    # The projects of a user, of an identity; the foreign keys.
    Index("memberships_user_id_idx", "user_id", postgresql_where=text("user_id IS NOT NULL")),
    Index("memberships_identity_id_idx", "identity_id", postgresql_where=text("identity_id IS NOT NULL")),
    # What a group holds everywhere; the foreign key.
    Index("memberships_group_id_idx", "group_id", postgresql_where=text("group_id IS NOT NULL")),
)

# The roles of a membership. A predefined role has its slug, a custom one `custom` and its id. A temporary role is in
# force from `starts_at` until `ends_at`.
MEMBERSHIP_ROLES = Table(
    "membership_roles",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("membership_id", "memberships"),
    Column("position", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("custom_role_id", Uuid, ForeignKey("roles.id")),
    _flag("is_temporary"),
    Column("temporary_mode", Text),
    Column("temporary_range", Text),
    instant("starts_at", nullable=True),
    instant("ends_at", nullable=True),
    instant("created_at"),
    instant("updated_at"),
    # A membership's roles; the foreign key.
    Index("membership_roles_membership_id_idx", "membership_id"),
    # Is this role in use?
    Index("membership_roles_custom_role_id_idx", "custom_role_id", postgresql_where=text("custom_role_id IS NOT NULL")),
)

# How an identity may log in: one row per kind. What only one kind knows is in `settings`, or sealed beside it.
AUTH_CONFIGURATIONS = Table(
    "auth_configurations",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("identity_id", "identities"),
    Column("method", Text, nullable=False),
    Column("access_token_ttl", BigInteger, nullable=False, comment="seconds"),
    Column("access_token_max_ttl", BigInteger, nullable=False, comment="seconds"),
    Column("access_token_uses_limit", BigInteger, nullable=False),
    Column("access_token_period", BigInteger, nullable=False, comment="seconds"),
    Column("access_token_trusted_ips", JSONB, nullable=False),
    Column("lockout_enabled", Boolean),
    Column("lockout_threshold", Integer),
    Column("lockout_duration", Integer, comment="seconds"),
    Column("lockout_counter_reset", Integer, comment="seconds"),
    Column("client_id", Uuid, comment="universal auth"),
    Column("settings", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("sealed_settings", LargeBinary),
    instant("created_at"),
    instant("updated_at"),
    # An identity's configuration of one kind.
    UniqueConstraint("identity_id", "method"),
    # Login with universal auth.
    UniqueConstraint("client_id"),
    # The configurations that are linked to an identity template.
    Index(
        "auth_configurations_template_idx",
        text("(settings ->> 'templateId')"),
        postgresql_where=text("(settings ->> 'templateId') IS NOT NULL"),
    ),
)

CLIENT_SECRETS = Table(
    "client_secrets",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("configuration_id", "auth_configurations"),
    Column("description", Text, nullable=False),
    Column("prefix", Text, nullable=False),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("uses", BigInteger, nullable=False),
    Column("uses_limit", BigInteger, nullable=False, comment="0: without limit"),
    Column("ttl", BigInteger, nullable=False, comment="seconds, 0: without end"),
    _flag("is_revoked"),
    instant("created_at"),
    instant("updated_at"),
    # Login: which of the configuration's secrets is it? The foreign key.
    UniqueConstraint("configuration_id", "secret_hash"),
)

ACCESS_TOKENS = Table(
    "access_tokens",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("identity_id", "identities"),
    Column("auth_method", Text, nullable=False),
    Column("name", Text),
    Column("ttl", BigInteger, nullable=False, comment="seconds"),
    Column("max_ttl", BigInteger, nullable=False, comment="seconds"),
    Column("period", BigInteger, nullable=False, comment="seconds"),
    Column("uses", BigInteger, nullable=False),
    Column("uses_limit", BigInteger, nullable=False, comment="0: without limit"),
    _belongs_to("client_secret_id", "client_secrets", nullable=True),
    _belongs_to("sub_organization_id", "organizations", nullable=True),
    Column("identity_auth", JSONB, comment="claims of the login, where the kind has some"),
    _flag("is_revoked"),
    instant("last_used_at", nullable=True),
    instant("last_renewed_at", nullable=True),
    instant("expires_at", nullable=True),
    instant("created_at"),
    instant("updated_at"),
    # An identity's tokens of one kind, the newest first; the foreign key.
    Index("access_tokens_identity_updated_idx", "identity_id", "auth_method", "updated_at", "id"),
    # The tokens of a client secret; the foreign key.
    Index(
        "access_tokens_client_secret_id_idx", "client_secret_id", postgresql_where=text("client_secret_id IS NOT NULL")
    ),
    # The job that drops what has expired.
    Index("access_tokens_expires_at_idx", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
)

# How many records each organization's part of the audit log has. What has no organization counts under the nil UUID.
# The chain may be a few records behind: a release without it, still running beside this one, only counts.
AUDIT_HEADS = Table(
    "audit_heads",
    METADATA,
    Column("organization_id", Uuid, primary_key=True),
    Column("last_number", BigInteger, nullable=False),
    Column("chained_number", BigInteger, nullable=False, server_default=text("0")),
    Column("last_mac", LargeBinary, comment="of the record chained last"),
)

# The audit log. Numbers have no gap within an organization: the next one is taken under the lock of its head's row.
# No foreign keys: a record outlives what it is about.
AUDIT_RECORDS = Table(
    "audit_records",
    METADATA,
    Column("organization_id", Uuid, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("project_id", Uuid),
    Column("event", Text, nullable=False),
    Column("actor_kind", Text, nullable=False),
    Column("actor_id", Uuid),
    Column("actor_metadata", JSONB, nullable=False),
    Column("metadata", JSONB, nullable=False),
    Column("client_address", Text, nullable=False),
    Column("user_agent", Text, nullable=False),
    Column("user_agent_type", Text, nullable=False, server_default=text("'other'"), comment="read from user_agent"),
    instant("occurred_at"),
    instant("recorded_at"),
    Column("mac", LargeBinary, comment="over the record and the MAC before it"),
    Column("content_hash", LargeBinary, comment="only where retention has removed the content"),
    Column("removal_mac", LargeBinary, comment="that it was retention"),
    # An export; what comes next in the chain.
    PrimaryKeyConstraint("organization_id", "number"),
    # A record that comes a second time.
    UniqueConstraint("organization_id", "id"),
    # The newest first, within a span.
    Index("audit_records_organization_occurred_idx", "organization_id", "occurred_at"),
    # The same for one project.
    Index(
        "audit_records_project_occurred_idx",
        "project_id",
        "occurred_at",
        postgresql_where=text("project_id IS NOT NULL"),
    ),
    # The same for one kind of event, for one actor.
    Index("audit_records_organization_event_idx", "organization_id", "event", "occurred_at"),
    Index(
        "audit_records_organization_actor_idx",
        "organization_id",
        "actor_id",
        "occurred_at",
        postgresql_where=text("actor_id IS NOT NULL"),
    ),
    # What happened to this secret, on this path, with this id?
    Index(
        "audit_records_metadata_idx",
        "metadata",
        postgresql_using="gin",
        postgresql_ops={"metadata": "jsonb_path_ops"},
    ),
)

# Signed statements about the audit log, and where its Merkle tree grows on. No foreign key: they outlive all else.
AUDIT_CHECKPOINTS = Table(
    "audit_checkpoints",
    METADATA,
    Column("organization_id", Uuid, nullable=False),
    Column("number", BigInteger, nullable=False, comment="of the last record that it covers"),
    Column("last_mac", LargeBinary, nullable=False),
    Column("root", LargeBinary, nullable=False),
    Column("frontier", LargeBinary, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    instant("created_at"),
    # The newest one; those of an export.
    PrimaryKeyConstraint("organization_id", "number"),
)

# Failed logins of late, and the locks that they led to. A subject is an identity or a user; the name that was presented
# is kept as a keyed hash. No foreign key: rows are forgotten when their time is over.
LOCKOUTS = Table(
    "lockouts",
    METADATA,
    Column("subject_id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name_hash", LargeBinary, nullable=False),
    Column("count", Integer, nullable=False),
    _flag("is_locked"),
    instant("ends_at"),
    # A login; the locked kinds of an identity.
    PrimaryKeyConstraint("subject_id", "kind", "name_hash"),
    # The job that drops what is over.
    Index("lockouts_ends_at_idx", "ends_at"),
)

# The tables of a noun that has many are in a file of their own; imported here, so that METADATA is complete.
from strongroom_identity.store import access_tables, identity_template_tables, user_tables  # noqa: E402, F401 - see above
