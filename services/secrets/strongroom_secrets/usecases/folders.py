"""Folders: the tree of one environment changes one step at a time, under the environment's lock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.secrets import ChangedSecret, SecretsChanged
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.ids import new_id
from strongroom_secrets.domain.errors import (
    EnvironmentNotFound,
    FolderExists,
    FolderNotEmpty,
    FolderNotFound,
    RootFolder,
    RotatedSecret,
)
from strongroom_secrets.domain.folders import Folder
from strongroom_secrets.domain.places import ROOT, ProjectRef, ancestors, below, child, parent_and_name
from strongroom_secrets.domain.secrets import SHARED
from strongroom_secrets.store import folders as store
from strongroom_secrets.store.places import FIND_PLACES, LOCK_ENVIRONMENT
from strongroom_secrets.usecases.context import SecretsContext
from strongroom_secrets.usecases.places import look_up
from strongroom_secrets.usecases.rights import SecretRights
from strongroom_secrets.usecases.trails import record

FOLDERS = "secret-folders"


@dataclass(frozen=True, slots=True)
class FolderAt:
    """A folder with the project and the environment that it is in."""

    folder: Folder
    project_id: UUID
    environment_name: str
    environment: str


@dataclass(frozen=True, slots=True)
class CreateFolder:
    """A new folder in the folder at `path`, which is made where it is missing."""

    which: ProjectRef
    environment: str
    path: str
    name: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ListFolders:
    """The folders in one folder, or all below it."""

    which: ProjectRef
    environment: str
    path: str
    is_recursive: bool = False
    modified_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeleteFolder:
    """A folder by its name in the folder at `path`, else by its id."""

    which: ProjectRef
    environment: str
    path: str
    id_or_name: str
    is_forced: bool


async def create_folder(context: SecretsContext, caller: Caller, origin: Origin, order: CreateFolder) -> Folder:
    """Create it, and the folders above it that are missing. Raises `FolderExists`."""
    full_path = child(order.path, order.name)
    standing, rows = await look_up(context, caller, origin, order.which, order.environment, FIND_PLACES, [])
    project_id, environment_id, environment = _environment_of(rows)
    standing.require("create", FOLDERS, {"environment": environment, "secretPath": order.path})

    async with context.database.begin(origin.in_project(project_id)) as work:
        await _lock_environment(work, project_id, environment_id, environment)
        there = await store.find_at(work, project_id, environment_id, ancestors(full_path))
        if full_path in there:
            raise FolderExists(full_path)
        made: list[dict[str, Any]] = []
        for path in ancestors(full_path):
            if path in there:
                continue
            parent, name = parent_and_name(path)
            # Each folder that comes into being needs the right to make it, not only the last one.
            standing.require("create", FOLDERS, {"environment": environment, "secretPath": parent})
            description = order.description if path == full_path else None
            there[path] = new_id()
            made.append(
                {"id": there[path], "parent_id": there[parent], "name": name, "path": path, "description": description}
            )
        now = context.clock.now()
        await store.insert(work, project_id, environment_id, made, now)
        for folder in made:
            about = {"folderId": str(folder["id"]), "folderName": folder["name"], "folderPath": folder["path"]}
            parent, _ = parent_and_name(folder["path"])
            work.record(record(context, work.origin, project_id, "create-folder", environment, parent, **about))
        await work.commit()
    return Folder(
        id=made[-1]["id"],
        name=order.name,
        path=full_path,
        version=1,
        created_at=now,
        updated_at=now,
        environment_id=environment_id,
        parent_id=made[-1]["parent_id"],
        description=order.description,
        last_secret_modified=None,
    )


async def list_folders(
    context: SecretsContext, caller: Caller, origin: Origin, wanted: ListFolders
) -> Sequence[Folder]:
    """Return the folders, by name or, recursively, by path; none where there is no folder at the path."""
    statements, bounds = (store.LIST_BELOW, below(wanted.path)) if wanted.is_recursive else (store.LIST_CHILDREN, ())
    _, rows = await look_up(context, caller, origin, wanted.which, wanted.environment, statements, wanted.path, *bounds)
    found = [Folder.of(row) for row in rows if row["id"] is not None]
    since = wanted.modified_since
    if since is None:
        return found
    return [folder for folder in found if folder.last_secret_modified and folder.last_secret_modified >= since]


async def get_folder(context: SecretsContext, caller: Caller, folder_id: UUID) -> FolderAt:
    """Return one folder by its id. Raises `FolderNotFound`, also for one of another organization."""
    rows = await context.database.fetch(store.FIND_BY_ID, caller.organization_id, folder_id)
    if not rows:
        raise FolderNotFound("with this id in your organization")
    row = rows[0]
    await context.doorkeeper.standing(caller, row["project_id"])
    return FolderAt(Folder.of(row), row["project_id"], row["environment_name"], row["environment"])


async def delete_folder(context: SecretsContext, caller: Caller, origin: Origin, order: DeleteFolder) -> Folder:
    """Delete it; what is in it goes too when forced, else it must be empty."""
    standing, rows = await look_up(context, caller, origin, order.which, order.environment, FIND_PLACES, [])
    project_id, environment_id, environment = _environment_of(rows)

    async with context.database.begin(origin.in_project(project_id)) as work:
        await _lock_environment(work, project_id, environment_id, environment)
        found = await store.find_one(
            work, project_id, environment_id, child(order.path, order.id_or_name), _id_of(order.id_or_name)
        )
        if found is None:
            standing.require("delete", FOLDERS, {"environment": environment, "secretPath": order.path})
            raise FolderNotFound(f"'{order.id_or_name}' in {order.path}")
        folder = Folder.of(found._mapping)
        if folder.path == ROOT:
            raise RootFolder
        parent, _ = parent_and_name(folder.path)
        standing.require("delete", FOLDERS, {"environment": environment, "secretPath": parent})
        tree = await store.lock_tree(work, project_id, environment_id, folder.id, below(folder.path))
        secrets = await store.secrets_in(work, project_id, [locked.id for locked in tree])
        if not order.is_forced and (len(tree) > 1 or secrets):
            raise FolderNotEmpty(folder.path)
        # A forced delete does not go around the rights on what is inside.
        for locked in tree:
            standing.require(
                "delete", FOLDERS, {"environment": environment, "secretPath": parent_and_name(locked.path)[0]}
            )
        rights = SecretRights(standing, environment)
        for secret in secrets:
            rights.require("delete", secret.path, secret.name)
        rotated = [secret.name for secret in secrets if secret.rotation_id]
        if rotated:
            raise RotatedSecret(rotated)
        await store.delete(work, project_id, folder.id)
        shared = [secret for secret in secrets if secret.owner_id == SHARED]
        _announce(work, project_id, environment_id, environment, shared)
        about = {
            "folderId": str(folder.id),
            "folderName": folder.name,
            "folderPath": folder.path,
            "deletedFolders": len(tree),
            "deletedSecrets": [
                {"secretId": str(secret.id), "secretKey": secret.name, "secretPath": secret.path} for secret in shared
            ],
        }
        work.record(record(context, work.origin, project_id, "delete-folder", environment, parent, **about))
        await work.commit()
    return folder


def _announce(
    work: UnitOfWork, project_id: UUID, environment_id: UUID, environment: str, secrets: Sequence[Any]
) -> None:
    by_folder: dict[tuple[UUID, str], list[ChangedSecret]] = {}
    for secret in secrets:
        changed = ChangedSecret(id=secret.id, key=secret.name, version=secret.version, change="deleted")
        by_folder.setdefault((secret.folder_id, secret.path), []).append(changed)
    for (folder_id, path), changes in by_folder.items():
        work.send(
            SecretsChanged(
                project_id=project_id,
                environment_id=environment_id,
                environment=environment,
                folder_id=folder_id,
                path=path,
                secrets=changes,
            )
        )


def _environment_of(rows: Sequence[Any]) -> tuple[UUID, UUID, str]:
    return rows[0]["project_id"], rows[0]["environment_id"], rows[0]["environment"]


async def _lock_environment(work: UnitOfWork, project_id: UUID, environment_id: UUID, environment: str) -> None:
    if await work.row(LOCK_ENVIRONMENT, {"project_id": project_id, "id": environment_id}) is None:
        raise EnvironmentNotFound(environment)


def _id_of(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
