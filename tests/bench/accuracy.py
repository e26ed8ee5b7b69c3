"""How accurate answers are: ``python -m tests.bench accuracy [--quick] [--statements N] [--json FILE]``.

Every approach answers the same questions over the same data under the same policy numbers, again and again with fresh
noise, under one promise: (1, 1e-6) for one statement alone, or for ``--statements N`` together, each statement at the best
price that a system's way of adding up admits (:mod:`tests.bench.promise`). A root mean square error is over all cells of an
answer, total and smallest group alike. The product is asked through ``dpsql.connect``, and compared with the best other.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import duckdb
from rich.console import Console

import dpsql
from dpsql.accounting.loss import PrivacyLoss

from .accuracy_data import make_people, policy
from .accuracy_measured import (
    APPROX,
    OPENDP,
    OPENDP_PURE,
    OURS,
    PLAIN,
    PLAIN_GAUSSIAN,
    PURE,
    SMARTNOISE,
    Accuracy,
    Approach,
    Compared,
    measured,
)
from .accuracy_questions import QUESTIONS, Cell, Question
from .accuracy_report import show
from .plain import Plain
from .promise import SESSIONS, Mode, Promise, prices
from .tpch import data as tpch
from .with_opendp import WithOpenDP
from .with_smartnoise import Unavailable, WithSmartNoise

SECONDS, LEAST = 9.0, 8
"""Seconds for repetitions, and how many there are however long one takes."""
_QUICK_SECONDS, _QUICK_LEAST = 0.7, 2


class Product:
    """The product, through its own front door, with fresh noise for each answer. Checks what each answer costs."""

    def __init__(
        self, question: Question, accounting: str, database: Path, folder: Path, delta: Fraction = Fraction("1e-6")
    ) -> None:
        path = folder / f"{question.policy}-{accounting}.yaml"
        ledger = f"{question.policy}-{accounting}.ledger"
        path.write_text(policy(question.policy, prices(accounting, delta), str(database), ledger), encoding="utf-8")
        self._question = question
        self._connection = dpsql.connect(path, epsilon=question.epsilon, reuse=False)
        # Every group is compared, whether or not the answer takes it to be empty.
        self._connection.execute("SET dpsql.empty_groups = show")
        epsilon = Fraction(question.epsilon)
        self._price = PrivacyLoss(rho=epsilon**2 / 2) if accounting == "zcdp" else PrivacyLoss(epsilon=epsilon)
        self._most = delta if accounting == "approx" else Fraction(0)

    def __enter__(self) -> Product:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def answer(self) -> dict[Cell, float]:
        answer = self._connection.answer(self._question.sql)
        # δ is paid where the noise that is chosen needs it.
        if replace(answer.price, delta=Fraction(0)) != self._price or answer.price.delta > self._most:
            raise AssertionError(f"{self._question.name} cost {answer.price}, not {self._price}")
        return self._question.by_cell(answer.rows)


def copied(table: str, database: Path) -> duckdb.DuckDBPyConnection:
    """The table in memory, for the truth and for the others: the product has the file to itself."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{database}' AS origin (READ_ONLY)")
    connection.execute(f"CREATE TABLE {table} AS FROM origin.{table}")
    connection.execute("DETACH origin")
    return connection


def compared(question: Question, database: Path, folder: Path, options: argparse.Namespace) -> Compared:
    """Every approach on one question, one after the other."""
    seconds, least = (_QUICK_SECONDS, _QUICK_LEAST) if options.quick else (options.seconds, LEAST)
    promise = _promise(options)

    def at(mode: Mode) -> Question:
        return replace(question, epsilon=promise.price(mode))

    with copied(question.table, database) as connection:
        truth = question.truth(connection)
        approaches: dict[str, Callable[[], AbstractContextManager[Approach]]] = {
            OURS: lambda: Product(at("zcdp"), "zcdp", database, folder),
            PURE: lambda: Product(at("pure"), "pure", database, folder),
            APPROX: lambda: Product(at("approx"), "approx", database, folder, promise.delta_of_one),
            PLAIN: lambda: nullcontext(Plain(at("composed"), connection)),
            PLAIN_GAUSSIAN: lambda: nullcontext(Plain(at("gaussian"), connection, gaussian=True)),
            OPENDP: lambda: nullcontext(WithOpenDP(at("zcdp"), connection, "zcdp")),
            OPENDP_PURE: lambda: nullcontext(WithOpenDP(at("composed"), connection, "pure")),
            SMARTNOISE: lambda: WithSmartNoise(at("composed"), connection, options.smartnoise),
        }
        by = {}
        for name, opened in approaches.items():
            try:
                with opened() as approach:
                    by[name] = measured(approach.answer, truth, seconds, least)
            except (dpsql.Error, Unavailable) as problem:
                by[name] = Accuracy(refused=str(problem))
    return Compared(question, by)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    console = Console()
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people = folder / "people.duckdb"
        make_people(str(people))
        for question in {
            question.sql: question for question in QUESTIONS
        }.values():  # each once: the promise is the price
            if options.only and options.only not in question.name:
                continue
            with console.status(question.name):
                database = people if question.policy == "people" else tpch.database(0.1, options.cache)
                results.append(compared(question, database, folder, options))
    promise = _promise(options)
    show(results, promise, console)
    if options.json is not None:
        report = {"promise": str(promise), "questions": [result.as_json() for result in results]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _promise(options: argparse.Namespace) -> Promise:
    return Promise("1", statements=options.statements)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a second for each question and approach")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each of them; default %(default)g")
    parser.add_argument("--only", metavar="WORD", help="only questions whose name contains it")
    parser.add_argument("--statements", type=int, default=SESSIONS[0], metavar="N", help="(1, 1e-6) for N of them; 1")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--cache", type=Path, default=tpch.CACHE, help="folder of TPC-H; default %(default)s")
    parser.add_argument("--smartnoise", metavar="PYTHON", help="a Python that has smartnoise-sql; default: this one")
    return parser.parse_args(arguments)
