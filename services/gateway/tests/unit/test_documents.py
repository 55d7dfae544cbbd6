"""Many documents become one."""

from strongroom_gateway.domain.documents import merge


def _document(schema: dict[str, object], **paths: object) -> dict[str, object]:
    return {
        "openapi": "3.1.0",
        "tags": [{"name": "Things"}],
        "paths": {f"/{path}": operations for path, operations in paths.items()},
        "components": {"schemas": {"Thing": schema}, "securitySchemes": {"bearer": {"type": "http"}}},
    }


def test_schemas_of_one_name_stay_apart_and_references_follow() -> None:
    reference = {"$ref": "#/components/schemas/Thing"}
    merged = merge(
        "T",
        "1",
        {
            "a": _document({"type": "object"}, a={"get": {"schema": reference, "parameters": [reference]}}),
            "b": _document({"properties": {"self": reference}}, b={"get": {"mapping": {"x": reference["$ref"]}}}),
        },
        [],
    )

    assert merged["components"]["schemas"] == {
        "a.Thing": {"type": "object"},
        "b.Thing": {"properties": {"self": {"$ref": "#/components/schemas/b.Thing"}}},
    }
    assert merged["paths"]["/a"]["get"] == {
        "schema": {"$ref": "#/components/schemas/a.Thing"},
        "parameters": [{"$ref": "#/components/schemas/a.Thing"}],
    }
    assert merged["paths"]["/b"]["get"]["mapping"] == {"x": "#/components/schemas/b.Thing"}
    assert merged["components"]["securitySchemes"] == {"bearer": {"type": "http"}}
    assert merged["tags"] == [{"name": "Things"}]


def test_operations_of_one_path_are_put_together_and_the_first_wins() -> None:
    merged = merge(
        "T", "1", {"a": _document({}, p={"get": "a"}), "b": _document({}, p={"get": "b", "post": "b"})}, ["d", "c"]
    )

    assert merged["paths"] == {"/p": {"get": "a", "post": "b"}}
    assert merged["x-unavailable"] == ["c", "d"]
