"""The tables that every service has."""

from strongroom_common.db import common_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    common_schema.create_v1()


def downgrade() -> None:
    common_schema.drop_v1()
