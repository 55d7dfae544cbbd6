"""The registry of a family of kinds: one module per kind, found by importing the family's folder."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Generic, TypeVar

K = TypeVar("K")


class Kinds(Mapping[str, K], Generic[K]):
    """The kinds of one family by name. The file's name, with hyphens for underscores, is the kind's name."""

    def __init__(self, kinds: Mapping[str, K]) -> None:
        self._kinds = dict(kinds)

    @classmethod
    def found_in(cls, family: ModuleType, base: type[K]) -> "Kinds[K]":
        """Import every module of the folder and take its `KIND`; one that fails to import stops the start."""
        kinds: dict[str, K] = {}
        for module_info in pkgutil.iter_modules(family.__path__):
            module = importlib.import_module(f"{family.__name__}.{module_info.name}")
            kind = getattr(module, "KIND", None)
            if not isinstance(kind, base):
                raise TypeError(f"{module.__name__} must define KIND as an instance of {base.__name__}")
            kinds[module_info.name.replace("_", "-")] = kind
        return cls(kinds)

    def __getitem__(self, name: str) -> K:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)
