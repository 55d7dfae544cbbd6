"""The gateway's command line: serve, check, routes, settings."""

import asyncio
import signal
from contextlib import AsyncExitStack

import typer
from rich.console import Console

from strongroom_common.kernel.errors import StrongroomError
from strongroom_common.observability.logs import get_logger, set_up_logging
from strongroom_common.runtime.health import Health
from strongroom_common.runtime.process import CannotStart, listening, run
from strongroom_common.runtime.settings import settings_or_exit
from strongroom_gateway.domain.prefixes import BadTable
from strongroom_gateway.service import build, tables, upstreams
from strongroom_gateway.settings import PREFIX, GatewaySettings

log = get_logger(__name__)
app = typer.Typer(
    name="strongroom-gateway",
    help=f"Strongroom's one public door. Settings come from the environment: {PREFIX}IDENTITY_URL and so on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(stderr=True, highlight=False)


@app.command()
def serve() -> None:
    """Run the gateway until SIGTERM or SIGINT; SIGHUP reads its tables anew."""
    settings = _read()
    raise typer.Exit(run(lambda stop: _serve(settings, stop)))


@app.command()
def check() -> None:
    """Check settings, tables and the way to every service, and say what is wrong; changes nothing."""
    settings = _read()
    raise typer.Exit(run(lambda stop: _check(settings)))


@app.command()
def routes() -> None:
    """Print the table of routes, one entry a line: the path and the service that owns it."""
    try:
        for match in tables(_read()).routes:
            typer.echo(f"{match.pattern}\t{match.value}")
    except BadTable as error:
        typer.echo(f"wrong table: {error}", err=True)
        raise typer.Exit(1) from None


@app.command("settings")
def show_settings() -> None:
    """List every setting with its default and what it does."""
    for name, field in GatewaySettings.model_fields.items():
        console.print(f"[bold]{PREFIX}{name.upper()}[/bold] (default {field.default!r})\n    {field.description or ''}")


def _read() -> GatewaySettings:
    settings = settings_or_exit(GatewaySettings, PREFIX)
    set_up_logging(level=settings.log_level, form=settings.log_format, service="gateway")
    return settings


async def _serve(settings: GatewaySettings, stop: asyncio.Event) -> None:
    try:
        edge = build(settings)
    except BadTable as error:
        raise CannotStart(str(error)) from None
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, edge.reload)

    async def is_ready() -> bool:
        # Whether the services are is their own business: one that is away must not take the others' door with it.
        return True

    health = Health(is_ready)
    async with AsyncExitStack() as stack:
        internal = await stack.enter_async_context(listening(health, settings.host, settings.internal_port))
        await stack.enter_async_context(edge.running())
        port = await stack.enter_async_context(
            listening(edge, settings.host, settings.port, drain=settings.drain_seconds, forwards=True)
        )
        log.info("ready", host=settings.host, port=port, internal_port=internal)
        await stop.wait()
        log.info("stopping")
        health.is_draining = True
    log.info("stopped")


async def _check(settings: GatewaySettings) -> None:
    try:
        found = tables(settings)
    except BadTable as error:
        raise CannotStart(str(error)) from None
    console.print(f"gateway: settings are readable, the table holds {len(list(found.routes))} routes")
    missing = []
    for upstream in upstreams(settings):
        async with upstream.running():
            try:
                await upstream.describe()
                console.print(f"gateway: {upstream.name} answers")
            except StrongroomError:
                missing.append(upstream.name)
    if missing:
        raise CannotStart(f"no answer from {', '.join(missing)}")


if __name__ == "__main__":
    app()
