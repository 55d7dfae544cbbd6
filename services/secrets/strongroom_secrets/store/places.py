"""From what a caller names to what is there: project, environment and folder, found in one step.

Each statement of this room that begins with `located` answers no row when the project is unknown, and NULL where the
environment or the folder is. Its first three arguments are the caller's organization, the project's id or slug, and the
environment's slug.
"""

from typing import Final, Literal

from sqlalchemy import text

Selector = Literal["id", "slug"]
SELECTORS: Final[tuple[Selector, ...]] = ("id", "slug")


def located(selector: Selector, columns: str, joins: str) -> str:
    """Return a statement that starts from a project and an environment of it."""
    return f"""
        SELECT p.id AS project_id, e.id AS environment_id, e.slug AS environment, {columns}
        FROM projects p LEFT JOIN environments e ON e.project_id = p.id AND e.slug = $3 {joins}
        WHERE p.organization_id = $1 AND p.{selector} = $2 AND p.deleted_at IS NULL
        """  # noqa: S608 - put together from constants of this room


FOLDER_AT: Final = "LEFT JOIN folders f ON f.project_id = p.id AND f.environment_id = e.id AND f.path = $4"

# The folders at some paths ($4).
FIND_PLACES: Final = {
    selector: located(
        selector,
        "p.auto_capitalization, f.id AS folder_id, f.path",
        "LEFT JOIN folders f ON f.project_id = p.id AND f.environment_id = e.id AND f.path = ANY ($4::text[])",
    )
    for selector in SELECTORS
}

# Whoever writes into folders holds these locks until its commit: changes of one folder happen one after the other.
LOCK_FOLDERS: Final = text(
    """
    SELECT id, environment_id, path FROM folders WHERE project_id = :project_id AND id = ANY (CAST(:ids AS uuid[]))
    ORDER BY id FOR NO KEY UPDATE
    """
)
# Whoever changes the tree of folders itself holds this one.
LOCK_ENVIRONMENT: Final = text(
    "SELECT id FROM environments WHERE project_id = :project_id AND id = :id FOR NO KEY UPDATE"
)
