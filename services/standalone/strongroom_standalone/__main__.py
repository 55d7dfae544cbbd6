"""`python -m strongroom_standalone`: everything in one process."""

import asyncio
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import orjson
import typer
from pydantic import ValidationError
from rich.console import Console

from strongroom_common.http.openapi import INVENTORY_HEAD, inventory
from strongroom_common.observability.logs import set_up_logging
from strongroom_common.runtime.process import run
from strongroom_common.runtime.settings import exit_for_wrong_settings
from strongroom_standalone.house import opened, service_doors
from strongroom_standalone.letters import list_letters, replay_letters
from strongroom_standalone.settings import StandaloneSettings

app = typer.Typer(
    name="strongroom-standalone",
    help="Strongroom in one process: every service, an embedded PostgreSQL, one port.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
letters = typer.Typer(help="Messages that nobody could handle.", no_args_is_help=True)
app.add_typer(letters, name="dead-letters")
console = Console(stderr=True, highlight=False, soft_wrap=True)

DataOption = Annotated[Path, typer.Option(help="The folder that holds databases and keys.")]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on.")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder that holds databases and keys.")] = None,
) -> None:
    """Start everything, until Ctrl-C or SIGTERM."""
    if context.invoked_subcommand is not None:
        return
    given: dict[str, Any] = {"host": host, "port": port, "data": data}
    try:
        settings = StandaloneSettings(**{key: value for key, value in given.items() if value is not None})
    except ValidationError as error:
        exit_for_wrong_settings(error, "STRONGROOM_STANDALONE_")
    set_up_logging(level=settings.log_level, form=settings.log_format, service="standalone")
    raise typer.Exit(run(lambda stop: _live(settings, stop)))


async def _live(settings: StandaloneSettings, stop: asyncio.Event) -> None:
    async with opened(settings, lambda line: console.print(f"  {line}", style="dim")) as port:
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{shown}:{port}"
        typer.echo(f"ready: {url}")
        typer.echo(
            f"next: curl -s {url}/api/v1/admin/bootstrap -H 'Content-Type: application/json' "
            '-d \'{"email": "you@example.com", "password": "choose a long one", "organization": "Acme"}\''
        )
        await stop.wait()
        console.print("  stopping", style="dim")
    console.print("  stopped", style="dim")


@app.command()
def routes() -> None:
    """Print the route inventory: method, path, who may call, what it needs, what it records."""
    typer.echo(INVENTORY_HEAD)
    for name, door in service_doors().items():
        for line in inventory(name, door.endpoints):
            typer.echo(line)


@letters.command("list")
def show_letters(
    data: DataOption = Path("data"), limit: Annotated[int, typer.Option(help="How many at most.")] = 100
) -> None:
    """Show the dead letters of a running instance, one JSON object a line."""

    async def work(_: asyncio.Event) -> None:
        for letter in await list_letters(data, limit):
            typer.echo(orjson.dumps(letter).decode())

    raise typer.Exit(run(work))


@letters.command("replay")
def replay(
    message_id: Annotated[list[UUID] | None, typer.Argument(help="Only these; all when none is named.")] = None,
    data: DataOption = Path("data"),
) -> None:
    """Put dead letters of a running instance back on their way."""

    async def work(_: asyncio.Event) -> None:
        console.print(f"replayed {await replay_letters(data, message_id or [])} message(s)")

    raise typer.Exit(run(work))


if __name__ == "__main__":
    app()
