"""Many OpenAPI documents become one."""

from collections.abc import Mapping, Sequence
from typing import Any

_SCHEMAS = "#/components/schemas/"


def merge(
    title: str, version: str, documents: Mapping[str, Mapping[str, Any]], unavailable: Sequence[str]
) -> dict[str, Any]:
    """Merge the services' documents; a schema `Name` becomes `service.Name`, since two services may share a name."""
    paths: dict[str, dict[str, Any]] = {}
    components: dict[str, dict[str, Any]] = {}
    tags: dict[str, Any] = {}
    for service, original in documents.items():
        document = _renamed(original, service)
        for path, operations in document.get("paths", {}).items():
            known = paths.setdefault(path, {})
            for method, operation in operations.items():
                known.setdefault(method, operation)
        for kind, parts in document.get("components", {}).items():
            known = components.setdefault(kind, {})
            for name, part in parts.items():
                known.setdefault(f"{service}.{name}" if kind == "schemas" else name, part)
        for tag in document.get("tags", ()):
            tags.setdefault(tag["name"], tag)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "servers": [{"url": "/"}],
        "tags": list(tags.values()),
        "paths": dict(sorted(paths.items())),
        "components": components,
        "x-unavailable": sorted(unavailable),
    }


def _renamed(part: Any, service: str) -> Any:
    # Only texts that begin with the address of a schema are references: of `$ref` and of a discriminator's mapping.
    if isinstance(part, dict):
        return {key: _renamed(value, service) for key, value in part.items()}
    if isinstance(part, list):
        return [_renamed(value, service) for value in part]
    if isinstance(part, str) and part.startswith(_SCHEMAS):
        return f"{_SCHEMAS}{service}.{part.removeprefix(_SCHEMAS)}"
    return part
