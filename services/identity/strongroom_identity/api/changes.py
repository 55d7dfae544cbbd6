"""The body of a change: a field that is absent stays as it is."""

from typing import Any

from pydantic import BaseModel


def given(body: BaseModel, *nullable: str) -> dict[str, Any]:
    """Return what a client sent, by the names of the fields here.

    Null means absent, but in the fields named as `nullable`, where it takes a value away.
    """
    return {
        name: value
        for name in sorted(body.model_fields_set)
        if (value := getattr(body, name)) is not None or name in nullable
    }
