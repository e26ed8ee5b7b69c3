"""``python -m tests.bench spark [--statements 500] [--scale 1] [--repetitions 3] [--kills 20] [--cancels 100] [--json FILE]``: what Spark has to show.

A master and two workers on loopback, with a gigabyte or so each. Random statements have DuckDB's integers; bounded
statements are timed beside raw ones, at a tenth of the scale too; executors are killed, statements cancelled, the driver
started anew, tables changed while they are read. Each line says the goal and whether it is met; the command fails if one
is not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.engines.spark_server import SparkServer, missing

from . import faults
from .costs import Cost, costs
from .sameness import Sameness, compared
from .world import Events, made

PARTS = ("sameness", "faults", "costs")
MEDIAN_RATIO, WORST_RATIO, GROWTH = 2.5, 6.0, 1.1


@dataclass(frozen=True, slots=True)
class Line:
    """One goal: what was measured, and whether it is met."""

    goal: str
    measured: str
    met: bool


def sameness_lines(found: Sameness) -> list[Line]:
    wrong = (*found.different, *found.failed)
    refused = f"{len(found.refused_on_spark)} refused on Spark alone, {found.refused_by_both} by both"
    said = f"{found.same} of {found.asked} ({found.groups:,} groups; {refused}; {found.seconds:.0f} s)"
    return [Line("random statements: the same integers as DuckDB", said, not wrong)]


def cost_lines(small: Mapping[str, Cost], large: Mapping[str, Cost]) -> list[Line]:
    ratios = [cost.ratio for cost in large.values()]
    growth = {name: (large[name].bounded / small[name].bounded) / (large[name].raw / small[name].raw) for name in large}
    worst = max(growth, key=lambda name: growth[name])
    grown = f"median {statistics.median(growth.values()):.2f}×, worst {growth[worst]:.2f}× ({worst})"
    return [
        Line(f"bounded / raw: median ≤ {MEDIAN_RATIO}", f"{statistics.median(ratios):.2f}", statistics.median(ratios) <= MEDIAN_RATIO),
        Line(f"bounded / raw: none above {WORST_RATIO}", f"{max(ratios):.2f}", max(ratios) <= WORST_RATIO),
        Line(f"rows × 10: bounded grows at most {GROWTH}× raw's factor", grown, growth[worst] <= GROWTH),
    ]  # fmt: skip


def show_costs(small: Mapping[str, Cost], large: Mapping[str, Cost], console: Console) -> None:
    table = Table(title="Seconds on Spark, medians by turns, and kilobytes between workers")
    table.add_column("query")
    for heading in ("raw", "bounded", "ratio", "raw, tenth", "bounded, tenth", "kB raw", "kB bounded", "kB, tenth"):
        table.add_column(heading, justify="right")
    for name, cost in large.items():
        tenth = small[name]
        seconds = (
            f"{cost.raw:.2f}",
            f"{cost.bounded:.2f}",
            f"{cost.ratio:.2f}×",
            f"{tenth.raw:.2f}",
            f"{tenth.bounded:.2f}",
        )
        sent = (cost.raw_bytes, cost.bounded_bytes, tenth.bounded_bytes)
        table.add_row(name, *seconds, *(f"{number / 1000:,.0f}" for number in sent))
    console.print(table)


def fault_lines(world: object, options: argparse.Namespace, told: Callable[[str], None]) -> list[Line]:
    from .world import World

    assert isinstance(world, World)
    killed = faults.kills(world, options.kills, options.seed, told)
    taken, wrong = faults.cancels(world, options.cancels, options.seed, told)
    broken = faults.breaks(world, told)
    anew = faults.restarts(world, lambda: faults.tables_again(world.server, world.folder), options.restarts, told)
    late = [seconds for seconds in taken if seconds > 1]
    return [
        Line(
            f"{options.kills} executors killed: identical or 58000, one charge each",
            f"{killed.identical} identical, {killed.failed} 58000 {killed.wrong or ''}",
            not killed.wrong and killed.identical + killed.failed == options.kills,
        ),
        Line(
            f"{options.cancels} cancels, each within 1 s",
            f"{faults.tail(taken)}, {len(late)} late {wrong or ''}",
            not late and not wrong,
        ),
        Line(
            "tables that change: 58000, and no value of a row in a message or log",
            f"{broken.failed} errors {broken.wrong or ''}",
            not broken.wrong,
        ),
        Line(
            f"{options.restarts} drivers started anew are found again",
            f"{anew.identical} identical {anew.wrong or ''}",
            not anew.wrong and anew.identical == options.restarts,
        ),
    ]


def main() -> None:
    options = _options()
    if (why := missing()) is not None:
        raise SystemExit(why)
    console = Console()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="dpsql-spark-bench-") as name, console.status("Spark is started") as status:
        folder = Path(name)
        events = Events(folder / "events")
        server = SparkServer(cluster=True, more=events.settings()).start()
        try:
            with closing(made(server, options.scale / 10, folder)) as world:
                if "sameness" in options.only:
                    found = compared(world, options.statements, options.seed, status.update)
                    lines += sameness_lines(found)
                    console.print(lines[-1].measured)
                    for text in (*found.different, *found.failed):
                        console.print(text, style="red", markup=False)
                small = costs(world, events, options.repetitions, status.update) if "costs" in options.only else {}
                if "faults" in options.only:  # the last, since a driver that starts anew ends all sessions
                    lines += fault_lines(world, options, status.update)
            if "costs" in options.only:
                with closing(made(server, options.scale, folder)) as world:
                    large = costs(world, events, options.repetitions, status.update)
                lines += cost_lines(small, large)
                show_costs(small, large, console)
        finally:
            server.stop()
    table = Table(title="What Spark has to show")
    for heading in ("goal", "measured", "met"):
        table.add_column(heading)
    for line in lines:
        table.add_row(line.goal, line.measured, "yes" if line.met else "NO")
    console.print(table)
    if options.json is not None:
        report = [{"goal": line.goal, "measured": line.measured, "met": line.met} for line in lines]
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    raise SystemExit(0 if all(line.met for line in lines) else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench spark", description=__doc__.splitlines()[2])
    parser.add_argument("--statements", type=int, default=500, help="random ones; default %(default)s")
    parser.add_argument("--scale", type=float, default=1.0, help="of TPC-H for the costs; all else has a tenth of it")
    parser.add_argument("--repetitions", type=int, default=3, help="of each query; default %(default)s")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cancels", type=int, default=100)
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of statements and moments; default %(default)s")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the lines there")
    return parser.parse_args()
