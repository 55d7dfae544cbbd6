"""Updating secrets: any number in several folders of one environment, all or none."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.ids import new_id
from strongroom_secrets.domain.errors import (
    FolderNotFound,
    LowerCaseName,
    NamedTwice,
    PersonalRename,
    RotatedSecret,
    SecretNotFound,
    SecretsExist,
    listed,
)
from strongroom_secrets.domain.places import Place, ProjectRef
from strongroom_secrets.domain.secrets import (
    SHARED,
    BatchMode,
    SecretChange,
    SecretState,
    is_upper_case,
    parse_new_name,
)
from strongroom_secrets.domain.tags import slugs_of
from strongroom_secrets.store import secrets as store
from strongroom_secrets.usecases.context import SecretsContext
from strongroom_secrets.usecases.places import find_places, lock
from strongroom_secrets.usecases.read_secrets import SecretsAt
from strongroom_secrets.usecases.rights import SecretRights
from strongroom_secrets.usecases.seals import read_states, seal
from strongroom_secrets.usecases.tags import hold_tags
from strongroom_secrets.usecases.trails import about_change, about_many, record
from strongroom_secrets.usecases.writing import Change, announce, owner_of, seen_by_writer


@dataclass(frozen=True, slots=True)
class UpdateSecrets:
    """Changes of secrets in one environment."""

    which: ProjectRef
    environment: str
    changes: Sequence[SecretChange]
    mode: BatchMode = "failOnNotFound"
    is_personal: bool = False
    is_batch: bool = True


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a batch comes to: the next states of what is there, and what has to be made."""

    updated: Sequence[tuple[SecretChange, SecretState, SecretState]]
    created: Sequence[SecretState]


async def update_secrets(context: SecretsContext, caller: Caller, origin: Origin, order: UpdateSecrets) -> SecretsAt:
    """Change them all; each gets a new version. What is missing is refused, made or skipped, as the mode says."""
    owner_id = owner_of(caller, is_personal=order.is_personal)
    spots = Counter((change.path, change.name) for change in order.changes)
    repeated = [name for (_, name), count in spots.items() if count > 1]
    if repeated:
        raise NamedTwice(repeated)
    if order.is_personal and any(change.renamed_to for change in order.changes):
        raise PersonalRename
    paths = {change.path for change in order.changes}
    standing, places = await find_places(context, caller, origin, order.which, order.environment, paths)
    unknown = sorted(paths - places.keys())
    if unknown:
        raise FolderNotFound(listed(unknown))
    place = next(iter(places.values()))
    rights = SecretRights(standing, place.environment)
    if order.mode != "upsert":
        # Asked before it is said which of them are there. An upsert needs the one right or the other for each.
        for change in order.changes:
            rights.require_with_some_tags("edit", change.path, change.name)

    async with context.database.begin(origin.in_project(place.project_id)) as work:
        await lock(work, list(places.values()))
        plan = await _plan(context, work, caller, order, places, owner_id, rights)
        if plan.updated or plan.created:
            await _write(context, work, plan, list(places.values()))
        answers = [seen_by_writer(after, change.path, rights) for change, _, after in plan.updated]
        by_folder = {found.folder_id: found for found in places.values()}
        created = [seen_by_writer(state, by_folder[state.folder_id].path, rights) for state in plan.created]
        for found in places.values():
            announce(work, found, _changes_in(found, plan))
        for event, done in (("update-secrets", answers), ("create-secrets", created)):
            if done:
                path = order.changes[0].path if len(paths) == 1 else ""
                name, about = (event, about_many(done)) if order.is_batch else (event[:-1], about_change(done[0]))
                work.record(record(context, work.origin, place.project_id, name, place.environment, path, **about))
        await work.commit()
    return SecretsAt(place.project_id, place.environment, [*answers, *created])


async def _plan(
    context: SecretsContext,
    work: UnitOfWork,
    caller: Caller,
    order: UpdateSecrets,
    places: Mapping[str, Place],
    owner_id: UUID,
    rights: SecretRights,
) -> _Plan:
    """Decide, under the folders' locks, what becomes of each change; raise for what cannot be."""
    place = next(iter(places.values()))
    marks_for = await hold_tags(work, place.project_id, [change.tag_ids for change in order.changes])
    names = {change.name for change in order.changes} | {c.renamed_to for c in order.changes if c.renamed_to}
    folder_ids = [found.folder_id for found in places.values()]
    rows = await store.find_named(work, place.project_id, folder_ids, sorted(names), [owner_id])
    there = {(row.folder_id, row.name): row for row in rows}
    wanted = [(change, there.get((places[change.path].folder_id, change.name))) for change in order.changes]

    missing = [change for change, row in wanted if row is None]
    if order.mode != "upsert":
        for change in missing:
            rights.require("edit", change.path, change.name)
    found = [(change, row) for change, row in wanted if row is not None]
    for change, known in found:
        tags = slugs_of(known.tags)
        rights.require("edit", change.path, change.name, tags)
        # What it becomes must be within the caller's rights as well as what it is.
        new_tags = tags if change.tag_ids is None else [mark.slug for mark in marks_for(change.tag_ids)]
        rights.require("edit", change.path, change.renamed_to or change.name, new_tags)
    if missing and order.mode == "failOnNotFound":
        raise SecretNotFound.named([change.name for change in missing], listed(sorted({c.path for c in missing})))
    rotated = [
        change.name for change, row in found if row.rotation_id and (change.value is not None or change.renamed_to)
    ]
    if rotated:
        raise RotatedSecret(rotated)

    claims = [(row.folder_id, change.renamed_to, change.path) for change, row in found if change.renamed_to]
    now = context.clock.now()
    created: list[SecretState] = []
    if order.mode == "upsert":
        for index, (change, row) in enumerate(wanted):
            if row is None:
                name = parse_new_name(change.name, ["secrets", index, "secretKey"])
                new, marks = change.as_new(name), marks_for(change.tag_ids or ())
                rights.require("create", change.path, name, [mark.slug for mark in marks])
                folder_id = places[change.path].folder_id
                claims.append((folder_id, name, change.path))
                created.append(SecretState.new(new_id(), folder_id, owner_id, new, caller.actor, now, marks))
    _verify_claims(claims, there.keys(), is_upper_case_only=place.is_upper_case_only)

    before = await read_states(context, place.project_id, [row for _, row in found])
    updated = [
        (
            change,
            state,
            state.after(change, caller.actor, now, None if change.tag_ids is None else marks_for(change.tag_ids)),
        )
        for (change, _), state in zip(found, before, strict=True)
    ]
    return _Plan(updated, created)


def _verify_claims(
    claims: Sequence[tuple[UUID, str, str]], there: Collection[tuple[UUID, str]], *, is_upper_case_only: bool
) -> None:
    """Refuse new names (folder, name, path) that are taken, be it by another item of the same request."""
    counts = Counter((folder_id, name) for folder_id, name, _ in claims)
    taken = [
        (name, path) for folder_id, name, path in claims if (folder_id, name) in there or counts[folder_id, name] > 1
    ]
    if taken:
        raise SecretsExist([name for name, _ in taken], listed(sorted({path for _, path in taken})))
    lower_case = [name for _, name, _ in claims if is_upper_case_only and not is_upper_case(name)]
    if lower_case:
        raise LowerCaseName(lower_case)


async def _write(context: SecretsContext, work: UnitOfWork, plan: _Plan, places: Sequence[Place]) -> None:
    project_id = places[0].project_id
    key = await context.data_keys.active(work, project_id)
    if plan.updated:
        await store.update(work, [seal(key, project_id, after) for _, _, after in plan.updated], places)
        renames = [
            (after.folder_id, before.name, after.name)
            for _, before, after in plan.updated
            if before.name != after.name and before.owner_id == SHARED
        ]
        if renames:
            await store.rename_overrides(work, project_id, renames)
    if plan.created:
        await store.insert(work, [seal(key, project_id, state) for state in plan.created], places)


def _changes_in(place: Place, plan: _Plan) -> list[Change]:
    changes: list[Change] = [
        (after, "updated", before.name if before.name != after.name else None)
        for _, before, after in plan.updated
        if after.folder_id == place.folder_id
    ]
    changes += [(state, "created", None) for state in plan.created if state.folder_id == place.folder_id]
    return changes
