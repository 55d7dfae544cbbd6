"""`python -m strongroom_identity serve | migrate | check | settings | dead-letters | audit | keys`."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO
from uuid import UUID

import typer

from strongroom_common.bus.memory import MemoryBus
from strongroom_common.db.migrations import SchemaTooNew, SchemaTooOld
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.kernel.errors import Conflict, NotFound, Unavailable
from strongroom_common.observability.logs import set_up_logging
from strongroom_common.runtime.cli import service_app
from strongroom_common.runtime.process import CannotStart, run
from strongroom_common.runtime.settings import settings_or_exit
from strongroom_identity.domain.audit_exports import LONGEST_LINE, BadExport, verify_export
from strongroom_identity.service import MIGRATIONS, build
from strongroom_identity.settings import IdentitySettings
from strongroom_identity.usecases import audit_keys, signing_keys
from strongroom_identity.usecases.audit_exports import Export
from strongroom_identity.usecases.context import IdentityContext

app = service_app("identity", IdentitySettings, build, MIGRATIONS)
audit = typer.Typer(help="The audit log: export it, and verify an export.", no_args_is_help=True)
app.add_typer(audit, name="audit")
keys = typer.Typer(help="The keys that sign tokens.", no_args_is_help=True)
app.add_typer(keys, name="keys")

NOBODY = UUID(int=0)


@audit.command()
def export(
    organization: Annotated[UUID, typer.Option(help="Its id; left out: what happened outside of any.")] = NOBODY,
    output: Annotated[Path | None, typer.Option(help="A new file; left out: standard output.")] = None,
) -> None:
    """Write an organization's audit log as JSON lines, signed. Status 3: a record in it was changed."""
    first_bad: int | None = None

    async def work(context: IdentityContext) -> None:
        nonlocal first_bad
        found = Export(context, organization)
        with nullcontext(sys.stdout.buffer) if output is None else output.open("xb") as file:
            async for line in found.lines():
                file.write(line)
        first_bad = found.first_bad

    status = _beside_the_service(work)
    if first_bad is not None:
        typer.echo(f"record {first_bad} is not as it was written: the audit log was changed", err=True)
        status = 3
    raise typer.Exit(status)


@audit.command("public-key")
def public_key() -> None:
    """Print the public key that signs exports. Keep it where nobody who can change the database can change it."""

    async def work(context: IdentityContext) -> None:
        typer.echo(context.audit.signer.public_key.hex())

    raise typer.Exit(_beside_the_service(work))


@audit.command()
def verify(
    file: Annotated[Path, typer.Argument(help="An export; - is standard input.")],
    public_key: Annotated[list[str] | None, typer.Option(help="A key that you trust; may be given again.")] = None,
) -> None:
    """Verify an export. Needs no service, no database, no settings. Status 3: something in it is not as written."""
    try:
        with nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as source:
            good = verify_export(_lines(source), [key.strip().lower() for key in public_key or []])
    except OSError as error:
        typer.echo(f"cannot read the file: {error.strerror}", err=True)
        raise typer.Exit(2) from None
    except BadExport as error:
        typer.echo(f"not as written: {error}", err=True)
        raise typer.Exit(3) from None
    typer.echo(f"good: organization {good.organization_id}, records {good.first} to {good.last}, as of {good.as_of}")
    if good.removed:
        typer.echo(f"retention removed the content of {good.removed}, the newest of {good.newest_removed}")
    if not public_key:
        typer.echo("signed with a key that stands in the file: compare it, or give --public-key", err=True)
        for key in good.public_keys:
            typer.echo(f"  {key}", err=True)


@keys.command("rotate-signing")
def rotate_signing() -> None:
    """Make a new key. Every service hears of it before it signs; the old ones go on verifying what they signed."""

    async def work(context: IdentityContext) -> None:
        fresh = await signing_keys.rotate(context)
        typer.echo(f"key {fresh.key.id} signs from {fresh.signs_from.isoformat(timespec='seconds')}")

    raise typer.Exit(_beside_the_service(work))


@keys.command("list-signing")
def list_signing() -> None:
    """List the keys in force, the oldest first."""

    async def work(context: IdentityContext) -> None:
        kept, signing = await signing_keys.list_all(context)
        for key in kept:
            what = "signs" if key.kid == signing else "verifies"
            typer.echo(f"{key.kid}  from {key.signs_from.isoformat(timespec='seconds')}  {what}")

    raise typer.Exit(_beside_the_service(work))


@keys.command("retire-signing")
def retire_signing(kid: Annotated[str, typer.Argument(help="The key's id.")]) -> None:
    """Refuse from now on whatever a key has signed: those who hold such tokens must log in again."""

    async def work(context: IdentityContext) -> None:
        await signing_keys.retire(context, kid)
        typer.echo(f"key {kid} is retired")

    raise typer.Exit(_beside_the_service(work))


def _lines(source: BinaryIO) -> Iterator[bytes]:
    while line := source.readline(LONGEST_LINE):
        yield line


def _beside_the_service(work: Callable[[IdentityContext], Awaitable[None]]) -> int:
    """Do something with the database of a service that may be running; its bus is not needed."""
    settings = settings_or_exit(IdentitySettings, "STRONGROOM_IDENTITY_")
    set_up_logging(level="warning", form=settings.log_format, service="identity")

    async def main(stop: asyncio.Event) -> None:
        service = build(settings, MemoryBus(SystemClock()))
        try:
            async with service.prepared():
                await audit_keys.read(service.context)
                await work(service.context)
        except (SchemaTooOld, SchemaTooNew, Conflict, NotFound, Unavailable, FileExistsError) as error:
            raise CannotStart(str(error)) from None

    return run(main)


if __name__ == "__main__":
    app()
