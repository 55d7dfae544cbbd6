"""Every table and constraint, each index under a line that names its query.

All keys begin with the project, so that the tables can be spread by it. Names and paths compare byte by byte
(collation C): one order everywhere, and a range of paths is a range of the index.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from strongroom_common.db.tables import instant, service_metadata

METADATA = service_metadata()


def _plain_text(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text(collation="C"), nullable=nullable)


# What identity has said about its projects. A deleted one stays as a tombstone: a late event must not bring it back.
PROJECTS = Table(
    "projects",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("organization_id", Uuid, nullable=False),
    # NULL once another project has taken the slug, until we hear of this one's new slug.
    _plain_text("slug", nullable=True),
    Column("auto_capitalization", Boolean, nullable=False),
    Column("pit_version_limit", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    instant("deleted_at", nullable=True),
    # Reads that name the project by its slug.
    UniqueConstraint("organization_id", "slug"),
)

ENVIRONMENTS = Table(
    "environments",
    METADATA,
    Column("project_id", Uuid, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    _plain_text("slug"),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("project_id", "id"),
    ForeignKeyConstraint(["project_id"], ["projects.id"], ondelete="CASCADE"),
    # Every read: which environment is this? Checked at commit, because two environments may trade slugs.
    UniqueConstraint("project_id", "slug", deferrable=True, initially="DEFERRED"),
)

FOLDERS = Table(
    "folders",
    METADATA,
    Column("project_id", Uuid, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("environment_id", Uuid, nullable=False),
    Column("parent_id", Uuid),
    # Of the root folder: `root`.
    _plain_text("name"),
    # `/` or `/a/b`: the whole path, so that every read finds its folder in one step.
    _plain_text("path"),
    Column("description", Text),
    Column("version", Integer, nullable=False, server_default=text("1")),
    instant("created_at"),
    instant("updated_at"),
    instant("last_secret_modified", nullable=True),
    PrimaryKeyConstraint("project_id", "id"),
    ForeignKeyConstraint(
        ["project_id", "environment_id"], ["environments.project_id", "environments.id"], ondelete="CASCADE"
    ),
    ForeignKeyConstraint(["project_id", "parent_id"], ["folders.project_id", "folders.id"], ondelete="CASCADE"),
    # Every read: which folder is at this path? Recursive lists: which folders lie below it?
    UniqueConstraint("project_id", "environment_id", "path"),
    # Lists: what is in this folder? Deletes: the cascade.
    Index("folders_parent_idx", "project_id", "parent_id"),
    # Folders by id alone.
    Index("folders_id_idx", "id"),
)

# The current state of each secret. `secret_versions` has the same state once more, sealed to its own row: a read by
# name touches this table only.
SECRETS = Table(
    "secrets",
    METADATA,
    Column("project_id", Uuid, nullable=False),
    Column("id", Uuid, nullable=False),
    Column("folder_id", Uuid, nullable=False),
    _plain_text("name"),
    Column("owner_id", Uuid, nullable=False, comment="the user of a personal override; the nil UUID when shared"),
    Column("version", Integer, nullable=False),
    Column("sealed_value", LargeBinary, nullable=False),
    Column("sealed_comment", LargeBinary, comment="NULL when empty"),
    Column("metadata", JSONB, comment="[{key, value, isEncrypted}]; an encrypted value is sealed, in base64"),
    Column("skip_multiline_encoding", Boolean, nullable=False),
    Column("reminder_note", Text),
    Column("reminder_repeat_days", Integer),
    Column("rotation_id", Uuid, comment="the rotation that owns value and name"),
    Column("actor_kind", Text, nullable=False),
    Column("actor_id", Uuid),
    Column("actor_name", Text, nullable=False),
    instant("created_at"),
    instant("updated_at"),
    PrimaryKeyConstraint("project_id", "id"),
    ForeignKeyConstraint(["project_id", "folder_id"], ["folders.project_id", "folders.id"], ondelete="CASCADE"),
    # Every read: the secret of this name in this folder, and all secrets of a folder. Deletes: the cascade.
    UniqueConstraint("project_id", "folder_id", "name", "owner_id"),
    # Secrets by id alone.
    Index("secrets_id_idx", "id"),
)

# Every state that a secret has had. Rows outlive their secret and its folder, so that the past can be read.
SECRET_VERSIONS = Table(
    "secret_versions",
    METADATA,
    Column("project_id", Uuid, nullable=False),
    Column("secret_id", Uuid, nullable=False),
    Column("version", Integer, nullable=False),
    Column("environment_id", Uuid, nullable=False),
    Column("folder_id", Uuid, nullable=False),
    _plain_text("name"),
    Column("owner_id", Uuid, nullable=False),
    Column("sealed_value", LargeBinary, nullable=False),
    Column("sealed_comment", LargeBinary),
    Column("metadata", JSONB),
    Column("tag_ids", ARRAY(Uuid), comment="NULL when it had none"),
    Column("skip_multiline_encoding", Boolean, nullable=False),
    Column("actor_kind", Text, nullable=False),
    Column("actor_id", Uuid),
    Column("actor_name", Text, nullable=False),
    instant("created_at"),
    PrimaryKeyConstraint("project_id", "secret_id", "version"),
    # Reads of an old version by name: what was called this in this folder?
    Index("secret_versions_name_idx", "project_id", "folder_id", "name", "version"),
)

TAGS = Table(
    "tags",
    METADATA,
    Column("project_id", Uuid, nullable=False),
    Column("id", Uuid, nullable=False),
    _plain_text("slug"),
    Column("color", Text, nullable=False),
    Column("actor_kind", Text, nullable=False),
    Column("actor_id", Uuid),
    instant("created_at"),
    instant("updated_at"),
    PrimaryKeyConstraint("project_id", "id"),
    ForeignKeyConstraint(["project_id"], ["projects.id"], ondelete="CASCADE"),
    # Lists in the order of slugs, and tags by slug.
    UniqueConstraint("project_id", "slug"),
)

# The tags that each secret has now. Every read that shows a secret: which are these?
SECRET_TAGS = Table(
    "secret_tags",
    METADATA,
    Column("project_id", Uuid, nullable=False),
    Column("secret_id", Uuid, nullable=False),
    Column("tag_id", Uuid, nullable=False),
    PrimaryKeyConstraint("project_id", "secret_id", "tag_id"),
    ForeignKeyConstraint(["project_id", "secret_id"], ["secrets.project_id", "secrets.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["project_id", "tag_id"], ["tags.project_id", "tags.id"], ondelete="CASCADE"),
    # Deletes of a tag: the cascade.
    Index("secret_tags_tag_idx", "project_id", "tag_id"),
)
