"""How accurate answers are: ``python -m tests.bench accuracy [--quick] [--json FILE]``.

Every approach answers the same questions over the same data under the same policy numbers, again and again with fresh
noise, at the same price: ε pure, or ρ = ε²/2 in a zCDP ledger, which is what pure ε costs there too. A root mean square
error is over all cells of an answer, total and smallest group alike. The product is asked through ``dpsql.connect``.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Protocol

import duckdb
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import dpsql
from dpsql.loss import PrivacyLoss

from . import tpch
from .accuracy_questions import QUESTIONS, Cell, Question, make_people, policy
from .plain import Plain
from .with_opendp import WithOpenDP
from .with_smartnoise import Unavailable, WithSmartNoise

Floats = npt.NDArray[np.float64]
OURS, PURE, PLAIN, OPENDP, OPENDP_PURE, SMARTNOISE = (
    "dpsql, zcdp",
    "dpsql, pure",
    "plain, pure",
    "OpenDP, zcdp",
    "OpenDP, pure",
    "smartnoise-sql",
)
APPROACHES = (OURS, PURE, PLAIN, OPENDP, OPENDP_PURE, SMARTNOISE)
LEAST = 3
"""Repetitions, however long one takes."""

_SECONDS, _QUICK_SECONDS = 9.0, 1.0
_SURE = 0.01
"""A relative standard error of the error at which no more repetitions are needed."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far an approach is from the truth: over all cells, and over those of each level (by how many keys they have).

    ``uncertainty`` is the standard error of ``rmse``, ``median_relative`` the median of |error| / truth over cells with a
    truth. ``refused`` says why there is nothing else.
    """

    rmse: float = math.nan
    uncertainty: float = math.nan
    median_relative: float = math.nan
    levels: Mapping[str, float] | None = None
    repetitions: int = 0
    refused: str = ""

    def as_json(self) -> dict[str, object]:
        if self.refused:
            return {"refused": self.refused}
        return {
            "rmse": self.rmse,
            "uncertainty": self.uncertainty,
            "median_relative": self.median_relative,
            "levels": dict(self.levels or {}),
            "repetitions": self.repetitions,
        }


class Approach(Protocol):
    """What answers a question: with fresh noise, every time."""

    def answer(self) -> Mapping[Cell, float]: ...


class Product:
    """The product, through its own front door, with fresh noise for each answer. Checks what each answer costs."""

    def __init__(self, question: Question, accounting: str, database: Path, folder: Path) -> None:
        path = folder / f"{question.policy}-{accounting}.yaml"
        ledger = f"{question.policy}-{accounting}.ledger"
        path.write_text(policy(question.policy, accounting, str(database), ledger), encoding="utf-8")
        self._question = question
        self._connection = dpsql.connect(path, epsilon=question.epsilon, reuse=False)
        epsilon = Fraction(question.epsilon)
        self._price = PrivacyLoss(rho=epsilon**2 / 2) if accounting == "zcdp" else PrivacyLoss(epsilon=epsilon)

    def __enter__(self) -> Product:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def answer(self) -> dict[Cell, float]:
        answer = self._connection.answer(self._question.sql)
        if answer.price != self._price:
            raise AssertionError(f"{self._question.name} cost {answer.price}, not {self._price}")
        return self._question.by_cell(answer.rows)


def measured(answer: Callable[[], Mapping[Cell, float]], truth: Mapping[Cell, int], seconds: float) -> Accuracy:
    """Answer again and again, until the error is known well or the time is up, and compare each cell with the truth."""
    cells = list(truth)
    exact = np.array([truth[cell] for cell in cells], float)
    errors: list[Floats] = []
    squares: list[float] = []
    begun = time.perf_counter()
    while len(errors) < LEAST or (time.perf_counter() - begun < seconds and not _sure(squares)):
        given = answer()
        if given.keys() != truth.keys():
            raise AssertionError(f"an answer has other cells than the truth: {list(given.keys() ^ truth.keys())[:3]}")
        errors.append(np.array([given[cell] for cell in cells]) - exact)
        squares.append(float((errors[-1] ** 2).mean()))
    return accuracy(np.array(errors), exact, [sum(value is not None for value in keys) for _, keys in cells])


def _sure(squares: Sequence[float]) -> bool:
    """Whether the root of the mean of the squares is known to a hundredth. Looked at seldom, so that luck does not stop it."""
    if len(squares) < 50 or len(squares) % 50:
        return False
    return float(np.std(squares)) / math.sqrt(len(squares)) / (2 * float(np.mean(squares))) < _SURE


def accuracy(errors: Floats, exact: Floats, used: Sequence[int]) -> Accuracy:
    """From errors by repetition and cell, the true numbers, and how many keys each cell has.

    >>> accuracy(np.array([[3.0, -4.0], [-3.0, 4.0]]), np.array([10.0, 8.0]), [1, 0]).levels
    {'0': 4.0, '1': 3.0}
    """
    squares = (errors**2).mean(axis=1)
    rmse = math.sqrt(squares.mean())
    levels = np.array(used)
    true = exact > 0
    return Accuracy(
        rmse=rmse,
        uncertainty=float(squares.std(ddof=1) / math.sqrt(len(squares)) / (2 * rmse)) if rmse else 0.0,
        median_relative=float(np.median(np.abs(errors[:, true]) / exact[true])),
        levels={str(level): math.sqrt((errors[:, levels == level] ** 2).mean()) for level in sorted({*used})},
        repetitions=len(errors),
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """One question: each approach's accuracy."""

    question: Question
    by: Mapping[str, Accuracy]

    def factor(self, approach: str) -> float:
        """How many times larger the plain approach's error is."""
        return self.by[PLAIN].rmse / self.by[approach].rmse

    def as_json(self) -> dict[str, object]:
        return {
            "question": self.question.name,
            "sql": self.question.sql,
            "epsilon": self.question.epsilon,
            "cells": len(self.question.cells),
            "target": self.question.target,
            "approaches": {name: found.as_json() for name, found in self.by.items()},
        }


def copied(table: str, database: Path) -> duckdb.DuckDBPyConnection:
    """The table in memory, for the truth and for the others: the product has the file to itself."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{database}' AS origin (READ_ONLY)")
    connection.execute(f"CREATE TABLE {table} AS FROM origin.{table}")
    connection.execute("DETACH origin")
    return connection


def compared(question: Question, database: Path, folder: Path, options: argparse.Namespace) -> Compared:
    """Every approach on one question, one after the other."""
    seconds = _QUICK_SECONDS if options.quick else _SECONDS
    with copied(question.table, database) as connection:
        truth = question.truth(connection)
        approaches: dict[str, Callable[[], AbstractContextManager[Approach]]] = {
            OURS: lambda: Product(question, "zcdp", database, folder),
            PURE: lambda: Product(question, "pure", database, folder),
            PLAIN: lambda: nullcontext(Plain(question, connection)),
            OPENDP: lambda: nullcontext(WithOpenDP(question, connection, "zcdp")),
            OPENDP_PURE: lambda: nullcontext(WithOpenDP(question, connection, "pure")),
            SMARTNOISE: lambda: WithSmartNoise(question, connection, options.smartnoise),
        }
        by = {}
        for name, opened in approaches.items():
            try:
                with opened() as approach:
                    by[name] = measured(approach.answer, truth, seconds)
            except (dpsql.Error, Unavailable) as problem:
                by[name] = Accuracy(refused=str(problem))
    return Compared(question, by)


def show(results: Sequence[Compared], console: Console) -> None:
    table = Table(title="Root mean square error over all cells, at the same price", title_justify="left")
    table.add_column("question")
    for heading in (*APPROACHES, "factor, zcdp", "pure", "target"):
        table.add_column(heading, justify="right")
    for result in results:
        shown = [_shown(result.by[name]) for name in APPROACHES]
        factors = [_factor(result, OURS), _factor(result, PURE)]
        target = result.question.target
        table.add_row(result.question.name, *shown, *factors, "" if target is None else f"≥ {target:g}")
    console.print(table)
    for reason in sorted({found.refused for r in results for found in r.by.values() if found.refused}):
        console.print(f"refused: {reason}")


def _shown(found: Accuracy) -> str:
    return "refused" if found.refused else f"{found.rmse:.3g} ± {found.uncertainty:.1g}"


def _factor(result: Compared, approach: str) -> str:
    factor = result.factor(approach)
    return "" if math.isnan(factor) else f"{factor:.1f}×"


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    console = Console()
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people = folder / "people.duckdb"
        make_people(str(people))
        for question in QUESTIONS:
            if options.only and options.only not in question.name:
                continue
            with console.status(question.name):
                database = people if question.policy == "people" else tpch.database(0.1, options.cache)
                results.append(compared(question, database, folder, options))
    show(results, console)
    if options.json is not None:
        report = {"questions": [result.as_json() for result in results]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a second for each question and approach, and not nine")
    parser.add_argument("--only", metavar="WORD", help="only questions whose name contains it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--cache", type=Path, default=tpch.CACHE, help="folder of TPC-H; default %(default)s")
    parser.add_argument("--smartnoise", metavar="PYTHON", help="a Python that has smartnoise-sql; default: this one")
    return parser.parse_args(arguments)
