"""The OpenAPI 3.1 document and the route inventory, both made from the endpoint declarations."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from strongroom_common.http.endpoints import Endpoint
from strongroom_common.http.models import NoBody
from strongroom_common.http.router import template_parameters

_REF = "#/components/schemas/{model}"
_ERRORS = {
    "400": "A business rule is broken, or the request cannot be read.",
    "401": "No token, or one that is unknown, revoked or used up.",
    "403": "The caller may not do this, or the token is malformed or expired.",
    "404": "Absent, or not visible to the caller.",
    "422": "A field fails its rule; `message` is an array of issues, each naming its field.",
}
_ERROR_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["reqId", "statusCode", "error", "message"],
    "properties": {
        "reqId": {"type": "string"},
        "statusCode": {"type": "integer"},
        "error": {"type": "string"},
        "message": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["code", "path", "message"],
                        "properties": {
                            "code": {"type": "string"},
                            "path": {"type": "array", "items": {"type": ["string", "integer"]}},
                            "message": {"type": "string"},
                        },
                    },
                },
            ]
        },
        "details": {},
    },
}


def openapi_document(title: str, endpoints: Iterable[Endpoint], version: str = "1") -> dict[str, Any]:
    """Describe one service's routes."""
    endpoints = tuple(endpoints)
    # All at once: then whatever any model refers to has one definition and one name.
    wanted: dict[tuple[Any, Any], TypeAdapter[Any]] = {}
    for endpoint in endpoints:
        wanted[(endpoint.body, "validation")] = TypeAdapter(endpoint.body)
        wanted[(endpoint.query, "validation")] = TypeAdapter(endpoint.query)
        wanted[(endpoint.returns, "serialization")] = TypeAdapter(endpoint.returns)
    schemas, found = TypeAdapter.json_schemas(
        [(kind, mode, adapter) for (kind, mode), adapter in wanted.items()], ref_template=_REF
    )
    definitions = found.get("$defs", {})
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", endpoint.template)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schemas, definitions)
    for query in {endpoint.query for endpoint in endpoints} | {NoBody}:
        # A query is shown as its fields; nothing refers to it as a whole.
        definitions.pop(_name_of(schemas.get((query, "validation"), {})), None)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": {**definitions, "Error": _ERROR_SCHEMA},
        },
    }


def _operation(endpoint: Endpoint, schemas: Mapping[Any, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "operationId": f"{endpoint.method.lower()}{re.sub(r'[^A-Za-z0-9]+', '_', endpoint.template)}",
        "security": [] if endpoint.is_public else [{"bearer": []}],
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint, schemas, definitions)],
        "responses": {
            "200": {
                "description": "Done.",
                "content": {"application/json": {"schema": schemas[(endpoint.returns, "serialization")]}},
            },
            **{
                status: {
                    "description": text,
                    "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}},
                }
                for status, text in _ERRORS.items()
            },
        },
    }
    if endpoint.body is not NoBody:
        schema = schemas[(endpoint.body, "validation")]
        operation["requestBody"] = {
            "required": True,
            "content": {kind: {"schema": schema} for kind in ("application/json", "application/x-www-form-urlencoded")},
        }
    return operation


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", **({"format": "uuid"} if kind == "uuid" else {})},
        }
        for _, name, kind in template_parameters(endpoint.template)
    ]


def _query_parameters(
    endpoint: Endpoint, schemas: Mapping[Any, Any], definitions: Mapping[str, Any]
) -> list[dict[str, Any]]:
    schema = schemas[(endpoint.query, "validation")]
    schema = definitions.get(_name_of(schema), schema)
    required = set(schema.get("required", ()))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": part}
        for name, part in schema.get("properties", {}).items()
    ]


def _name_of(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


INVENTORY_HEAD = "method\tpath\tservice\tcallers\tpermission\taudit\trate"


def inventory(service: str, endpoints: Iterable[Endpoint]) -> list[str]:
    """One line per route: who may call it, what it needs, what it records. Checked against the file in docs/."""
    return sorted(
        "\t".join(
            (
                endpoint.method,
                endpoint.template,
                service,
                "+".join(sorted(endpoint.callers)) or "PUBLIC",
                endpoint.permission or "-",
                endpoint.audit or "-",
                endpoint.rate,
            )
        )
        for endpoint in endpoints
    )
