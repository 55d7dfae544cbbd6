"""Where something lies: project, environment, folder; as a caller names it, and as it was found."""

from dataclasses import dataclass
from uuid import UUID

from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.names import BadName, canonical_folder_path
from strongroom_secrets.domain.errors import ProjectNotFound

ROOT = "/"


@dataclass(frozen=True, slots=True)
class ProjectRef:
    """A project by its id, or by its slug in the caller's organization."""

    id: UUID | None = None
    slug: str | None = None

    @classmethod
    def of(cls, project_id: str | None, slug: str | None = None) -> "ProjectRef":
        """Read what a request says; the id wins. Text that is no UUID is the id of no project."""
        if project_id is not None:
            try:
                return cls(id=UUID(project_id))
            except ValueError:
                raise ProjectNotFound from None
        if slug is None:
            raise InvalidInput("name the project, by its id or its slug")
        return cls(slug=slug.lower())


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that exists."""

    project_id: UUID
    environment_id: UUID
    environment: str
    folder_id: UUID
    path: str
    is_upper_case_only: bool


def parse_path(text: str) -> str:
    """Return the one spelling of a folder path; raises `InvalidInput` (400) for what can be none."""
    try:
        return canonical_folder_path(text)
    except BadName as error:
        raise InvalidInput(str(error)) from None


def ancestors(path: str) -> list[str]:
    """List the path and all above it, the root first: `/a/b` gives `/`, `/a`, `/a/b`."""
    if path == ROOT:
        return [ROOT]
    parts = path[1:].split("/")
    return [ROOT, *("/" + "/".join(parts[: count + 1]) for count in range(len(parts)))]


def child(parent: str, name: str) -> str:
    """Join a folder's path and the name of one in it."""
    return f"/{name}" if parent == ROOT else f"{parent}/{name}"


def parent_and_name(path: str) -> tuple[str, str]:
    """Split `/a/b` into `/a` and `b`."""
    parent, _, name = path.rpartition("/")
    return parent or ROOT, name


def below(path: str) -> tuple[str, str]:
    """Return bounds, in byte order, of all paths below this one: from the first on, before the last."""
    prefix = ROOT if path == ROOT else path + "/"
    return prefix, prefix[:-1] + "0"
