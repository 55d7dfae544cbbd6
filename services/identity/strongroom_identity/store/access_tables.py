"""The tables of groups and of explained decisions."""

from sqlalchemy import Column, ForeignKey, Index, PrimaryKeyConstraint, Table, Text, UniqueConstraint, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from strongroom_common.db.tables import instant
from strongroom_identity.store.tables import METADATA


def _belongs_to(name: str, table: str) -> Column[object]:
    return Column(name, Uuid, ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=False)


# Who belongs to a group has what the group has. What that is stands in memberships, as for everyone else.
GROUPS = Table(
    "groups",
    METADATA,
    Column("id", Uuid, primary_key=True),
    _belongs_to("organization_id", "organizations"),
    Column("name", Text, nullable=False),
    Column("slug", Text, nullable=False),
    instant("created_at"),
    instant("updated_at"),
    # The organization's groups in their order, and one by the name that a path may hold; the foreign key.
    UniqueConstraint("organization_id", "name"),
    # Where templates name a group.
    UniqueConstraint("organization_id", "slug"),
)

# A member of a group is a member of the organization: the row goes with that membership.
GROUP_MEMBERS = Table(
    "group_members",
    METADATA,
    _belongs_to("organization_id", "organizations"),
    _belongs_to("group_id", "groups"),
    _belongs_to("membership_id", "memberships"),
    instant("joined_at"),
    # The groups of a caller; the foreign key.
    PrimaryKeyConstraint("membership_id", "group_id"),
    # The members of a group; the foreign key.
    Index("group_members_group_id_idx", "group_id"),
)

# Why somebody was refused. No foreign keys: an explanation outlives what it is about; a job forgets the old ones.
ACCESS_DECISIONS = Table(
    "access_decisions",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("organization_id", Uuid, nullable=False),
    Column("project_id", Uuid),
    Column("actor", JSONB, nullable=False),
    Column("refusal", JSONB, nullable=False),
    instant("decided_at"),
    # The job: what is too old?
    Index("access_decisions_decided_at_idx", "decided_at"),
    # The job: what does an organization have too much of?
    Index("access_decisions_organization_decided_idx", "organization_id", "decided_at"),
)
