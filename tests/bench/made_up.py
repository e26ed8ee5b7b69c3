"""How near made-up rows are to the people's, by both ways to choose counts: ``python -m tests.bench made_up TABLE.csv …``.

Each table is a CSV file with a header: one person a row. A column of at most 12 values has these declared, a column of
more numbers has a range in whole numbers around them. (ε, 1e-6) is spent on one table of made-up rows, several times.
An error is the total variation distance between the made-up and the real distribution, as a mean over all pairs and
over all triples of columns: 0 where they agree, 1 where they share nothing. Needs the extra ``synthetic``.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from contextlib import closing
from fractions import Fraction
from itertools import combinations
from math import ceil, floor, sqrt
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
from rich.console import Console

from dpsql.interfaces.commands.synthesize_command import synthesize
from dpsql.proxy import Proxy

MOST_LISTED = 12
"""A column of more values is declared by a range."""
BINS = 10

Rows = dict[str, np.ndarray]
"""The cell of each row, by column."""


def prepare(source: Path, folder: Path) -> tuple[dict[str, str], Rows]:
    """The database of a table, what its policy declares of each column, and its real rows in cells."""
    with duckdb.connect(str(folder / "people.duckdb")) as engine:
        engine.execute("CREATE TABLE person AS SELECT row_number() OVER () AS id, * FROM read_csv(?)", [str(source)])
        declared = {}
        for name, kind, *_ in engine.execute("DESCRIBE person").fetchall()[1:]:
            found = engine.execute(f'SELECT DISTINCT "{name}" FROM person WHERE "{name}" IS NOT NULL').fetchall()
            values = sorted(one for (one,) in found)
            if len(values) <= MOST_LISTED:
                listed = ", ".join(f"'{one}'" if kind == "VARCHAR" else str(one).lower() for one in values)
                declared[name] = f"values: [{listed}]"
            else:
                declared[name] = f"range: [{floor(values[0])}, {ceil(values[-1])}]"
        return declared, cells(engine, "person", declared)


def cells(engine: duckdb.DuckDBPyConnection, table: str, declared: dict[str, str]) -> Rows:
    """Each value by its text, or by the tenth of the range that it is in."""
    found: Rows = {}
    for name, kind in declared.items():
        shown = f'"{name}"'
        if kind.startswith("range"):
            low, high = kind.removeprefix("range: [").removesuffix("]").split(", ")
            shown = f'least(floor(("{name}" - ({low})) * {BINS}.0 / ({high} - ({low}))), {BINS - 1})'
        else:
            shown = f'TRY_CAST("{name}" AS DOUBLE), "{name}"'
            shown = f"coalesce({shown.split(', ')[0]}::VARCHAR, {shown.split(', ')[1]}::VARCHAR)"
        found[name] = np.array([str(one) for (one,) in engine.execute(f"SELECT {shown} FROM {table}").fetchall()])
    return found


def distance(real: Rows, made: Rows, width: int) -> float:
    """The mean total variation distance over all sets of so many columns."""
    far = []
    for names in combinations(real, width):
        parts: list[dict[tuple[str, ...], float]] = [{}, {}]
        for part, rows in zip(parts, (real, made), strict=True):
            keys = list(zip(*(rows[name] for name in names), strict=True))
            for key in keys:
                part[key] = part.get(key, 0.0) + 1 / len(keys)
        far.append(sum(abs(parts[0].get(key, 0.0) - parts[1].get(key, 0.0)) for key in {*parts[0], *parts[1]}) / 2)
    return statistics.fmean(far)


def policy(epsilon: str, ledger: str, declared: dict[str, str]) -> str:
    columns = "".join(f'      "{name}": {{{one}}}\n' for name, one in declared.items())
    return (
        f"database: duckdb:people.duckdb\nledger: sqlite:{ledger}.ledger\nprivacy_unit: person.id\n"
        f"budget: {{epsilon: {epsilon}, delta: 1e-6}}\nstatement: {{epsilon: 0.001, max_epsilon: {epsilon}}}\n"
        f"tables:\n  person:\n    columns:\n      id: {{}}\n{columns}"
    )


def measure(folder: Path, declared: dict[str, str], real: Rows, epsilon: str, run: int, adaptive: bool) -> list[float]:
    """The distances by two and by three columns, and the seconds taken."""
    from dpsql.synthetic.graphical_model import GraphicalModel, draw

    name = f"{epsilon}-{run}-{adaptive}"
    path, output = folder / f"{name}.yaml", folder / f"{name}.parquet"
    path.write_text(policy(epsilon, name, declared))
    with closing(Proxy.open(path)) as proxy:
        whole = int(sqrt(2 * proxy.answering.opened.accountant.limit.rho) * 10**6)
    began = time.perf_counter()
    synthesize(
        path,
        "person",
        output,
        draw,
        Console(quiet=True),
        lambda line: None,
        epsilon=str(float(Fraction(whole, 10**6))),
        rows=len(next(iter(real.values()))),
        adaptive=GraphicalModel if adaptive else None,
    )
    took = time.perf_counter() - began
    assert pq.read_table(output).num_rows == len(next(iter(real.values())))
    with duckdb.connect() as engine:
        made = cells(engine, f"read_parquet('{output}')", declared)
    return [distance(real, made, 2), distance(real, made, 3), took]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench made_up")
    parser.add_argument("tables", nargs="+", type=Path, metavar="TABLE.csv")
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.3", "1"])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"{'':16}{'ε':>6}  {'counts':10}{'pairs':>8}{'least':>8}{'most':>8}{'triples':>9}{'seconds':>9}")
    for source in options.tables:
        with tempfile.TemporaryDirectory() as made:
            declared, real = prepare(source, Path(made))
            for epsilon in options.epsilon:
                for adaptive in (False, True):
                    every = [measure(Path(made), declared, real, epsilon, run, adaptive) for run in range(options.runs)]
                    pairs, triples, seconds = zip(*every, strict=True)
                    shown = (statistics.fmean(pairs), min(pairs), max(pairs))
                    told = "".join(f"{one:8.3f}" for one in shown)
                    way = "in rounds" if adaptive else "all pairs"
                    print(
                        f"{source.stem:16}{epsilon:>6}  {way:10}{told}{statistics.fmean(triples):9.3f}"
                        f"{statistics.fmean(seconds):9.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
