"""Folders, v1 and v2 (wire-secrets 8): v1 says `workspaceId`, also knows `directory`, and always deletes by force."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Body, Instant, NoBody, NoQuery, QueryString, View
from strongroom_common.kernel.clock import wire_instant
from strongroom_secrets.api.calls import Call
from strongroom_secrets.api.fields import Environment, Path, Trimmed, id_or_none
from strongroom_secrets.domain.errors import FolderNotFound
from strongroom_secrets.domain.folders import Folder
from strongroom_secrets.domain.places import ROOT, ProjectRef, parse_path
from strongroom_secrets.usecases import folders as usecases

routes = Routes("Folders")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")
_DIRECTORY = AliasChoices("path", "directory")


def _folder_name(text: str) -> str:
    name = text.strip()
    if not _NAME.fullmatch(name):
        raise ValueError("may hold only letters, digits, hyphens and underscores, 255 at most")
    return name


def _loose_flag(value: Any) -> Any:
    return value.strip().lower() not in {"", "0", "false"} if isinstance(value, str) else value


def _aware(instant: datetime | None) -> datetime | None:
    return instant.replace(tzinfo=UTC) if instant is not None and instant.tzinfo is None else instant


FolderName = Annotated[str, AfterValidator(_folder_name)]
LooseFlag = Annotated[bool, BeforeValidator(_loose_flag)]


class _Old(Body):
    workspace_id: Trimmed

    def project(self) -> ProjectRef:
        return ProjectRef.of(self.workspace_id)


class _New(Body):
    project_id: Trimmed

    def project(self) -> ProjectRef:
        return ProjectRef.of(self.project_id)


class _Create(Body):
    environment: Environment
    name: FolderName
    description: Annotated[str | None, Field(max_length=1000)] = None


class CreateFolderV1(_Create, _Old):
    """POST /api/v1/folders"""

    path: Path = Field(ROOT, validation_alias=_DIRECTORY)


class CreateFolderV2(_Create, _New):
    """POST /api/v2/folders"""

    path: Path = ROOT


class _List(QueryString):
    environment: Environment
    recursive: LooseFlag = False
    last_secret_modified: Annotated[datetime | None, AfterValidator(_aware)] = None


class ListFoldersV1(_List, _Old):
    """GET /api/v1/folders"""

    path: Path = Field(ROOT, validation_alias=_DIRECTORY)


class ListFoldersV2(_List, _New):
    """GET /api/v2/folders"""

    path: Path


class DeleteFolderV1(_Old):
    """DELETE /api/v1/folders/{folderIdOrName}"""

    environment: Environment
    path: Path = Field(ROOT, validation_alias=_DIRECTORY)

    @property
    def is_forced(self) -> bool:
        """Whether what is in the folder goes, too."""
        return True


class DeleteFolderV2(_New):
    """DELETE /api/v2/folders/{folderIdOrName}"""

    environment: Environment
    path: Path = ROOT
    force_delete: bool = False

    @property
    def is_forced(self) -> bool:
        """Whether what is in the folder goes, too."""
        return self.force_delete


class FolderView(View):
    """A folder."""

    id: UUID
    name: str
    version: int | None
    created_at: Instant
    updated_at: Instant
    env_id: UUID
    parent_id: UUID | None
    is_reserved: bool
    description: str | None
    last_secret_modified: Instant | None


class ListedFolderView(FolderView):
    """A folder in a list; `relativePath` is there in recursive ones."""

    relative_path: str | None = None


class CreatedFolderView(FolderView):
    """A new folder."""

    path: str


class FolderEnvironmentView(View):
    """The environment of a folder."""

    env_id: UUID
    env_name: str
    env_slug: str


class FoundFolderView(CreatedFolderView):
    """A folder, found by its id."""

    environment: FolderEnvironmentView
    project_id: UUID


class CreatedFolder(View):
    folder: CreatedFolderView


class FoundFolder(View):
    folder: FoundFolderView


class DeletedFolder(View):
    folder: FolderView


class FolderList(View):
    folders: list[ListedFolderView]


@routes.post(
    "/api/v1/folders",
    body=CreateFolderV1,
    returns=CreatedFolder,
    permission="project: secret-folders create",
    audit="create-folder",
    rate="secrets",
)
@routes.post(
    "/api/v2/folders",
    body=CreateFolderV2,
    returns=CreatedFolder,
    permission="project: secret-folders create",
    audit="create-folder",
    rate="secrets",
)
async def create(call: Call[CreateFolderV1 | CreateFolderV2, NoQuery]) -> Mapping[str, Any]:
    """Create a folder, and those above it that are missing."""
    body = call.body
    order = usecases.CreateFolder(body.project(), body.environment, parse_path(body.path), body.name, body.description)
    folder = await usecases.create_folder(call.service, call.caller, call.origin, order)
    return {"folder": {**_view(folder), "path": folder.path}}


@routes.get("/api/v1/folders", query=ListFoldersV1, returns=FolderList, permission="membership", rate="secrets")
@routes.get("/api/v2/folders", query=ListFoldersV2, returns=FolderList, permission="membership", rate="secrets")
async def find(call: Call[NoBody, ListFoldersV1 | ListFoldersV2]) -> Mapping[str, Any]:
    """List the folders in a folder, or all below it."""
    query, path = call.query, parse_path(call.query.path)
    wanted = usecases.ListFolders(query.project(), query.environment, path, query.recursive, query.last_secret_modified)
    found = await usecases.list_folders(call.service, call.caller, call.origin, wanted)
    if not query.recursive:
        return {"folders": [_view(folder) for folder in found]}
    start = "" if path == ROOT else path
    return {"folders": [{**_view(folder), "relativePath": folder.path.removeprefix(start)} for folder in found]}


@routes.get(
    "/api/v1/folders/{folderId}",
    "/api/v2/folders/{folderId}",
    returns=FoundFolder,
    permission="membership",
    rate="secrets",
)
async def get(call: Call[NoBody, NoQuery]) -> Mapping[str, Any]:
    """Get a folder by its id."""
    folder_id = id_or_none(call.path["folderId"])
    if folder_id is None:
        raise FolderNotFound("with this id in your organization")
    found = await usecases.get_folder(call.service, call.caller, folder_id)
    return {
        "folder": {
            **_view(found.folder),
            "path": found.folder.path,
            "projectId": str(found.project_id),
            "environment": {
                "envId": str(found.folder.environment_id),
                "envName": found.environment_name,
                "envSlug": found.environment,
            },
        }
    }


@routes.delete(
    "/api/v1/folders/{folderIdOrName}",
    body=DeleteFolderV1,
    returns=DeletedFolder,
    permission="project: secret-folders delete",
    audit="delete-folder",
    rate="secrets",
)
@routes.delete(
    "/api/v2/folders/{folderIdOrName}",
    body=DeleteFolderV2,
    returns=DeletedFolder,
    permission="project: secret-folders delete",
    audit="delete-folder",
    rate="secrets",
)
async def delete(call: Call[DeleteFolderV1 | DeleteFolderV2, NoQuery]) -> Mapping[str, Any]:
    """Delete a folder by its name or its id."""
    body = call.body
    order = usecases.DeleteFolder(
        body.project(), body.environment, parse_path(body.path), call.path["folderIdOrName"], body.is_forced
    )
    return {"folder": _view(await usecases.delete_folder(call.service, call.caller, call.origin, order))}


def _view(folder: Folder) -> dict[str, Any]:
    return {
        "id": str(folder.id),
        "name": folder.name,
        "version": folder.version,
        "createdAt": wire_instant(folder.created_at),
        "updatedAt": wire_instant(folder.updated_at),
        "envId": str(folder.environment_id),
        "parentId": None if folder.parent_id is None else str(folder.parent_id),
        "isReserved": False,
        "description": folder.description,
        "lastSecretModified": (
            None if folder.last_secret_modified is None else wire_instant(folder.last_secret_modified)
        ),
    }
