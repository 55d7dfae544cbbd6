"""Builds and runs the whole suite in one process."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import strongroom_automation.service
import strongroom_automation.settings
import strongroom_gateway.service
import strongroom_gateway.settings
import strongroom_identity.service
import strongroom_identity.settings
import strongroom_pki.service
import strongroom_pki.settings
import strongroom_secrets.service
import strongroom_secrets.settings
from strongroom_common.bus.memory import MemoryBus
from strongroom_common.db.migrations import Migrations, SchemaTooNew
from strongroom_common.egress.guard import BadAllowList
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.secret import Secret
from strongroom_common.runtime.health import Health
from strongroom_common.runtime.postgres import EmbeddedPostgres, PostgresFailed
from strongroom_common.runtime.process import CannotStart, listening, settle
from strongroom_common.runtime.services import Service
from strongroom_common.runtime.settings import ServiceSettings
from strongroom_standalone.folder import DataFolder
from strongroom_standalone.settings import StandaloneSettings

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Plan:
    settings: type[ServiceSettings]
    module: ModuleType


SERVICES: Mapping[str, _Plan] = {
    "identity": _Plan(strongroom_identity.settings.IdentitySettings, strongroom_identity.service),
    "secrets": _Plan(strongroom_secrets.settings.SecretsSettings, strongroom_secrets.service),
    "pki": _Plan(strongroom_pki.settings.PkiSettings, strongroom_pki.service),
    "automation": _Plan(strongroom_automation.settings.AutomationSettings, strongroom_automation.service),
}


@asynccontextmanager
async def opened(settings: StandaloneSettings, say: Say) -> AsyncIterator[int]:
    """Start everything, yield the port when every service is ready, and stop it all on the way out."""
    _verify_port_is_free(settings.host, settings.port)
    folder = DataFolder(settings.data, say)
    folder.claim()
    keyrings = folder.keyrings()
    clock = SystemClock()
    bus = MemoryBus(clock)
    async with AsyncExitStack() as stack:
        say("starting PostgreSQL")
        try:
            postgres = await stack.enter_async_context(EmbeddedPostgres(folder.postgres, say=say))
            urls = {name: await postgres.create_role_and_database(name) for name in SERVICES}
        except PostgresFailed as error:
            raise CannotStart(str(error)) from None
        services = {}
        for name, plan in SERVICES.items():
            await _migrate(name, plan, urls[name], say)
            services[name] = _build(plan, settings, keyrings, name, urls[name], bus)
        # All databases first: a message that is waiting in one outbox may be for another service.
        for service in services.values():
            await stack.enter_async_context(service.prepared())
        for name, service in services.items():
            say(f"starting {name}")
            await stack.enter_async_context(service.running())
        edge = strongroom_gateway.service.build_edge(
            _gateway_settings(settings), clock, {name: service.door for name, service in services.items()}
        )
        await stack.enter_async_context(edge.running())
        if settings.internal_port is not None:
            health = Health(lambda: _all_ready(services))
            await stack.enter_async_context(listening(health, settings.host, settings.internal_port))
        port = await stack.enter_async_context(
            listening(edge, settings.host, settings.port, drain=min(settings.drain_seconds, 3.0))
        )
        settle()
        yield port


def service_doors() -> dict[str, Any]:
    """Return each service's door without starting anything: for the route inventory and the API document."""
    bus = MemoryBus(SystemClock())
    throwaway = Secret("k:" + "A" * 43 + "=")
    nowhere = Secret("postgresql://nobody@/nothing")
    settings = StandaloneSettings()
    names = ("bus", *SERVICES)
    return {
        name: _build(plan, settings, dict.fromkeys(names, throwaway), name, nowhere, bus).door
        for name, plan in SERVICES.items()
    }


async def _migrate(name: str, plan: _Plan, url: Secret, say: Say) -> None:
    try:
        if await Migrations(plan.module.MIGRATIONS, url).migrate():
            say(f"migrated the database of {name}")
    except SchemaTooNew as error:
        raise CannotStart(f"{name}: {error}; start the newer release, or name another folder") from None


def _build(
    plan: _Plan, settings: StandaloneSettings, keyrings: Mapping[str, Secret], name: str, url: Secret, bus: MemoryBus
) -> Service:
    told = plan.settings(
        database_url=url,
        bus_url=Secret(""),
        master_keys=keyrings[name],
        STRONGROOM_BUS_KEYS=keyrings["bus"],
        STRONGROOM_EGRESS_ALLOW=settings.egress_allow,
        most_body_bytes=settings.most_body_bytes,
        request_seconds=settings.request_seconds,
        audit_reads=settings.audit_reads,
    )
    try:
        service: Service = plan.module.build(told, bus)
    except BadAllowList as error:
        raise CannotStart(f"STRONGROOM_EGRESS_ALLOW: {error}") from None
    return service


def _gateway_settings(settings: StandaloneSettings) -> strongroom_gateway.settings.GatewaySettings:
    return strongroom_gateway.settings.GatewaySettings(
        trusted_proxies=settings.trusted_proxies, most_body_bytes=settings.most_body_bytes
    )


async def _all_ready(services: Mapping[str, Service]) -> bool:
    return all(await asyncio.gather(*(service.is_ready() for service in services.values())))


def _verify_port_is_free(host: str, port: int) -> None:
    # Before anything slow is started: whoever has the port taken should hear of it at once.
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        reason = "the port is in use" if error.errno == 98 else (error.strerror or "it cannot be opened")
        raise CannotStart(f"cannot listen on {host}:{port}: {reason}; choose another one with PORT=...") from None
