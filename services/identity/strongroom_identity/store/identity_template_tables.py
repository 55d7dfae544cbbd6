"""The table of identity templates."""

from sqlalchemy import Column, ForeignKey, Index, LargeBinary, Table, Text, Uuid

from strongroom_common.db.tables import instant
from strongroom_identity.store.tables import METADATA

# Who uses a template is said by the `templateId` in the settings of auth configurations.
IDENTITY_TEMPLATES = Table(
    "identity_templates",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("organization_id", Uuid, ForeignKey("organizations.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("sealed_fields", LargeBinary, nullable=False),
    instant("created_at"),
    instant("updated_at"),
    # The organization's templates in their order; the foreign key.
    Index("identity_templates_organization_name_idx", "organization_id", "name", "id"),
)
