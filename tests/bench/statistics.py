"""How accurate statistics are: ``python -m tests.bench statistics [--quick] [--statements N] [--only WORD] [--json FILE]``.

Every approach answers the same questions over the same data with the same declared ranges, again and again with fresh
noise, under one promise: (1, 1e-6) for one statement alone, or for ``--statements N`` together, each statement at the best
price that a system's way of adding up admits (:mod:`tests.bench.promise`). The product is asked through ``dpsql.connect``,
with its intervals, and compared with the best other. Then a median over six million rows is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import duckdb
from rich.console import Console

import dpsql
from dpsql.accounting.loss import PrivacyLoss
from rewriter.declared.types import Scalar

from .promise import SESSIONS, Mode, Promise, prices
from .statistics_libraries import WithOpenDP, WithPythonDP
from .statistics_measured import (
    APPROX,
    OPENDP,
    OPENDP_PURE,
    OURS,
    PLAIN,
    PLAIN_GAUSSIAN,
    PURE,
    PYTHONDP,
    Accuracy,
    Compared,
    Given,
    measured,
)
from .statistics_plain import Plain
from .statistics_questions import STATISTICS, Statistic, draw_wages_again, make_people, policy
from .statistics_report import show, show_times
from .statistics_time import timed
from .tpch import data
from .with_smartnoise import Unavailable

SECONDS, MOST = 20.0, 2_000
"""Seconds for repetitions, and how many are enough."""
_QUICK = 2.0, 200
POPULATIONS = 20
"""Populations that quantiles are asked of."""


class Product:
    """The product, through its own front door, with fresh noise for each answer. Checks what each answer costs."""

    def __init__(
        self, question: Statistic, accounting: str, database: Path, folder: Path, delta: Fraction = Fraction("1e-6")
    ) -> None:
        path = folder / f"{accounting}.yaml"
        path.write_text(policy(prices(accounting, delta), str(database), f"{accounting}.ledger"), encoding="utf-8")
        self._question = question
        self._connection = dpsql.connect(path, epsilon=question.epsilon, reuse=False)
        # Every declared group is compared, whether or not the answer takes it to be empty.
        self._connection.execute("SET dpsql.empty_groups = show")
        self._connection.execute(f"SET dpsql.intervals = {'off' if question.kind == 'top' else 'on'}")
        epsilon = Fraction(question.epsilon)
        self._price = PrivacyLoss(rho=epsilon**2 / 2) if accounting == "zcdp" else PrivacyLoss(epsilon=epsilon)
        self._most = delta if accounting == "approx" else Fraction(0)

    def answer(self) -> Given:
        answer = self._connection.answer(self._question.sql)
        if replace(answer.price, delta=Fraction(0)) != self._price or answer.price.delta > self._most:
            raise AssertionError(f"{self._question.name} cost {answer.price}, not {self._price}")
        if self._question.kind == "top":
            return Given(self._question.numbers(answer.rows))
        (row,) = answer.rows
        ends = zip(row[1::3], row[2::3], strict=True)
        return Given(
            self._question.numbers([row[::3]]), [(_end(low, -math.inf), _end(high, math.inf)) for low, high in ends]
        )

    def close(self) -> None:
        self._connection.close()


class Fresh:
    """The product over several populations of the same kind, one after the other: what errors there are of each.

    How densely values lie just around a quantile differs between populations, and one of them would tell little of
    intervals.
    """

    def __init__(
        self, question: Statistic, accounting: str, databases: Sequence[Path], folder: Path, delta: Fraction
    ) -> None:
        self._truths: list[list[float]] = []
        self._products: list[Product] = []
        for number, database in enumerate(databases):
            with duckdb.connect(str(database), read_only=True) as connection:
                self._truths.append(question.truth(connection))
            apart = folder / f"{accounting}-{number}"
            apart.mkdir()
            self._products.append(Product(question, accounting, database, apart, delta))
        self._next = -1

    def answer(self) -> Given:
        self._next = (self._next + 1) % len(self._products)
        given, truth = self._products[self._next].answer(), self._truths[self._next]
        numbers = [number - true for number, true in zip(given.numbers, truth, strict=True)]
        ends = [(low - true, high - true) for (low, high), true in zip(given.intervals, truth, strict=True)]
        return Given(numbers, ends)

    def close(self) -> None:
        for product in self._products:
            product.close()


def _end(value: Scalar | None, unbounded: float) -> float:
    """An interval that has no end there says nothing about it."""
    return unbounded if value is None else float(value)  # type: ignore[arg-type]


def compared(
    question: Statistic,
    connection: duckdb.DuckDBPyConnection,
    databases: Sequence[Path],
    folder: Path,
    options: argparse.Namespace,
) -> Compared:
    """Every approach on one question, one after the other."""
    truth = question.truth(connection)
    columns = question.read(connection)
    promise = Promise("1", statements=options.statements)

    def at(mode: Mode) -> Statistic:
        return replace(question, epsilon=promise.price(mode))

    approaches: dict[str, Callable[[], Plain | WithOpenDP | WithPythonDP]] = {
        PLAIN: lambda: Plain(at("composed"), columns),
        PLAIN_GAUSSIAN: lambda: Plain(at("gaussian"), columns, gaussian=True),
        OPENDP: lambda: WithOpenDP(at("zcdp"), columns, "zcdp"),
        OPENDP_PURE: lambda: WithOpenDP(at("composed"), columns, "pure"),
        PYTHONDP: lambda: WithPythonDP(at("composed"), columns),
    }
    seconds, most = _QUICK if options.quick else (options.seconds, MOST)
    modes: dict[str, Mode] = {OURS: "zcdp", PURE: "pure", APPROX: "approx"}
    by: dict[str, Accuracy] = {}
    for name, mode in modes.items():
        with tempfile.TemporaryDirectory(dir=folder) as apart:
            product: Product | Fresh
            if question.kind == "quantiles":
                product = Fresh(at(mode), mode, databases, Path(apart), promise.delta_of_one)
                expected = [0.0] * len(truth)
            else:
                product = Product(at(mode), mode, databases[0], Path(apart), promise.delta_of_one)
                expected = truth
            try:
                by[name] = measured(product.answer, question, expected, seconds, most)
            except dpsql.Error as problem:
                by[name] = Accuracy(refused=f"{name}: {problem.message}")
            finally:
                product.close()
    for name, opened in approaches.items():
        try:
            approach = opened()
            by[name] = measured(lambda approach=approach: Given(approach.answer()), question, truth, seconds / 2, most)
        except Unavailable as problem:
            by[name] = Accuracy(refused=str(problem))
    return Compared(question, by)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    promise = Promise("1", statements=options.statements)
    console = Console()
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database, copy = folder / "people.duckdb", folder / "copy.duckdb"
        make_people(str(database))
        copy.write_bytes(database.read_bytes())  # the product has its file to itself
        databases = [database, *(folder / f"people-{number}.duckdb" for number in range(1, POPULATIONS))]
        for number, other in enumerate(databases[1:], 1):
            other.write_bytes(database.read_bytes())
            draw_wages_again(str(other), seed=100 + number)
        with duckdb.connect(str(copy), read_only=True) as connection:
            for question in STATISTICS:
                if options.only in question.name:
                    with console.status(question.name):
                        results.append(compared(question, connection, databases, folder, options))
        if results:
            show(results, promise, console)
        times = []
        if options.only in "time" and options.repetitions:
            with console.status(f"a median at scale {options.scale:g}"):
                times = timed(folder, options.scale, options.cache, 3 if options.quick else options.repetitions)
            show_times(times, console)
    if options.json is not None:
        report = {
            "promise": str(promise),
            "questions": [result.as_json() for result in results],
            "times": [asdict(time) for time in times],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench statistics", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a second or two for each question and approach")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each of them; default %(default)g")
    parser.add_argument("--statements", type=int, default=SESSIONS[0], metavar="N", help="(1, 1e-6) for N of them; 1")
    parser.add_argument("--only", metavar="WORD", default="", help="only questions whose name contains it; or time")
    parser.add_argument("--scale", type=float, default=1.0, help="of TPC-H, for the time; default %(default)g")
    parser.add_argument("--repetitions", type=int, default=15, help="of the timed median, 0: none; default %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--cache", type=Path, default=data.CACHE, help="folder of TPC-H; default %(default)s")
    return parser.parse_args(arguments)
