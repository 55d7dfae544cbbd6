"""Every table and constraint, each index under a line that names its query."""

from strongroom_common.db.tables import service_metadata

METADATA = service_metadata()
