"""Between rows and domain values: a field and its column have the same name."""

from dataclasses import fields
from typing import Any, Protocol, TypeVar

from sqlalchemy import Table

V = TypeVar("V")


class Columns(Protocol):
    """A row of either driver, or a JSON object."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column's value."""
        ...


def value_of(kind: type[V], row: Columns, **more: Any) -> V:
    """Make a domain value of the columns that are named like its fields; `more` gives the others."""
    names = (field.name for field in fields(kind) if field.init and field.name not in more)  # type: ignore[arg-type]  # V is a dataclass
    return kind(**{name: row[name] for name in names}, **more)


def columns_of(table: Table, value: Any) -> dict[str, Any]:
    """The columns of a table that a domain value has fields for."""
    return {column.name: getattr(value, column.name) for column in table.columns if hasattr(value, column.name)}
