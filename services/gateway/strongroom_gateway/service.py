"""The only file that names concrete classes: settings become an edge, in front of services over HTTP or of doors."""

from collections.abc import Mapping, Sequence
from typing import Any

from strongroom_common.access.networks import TrustedProxies
from strongroom_common.http.door import Door
from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_gateway.api import status
from strongroom_gateway.api.docs import DocsPages
from strongroom_gateway.api.edge import Edge, Page
from strongroom_gateway.api.status import StatusPages
from strongroom_gateway.providers.destinations import Destination
from strongroom_gateway.providers.rooms import Room
from strongroom_gateway.providers.upstreams import Upstream
from strongroom_gateway.settings import GatewaySettings
from strongroom_gateway.store.files import SHIPPED_LIMITS, SHIPPED_ROUTES
from strongroom_gateway.usecases.documents import Documents
from strongroom_gateway.usecases.forwarding import Forwarding, Tables


def build(settings: GatewaySettings, clock: Clock | None = None) -> Edge:
    """Build the edge of a gateway that reaches the services over HTTP; raises `BadTable`."""
    return _build(settings, clock or SystemClock(), upstreams(settings))


def upstreams(settings: GatewaySettings) -> list[Upstream]:
    """The services behind HTTP."""
    return [
        Upstream(
            name,
            url,
            connect_seconds=settings.connect_seconds,
            answer_seconds=settings.request_seconds,
            most_connections=settings.upstream_connections,
            most_body_bytes=settings.most_body_bytes,
        )
        for name, url in settings.service_urls().items()
    ]


def tables(settings: GatewaySettings) -> Tables:
    """Read the tables that the settings name; raises `BadTable`."""
    return Tables.read(
        settings.routes_file or SHIPPED_ROUTES, settings.limits_file or SHIPPED_LIMITS, settings.rate_limits
    )


def build_edge(settings: GatewaySettings, clock: Clock, doors: Mapping[str, Door[Any]]) -> Edge:
    """Build the edge in front of services in this process, by their names in the table; raises `BadTable`."""
    return _build(settings, clock, [Room(name, door) for name, door in doors.items()])


def _build(settings: GatewaySettings, clock: Clock, destinations: Sequence[Destination]) -> Edge:
    forwarding = Forwarding(
        destinations,
        clock,
        routes_file=settings.routes_file or SHIPPED_ROUTES,
        limits_file=settings.limits_file or SHIPPED_LIMITS,
        limited=settings.rate_limits,
    )
    is_there = StatusPages(clock, is_email_configured=settings.email_configured)
    pages: dict[str, Page] = {"/api/status": is_there.status, "/healthcheck": is_there.healthcheck}
    if settings.docs:
        docs = DocsPages(Documents(destinations, status.DOCUMENT, clock))
        pages |= {"/api/docs": docs.page, "/api/docs/page.js": docs.script, "/api/docs/json": docs.document}
        pages |= {f"/api/docs/{name}": docs.asset for name in docs.asset_names}
    return Edge(
        forwarding,
        clock,
        proxies=TrustedProxies(settings.trusted_proxies),
        pages=pages,
        cors_origins=settings.cors_origins,
        most_body_bytes=settings.most_body_bytes,
        certificate_header=settings.client_certificate_header,
    )
