"""One document of all services, and a page that shows it without any other site."""

import json
import re
from typing import Any

import pytest
from aiohttp import web


def described(name: str) -> Any:
    document = {
        "openapi": "3.1.0",
        "info": {"title": name, "version": "1"},
        "paths": {f"/api/v1/{name}": {"get": {"responses": {"200": {"description": "ok"}}}}},
        "components": {"schemas": {"Error": {"type": "object"}}},
    }

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.raw_path == "/internal/openapi.json"
        return web.json_response(document)

    return answer


async def test_the_documents_of_all_services_are_merged(open_gateway, serve) -> None:
    gateway = await open_gateway(identity=await serve(described("groups")), secrets=await serve(described("webhooks")))

    response = await gateway.ask("GET", "/api/docs/json")
    document = response.json()

    assert response.headers["Content-Type"] == "application/json"
    assert document["openapi"] == "3.1.0"
    assert list(document["paths"]) == ["/api/status", "/api/v1/groups", "/api/v1/webhooks"]
    assert set(document["components"]["schemas"]) == {"gateway.Status", "identity.Error", "secrets.Error"}
    assert document["x-unavailable"] == []


@pytest.mark.parametrize("status", [404, 500, 200])
async def test_a_service_that_does_not_describe_itself_is_named_and_asked_again_soon(
    open_gateway, serve, clock, status: int
) -> None:
    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, text="nothing here")

    secrets = await serve(refuse)
    gateway = await open_gateway(
        clock=clock, identity=await serve(described("groups")), secrets=secrets, pki="http://127.0.0.1:1"
    )

    document = (await gateway.ask("GET", "/api/docs/json")).json()
    assert document["x-unavailable"] == ["pki", "secrets"]
    assert "/api/v1/groups" in document["paths"]

    secrets.answer = described("webhooks")
    clock.offset = 2.0
    assert (await gateway.ask("GET", "/api/docs/json")).json()["x-unavailable"] == ["pki"]


async def test_the_merged_document_is_remembered_for_a_while(open_gateway, serve, clock) -> None:
    service = await serve(described("groups"))
    gateway = await open_gateway(clock=clock, identity=service)

    first = await gateway.ask("GET", "/api/docs/json")
    clock.offset = 59.0
    again = await gateway.ask("GET", "/api/docs/json", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status, len(service.seen)) == (304, 1)

    clock.offset = 60.0
    await gateway.ask("GET", "/api/docs/json")
    assert len(service.seen) == 2


async def test_everything_that_the_page_names_is_served_and_nothing_comes_from_elsewhere(gateway) -> None:
    page = await gateway.ask("GET", "/api/docs")
    html = page.body.decode()
    named = re.findall(r'(?:src|href)="([^"]+)"', html)
    script = (await gateway.ask("GET", "/api/docs/page.js")).body.decode()

    assert page.headers["Content-Type"].startswith("text/html")
    assert not [address for address in named if not address.startswith("/api/docs")]
    assert "://" not in html + script
    # The policy forbids what stands inline, so none may.
    assert not re.findall(r"<script(?! src)|<style|\son\w+=|javascript:", html)
    for address in [*named, *re.findall(r'url: "([^"]+)"', script)]:
        part = await gateway.ask("GET", address)
        assert part.status == 200
        assert part.body
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy


async def test_the_parts_of_the_page_are_named_by_kind_and_can_be_kept(gateway) -> None:
    script = await gateway.ask("GET", "/api/docs/swagger-ui-bundle.js")

    assert script.headers["Content-Type"].startswith("text/javascript")
    assert b"SwaggerUIBundle" in script.body
    again = await gateway.ask(
        "GET", "/api/docs/swagger-ui-bundle.js", headers={"If-None-Match": script.headers["ETag"]}
    )
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["/api/docs/oauth2-redirect.html", "/api/docs/x", "/api/docs/page.js/x"])
async def test_nothing_else_of_the_package_is_served(gateway, path: str) -> None:
    assert (await gateway.ask("GET", path)).status == 404


async def test_the_documentation_can_be_turned_off(open_gateway, identity) -> None:
    gateway = await open_gateway(identity=identity, docs=False)

    for path in ("/api/docs", "/api/docs/json", "/api/docs/page.js"):
        assert (await gateway.ask("GET", path)).status == 404


async def test_the_gateways_own_part_says_what_status_answers(gateway) -> None:
    document = (await gateway.ask("GET", "/api/docs/json")).json()
    status = (await gateway.ask("GET", "/api/status")).json()

    assert set(status) == set(document["components"]["schemas"]["gateway.Status"]["properties"])
    assert json.dumps(document["paths"]["/api/status"]).count("#/components/schemas/gateway.Status") == 1
