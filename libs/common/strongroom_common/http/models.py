"""What wire models are made of: camel case outside, snake case inside, canonical values from the first line on."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from strongroom_common.kernel import names
from strongroom_common.kernel.clock import wire_instant


class Body(BaseModel):
    """A request body. Unknown keys are dropped; JSON types are not bent into others."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class QueryString(Body):
    """A query string: every value arrives as text and is read as its field's type."""


class View(BaseModel):
    """A response. Only declared fields leave."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class NoBody(Body):
    """The endpoint takes no body; one that is sent is not read."""


class NoQuery(QueryString):
    """The endpoint takes no query."""


def _checked(rule: Callable[[str], str]) -> AfterValidator:
    def check(text: str) -> str:
        return rule(text)

    return AfterValidator(check)


def _none_if_empty(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


def _flag(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    lowered = value.strip().lower() if isinstance(value, str) else None
    if lowered == "true":
        return True
    if lowered == "false":
        return False
    raise ValueError("must be true or false")


Instant = Annotated[datetime, PlainSerializer(wire_instant, return_type=str)]
"""A timestamp in a response."""

Title = Annotated[
    str, _checked(lambda text: names.canonical_text(text, longest=255, label="text")), Field(min_length=1)
]
"""A name for people: trimmed, one line, 1 to 255 characters."""

Description = Annotated[str, _checked(lambda text: text.strip().replace("\x00", "")), Field(max_length=1000)]
"""Free text for people."""

Slug = Annotated[str, _checked(names.canonical_slug)]
"""Lower-case letters, digits and single hyphens, at most 64."""

Email = Annotated[str, Field(min_length=1), _checked(names.canonical_email)]
"""One mailbox in its one spelling."""

FolderPath = Annotated[str, _checked(names.canonical_folder_path)]
"""`/` or `/a/b`."""

SecretName = Annotated[str, _checked(names.canonical_secret_name)]
"""The name of a new secret."""

Flag = Annotated[bool, BeforeValidator(_flag)]
"""A boolean in a query string: `true` or `false` in any case."""

OptionalText = Annotated[str | None, BeforeValidator(_none_if_empty)]
"""Text where an empty value means that there is none."""
