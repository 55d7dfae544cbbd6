"""The command line that every service has: serve, migrate, check, dead-letters."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Annotated, Any, TypeVar
from uuid import UUID

import orjson
import typer
from rich.console import Console

from strongroom_common.access.networks import TrustedProxies
from strongroom_common.bus.port import Bus
from strongroom_common.bus.rabbit import RabbitBus
from strongroom_common.crypto.keyring import BadKeyring
from strongroom_common.db.migrations import Migrations, SchemaTooNew, SchemaTooOld
from strongroom_common.egress.guard import BadAllowList
from strongroom_common.http.door import Site
from strongroom_common.http.openapi import openapi_document
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.observability.logs import get_logger, set_up_logging
from strongroom_common.runtime.health import Health
from strongroom_common.runtime.process import CannotStart, listening, patiently, run, settle
from strongroom_common.runtime.services import Service
from strongroom_common.runtime.settings import ServiceSettings, settings_or_exit

S = TypeVar("S", bound=ServiceSettings)
log = get_logger(__name__)

Build = Callable[[Any, Bus], Service]


def service_app(name: str, settings: type[S], build: Build, migrations: str) -> typer.Typer:
    """Return the command line of one service; `build` is its `service.build`."""
    prefix = f"STRONGROOM_{name.upper()}_"
    app = typer.Typer(
        name=f"strongroom-{name}",
        help=f"Strongroom's {name} service. Settings come from the environment: {prefix}DATABASE_URL and so on.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    letters = typer.Typer(help="Messages that nobody could handle.", no_args_is_help=True)
    app.add_typer(letters, name="dead-letters")
    console = Console(stderr=True, highlight=False)

    def read() -> S:
        found = settings_or_exit(settings, prefix)
        set_up_logging(level=found.log_level, form=found.log_format, service=name)
        return found

    def bus_of(found: ServiceSettings) -> RabbitBus:
        return RabbitBus(found.bus_url, name, SystemClock())

    @app.command()
    def serve() -> None:
        """Run the service until SIGTERM or SIGINT."""
        found = read()
        raise typer.Exit(run(lambda stop: _serve(name, found, build, bus_of(found), stop)))

    @app.command()
    def migrate() -> None:
        """Bring the database's schema to this release. Safe to run from several places at once."""
        found = read()

        async def work(stop: asyncio.Event) -> None:
            schema = Migrations(migrations, found.database_url)
            try:
                is_changed = await patiently(schema.migrate, "the database", stop)
            except SchemaTooNew as error:
                raise CannotStart(str(error)) from None
            console.print(f"{name}: schema is at {schema.head}" + (" now" if is_changed else " already"))

        raise typer.Exit(run(work))

    @app.command()
    def check() -> None:
        """Check settings, database and broker, and say what is wrong; changes nothing."""
        found = read()
        raise typer.Exit(run(lambda stop: _check(name, found, build, bus_of(found), stop, console)))

    @app.command("settings")
    def show_settings() -> None:
        """List every setting with its default and what it does."""
        for field_name, field in settings.model_fields.items():
            alias = field.validation_alias if isinstance(field.validation_alias, str) else f"{prefix}{field_name}"
            default = "required" if field.is_required() else f"default {field.default!r}"
            console.print(f"[bold]{alias.upper()}[/bold] ({default})\n    {field.description or ''}")

    @letters.command("list")
    def list_letters(
        queue: Annotated[str, typer.Argument(help=f"The queue, for example {name}.events")] = f"{name}.events",
        limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    ) -> None:
        """Show the dead letters of a queue, one JSON object a line. Secret fields in them stay sealed."""

        async def work(bus: Bus) -> None:
            for letter in await bus.dead_letters(queue, limit):
                typer.echo(
                    orjson.dumps(
                        {
                            "messageId": str(letter.message_id),
                            "type": letter.type,
                            "diedAt": letter.died_at.isoformat(),
                            "attempts": letter.attempts,
                            "reason": letter.reason,
                        }
                    ).decode()
                )

        raise typer.Exit(_with_bus(bus_of(read()), work))

    @letters.command("replay")
    def replay(
        queue: Annotated[str, typer.Argument(help=f"The queue, for example {name}.events")],
        message_id: Annotated[list[UUID] | None, typer.Argument(help="Only these; all when none is named.")] = None,
    ) -> None:
        """Put dead letters back into their queue."""

        async def work(bus: Bus) -> None:
            console.print(f"replayed {await bus.replay(queue, message_id or None)} message(s)")

        raise typer.Exit(_with_bus(bus_of(read()), work))

    return app


def _with_bus(bus: Bus, work: Callable[[Bus], Coroutine[Any, Any, None]]) -> int:
    async def main(stop: asyncio.Event) -> None:
        await patiently(bus.open, "RabbitMQ", stop)
        try:
            await work(bus)
        finally:
            await bus.close(timedelta(seconds=2))

    return run(main)


def _built(found: ServiceSettings, build: Build, bus: Bus) -> Service:
    try:
        return build(found, bus)
    except (BadKeyring, BadAllowList) as error:
        raise CannotStart(str(error)) from None


async def _prepare(service: Service, stack: AsyncExitStack) -> None:
    try:
        await stack.enter_async_context(service.prepared())
    except (SchemaTooOld, SchemaTooNew) as error:
        raise CannotStart(str(error)) from None


async def _serve(name: str, found: ServiceSettings, build: Build, bus: Bus, stop: asyncio.Event) -> None:
    service = _built(found, build, bus)
    document = openapi_document(name, service.door.endpoints)
    site = Site(service.door, TrustedProxies(found.trusted_proxies), document)
    health = Health(service.is_ready)
    async with AsyncExitStack() as stack:
        internal = await stack.enter_async_context(listening(health, found.host, found.internal_port))
        await patiently(lambda: _prepare(service, stack), "the database", stop)
        await patiently(lambda: stack.enter_async_context(service.running()), "RabbitMQ", stop)
        port = await stack.enter_async_context(listening(site, found.host, found.port, drain=found.drain_seconds))
        settle()
        log.info("ready", host=found.host, port=port, internal_port=internal)
        await stop.wait()
        log.info("stopping")
        health.is_draining = True
    log.info("stopped")


async def _check(
    name: str, found: ServiceSettings, build: Build, bus: Bus, stop: asyncio.Event, console: Console
) -> None:
    service = _built(found, build, bus)
    console.print(f"{name}: settings and keys are readable")
    async with AsyncExitStack() as stack:
        try:
            await _prepare(service, stack)
        except Unavailable as error:
            raise CannotStart(error.message) from None
        console.print(f"{name}: the database answers, its schema is at {service.migrations.head}")
    probe = RabbitBus(found.bus_url, name, SystemClock())
    try:
        await probe.open()
    except Unavailable as error:
        raise CannotStart(error.message) from None
    await probe.close(timedelta(seconds=2))
    console.print(f"{name}: RabbitMQ answers")
