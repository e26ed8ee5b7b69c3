"""How far an approach's statistics are from the truth, over many answers to one question; and that of several approaches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .statistics_questions import TOP, Statistic

OURS, PURE, APPROX, PLAIN, PLAIN_GAUSSIAN, OPENDP, OPENDP_PURE, PYTHONDP = (
    "dpsql, zcdp",
    "dpsql, pure",
    "dpsql, approx",
    "plain, Laplace",
    "plain, Gaussian",
    "OpenDP, zcdp",
    "OpenDP, pure",
    "python-dp, pure",
)
APPROACHES = (OURS, PURE, APPROX, PLAIN, PLAIN_GAUSSIAN, OPENDP, OPENDP_PURE, PYTHONDP)
OWN = (OURS, PURE, APPROX)
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Given:
    """One answer: its numbers, and the intervals that came with them."""

    numbers: Sequence[float]
    intervals: Sequence[Interval] = ()


@dataclass(frozen=True, slots=True)
class Accuracy:
    """``error`` is the root mean square error over all numbers, or the part of the largest groups that was found.

    ``uncertainty`` is its standard error, ``coverage`` the part of the intervals that hold the truth, of ``intervals``
    in all. ``missing`` is the part of the answers that were NULL, of which there is no error. ``refused`` says why there is
    nothing else.
    """

    error: float = math.nan
    uncertainty: float = math.nan
    coverage: float = math.nan
    intervals: int = 0
    repetitions: int = 0
    missing: float = 0.0
    refused: str = ""

    @property
    def coverage_uncertainty(self) -> float:
        return math.sqrt(self.coverage * (1 - self.coverage) / self.intervals) if self.intervals else math.nan

    def as_json(self) -> dict[str, object]:
        if self.refused:
            return {"refused": self.refused}
        found: dict[str, object] = {"error": self.error, "uncertainty": self.uncertainty}
        if self.intervals:
            found |= {"coverage": self.coverage, "intervals": self.intervals}
        if self.missing:
            found["missing"] = self.missing
        return found | {"repetitions": self.repetitions}


def measured(
    answer: Callable[[], Given], question: Statistic, truth: Sequence[float], seconds: float, most: int
) -> Accuracy:
    """Answer again and again, until there are enough answers or the time is up, and compare each with the truth."""
    answer()  # what starts, plans or reads once is not timed
    begun = time.perf_counter()
    found: list[Given] = []
    while len(found) < 2 or (len(found) < most and time.perf_counter() - begun < seconds):
        found.append(answer())
    if question.kind == "top":
        return recall([given.numbers for given in found], truth)
    return accuracy(found, truth)


def recall(answers: Sequence[Sequence[float]], truth: Sequence[float]) -> Accuracy:
    """The part of the largest groups that was named.

    >>> recall([[1, 2], [2, 3]], [2, 1]).error
    0.75
    """
    parts = np.array([len({*names} & {*truth}) / len(truth) for names in answers])
    return Accuracy(float(parts.mean()), float(parts.std(ddof=1) / math.sqrt(len(parts))), repetitions=len(parts))


def accuracy(answers: Sequence[Given], truth: Sequence[float]) -> Accuracy:
    """From all answers, the error of their numbers and the coverage of their intervals.

    >>> found = accuracy([Given([3.0], [(2.0, 6.0)]), Given([11.0], [(8.0, 12.0)])], [7.0])
    >>> found.error, found.coverage
    (4.0, 0.0)
    """
    answered = [given for given in answers if not any(map(math.isnan, given.numbers))]
    missing = 1 - len(answered) / len(answers)
    if len(answered) < 2:
        return Accuracy(refused="answers are NULL", repetitions=len(answers))
    squares = ((np.array([given.numbers for given in answered], float) - np.array(truth)) ** 2).mean(axis=1)
    rmse = math.sqrt(squares.mean())
    held = [
        low <= true <= high
        for given in answered
        for true, (low, high) in zip(truth, given.intervals, strict=bool(given.intervals))
    ]
    return Accuracy(
        error=rmse,
        uncertainty=float(squares.std(ddof=1) / math.sqrt(len(squares)) / (2 * rmse)) if rmse else 0.0,
        coverage=sum(held) / len(held) if held else math.nan,
        intervals=len(held),
        repetitions=len(answers),
        missing=missing,
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """One question: each approach's accuracy."""

    question: Statistic
    by: Mapping[str, Accuracy]

    def factor(self) -> float:
        """How many times larger the least error of any other system is than that of the product in any of its modes.

        Of the largest groups, how many times more of them the product finds.
        """
        own, others = self._answered(own=True), self._answered(own=False)
        if not own or not others:
            return math.nan
        return max(own) / max(others) if self.question.kind == "top" else min(others) / min(own)

    def _answered(self, *, own: bool) -> list[float]:
        return [one.error for name, one in self.by.items() if (name in OWN) is own and not one.refused]

    def as_json(self) -> dict[str, object]:
        return {
            "question": self.question.name,
            "sql": self.question.sql,
            "measure": f"recall at {TOP}" if self.question.kind == "top" else "rmse",
            "factor": None if math.isnan(self.factor()) else self.factor(),
            "approaches": {name: found.as_json() for name, found in self.by.items()},
        }
