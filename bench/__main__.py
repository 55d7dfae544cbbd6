"""`python -m bench`: the hot paths, each as a ratio to a floor that is measured in turns with it."""

import os
import platform
from contextlib import ExitStack
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.cases import Case, Cases, Meter, Reading, What
from bench.load import LoadFailed, LoadGenerator, request
from bench.processes import DidNotStart, serving, stop_in_order
from bench.product import Refused

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console(stderr=True, highlight=False, soft_wrap=True)

_TOO_BUSY = 0.8
"""The share of a core beyond which the load generator has measured itself as well."""


@app.command()
def main(
    only: Annotated[list[What] | None, typer.Option(help="Measure this row; can be given several times.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How many times each floor and the product take turns.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.05, help="How long one turn lasts.")] = 0.7,
    connections: Annotated[int, typer.Option(min=1, help="How many connections send requests at once.")] = 16,
    rows: Annotated[int, typer.Option(min=1_000, help="The secrets in the large instance of the row `rows`.")] = 50_000,
) -> None:
    """Measure the hot paths of the product as ratios to a floor: the least that the same libraries could do.

    Floor and product take turns, and each pair of turns gives one ratio of requests per second, so that a machine that
    is slow for a while slows both. 1.00 is as fast as the floor. The product keeps every promise meanwhile: it
    authenticates, decides, records durably. Nothing passes or fails here.
    """
    stop_in_order()
    try:
        with ExitStack() as stack, _progress() as progress:
            _measure(stack, progress, only or list(What), rounds, seconds, connections, rows)
    except (DidNotStart, LoadFailed, Refused) as error:
        console.print(f"bench: {error}", markup=False)
        raise typer.Exit(1) from None


def _measure(
    stack: ExitStack,
    progress: Progress,
    wanted: list[What],
    rounds: int,
    seconds: float,
    connections: int,
    rows: int,
) -> None:
    meter = Meter(stack.enter_context(LoadGenerator()), connections, seconds)
    cases = Cases(meter, rows, stack, lambda line: progress.console.print(f"  {line}", style="dim"))
    with serving("bench.floors", "wire") as wire:
        fastest = meter.again_and_again(wire.port, [request("GET", "/")])
    # A server that costs next to nothing keeps the load generator as busy as can be; those that count must not.
    meter.busiest = 0.0

    table = _table()
    bar = progress.add_task("", total=len(wanted) * rounds)
    for what in wanted:
        case = cases.build(what)
        pairs = []
        for number in range(rounds):
            progress.update(bar, description=case.title)
            pairs.append((case.floor(number), case.product(number)))
            progress.advance(bar)
        _add(table, case, pairs)
    progress.update(bar, description="done")

    out = Console(width=None if Console().is_terminal else 150, highlight=False)
    out.print(table)
    out.print(
        f"{connections} connections, {rounds} rounds, {os.cpu_count()} cores, Python {platform.python_version()}. "
        f"The load generator alone: {fastest.per_second:,.0f}/s against a server that does nothing; "
        f"here it needed at most {meter.busiest:.0%} of a core."
    )
    if meter.busiest > _TOO_BUSY:
        out.print("That is too much: a ratio it was part of is nearer to 1 than it should be.")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def _table() -> Table:
    table = Table("product", "floor", title="Requests per second, as a share of the floor's")
    for name in ("floor /s", "p50 ms", "product /s", "p50 ms", "share", "min..max", "goal"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, case: Case, pairs: list[tuple[Reading, Reading]]) -> None:
    shares = [product.per_second / floor.per_second for floor, product in pairs]
    cells = [case.title, case.floor_title]
    for side in (0, 1):
        cells += [f"{median(pair[side].per_second for pair in pairs):,.0f}"]
        cells += [f"{median(pair[side].p50 for pair in pairs):.2f}"]
    cells += [f"{median(shares):.2f}", f"{min(shares):.2f}..{max(shares):.2f}"]
    table.add_row(*cells, "-" if case.goal is None else f"≥ {case.goal:.2f}")


if __name__ == "__main__":
    app()
