"""A secret, the next state of it, and how its reader sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Protocol
from uuid import UUID

from strongroom_common.contracts.envelopes import Actor
from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.names import BadName, canonical_secret_name
from strongroom_common.kernel.secret import Secret
from strongroom_secrets.domain.metadata import MetadataEntry
from strongroom_secrets.domain.tags import Mark

SHARED: Final = UUID(int=0)
"""The owner of a shared secret. A personal override is owned by its user."""

HIDDEN: Final = "<hidden-by-infisical>"
"""What clients know as a value that they may not see."""

BatchMode = Literal["failOnNotFound", "upsert", "ignore"]

# White space as ECMAScript trims it, since that is what clients compare with. Python's `strip()` also takes U+001C to
# U+001F and U+0085, and leaves U+FEFF.
_WHITE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def tidy_value(value: str) -> str:
    """Trim a value; one that ended with a line break keeps exactly one (wire-secrets 2.3)."""
    trimmed = value.strip(_WHITE)
    return trimmed + "\n" if value.endswith("\n") else trimmed


def is_upper_case(name: str) -> bool:
    """Say whether the name has no lower-case letter."""
    return name == name.upper()


def parse_new_name(name: str, path: Sequence[str | int]) -> str:
    """Return the one spelling of a new secret's name; raises `InvalidInput` (422) that names the field at `path`."""
    try:
        return canonical_secret_name(name)
    except BadName as error:
        raise InvalidInput.of_field(path, "custom", str(error)) from None


class Unchanged:
    """Stands for a field that an update does not mention, where None means that it is taken away."""


UNCHANGED: Final = Unchanged()


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret to be made."""

    name: str
    value: Secret
    comment: str = ""
    metadata: tuple[MetadataEntry, ...] = ()
    skip_multiline_encoding: bool = False
    reminder_note: str | None = None
    reminder_repeat_days: int | None = None
    tag_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretChange:
    """What an update says about one secret. None means: not mentioned."""

    name: str
    path: str
    new_name: str | None = None
    value: Secret | None = None
    comment: str | None = None
    metadata: tuple[MetadataEntry, ...] | None = None
    skip_multiline_encoding: bool | None = None
    reminder_note: str | Unchanged | None = UNCHANGED
    reminder_repeat_days: int | Unchanged | None = UNCHANGED
    tag_ids: tuple[str, ...] | None = None

    @property
    def renamed_to(self) -> str | None:
        """The name that it shall have from now on, if that is another one."""
        return self.new_name if self.new_name != self.name else None

    def as_new(self, name: str) -> NewSecret:
        """The secret that an upsert makes of it."""
        return NewSecret(
            name=name,
            value=self.value or Secret(""),
            comment=self.comment or "",
            metadata=self.metadata or (),
            skip_multiline_encoding=bool(self.skip_multiline_encoding),
            reminder_note=None if isinstance(self.reminder_note, Unchanged) else self.reminder_note,
            reminder_repeat_days=(
                None if isinstance(self.reminder_repeat_days, Unchanged) else self.reminder_repeat_days
            ),
            tag_ids=self.tag_ids or (),
        )


@dataclass(frozen=True, slots=True)
class SecretState:
    """A secret as it is stored, opened."""

    id: UUID
    folder_id: UUID
    name: str
    owner_id: UUID
    version: int
    value: Secret
    comment: str
    metadata: tuple[MetadataEntry, ...]
    skip_multiline_encoding: bool
    reminder_note: str | None
    reminder_repeat_days: int | None
    rotation_id: UUID | None
    created_at: datetime
    updated_at: datetime
    actor: Actor
    tags: tuple[Mark, ...] = ()

    @classmethod
    def new(
        cls,
        secret_id: UUID,
        folder_id: UUID,
        owner_id: UUID,
        secret: NewSecret,
        actor: Actor,
        now: datetime,
        tags: tuple[Mark, ...] = (),
    ) -> "SecretState":
        """The first version."""
        return cls(
            id=secret_id,
            folder_id=folder_id,
            name=secret.name,
            owner_id=owner_id,
            version=1,
            value=secret.value,
            comment=secret.comment,
            metadata=secret.metadata,
            skip_multiline_encoding=secret.skip_multiline_encoding,
            reminder_note=secret.reminder_note,
            reminder_repeat_days=secret.reminder_repeat_days,
            rotation_id=None,
            created_at=now,
            updated_at=now,
            actor=actor,
            tags=tags,
        )

    @property
    def tag_slugs(self) -> tuple[str, ...]:
        """What rules ask of its tags."""
        return tuple(tag.slug for tag in self.tags)

    def after(
        self, change: SecretChange, actor: Actor, now: datetime, tags: tuple[Mark, ...] | None = None
    ) -> "SecretState":
        """The next version: what the change does not mention stays, and the tags where none are given."""
        return replace(
            self,
            name=change.new_name or self.name,
            version=self.version + 1,
            value=self.value if change.value is None else change.value,
            comment=self.comment if change.comment is None else change.comment,
            metadata=self.metadata if change.metadata is None else change.metadata,
            skip_multiline_encoding=(
                self.skip_multiline_encoding
                if change.skip_multiline_encoding is None
                else change.skip_multiline_encoding
            ),
            reminder_note=(self.reminder_note if isinstance(change.reminder_note, Unchanged) else change.reminder_note),
            reminder_repeat_days=(
                self.reminder_repeat_days
                if isinstance(change.reminder_repeat_days, Unchanged)
                else change.reminder_repeat_days
            ),
            updated_at=now,
            actor=actor,
            tags=self.tags if tags is None else tags,
        )

    def facts(self) -> Mapping[str, Any]:
        """The plain facts, by the names that a row of the store has for them."""
        return {
            "id": self.id,
            "name": self.name,
            "owner_id": self.owner_id,
            "version": self.version,
            "skip_multiline_encoding": self.skip_multiline_encoding,
            "reminder_note": self.reminder_note,
            "reminder_repeat_days": self.reminder_repeat_days,
            "rotation_id": self.rotation_id,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "actor_kind": self.actor.kind,
            "actor_id": self.actor.id,
            "actor_name": self.actor.name,
        }


class Facts(Protocol):
    """A row: whatever gives a field for its name."""

    def __getitem__(self, name: str, /) -> Any: ...


class SeenSecret(NamedTuple):
    """A secret as one reader may see it. A list makes thousands of these, so it is as light as can be."""

    facts: Facts
    path: str
    value: str
    is_hidden: bool
    comment: str
    metadata: Sequence[MetadataEntry]

    def __repr__(self) -> str:
        return f"SeenSecret({self.facts['id']})"
