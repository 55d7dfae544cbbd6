"""The fields that requests of this service share, and how they name a project and a place."""

import unicodedata
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from strongroom_common.http.models import Body, OptionalText, QueryString
from strongroom_common.kernel.errors import InvalidInput
from strongroom_secrets.domain.places import ROOT, ProjectRef


def _trimmed(text: str) -> str:
    return text.strip()


def _trimmed_or_none(text: str | None) -> str | None:
    return text.strip() if text is not None else None


def _slug(text: str) -> str:
    return text.strip().lower()


def _known_name(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def _none_as_empty(value: Any) -> Any:
    return [] if value is None else value


Trimmed = Annotated[str, AfterValidator(_trimmed), Field(min_length=1)]
"""Text without surrounding blanks, of which something must remain."""

Id = Annotated[OptionalText, AfterValidator(_trimmed_or_none)]
"""An id or a slug; an empty one counts as absent."""

Environment = Annotated[str, AfterValidator(_slug), Field(min_length=1)]
"""The slug of an environment."""

Path = Annotated[str, AfterValidator(_trimmed)]
"""A folder path as it was sent; `parse_path` checks it (400, not 422)."""

KnownName = Annotated[str, AfterValidator(_known_name), Field(min_length=1)]
"""The name of a secret that may exist: old odd names stay reachable."""

TagIds = Annotated[list[str], BeforeValidator(_none_as_empty)]
"""Ids of tags; null counts as none."""


def known_name(text: str) -> str:
    """Bring the name in a path to the form in which names are stored."""
    return _known_name(text)


def id_or_none(text: str) -> UUID | None:
    """Read an id in a path; text that is none names nothing."""
    try:
        return UUID(text)
    except ValueError:
        return None


class OldProject(Body):
    """v3 bodies: by id or by slug."""

    workspace_id: Id = None
    project_slug: Id = None

    def project(self) -> ProjectRef:
        """The project that is meant; raises `InvalidInput` (400) when none is named."""
        return ProjectRef.of(self.workspace_id, self.project_slug)


class NewProject(Body):
    """v4 bodies: by id."""

    project_id: Trimmed

    def project(self) -> ProjectRef:
        """The project that is meant."""
        return ProjectRef.of(self.project_id)


class OldProjectQuery(QueryString):
    """v3 queries: by id or by slug."""

    workspace_id: Id = None
    workspace_slug: Id = None

    def project(self) -> ProjectRef:
        """The project that is meant; raises `InvalidInput` (400) when none is named."""
        return ProjectRef.of(self.workspace_id, self.workspace_slug)


class NewProjectQuery(QueryString):
    """v4 queries: by id."""

    project_id: Trimmed

    def project(self) -> ProjectRef:
        """The project that is meant."""
        return ProjectRef.of(self.project_id)


class PlaceBody(Body):
    """Bodies: where."""

    environment: Environment
    secret_path: Path = ROOT


class PlaceQuery(QueryString):
    """Queries: where. That the environment is missing is a 400 here."""

    environment: Id = None
    secret_path: Path = ROOT

    def slug(self) -> str:
        """The environment; raises `InvalidInput` (400) when it is missing."""
        if self.environment is None:
            raise InvalidInput("name the environment by its slug")
        return self.environment.lower()
