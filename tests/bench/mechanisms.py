"""What each mechanism errs by over the demo's clinic, beside what the textbook predicts.

``python -m tests.bench mechanisms`` asks each statement of the guide's page which-mechanism many times, freshly, and
prints the page's table: how far answers were from the truth 95 times in 100, beside what EXPLAIN told before; and how
many counts a total admits. For the row of randomized
answers, each patient's smoking is randomized by the code of ``dpsql randomize`` first, anew for every few answers. Each
alert is a watch of its own, with a threshold of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from shutil import copyfile

import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from dpsql.interfaces.commands import demo_clinic
from dpsql.randomize import Secret, reports
from rewriter.declared import Response

Rows = Sequence[Sequence[object]]
REPEATS = 90
"""A total δ has room for a hundred statements that select groups."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A statement at a price under an accounting. ``err`` compares an answer's rows with the true ones, in numbers;
    ``draws`` is how many times people randomize, and ``watched``: it is asked as a new watch each time."""

    name: str
    sql: str
    epsilon: float
    predicted: str
    err: Callable[[Rows, Rows], Sequence[float]]
    accounting: str = "zcdp"
    truth: str = ""
    told: str = r"expected 95 % error\n.*?± (\S+)"
    draws: int = 0
    watched: bool = False


def _last(ours: Rows, true: Rows) -> list[float]:
    known = {tuple(row[:-1]): float(row[-1]) for row in true}  # type: ignore[arg-type]
    return [abs(float(row[-1]) - known[tuple(row[:-1])]) for row in ours if tuple(row[:-1]) in known]  # type: ignore[arg-type]


def _wrong(ours: Rows, true: Rows) -> list[float]:
    return [float(len({row[0] for row in true} - {row[0] for row in ours}))]


def _unnamed(ours: Rows, true: Rows) -> list[float]:
    """The size of the largest group that is not named."""
    named = {row[0] for row in ours}
    return [float(max((row[-1] for row in true if row[0] not in named), default=0))]  # type: ignore[type-var, arg-type]


def _ranks(ours: Rows, true: Rows) -> list[float]:
    weights = np.array([float(row[0]) for row in true])  # type: ignore[arg-type]
    value = float(ours[0][0])  # type: ignore[arg-type]
    low, high = (weights < value).sum(), (weights <= value).sum()
    middle = len(weights) / 2
    return [float(max(low - middle, middle - high, 0.0))]


def _wrong_alerts(ours: Rows, true: Rows) -> list[float]:
    """Of a hundred."""
    return [100.0 * (ours[0][0] != true[0][0])]


def _log_odds(ours: Rows, true: Rows) -> list[float]:
    """Of heights' log odds, per cm, beside those of Newton's method without noise."""
    table = np.array([[float(cell) for cell in row] for row in true])  # type: ignore[arg-type]
    flag, centre, scale = table[:, 0], table[:, 1:].mean(axis=0), table[:, 1:].std(axis=0)
    x = np.column_stack([np.ones(len(flag)), (table[:, 1:] - centre) / scale])
    found = np.zeros(x.shape[1])
    for _ in range(25):
        odds = 1 / (1 + np.exp(-x @ found))
        found += np.linalg.solve((x.T * (odds * (1 - odds))) @ x, x.T @ (flag - odds))
    return [abs(float(ours[0][0]) - found[1] / scale[0])]  # type: ignore[arg-type]


def _squares(ours: Rows, true: Rows) -> list[float]:
    """The squares of all errors of a row, added up."""
    pairs = zip(ours[0], true[0], strict=True)
    return [sum((float(one) - float(other)) ** 2 for one, other in pairs)]  # type: ignore[arg-type]


def _total(ours: Rows, true: Rows) -> list[float]:
    """Of the row over all groups, whose keys are NULL."""
    (one,), (other,) = ([row for row in rows if set(row[:-1]) == {None}] for rows in (ours, true))
    return [abs(float(one[-1]) - float(other[-1]))]  # type: ignore[arg-type]


_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex"
_FOUND = "SELECT diagnosis, COUNT(*) FROM patient GROUP BY diagnosis"
_TOP = f"{_FOUND} ORDER BY 2 DESC LIMIT 3"
_MODE = "SELECT MODE() WITHIN GROUP (ORDER BY reason) FROM visit"
_SLOPE = "SELECT (LINREGR(weight_kg, ARRAY[1, height_cm])).coef[2] FROM patient"
_BLOCKS = "SELECT dpsql.over_blocks(KURTOSIS(weight_kg), blocks => 100, low => -2, high => 10) FROM patient"
_ODDS = "SELECT (LOGREGR(smoker, ARRAY[1, height_cm, birth_year])).coef[2] FROM patient"
_ALERT = "SELECT COUNT(*) < 9912 FROM patient"
_SMOKES = "SELECT smoker, COUNT(*) FROM patient WHERE smoker IS NOT NULL GROUP BY smoker"
_FOUR = ", ".join(f"COUNT(*) FILTER (WHERE sex = '{sex}'{more})" for sex in "FM" for more in ("", " AND smoker"))
_LEVELS = "SELECT sex, smoker, COUNT(*) FROM patient GROUP BY ROLLUP (sex, smoker)"
_SO_FAR = (
    "SELECT DATE_TRUNC('month', day) AS month, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS so_far"
    " FROM visit GROUP BY month"
)
MECHANISMS = (
    Mechanism("discrete Laplace: counts", _SEX, 0.1, "30 = ln(20)/ε", _last, "pure"),
    Mechanism("discrete Gaussian: counts", _SEX, 0.1, "20 = 1.96/ε", _last),
    Mechanism("exponential: ranks off the median of 10,000", "SELECT MEDIAN(weight_kg) FROM patient", 0.25, "", _ranks,
              "pure", "SELECT weight_kg FROM patient", r"at most (\d+)\s+rows"),
    Mechanism("permute-and-flip: modes that are wrong", _MODE, 0.25, "none", _wrong, "pure", told=""),
    Mechanism("one-shot picks: of the 3 largest diagnoses, missed", _TOP, 0.25, "none", _wrong, told=""),
    Mechanism("threshold: patients of the largest diagnosis that is not named", _FOUND, 1.0, "", _unnamed, told=r"fewer\s+than\s+about\s+(\d+)"),
    Mechanism("second moments: `LINREGR`, kg per cm", _SLOPE, 1.0, "", _last, truth="SELECT REGR_SLOPE(weight_kg, height_cm) FROM patient"),
    Mechanism("sample and aggregate: kurtosis", _BLOCKS, 1.0, "0.24, and how a block differs from all", _last,
              truth="SELECT KURTOSIS(weight_kg) FROM patient"),
    Mechanism("gradient descent: `LOGREGR`, log odds per cm", _ODDS, 1.0, "", _log_odds,
              truth="SELECT smoker::INT, height_cm, birth_year FROM patient WHERE smoker IS NOT NULL"),
    Mechanism("randomized response: smokers", _SMOKES, 1.0, "170", _last, truth=_SMOKES, draws=20),
    Mechanism("sparse vector: of 100 alerts that ask for 9,912 people of 10,000, wrong", _ALERT, 0.25, "5 at most", _wrong_alerts,
              told="", watched=True),
    Mechanism("one vector: squared errors of four counts, added up", f"SELECT {_FOUR} FROM patient", 0.1, "1,200 = 12/ε²", _squares,
              "pure", told=""),
    Mechanism("least squares: the total of `ROLLUP (sex, smoker)`", _LEVELS, 0.1, "", _total),
    Mechanism("square root of sums: visits so far, 12 months", _SO_FAR, 0.25, "", _last),
)  # fmt: skip


def measured(one: Mechanism, repeats: int, folder: Path) -> tuple[str, float, float]:
    """What EXPLAIN tells, how far 95 of 100 answers are off at most, and all of them on average."""
    delta = "" if one.accounting == "pure" else ", delta: 1e-2"
    text = demo_clinic.POLICY_TEXT
    first, last = text.index("budget:"), text.index("statement:")
    text = f"{text[:first]}budget: {{epsilon: 100000{delta}, accounting: {one.accounting}}}\n{text[last:]}"
    text = text.replace("guest: {budget: {epsilon: 1.25}}", "guest: {}")
    if one.draws:
        text = text.replace(
            "smoker: {values: [true, false, null]}", "smoker: {values: [true, false], randomized: {response: 1.1}}"
        )
        text = text.replace(f"duckdb:{demo_clinic.DATABASE}", f"duckdb:{_REPORTED}")
    name = f"{one.accounting}_{one.draws}"
    policy = folder / f"{name}.yaml"
    policy.write_text(text.replace(demo_clinic.LEDGER, f"{name}.ledger"))
    with duckdb.connect(str(folder / demo_clinic.DATABASE), read_only=True) as plain:
        true = plain.execute(one.truth or one.sql).fetchall()
    errors: list[float] = []
    first = ""
    for _ in range(max(one.draws, 1)):
        if one.draws:
            _randomize(folder)
        with dpsql.connect(str(policy), analyst="ana") as asking:
            cursor = asking.cursor()
            for setting in ("reuse = off", f"epsilon = {one.epsilon}", *(["watch = explained"] if one.watched else [])):
                cursor.execute(f"SET dpsql.{setting}")
            cursor.execute(f"EXPLAIN {one.sql}")
            plan = "\n".join(str(row[0]) for row in cursor.fetchall())
            told = re.search(one.told, plan, re.DOTALL) if one.told else None
            first = first or (told[1] if told else "")
            for number in range(max(repeats // max(one.draws, 1), 1) * (10 if one.watched else 1)):
                if one.watched:
                    cursor.execute(f"SET dpsql.watch = 'watch {number}'")
                cursor.execute(one.sql)
                errors += one.err(cursor.fetchall(), true)
    return first, float(np.quantile(errors, 0.95)), math.fsum(errors) / len(errors)


def admitted(folder: Path, epsilon: float = 0.01) -> int:
    """How many counts at ε a total of (1, 10⁻⁶) admits before one is refused."""
    policy = folder / "filter.yaml"
    text = demo_clinic.POLICY_TEXT.replace("budget: {epsilon: 10,", "budget: {epsilon: 1,")
    policy.write_text(text.replace(demo_clinic.LEDGER, "filter.ledger"))
    count = 0
    with dpsql.connect(str(policy), analyst="ana") as asking:
        cursor = asking.cursor()
        for setting in ("reuse = off", f"epsilon = {epsilon}"):
            cursor.execute(f"SET dpsql.{setting}")
        with contextlib.suppress(dpsql.Error):
            while True:
                cursor.execute("SELECT COUNT(*) FROM patient")
                count += 1
    return count


_REPORTED = "reported.duckdb"


def _randomize(folder: Path) -> None:
    """A copy of the clinic whose patients have just randomized whether they smoke."""
    copy = folder / _REPORTED
    copy.unlink(missing_ok=True)
    copyfile(folder / demo_clinic.DATABASE, copy)
    with duckdb.connect(str(copy)) as connection:
        rows = connection.execute("SELECT id, smoker FROM patient WHERE smoker IS NOT NULL ORDER BY id").fetchall()
        said = reports(Response((True, False), Fraction("1.1")), [smokes for _, smokes in rows], Secret())
        found = pa.table({"id": [person for person, _ in rows], "said": list(said)})
        connection.register("found", found)
        connection.execute("UPDATE patient SET smoker = found.said FROM found WHERE found.id = patient.id")


def _figure(number: float) -> str:
    """Three digits, without an exponent.

    >>> _figure(4356.7), _figure(0.03291)
    ('4,360', '0.0329')
    """
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 1000 else f"{number:.3g}"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench mechanisms")
    options.add_argument("--repeats", type=int, default=REPEATS)
    asked = options.parse_args()
    print("| mechanism | ε | textbook | `EXPLAIN` | 95 of 100 are within | on average |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        demo_clinic.build(Path(folder))
        for one in MECHANISMS:
            told, within, mean = measured(one, asked.repeats, Path(folder))
            print(
                f"| {one.name} | {one.epsilon:g} | {one.predicted} | {told} | {_figure(within)} | {_figure(mean)} |",
                flush=True,
            )
        print(f"\nWithin (1, 10⁻⁶) {admitted(Path(folder))} counts at ε = 0.01 are admitted.")


if __name__ == "__main__":
    main()
