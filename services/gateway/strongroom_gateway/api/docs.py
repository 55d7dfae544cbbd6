"""The API documentation: the merged document, and a page that shows it without asking any other site."""

import asyncio
from collections.abc import Mapping
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from aiohttp.web import BaseRequest, Response

from strongroom_gateway.usecases.documents import Documents

_PAGE = b"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Strongroom API</title>
<link rel="icon" type="image/png" href="/api/docs/favicon-32x32.png">
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript. The document itself is at <a href="/api/docs/json">/api/docs/json</a>.</noscript>
<div id="page"></div>
<script src="/api/docs/swagger-ui-bundle.js"></script>
<script src="/api/docs/page.js"></script>
</body>
</html>
"""

# `validatorUrl` would send the document's address to another site.
_SCRIPT = b"""SwaggerUIBundle({
  url: "/api/docs/json",
  dom_id: "#page",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
});
"""

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_ASSETS: Mapping[str, str] = {
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}


class DocsPages:
    """`/api/docs`, what it is made of, and `/api/docs/json`."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._assets: Mapping[str, bytes] = {}

    async def page(self, request: BaseRequest) -> Response:
        """Show the page."""
        return _answer(request, _PAGE, "text/html; charset=utf-8", {"Content-Security-Policy": _POLICY})

    async def script(self, request: BaseRequest) -> Response:
        """Start the page."""
        return _answer(request, _SCRIPT, "text/javascript; charset=utf-8", {})

    async def asset(self, request: BaseRequest) -> Response:
        """Serve one of the page's parts."""
        name = request.path.rstrip("/").rpartition("/")[2]
        if not self._assets:
            # Off the loop: the largest is more than a megabyte.
            self._assets = await asyncio.to_thread(_read_assets)
        return _answer(request, self._assets[name], _ASSETS[name], {})

    async def document(self, request: BaseRequest) -> Response:
        """Show the merged document."""
        return _answer(request, await self._documents.read(), "application/json", {})

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The parts below `/api/docs/`."""
        return tuple(_ASSETS)


def _read_assets() -> Mapping[str, bytes]:
    # The package is found, not imported: it would import a web framework, and only its files are wanted.
    spec = find_spec("flask_swagger_ui")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package flask-swagger-ui is not installed")
    folder = Path(spec.submodule_search_locations[0]) / "dist"
    return {name: (folder / name).read_bytes() for name in _ASSETS}


def _answer(request: BaseRequest, body: bytes, content_type: str, headers: Mapping[str, str]) -> Response:
    etag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    known = {"ETag": etag, "Cache-Control": "no-cache", **headers}
    if etag in request.headers.get("If-None-Match", ""):
        return Response(status=304, headers=known)
    return Response(body=body, headers={"Content-Type": content_type, **known})
