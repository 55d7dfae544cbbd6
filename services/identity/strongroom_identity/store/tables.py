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


def _belongs_to(name: str, table: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, Uuid, ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=nullable)


# The one row of the instance. It says whether the instance was set up, and holds the key of all keyed hashes.
INSTANCE = Table(
    "instance",
    METADATA,
    Column("id", SmallInteger, CheckConstraint("id = 1", name="only_one"), primary_key=True, autoincrement=False),
    Column("instance_id", Uuid, nullable=False),
    Column("sealed_pepper", LargeBinary, nullable=False),
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
    instant("created_at"),
    instant("updated_at"),
    UniqueConstraint("slug"),
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
    # A project's own identities; the foreign key.
    Index("identities_project_id_idx", "project_id", postgresql_where=text("project_id IS NOT NULL")),
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

# Who belongs to an organization (no project), or to one of its projects: a user or an identity.
MEMBERSHIPS = Table(
    "memberships",
    METADATA,
    _id(),
    _belongs_to("organization_id", "organizations"),
    _belongs_to("project_id", "projects", nullable=True),
    _belongs_to("user_id", "users", nullable=True),
    _belongs_to("identity_id", "identities", nullable=True),
    Column("last_login_method", Text),
    instant("last_login_at", nullable=True),
    instant("created_at"),
    instant("updated_at"),
    CheckConstraint("num_nonnulls(user_id, identity_id) = 1", name="one_subject"),
    # Is this user, this identity, in this organization? The foreign key.
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
    # Is this user, this identity, in this project? The foreign key.
    UniqueConstraint("project_id", "user_id"),
    UniqueConstraint("project_id", "identity_id"),
    # The projects of a user, of an identity; the foreign keys.
    Index("memberships_user_id_idx", "user_id", postgresql_where=text("user_id IS NOT NULL")),
    Index("memberships_identity_id_idx", "identity_id", postgresql_where=text("identity_id IS NOT NULL")),
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
    # An identity's tokens; the foreign key.
    Index("access_tokens_identity_id_idx", "identity_id"),
    # The tokens of a client secret; the foreign key.
    Index(
        "access_tokens_client_secret_id_idx", "client_secret_id", postgresql_where=text("client_secret_id IS NOT NULL")
    ),
    # The job that drops what has expired.
    Index("access_tokens_expires_at_idx", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
)

# How many records each organization's part of the audit log has. What has no organization counts under the nil UUID.
AUDIT_HEADS = Table(
    "audit_heads",
    METADATA,
    Column("organization_id", Uuid, primary_key=True),
    Column("last_number", BigInteger, nullable=False),
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
    instant("occurred_at"),
    instant("recorded_at"),
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
)
