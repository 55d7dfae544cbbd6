"""Reading secrets: one statement, one pass over the seals, and the audit record before anything leaves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from strongroom_common.access.callers import Caller, Standing
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.kernel.errors import Forbidden
from strongroom_secrets.domain.errors import FolderNotFound, SecretNotFound
from strongroom_secrets.domain.metadata import is_wanted
from strongroom_secrets.domain.places import ProjectRef, below
from strongroom_secrets.domain.secrets import SHARED, Facts, SeenSecret
from strongroom_secrets.domain.tags import slugs_of
from strongroom_secrets.store.secrets import FIND_BY_ID, FIND_BY_NAME, FIND_VERSION, LIST_IN_FOLDER, LIST_RECURSIVELY
from strongroom_secrets.usecases.context import SecretsContext
from strongroom_secrets.usecases.places import Rows, look_up
from strongroom_secrets.usecases.rights import SECRETS, SecretRights
from strongroom_secrets.usecases.seals import see
from strongroom_secrets.usecases.trails import about_one, record

Overrides = Literal["none", "beside", "instead"]
"""What a list does with the caller's personal overrides: leaves them out, shows them next to the shared secrets, or in
their place."""


@dataclass(frozen=True, slots=True)
class ListSecrets:
    """Which secrets, and how much of them."""

    which: ProjectRef
    environment: str
    path: str
    is_recursive: bool = False
    are_values_shown: bool = True
    overrides: Overrides = "none"
    tag_slugs: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GetSecret:
    """Which secret, which version of it, and whether its value is wanted."""

    which: ProjectRef
    environment: str
    path: str
    name: str
    version: int | None = None
    is_personal: bool = False
    is_value_shown: bool = True


@dataclass(frozen=True, slots=True)
class SecretsAt:
    """Secrets of one environment, as a reader sees them."""

    project_id: UUID
    environment: str
    secrets: Sequence[SeenSecret]


async def list_secrets(context: SecretsContext, caller: Caller, origin: Origin, wanted: ListSecrets) -> SecretsAt:
    """Return the secrets of a folder, or of all folders below it, too. An unknown folder holds none."""
    owners = [SHARED] if wanted.overrides == "none" else [SHARED, _owner(caller, is_personal=True)]
    bounds = below(wanted.path) if wanted.is_recursive else ()
    standing, rows = await look_up(
        context,
        caller,
        origin,
        wanted.which,
        wanted.environment,
        LIST_RECURSIVELY if wanted.is_recursive else LIST_IN_FOLDER,
        wanted.path,
        owners,
        *bounds,
    )
    # Nobody may list who could not see any secret anywhere; who sees some gets those.
    standing.require("describeSecret", SECRETS)
    project_id, environment = rows[0]["project_id"], rows[0]["environment"]
    chosen = _replaced(rows) if wanted.overrides == "instead" else rows
    shown = list(_visible(standing, environment, chosen, wanted))
    secrets = await see(context, project_id, shown)
    await context.trail.note(
        record(
            context,
            origin,
            project_id,
            "get-secrets",
            environment,
            wanted.path,
            numberOfSecrets=len(secrets),
            isRecursive=wanted.is_recursive,
        )
    )
    return SecretsAt(project_id, environment, secrets)


async def get_secret(context: SecretsContext, caller: Caller, origin: Origin, wanted: GetSecret) -> SecretsAt:
    """Return one secret by its name, or an old version of what has or had that name. Raises `SecretNotFound`."""
    arguments = [wanted.path, wanted.name, _owner(caller, is_personal=wanted.is_personal)]
    if wanted.version is not None:
        arguments.append(wanted.version)
    standing, rows = await look_up(
        context,
        caller,
        origin,
        wanted.which,
        wanted.environment,
        FIND_BY_NAME if wanted.version is None else FIND_VERSION,
        *arguments,
    )
    row = rows[0]
    environment = row["environment"]
    # Asked before it is said whether the secret is there.
    rights = SecretRights(standing, environment)
    tags = slugs_of(row["tags" if wanted.version is None else "tags_at_last"])
    rights.require("describeSecret", wanted.path, wanted.name, tags)
    if row["folder_id"] is None:
        raise FolderNotFound(wanted.path)
    if row["id"] is None:
        raise SecretNotFound.named([wanted.name], wanted.path)
    is_shown = wanted.is_personal or wanted.is_value_shown
    if is_shown and not wanted.is_personal:
        rights.require("readValue", wanted.path, wanted.name, tags)
    return await _one(
        context,
        origin,
        row["project_id"],
        environment,
        (row, wanted.path, is_shown),
        is_version=wanted.version is not None,
    )


async def get_secret_by_id(context: SecretsContext, caller: Caller, origin: Origin, secret_id: UUID) -> SecretsAt:
    """Return one secret by its id. Raises `SecretNotFound`, also for a secret of another organization."""
    rows = await context.database.fetch(FIND_BY_ID, caller.organization_id, secret_id)
    if not rows:
        raise SecretNotFound("There is no secret with this id in your organization")
    row = rows[0]
    standing = await context.doorkeeper.standing(caller, row["project_id"])
    if row["owner_id"] == SHARED:
        rights = SecretRights(standing, row["environment"])
        tags = slugs_of(row["tags"])
        rights.require("describeSecret", row["path"], row["name"], tags)
        rights.require("readValue", row["path"], row["name"], tags)
    elif row["owner_id"] != caller.access.subject_id:
        raise Forbidden("This is another user's personal secret")
    return await _one(context, origin, row["project_id"], row["environment"], (row, row["path"], True))


async def _one(
    context: SecretsContext,
    origin: Origin,
    project_id: UUID,
    environment: str,
    shown: tuple[Facts, str, bool],
    *,
    is_version: bool = False,
) -> SecretsAt:
    secrets = await see(context, project_id, [shown], are_versions=is_version)
    about = about_one(secrets[0])
    await context.trail.note(record(context, origin, project_id, "get-secret", environment, shown[1], **about))
    return SecretsAt(project_id, environment, secrets)


def _owner(caller: Caller, *, is_personal: bool) -> UUID:
    return caller.access.subject_id if is_personal else SHARED


def _replaced(rows: Rows) -> Rows:
    """Leave out each shared secret that an override stands before: rows come by path, by name, overrides first."""
    kept: Rows = []
    for row in rows:
        if kept and (kept[-1]["path"], kept[-1]["name"]) == (row["path"], row["name"]):
            continue
        kept.append(row)
    return kept


def _visible(
    standing: Standing, environment: str, rows: Rows, wanted: ListSecrets
) -> Iterator[tuple[Facts, str, bool]]:
    """Pick what the caller may see (wire-secrets 6.2), and say of each whether its value is to be shown.

    Raises `PermissionDenied` when values are wanted and one in the very folder asked for may not be read.
    """
    rights = SecretRights(standing, environment)
    for row in rows:
        name = row["name"]
        if name is None or not is_wanted(row["metadata"], wanted.metadata):
            continue
        path, tags = row["path"], slugs_of(row["tags"])
        if wanted.tag_slugs and not any(slug in wanted.tag_slugs for slug in tags):
            continue
        if not rights.may("describeSecret", path, name, tags):
            continue
        if row["owner_id"] != SHARED:
            yield row, path, True
        elif not wanted.are_values_shown:
            yield row, path, False
        elif rights.may("readValue", path, name, tags):
            yield row, path, True
        elif path == wanted.path:
            rights.require("readValue", path, name, tags)
