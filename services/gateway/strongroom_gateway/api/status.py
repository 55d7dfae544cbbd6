"""The pages that say whether we are there."""

from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp.web import BaseRequest, Response

from strongroom_common.kernel.clock import Clock, wire_instant

_JSON = {"Content-Type": "application/json", "Cache-Control": "no-store"}

_STATUS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["date", "message"],
    "properties": {
        "date": {"type": "string", "format": "date-time"},
        "message": {"type": "string", "const": "Ok"},
        "emailConfigured": {"type": "boolean"},
        "redisConfigured": {"type": "boolean"},
        "secretScanningConfigured": {"type": "boolean"},
        "auditLogStorageDisabled": {"type": "boolean"},
    },
}

DOCUMENT: Mapping[str, Any] = {
    "paths": {
        "/api/status": {
            "get": {
                "summary": "Say that the instance is there.",
                "tags": ["Status"],
                "operationId": "get_api_status",
                "security": [],
                "responses": {
                    "200": {
                        "description": "It is.",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Status"}}},
                    }
                },
            }
        }
    },
    "components": {"schemas": {"Status": _STATUS_SCHEMA}},
}
"""The gateway's own OpenAPI document."""


class StatusPages:
    """`/api/status` and `/healthcheck`: they ask nobody, so they answer when everything else is down."""

    def __init__(self, clock: Clock, *, is_email_configured: bool) -> None:
        self._clock = clock
        self._more = {
            "emailConfigured": is_email_configured,
            "redisConfigured": False,
            "secretScanningConfigured": False,
            "auditLogStorageDisabled": False,
        }

    async def status(self, request: BaseRequest) -> Response:
        """What clients ask before they begin (wire-identity 2.1)."""
        body = {"date": wire_instant(self._clock.now()), "message": "Ok", **self._more}
        return Response(body=orjson.dumps(body), headers=_JSON)

    async def healthcheck(self, request: BaseRequest) -> Response:
        """What load balancers ask."""
        return Response(body=b'{"message":"Ok"}', headers=_JSON)
