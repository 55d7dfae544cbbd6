"""What requests about secrets may say (wire-secrets 2 to 4): v3 and v4 differ in how they name the project."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field

from strongroom_common.http.models import Body, Flag, SecretName
from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.kernel.secret import Secret
from strongroom_secrets.api.fields import (
    KnownName,
    NewProject,
    NewProjectQuery,
    OldProject,
    OldProjectQuery,
    Path,
    PlaceBody,
    PlaceQuery,
    TagIds,
)
from strongroom_secrets.domain.metadata import MetadataEntry, parse_filter
from strongroom_secrets.domain.places import parse_path
from strongroom_secrets.domain.secrets import (
    UNCHANGED,
    BatchMode,
    NewSecret,
    SecretChange,
    Unchanged,
    parse_new_name,
    tidy_value,
)
from strongroom_secrets.usecases.read_secrets import GetSecret, ListSecrets, Overrides

SecretType = Literal["shared", "personal"]

_IMPORTS = AliasChoices("include_imports", "includeImports")
LARGEST_INT = 2**31 - 1


def _text(value: Any) -> Any:
    return "" if value is None else value


def _days(value: Any) -> Any:
    """A JSON number without a fraction; 0 means that there is no reminder."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value == 0 and not isinstance(value, bool) else value


Value = Annotated[str, AfterValidator(tidy_value)]
Comment = Annotated[str, BeforeValidator(_text), AfterValidator(str.strip)]
Note = Annotated[str, Field(max_length=1024)]
Days = Annotated[Annotated[int, Field(ge=1, le=36_500)] | None, BeforeValidator(_days)]


class SecretMetadata(Body):
    """One entry of a secret's metadata."""

    key: Annotated[str, AfterValidator(str.strip), Field(min_length=1, max_length=255)]
    value: Annotated[str, AfterValidator(str.strip), Field(max_length=1020, repr=False)] = ""
    is_encrypted: bool = False

    def to_entry(self) -> MetadataEntry:
        """The entry that is meant."""
        return MetadataEntry(self.key, self.value, self.is_encrypted)


# --- queries ----------------------------------------------------------------------------------------------------------


class _ListQuery(PlaceQuery):
    view_secret_value: Flag = True
    recursive: Flag = False
    tag_slugs: str = ""
    metadata_filter: str = ""

    def _tags(self) -> tuple[str, ...]:
        return tuple(slug.strip() for slug in self.tag_slugs.split(",") if slug.strip())

    def _wanted(self, project: OldProjectQuery | NewProjectQuery, overrides: Overrides) -> ListSecrets:
        return ListSecrets(
            which=project.project(),
            environment=self.slug(),
            path=parse_path(self.secret_path),
            is_recursive=self.recursive,
            are_values_shown=self.view_secret_value,
            overrides=overrides,
            tag_slugs=self._tags(),
            metadata=parse_filter(self.metadata_filter),
        )


class ListSecretsV3(_ListQuery, OldProjectQuery):
    """GET /api/v3/secrets/raw: shared secrets and the caller's overrides, side by side."""

    expand_secret_references: Flag = False
    include_imports: Flag = Field(False, validation_alias=_IMPORTS)

    def to_question(self) -> ListSecrets:
        """The question that it puts."""
        return self._wanted(self, "beside")


class ListSecretsV4(_ListQuery, NewProjectQuery):
    """GET /api/v4/secrets: shared secrets; overrides take their place when asked for."""

    expand_secret_references: Flag = True
    include_imports: Flag = Field(True, validation_alias=_IMPORTS)
    include_personal_overrides: Flag = False

    def to_question(self) -> ListSecrets:
        """The question that it puts."""
        return self._wanted(self, "instead" if self.include_personal_overrides else "none")


class _GetQuery(PlaceQuery):
    version: Annotated[int | None, Field(ge=1, le=LARGEST_INT)] = None
    type: SecretType = "shared"
    view_secret_value: Flag = True

    def _wanted(self, project: OldProjectQuery | NewProjectQuery, name: str) -> GetSecret:
        return GetSecret(
            which=project.project(),
            environment=self.slug(),
            path=parse_path(self.secret_path),
            name=name,
            version=self.version,
            is_personal=self.type == "personal",
            is_value_shown=self.view_secret_value,
        )


class GetSecretV3(_GetQuery, OldProjectQuery):
    """GET /api/v3/secrets/raw/{secretName}"""

    expand_secret_references: Flag = False
    include_imports: Flag = Field(False, validation_alias=_IMPORTS)

    def to_question(self, name: str) -> GetSecret:
        """The question that it puts."""
        return self._wanted(self, name)


class GetSecretV4(_GetQuery, NewProjectQuery):
    """GET /api/v4/secrets/{secretName}"""

    expand_secret_references: Flag = True
    include_imports: Flag = Field(True, validation_alias=_IMPORTS)

    def to_question(self, name: str) -> GetSecret:
        """The question that it puts."""
        return self._wanted(self, name)


# --- create -----------------------------------------------------------------------------------------------------------


class _NewFields(Body):
    secret_value: Value = Field(repr=False)
    secret_comment: Comment = Field("", repr=False)
    secret_metadata: tuple[SecretMetadata, ...] | None = None
    tag_ids: TagIds = Field(default_factory=list)
    skip_multiline_encoding: bool | None = None
    secret_reminder_repeat_days: Days = None
    secret_reminder_note: Note | None = None

    def to_new(self, name: str) -> NewSecret:
        """The secret to be made."""
        return NewSecret(
            name=name,
            value=Secret(self.secret_value),
            comment=self.secret_comment,
            metadata=tuple(entry.to_entry() for entry in self.secret_metadata or ()),
            skip_multiline_encoding=bool(self.skip_multiline_encoding),
            reminder_note=self.secret_reminder_note or None,
            reminder_repeat_days=self.secret_reminder_repeat_days,
            tag_ids=tuple(self.tag_ids),
        )


class _Create(_NewFields, PlaceBody):
    type: SecretType = "shared"


class CreateSecretV3(_Create, OldProject):
    """POST /api/v3/secrets/raw/{secretName}"""


class CreateSecretV4(_Create, NewProject):
    """POST /api/v4/secrets/{secretName}"""


class NewSecretItem(_NewFields):
    """One secret of a batch."""

    secret_key: SecretName


class _CreateMany(PlaceBody):
    secrets: Annotated[tuple[NewSecretItem, ...], Field(min_length=1)]


class CreateSecretsV3(_CreateMany, OldProject):
    """POST /api/v3/secrets/batch/raw"""


class CreateSecretsV4(_CreateMany, NewProject):
    """POST /api/v4/secrets/batch"""


# --- update -----------------------------------------------------------------------------------------------------------


class _ChangeFields(Body):
    secret_value: Value | None = Field(None, repr=False)
    secret_comment: Annotated[str, AfterValidator(str.strip)] | None = Field(None, repr=False)
    new_secret_name: str | None = None
    secret_metadata: tuple[SecretMetadata, ...] | None = None
    tag_ids: list[str] | None = None
    skip_multiline_encoding: bool | None = None
    secret_reminder_repeat_days: Days = None
    secret_reminder_note: Note | None = None

    def to_change(self, name: str, path: str, place: tuple[str | int, ...] = ()) -> SecretChange:
        """The change that is meant; `place` is where in the body it stands."""
        sent = self.model_fields_set
        note: str | Unchanged | None = self.secret_reminder_note or None
        return SecretChange(
            name=name,
            path=path,
            new_name=self._new_name(place),
            value=None if self.secret_value is None else Secret(self.secret_value),
            comment=self.secret_comment,
            metadata=(
                None if self.secret_metadata is None else tuple(entry.to_entry() for entry in self.secret_metadata)
            ),
            skip_multiline_encoding=self.skip_multiline_encoding,
            reminder_note=note if "secret_reminder_note" in sent else UNCHANGED,
            reminder_repeat_days=(
                self.secret_reminder_repeat_days if "secret_reminder_repeat_days" in sent else UNCHANGED
            ),
            tag_ids=None if self.tag_ids is None else tuple(self.tag_ids),
        )

    def _new_name(self, place: tuple[str | int, ...]) -> str | None:
        if self.new_secret_name is None:
            return None
        if not self.new_secret_name.strip():
            raise InvalidInput("newSecretName must not be empty")
        return parse_new_name(self.new_secret_name, [*place, "newSecretName"])


class _Update(_ChangeFields, PlaceBody):
    type: SecretType = "shared"


class UpdateSecretV3(_Update, OldProject):
    """PATCH /api/v3/secrets/raw/{secretName}"""


class UpdateSecretV4(_Update, NewProject):
    """PATCH /api/v4/secrets/{secretName}"""


class ChangedSecretItem(_ChangeFields):
    """One change of a batch."""

    secret_key: KnownName
    secret_path: Path | None = None


class _UpdateMany(PlaceBody):
    mode: BatchMode = "failOnNotFound"
    secrets: Annotated[tuple[ChangedSecretItem, ...], Field(min_length=1)]

    def to_changes(self) -> list[SecretChange]:
        """The changes that are meant, each at its own path."""
        return [
            item.to_change(
                item.secret_key,
                parse_path(self.secret_path if item.secret_path is None else item.secret_path),
                ("secrets", index),
            )
            for index, item in enumerate(self.secrets)
        ]


class UpdateSecretsV3(_UpdateMany, OldProject):
    """PATCH /api/v3/secrets/batch/raw"""


class UpdateSecretsV4(_UpdateMany, NewProject):
    """PATCH /api/v4/secrets/batch"""


# --- delete -----------------------------------------------------------------------------------------------------------


class _Delete(PlaceBody):
    type: SecretType = "shared"


class DeleteSecretV3(_Delete, OldProject):
    """DELETE /api/v3/secrets/raw/{secretName}"""


class DeleteSecretV4(_Delete, NewProject):
    """DELETE /api/v4/secrets/{secretName}"""


class DeletedSecretItem(Body):
    """One secret of a batch."""

    secret_key: KnownName
    type: SecretType = "shared"


class _DeleteMany(PlaceBody):
    secrets: Annotated[tuple[DeletedSecretItem, ...], Field(min_length=1)]


class DeleteSecretsV3(_DeleteMany, OldProject):
    """DELETE /api/v3/secrets/batch/raw"""


class DeleteSecretsV4(_DeleteMany, NewProject):
    """DELETE /api/v4/secrets/batch"""
