"""What creating, updating and deleting secrets have in common."""

from collections.abc import Iterable
from typing import Literal
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.contracts.secrets import ChangedSecret, SecretsChanged
from strongroom_common.db.database import UnitOfWork
from strongroom_secrets.domain.errors import PersonalByMachine
from strongroom_secrets.domain.places import Place
from strongroom_secrets.domain.secrets import HIDDEN, SHARED, SecretState, SeenSecret
from strongroom_secrets.usecases.rights import SecretRights

Change = tuple[SecretState, Literal["created", "updated", "deleted"], str | None]
"""A state, what happened, and the name before if that was another one."""


def owner_of(caller: Caller, *, is_personal: bool) -> UUID:
    """Say who owns what is written; raises `PersonalByMachine`."""
    if not is_personal:
        return SHARED
    if caller.access.kind != "user":
        raise PersonalByMachine
    return caller.access.subject_id


def seen_by_writer(state: SecretState, path: str, rights: SecretRights) -> SeenSecret:
    """Show a written secret to who wrote it: nobody learns by writing what they may not read."""
    is_own = state.owner_id != SHARED
    is_described = is_own or rights.may("describeSecret", path, state.name, state.tag_slugs)
    is_shown = is_own or rights.may("readValue", path, state.name, state.tag_slugs)
    return SeenSecret(
        facts=state.facts(),
        path=path,
        value=state.value.reveal() if is_shown else HIDDEN,
        is_hidden=not is_shown,
        comment=state.comment if is_described else "",
        metadata=[
            entry if is_shown or not entry.is_encrypted else entry._replace(value=HIDDEN)
            for entry in (state.metadata if is_described else ())
        ],
    )


def announce(work: UnitOfWork, place: Place, changes: Iterable[Change]) -> None:
    """Let the others know when this commits. Personal overrides concern nobody else."""
    changed = [
        ChangedSecret(id=state.id, key=state.name, version=state.version, change=change, previous_key=previous)
        for state, change, previous in changes
        if state.owner_id == SHARED
    ]
    if changed:
        work.send(
            SecretsChanged(
                project_id=place.project_id,
                environment_id=place.environment_id,
                environment=place.environment,
                folder_id=place.folder_id,
                path=place.path,
                secrets=changed,
            )
        )
