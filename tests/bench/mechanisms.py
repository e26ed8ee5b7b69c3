"""What each mechanism errs by over the demo's clinic, beside what the textbook predicts.

``python -m tests.bench mechanisms`` asks each statement of the guide's page which-mechanism many times, freshly, and
prints how far answers were from the truth 95 times in 100.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

import dpsql
from dpsql.interfaces.commands import demo_clinic

Rows = Sequence[Sequence[object]]
REPEATS = 60


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A statement at a price under an accounting. ``err`` compares an answer's rows with the true ones, in numbers."""

    name: str
    sql: str
    epsilon: float
    predicted: str
    err: Callable[[Rows, Rows], Sequence[float]]
    accounting: str = "zcdp"
    truth: str = ""


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


_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex"
_FOUND = "SELECT diagnosis, COUNT(*) FROM patient GROUP BY diagnosis"
_TOP = f"{_FOUND} ORDER BY 2 DESC LIMIT 3"
_MODE = "SELECT MODE() WITHIN GROUP (ORDER BY reason) FROM visit"
_SLOPE = "SELECT (LINREGR(weight_kg, ARRAY[1, height_cm])).coef[2] FROM patient"
_BLOCKS = "SELECT dpsql.over_blocks(KURTOSIS(weight_kg), blocks => 100, low => -2, high => 10) FROM patient"
MECHANISMS = (
    Mechanism("discrete Laplace: counts", _SEX, 0.1, "30 = ln(20)/ε", _last, "pure"),
    Mechanism("discrete Gaussian: counts", _SEX, 0.1, "20 = 1.96/ε", _last),
    Mechanism("exponential: ranks off the median", "SELECT MEDIAN(weight_kg) FROM patient", 0.25, "", _ranks,
              "pure", "SELECT weight_kg FROM patient"),
    Mechanism("permute-and-flip: modes that are wrong", _MODE, 0.25, "0", _wrong, "pure"),
    Mechanism("one-shot picks: of the 3 largest, missed", _TOP, 0.25, "0", _wrong),
    Mechanism("threshold: largest group unnamed", _FOUND, 1.0, "", _unnamed),
    Mechanism("second moments: kg per cm", _SLOPE, 1.0, "", _last, truth="SELECT REGR_SLOPE(weight_kg, height_cm) FROM patient"),
    Mechanism("sample and aggregate: kurtosis", _BLOCKS, 1.0, "0.24 = 1.96·12/(100·ε), and how blocks differ from all", _last,
              truth="SELECT KURTOSIS(weight_kg) FROM patient"),
)  # fmt: skip


def measured(one: Mechanism, repeats: int, folder: Path) -> tuple[float, float]:
    """How far 95 of 100 answers are off at most, and all of them on average."""
    delta = "" if one.accounting == "pure" else ", delta: 1e-2"
    text = demo_clinic.POLICY_TEXT
    first, last = text.index("budget:"), text.index("statement:")
    text = f"{text[:first]}budget: {{epsilon: 100000{delta}, accounting: {one.accounting}}}\n{text[last:]}"
    text = text.replace("guest: {budget: {epsilon: 1.25}}", "guest: {}")
    policy = folder / f"{one.accounting}.yaml"
    policy.write_text(text.replace(demo_clinic.LEDGER, f"{one.accounting}.ledger"))
    with duckdb.connect(str(folder / demo_clinic.DATABASE), read_only=True) as plain:
        true = plain.execute(one.truth or one.sql).fetchall()
    errors: list[float] = []
    with dpsql.connect(str(policy), analyst="ana") as asking:
        cursor = asking.cursor()
        for setting in ("reuse = off", f"epsilon = {one.epsilon}"):
            cursor.execute(f"SET dpsql.{setting}")
        for _ in range(repeats):
            cursor.execute(one.sql)
            errors += one.err(cursor.fetchall(), true)
    return float(np.quantile(errors, 0.95)), math.fsum(errors) / len(errors)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench mechanisms")
    options.add_argument("--repeats", type=int, default=REPEATS)
    asked = options.parse_args()
    print("| mechanism | ε | predicted | 95 of 100 are within | on average |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        demo_clinic.build(Path(folder))
        for one in MECHANISMS:
            within, mean = measured(one, asked.repeats, Path(folder))
            print(f"| {one.name} | {one.epsilon} | {one.predicted} | {within:.3g} | {mean:.3g} |", flush=True)


if __name__ == "__main__":
    main()
