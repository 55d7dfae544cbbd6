"""Creating secrets: any number in one folder, all or none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from strongroom_common.access.callers import Caller
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.kernel.ids import new_id
from strongroom_secrets.domain.errors import (
    FolderNotFound,
    LowerCaseName,
    NamedTwice,
    NothingToOverride,
    SecretsExist,
)
from strongroom_secrets.domain.places import ProjectRef
from strongroom_secrets.domain.secrets import SHARED, NewSecret, SecretState, is_upper_case
from strongroom_secrets.store import secrets as store
from strongroom_secrets.usecases.context import SecretsContext
from strongroom_secrets.usecases.places import find_places, lock
from strongroom_secrets.usecases.read_secrets import SecretsAt
from strongroom_secrets.usecases.rights import SecretRights
from strongroom_secrets.usecases.seals import seal
from strongroom_secrets.usecases.tags import hold_tags
from strongroom_secrets.usecases.trails import about_change, about_many, record
from strongroom_secrets.usecases.writing import announce, owner_of, seen_by_writer


@dataclass(frozen=True, slots=True)
class CreateSecrets:
    """New secrets of one folder."""

    which: ProjectRef
    environment: str
    path: str
    secrets: Sequence[NewSecret]
    is_personal: bool = False
    is_batch: bool = True


async def create_secrets(context: SecretsContext, caller: Caller, origin: Origin, order: CreateSecrets) -> SecretsAt:
    """Create them all. Raises `SecretsExist` and other refusals, each of which names every bad item."""
    owner_id = owner_of(caller, is_personal=order.is_personal)
    names = [secret.name for secret in order.secrets]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise NamedTwice(repeated)
    standing, places = await find_places(context, caller, origin, order.which, order.environment, [order.path])
    place = places.get(order.path)
    if place is None:
        raise FolderNotFound(order.path)
    rights = SecretRights(standing, place.environment)
    for name in names:
        rights.require_with_some_tags("create", place.path, name)
    lower_case = [name for name in names if place.is_upper_case_only and not is_upper_case(name)]
    if lower_case:
        raise LowerCaseName(lower_case)

    async with context.database.begin(origin.in_project(place.project_id)) as work:
        await lock(work, [place])
        marks_for = await hold_tags(work, place.project_id, [secret.tag_ids for secret in order.secrets])
        now = context.clock.now()
        states = [
            SecretState.new(new_id(), place.folder_id, owner_id, secret, caller.actor, now, marks_for(secret.tag_ids))
            for secret in order.secrets
        ]
        for state in states:
            rights.require("create", place.path, state.name, state.tag_slugs)
        rows = await store.find_named(work, place.project_id, [place.folder_id], names, list({SHARED, owner_id}))
        taken = {row.name for row in rows if row.owner_id == owner_id}
        if taken:
            raise SecretsExist(sorted(taken), place.path)
        if order.is_personal:
            unshared = set(names) - {row.name for row in rows if row.owner_id == SHARED}
            if unshared:
                raise NothingToOverride(sorted(unshared), place.path)
        key = await context.data_keys.active(work, place.project_id)
        await store.insert(work, [seal(key, place.project_id, state) for state in states], [place])
        answer = [seen_by_writer(state, place.path, rights) for state in states]
        announce(work, place, [(state, "created", None) for state in states])
        event, about = (
            ("create-secrets", about_many(answer)) if order.is_batch else ("create-secret", about_change(answer[0]))
        )
        work.record(record(context, work.origin, place.project_id, event, place.environment, place.path, **about))
        await work.commit()
    return SecretsAt(place.project_id, place.environment, answer)
