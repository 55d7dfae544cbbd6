"""Deleting secrets of one folder, all or none. Their versions stay."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from strongroom_common.access.callers import Caller
from strongroom_common.contracts.envelopes import Origin
from strongroom_secrets.domain.errors import FolderNotFound, NamedTwice, RotatedSecret, SecretNotFound
from strongroom_secrets.domain.places import ProjectRef
from strongroom_secrets.domain.secrets import SHARED
from strongroom_secrets.domain.tags import slugs_of
from strongroom_secrets.store import secrets as store
from strongroom_secrets.usecases.context import SecretsContext
from strongroom_secrets.usecases.places import find_places, lock
from strongroom_secrets.usecases.read_secrets import SecretsAt
from strongroom_secrets.usecases.rights import SecretRights
from strongroom_secrets.usecases.seals import read_states
from strongroom_secrets.usecases.trails import about_change, about_many, record
from strongroom_secrets.usecases.writing import announce, owner_of, seen_by_writer


@dataclass(frozen=True, slots=True)
class DeleteSecrets:
    """Secrets of one folder, each by its name and whether the caller's personal override is meant."""

    which: ProjectRef
    environment: str
    path: str
    secrets: Sequence[tuple[str, bool]]
    is_batch: bool = True


async def delete_secrets(context: SecretsContext, caller: Caller, origin: Origin, order: DeleteSecrets) -> SecretsAt:
    """Delete them all, the overrides of a shared one with it. Raises `SecretNotFound` that names what is missing."""
    wanted = [(name, owner_of(caller, is_personal=is_personal)) for name, is_personal in order.secrets]
    repeated = [name for (name, _), count in Counter(wanted).items() if count > 1]
    if repeated:
        raise NamedTwice(repeated)
    standing, places = await find_places(context, caller, origin, order.which, order.environment, [order.path])
    place = places.get(order.path)
    if place is None:
        raise FolderNotFound(order.path)
    rights = SecretRights(standing, place.environment)
    for name, _ in wanted:
        rights.require_with_some_tags("delete", place.path, name)

    async with context.database.begin(origin.in_project(place.project_id)) as work:
        await lock(work, [place])
        names, owners = [name for name, _ in wanted], list({owner for _, owner in wanted})
        rows = await store.find_named(work, place.project_id, [place.folder_id], names, owners)
        there = {(row.name, row.owner_id): row for row in rows}
        for spot in wanted:
            rights.require("delete", place.path, spot[0], slugs_of(there[spot].tags) if spot in there else ())
        missing = [name for name, owner in wanted if (name, owner) not in there]
        if missing:
            raise SecretNotFound.named(missing, place.path)
        chosen = [there[spot] for spot in wanted]
        rotated = [row.name for row in chosen if row.rotation_id]
        if rotated:
            raise RotatedSecret(rotated)
        states = await read_states(context, place.project_id, chosen)
        await store.delete(
            work,
            place,
            [state.name for state in states if state.owner_id == SHARED],
            [state.id for state in states if state.owner_id != SHARED],
            context.clock.now(),
        )
        answer = [seen_by_writer(state, place.path, rights) for state in states]
        announce(work, place, [(state, "deleted", None) for state in states])
        event, about = (
            ("delete-secrets", about_many(answer)) if order.is_batch else ("delete-secret", about_change(answer[0]))
        )
        work.record(record(context, work.origin, place.project_id, event, place.environment, place.path, **about))
        await work.commit()
    return SecretsAt(place.project_id, place.environment, answer)
