"""The OpenAPI 3.1 document and the route inventory, both made from the endpoint declarations."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from strongroom_common.http.endpoints import Endpoint
from strongroom_common.http.models import NoBody, NoQuery
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
    inputs: set[type[BaseModel]] = set()
    outputs: set[type[BaseModel]] = set()
    for endpoint in endpoints:
        if endpoint.body is not NoBody:
            inputs.add(endpoint.body)
        if isinstance(endpoint.returns, type) and issubclass(endpoint.returns, BaseModel):
            outputs.add(endpoint.returns)
    modes: list[tuple[type[BaseModel], Any]] = [
        *((model, "validation") for model in sorted(inputs, key=lambda m: m.__qualname__)),
        *((model, "serialization") for model in sorted(outputs, key=lambda m: m.__qualname__)),
    ]
    references, definitions = models_json_schema(modes, ref_template=_REF) if modes else ({}, {})
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", endpoint.template)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, references)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": {**definitions.get("$defs", {}), "Error": _ERROR_SCHEMA},
        },
    }


def _operation(endpoint: Endpoint, references: Mapping[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "operationId": f"{endpoint.method.lower()}{re.sub(r'[^A-Za-z0-9]+', '_', endpoint.template)}",
        "security": [] if endpoint.is_public else [{"bearer": []}],
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": {
            "200": {
                "description": "Done.",
                "content": {"application/json": {"schema": _returned(endpoint, references)}},
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
        schema = references[(endpoint.body, "validation")]
        operation["requestBody"] = {
            "required": True,
            "content": {kind: {"schema": schema} for kind in ("application/json", "application/x-www-form-urlencoded")},
        }
    return operation


def _returned(endpoint: Endpoint, references: Mapping[Any, Any]) -> Any:
    known = references.get((endpoint.returns, "serialization"))
    return known if known is not None else TypeAdapter(endpoint.returns).json_schema(ref_template=_REF)


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


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if endpoint.query is NoQuery:
        return []
    schema = endpoint.query.model_json_schema(by_alias=True)
    required = set(schema.get("required", ()))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": part}
        for name, part in schema.get("properties", {}).items()
    ]


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
