"""`python -m bench.start`: how long `standalone` takes to start, and how much memory it needs before any request."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Annotated, NamedTuple

import psutil
import typer
from rich.console import Console
from rich.table import Table

from bench.processes import DidNotStart, serving, stop_in_order

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console(stderr=True, highlight=False, soft_wrap=True)

_SETTLE = 1.0
"""Seconds between `ready:` and the look at the memory."""


class _Memory(NamedTuple):
    processes: int
    resident: int
    """Bytes. Memory that processes share counts once for each of them."""
    proportional: int | None
    """Bytes, shared memory being divided among those who share it; None where the system does not say."""


@app.command()
def main(
    times: Annotated[int, typer.Option(min=1, help="How many new data folders; each is started twice.")] = 3,
) -> None:
    """Measure the start of `standalone`, from exec to its `ready:` line, and its memory when idle."""
    stop_in_order()
    try:
        with tempfile.TemporaryDirectory(prefix="strongroom-bench-", ignore_cleanup_errors=True) as folder:
            _measure(Path(folder), times)
    except DidNotStart as error:
        console.print(f"bench: {error}", markup=False)
        raise typer.Exit(1) from None


def _measure(folder: Path, times: int) -> None:
    # Python's compiled files go here: after an installation there are none, and the tree stays as it is.
    environment = {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}

    def start(data: Path, look: Callable[[psutil.Process], None] = lambda _: None) -> float:
        console.print(f"  starting on {data}", style="dim")
        began = perf_counter()
        arguments = ("strongroom_standalone", "--port", "0", "--data", str(data))
        with serving(*arguments, environment=environment) as server:
            elapsed = perf_counter() - began
            look(psutil.Process(server.process.pid))
        return elapsed

    memories: list[dict[str, _Memory]] = []

    def look(process: psutil.Process) -> None:
        sleep(_SETTLE)
        children = process.children(recursive=True)
        memories.append(
            {"strongroom": _memory([process]), "PostgreSQL": _memory(children), "both": _memory([process, *children])}
        )

    installed = [start(folder / "installed")]
    first, second = [], []
    for number in range(times):
        first.append(start(folder / f"data-{number}"))
        second.append(start(folder / f"data-{number}", look))

    out = Console(width=None if Console().is_terminal else 120, highlight=False)
    starts = Table("start, from exec to `ready:`", title=f"Start of standalone, {os.cpu_count()} cores")
    for name in ("median s", "min..max"):
        starts.add_column(name, justify="right")
    for title, found in (
        ("first after the installation: Python compiles, keys, initdb, migrations", installed),
        ("first on a data folder: keys, initdb, migrations", first),
        ("every later one", second),
    ):
        starts.add_row(title, f"{median(found):.2f}", f"{min(found):.2f}..{max(found):.2f}")
    out.print(starts)

    table = Table("memory when idle", title="Median, in MiB")
    for name in ("processes", "resident (RSS)", "proportional (PSS)"):
        table.add_column(name, justify="right")
    for title in memories[0]:
        sizes = [memory[title] for memory in memories]
        proportional = [each.proportional for each in sizes if each.proportional is not None]
        table.add_row(
            title,
            f"{median(each.processes for each in sizes):.0f}",
            _mebibytes([each.resident for each in sizes]),
            _mebibytes(proportional) if proportional else "-",
        )
    out.print(table)


def _memory(processes: list[psutil.Process]) -> _Memory:
    infos = [process.memory_info() for process in processes]
    try:
        shares = [process.memory_full_info().pss for process in processes]
    except (AttributeError, psutil.AccessDenied):
        shares = None
    return _Memory(len(processes), sum(info.rss for info in infos), sum(shares) if shares is not None else None)


def _mebibytes(sizes: list[int]) -> str:
    return f"{median(sizes) / 2**20:.0f}"


if __name__ == "__main__":
    app()
