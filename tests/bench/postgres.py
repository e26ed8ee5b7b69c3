"""TPC-H on PostgreSQL: ``python -m tests.bench postgres [--scale 0.1 --scale 1] [--repetitions 5] [--only WORD]``.

Ratios are what to compare: the raw query, the bounded one and the whole statement run by turns on one private server,
all under the settings of dpsql's own connections. A first run loads the data, which is kept beside DuckDB's.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table

from dpsql.engines.postgres.postgres_connection import Connection, connect
from dpsql.postgresql.binaries import find_binaries
from dpsql.postgresql.process import PostgresProcess
from dpsql.proxy import Proxy
from tests.engines.postgres_server import copy_tables

from .measured import by_turns, relative_errors
from .queries import QUESTIONS, Question
from .tpch import data as tpch

SERVER = {"shared_buffers": "512MB", "max_wal_size": "4GB", "maintenance_work_mem": "512MB", "autovacuum": "off"}


@dataclass(frozen=True, slots=True)
class Result:
    """Median milliseconds of each form, the median relative error, and how the bounded query is computed."""

    name: str
    raw: float
    bounded: float
    whole: float
    error: float
    steps: str


def main() -> None:
    options = _options()
    console = Console()
    binaries = find_binaries()
    report = {}
    with (
        PostgresProcess.start(
            options.cache / f"postgres-{binaries.version}", settings=SERVER, binaries=binaries
        ) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        for scale in options.scale or [0.1, 1.0]:
            with console.status(f"TPC-H at scale {scale:g}: loading, unless it is there"):
                url = _loaded(server, scale, options.cache)
            results = _at_scale(scale, url, Path(folder), options, console)
            _show(scale, binaries.version, results, console)
            report[f"{scale:g}"] = [asdict(result) for result in results]
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _loaded(server: PostgresProcess, scale: float, cache: Path) -> str:
    """The URL of a database with TPC-H at a scale, its keys declared."""
    name = f"tpch_{scale:g}".replace(".", "_")
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        names = [row[0] for row in connection.execute("SELECT datname FROM pg_database")]
        if name in names:
            return server.url(name)
        connection.execute(f"DROP DATABASE IF EXISTS loading_{name}")  # type: ignore[arg-type]
        connection.execute(f"CREATE DATABASE loading_{name} TEMPLATE template0")  # type: ignore[arg-type]
        with (
            duckdb.connect(str(tpch.database(scale, cache)), read_only=True) as source,
            psycopg.connect(server.dsn(f"loading_{name}")) as target,
        ):
            # What the generator made is consistent: no foreign key is checked row by row.
            target.execute("SET session_replication_role = replica")
            target.execute(tpch.SCHEMA)  # type: ignore[arg-type]
            copy_tables(source, target, tpch.TABLES)
        with psycopg.connect(server.dsn(f"loading_{name}"), autocommit=True) as target:
            target.execute("VACUUM ANALYZE")
        connection.execute(f"ALTER DATABASE loading_{name} RENAME TO {name}")  # type: ignore[arg-type]
        connection.execute("CHECKPOINT")
    return server.url(name)


def _at_scale(scale: float, url: str, folder: Path, options: argparse.Namespace, console: Console) -> list[Result]:
    policy = folder / f"{scale:g}.yaml"
    written = tpch.POLICY.format(database="").replace("database: duckdb:", f"database: {url}")
    policy.write_text(written.replace("bench.ledger", f"{scale:g}.ledger"), encoding="utf-8")
    proxy = Proxy.open(policy)
    connection = connect(url)
    try:
        connection.execute("SET search_path = public")
        results = []
        for question in QUESTIONS:
            if not options.only or options.only in question.name:
                with console.status(f"scale {scale:g}: {question.name}"):
                    results.append(_measured(proxy, connection, question, options.repetitions))
        return results
    finally:
        connection.close()
        proxy.close()


def _measured(proxy: Proxy, connection: Connection, question: Question, repetitions: int) -> Result:
    session = proxy.session()
    session.execute("SET dpsql.reuse = off")
    plans = [release.plan.sql for release in session.explain(question.sql).releases]
    answers: list[object] = []

    def run(*texts: str) -> Callable[[], object]:
        return lambda: [connection.cursor(binary=True).execute(text).fetchall() for text in texts]  # type: ignore[arg-type]

    forms: dict[str, Callable[[], object]] = {
        "raw": run(question.raw),
        "bounded": run(*plans),
        "whole": lambda: answers.append(session.execute(question.sql)),
    }
    times, _ = by_turns(forms, repetitions)
    truth = connection.execute(question.raw).fetchall()  # type: ignore[arg-type]
    errors = relative_errors(question, truth, answers)  # type: ignore[arg-type]
    medians = {form: float(np.median(taken)) * 1e3 for form, taken in times.items()}
    error = float(np.median(np.concatenate(list(errors.values()))))
    return Result(question.name, **medians, error=error, steps=_steps(connection, plans[0]))


def _steps(connection: Connection, sql: str) -> str:
    """The kinds of the steps that sort, group and join, from the top down."""
    lines = [str(row[0]) for row in connection.execute(f"EXPLAIN {sql}")]  # type: ignore[arg-type]
    kinds = [
        re.sub(r"\s*\(cost.*| using .*| on .*", "", line).replace("->", "").strip() for line in lines if "(cost" in line
    ]
    return ", ".join(kind for kind in kinds if re.search(r"Sort|Agg|Join|Loop|Gather", kind))


def _show(scale: float, version: int, results: list[Result], console: Console) -> None:
    title = f"TPC-H at scale {scale:g} on PostgreSQL {version}: median times, forms by turns; errors at epsilon 1"
    table = Table(title=title)
    table.add_column("query")
    for heading in ("raw ms", "bounded", "whole", "error"):
        table.add_column(heading, justify="right")
    for result in results:
        ratios = (f"{result.bounded / result.raw:.2f}×", f"{result.whole / result.raw:.2f}×")
        table.add_row(result.name, f"{result.raw:.0f}", *ratios, f"{result.error:.2g}")
    console.print(table)
    for result in results:
        console.print(f"{result.name}: {result.steps}", highlight=False)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench postgres", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, action="append", help="of TPC-H; repeatable; default 0.1 and 1")
    parser.add_argument("--repetitions", type=int, default=5, help="of each form of each query; default 5")
    parser.add_argument("--only", metavar="WORD", help="only queries whose name contains it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--cache", type=Path, default=tpch.CACHE, help="folder of the data; default %(default)s")
    return parser.parse_args()
