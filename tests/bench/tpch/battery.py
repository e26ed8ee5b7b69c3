"""The 22 queries of TPC-H as released aggregates: ``python -m tests.bench tpch [--scale 1] [--repetitions 11] [--only q07]``.

Customers are the people, or suppliers, as each query says: two policies over one database. Each is answered or refused
with its reason; shown are its price, the median relative error at ε = 1, and its time beside DuckDB's own for the same
text. The adaptation is written beside each query in ``queries``; ``forms`` are other texts for the same questions that
are refused, with what could answer them.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console
from sqlglot import parse_one

import dpsql
from dpsql.accounting.loss import PrivacyLoss
from dpsql.engines.duckdb.duckdb_engine import DuckDBEngine
from dpsql.proxy import Proxy, Session
from dpsql.reply import Answer

from ..measured import by_turns
from . import data
from .outcome import Outcome, show
from .written import FORMS, QUERIES, Written, read

HERE = Path(__file__).parent
Row = tuple[object, ...]
Cells = dict[tuple[Row, int], float | str]
"""Numbers and texts by the key of their group and by their column."""


def epsilon_of(query: Written) -> str:
    """A statement's ε such that the whole query costs ρ = 1/2, as one at ε = 1 does.

    >>> epsilon_of(read(QUERIES)[21])
    '0.7071'
    """
    return format(math.floor(1e4 / math.sqrt(len(query.statements))) / 1e4, "g")


def policies(folder: Path, database: Path) -> dict[str, Path]:
    """The two policies over a database, written into a folder where their ledgers will lie."""
    written = {}
    for unit in ("customer", "supplier"):
        text = (HERE / f"{unit}.yaml").read_text(encoding="utf-8")
        written[unit] = folder / f"{unit}.yaml"
        written[unit].write_text(text.replace("duckdb:tpch.duckdb", f"duckdb:{database}"), encoding="utf-8")
    return written


def session(proxy: Proxy, query: Written) -> Session:
    """A session at the query's price, in which nothing is used again."""
    opened = proxy.session()
    opened.execute(f"SET dpsql.epsilon = {epsilon_of(query)}")
    opened.execute("SET dpsql.reuse = off")
    return opened


def ask(session: Session, query: Written) -> list[Answer]:
    """The answers of a query's statements, each with the number that the one before it released."""
    answers: list[Answer] = []
    for statement in query.statements:
        answers.append(session.execute(statement, [answers[-1].rows[0][0]] if answers else ()))
    return answers


def beside(proxy: Proxy) -> duckdb.DuckDBPyConnection:
    """A connection to the DuckDB instance that the proxy asks."""
    engine = proxy._opened.engine
    if not isinstance(engine, DuckDBEngine):
        raise TypeError("the battery is for DuckDB")
    return engine._now.connection.cursor()


def ask_raw(connection: duckdb.DuckDBPyConnection, query: Written, *, every_group: bool = False) -> list[Row]:
    """DuckDB's own rows. ``every_group``: also those that the query's LIMIT or HAVING leaves out."""
    *before, last = query.statements
    given: list[object] = []
    for statement in before:
        row = connection.execute(statement, given).fetchone()
        given = [None if row is None else row[0]]
    if every_group and query.keys:
        tree = parse_one(last, read="duckdb")
        for part in ("limit", "having", "order"):
            tree.set(part, None)
        last = tree.sql("duckdb")
    return connection.execute(last, given).fetchall()


def cells(rows: Sequence[Row], keys: int) -> Cells:
    """The values of an answer; what is NULL has none. A sum over no rows is 0 here, and NULL in SQL.

    >>> cells([("a", 3, None, "b")], 1)
    {(('a',), 0): 3.0, (('a',), 2): 'b'}
    """
    found: Cells = {}
    for row in rows:
        key = tuple(int(value) if isinstance(value, Decimal) else value for value in row[:keys])
        for column, value in enumerate(row[keys:]):
            if value is not None:
                found[key, column] = value if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    return found


def relative_error(value: float | str, exact: float | str) -> float:
    """How far a number is from the true one, in relation to it; 1 for a wrong text."""
    if isinstance(value, str) or isinstance(exact, str):
        return float(value != exact)
    return abs(value - exact) / abs(exact)


def refusal(session: Session, query: Written) -> str:
    """Why a query is refused, or nothing where it is answered. Charges for what is answered."""
    try:
        ask(session, query)
    except dpsql.Error as problem:
        return problem.message
    return ""


def measured(proxy: Proxy, query: Written, repetitions: int) -> Outcome:
    """Ask a query again and again, by turns with DuckDB alone, on one DuckDB instance."""
    asking = session(proxy, query)
    if reason := refusal(asking, query):
        return Outcome(query, refused=reason)
    connection = beside(proxy)
    answers: list[list[Answer]] = []
    forms: dict[str, Callable[[], object]] = {
        "raw": lambda: ask_raw(connection, query),
        "whole": lambda: answers.append(ask(asking, query)),
    }
    times, _ = by_turns(forms, repetitions)
    truth = cells(ask_raw(connection, query, every_group=True), query.keys)
    errors: dict[str, list[float]] = {}
    for *_, answer in answers:
        for (key, column), value in cells(answer.rows, query.keys).items():
            if exact := truth.get((key, column)):
                name = answer.columns[query.keys + column].name
                errors.setdefault(name, []).append(relative_error(value, exact))
    return Outcome(
        query,
        price=sum((answer.price for answer in answers[-1]), PrivacyLoss()),
        groups=(len({row[: query.keys] for row in answers[-1][-1].rows}), len({key for key, _ in truth})),
        error=float(np.median([error for found in errors.values() for error in found])),
        errors={name: float(np.median(found)) for name, found in errors.items()},
        raw=float(np.median(times["raw"])) * 1e3,
        whole=float(np.median(times["whole"])) * 1e3,
    )


@contextmanager
def opened(database: Path) -> Iterator[dict[str, Proxy]]:
    """A proxy for each of the two policies. Each has a DuckDB instance of its own."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        proxies = {unit: Proxy.open(path) for unit, path in policies(Path(folder), database).items()}
        for proxy in proxies.values():
            stack.enter_context(closing(proxy))
        yield proxies


def main() -> None:
    options = _options()
    console = Console()
    gc.freeze()  # as a server would: the collector shall not walk what stays anyway
    with console.status(f"TPC-H at scale {options.scale:g}: generating, unless it is in {options.cache}"):
        database = data.database(options.scale, options.cache)
    outcomes, forms = [], []
    with opened(database) as proxies:
        for query in read(QUERIES):
            if options.only in query.name:
                with console.status(f"{query.name}: {query.title}"):
                    outcomes.append(measured(proxies[query.unit], query, options.repetitions))
        forms = [
            Outcome(form, refused=refusal(session(proxies[form.unit], form), form) or "answered: no longer refused")
            for form in read(FORMS)
            if options.only in form.name
        ]
    show(options.scale, outcomes, forms, console)
    if options.json is not None:
        report = {"scale": options.scale, "queries": [outcome.as_json() for outcome in (*outcomes, *forms)]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    gc.unfreeze()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench tpch", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of TPC-H; default %(default)g")
    parser.add_argument("--repetitions", type=int, default=11, help="of each query; default %(default)s")
    parser.add_argument("--only", metavar="WORD", default="", help="only queries whose name contains it, such as q07")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--cache", type=Path, default=data.CACHE, help="folder of the data; default %(default)s")
    return parser.parse_args()
