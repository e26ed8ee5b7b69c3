"""The plain approach to private counts, as textbooks have it, to compare with: no workload, no inference.

A statement's ε is split evenly over its outputs, the levels of a ROLLUP, the steps of a running total. For each, every
person keeps a random choice of rows or of groups up to a bound that the owner declared, and each public group's count
gets Laplace noise of scale Δ₁/ε (Dwork, McSherry, Nissim, Smith 2006; L0 sampling as in Wilson et al. 2020).

Which bound: the policy says that a person has at most N rows, at most m of them in a group. Keeping N rows has Δ₁ = N;
keeping L0 groups with m rows each has Δ₁ = L0·m, where no smaller L0 than min(N, groups) spares people who keep the policy.
The smaller Δ₁ is taken, so that nobody who keeps the policy loses a row: all of the error is noise. One level has
a public set of groups, and a sum over its groups is not taken: an answer's cells are what was measured.

With Gaussian noise the bound is that of the L2 norm, √(N·m), at most m rows in a group being kept, and k outputs share the
price such that each has √k times the noise.

Nothing here protects anybody: the noise is a float from a seeded generator. It is the error that counts.
"""

from __future__ import annotations

import math

import duckdb
import numpy as np
import numpy.typing as npt

from .accuracy_questions import Cell, Counts, Question
from .kept import Kept, bounded

Floats = npt.NDArray[np.float64]


def sensitivity(question: Question, counts: Counts) -> int:
    """The most that one person can move the counts in all groups, after sampling.

    >>> from .accuracy_questions import QUESTIONS_OF_ORDERS
    >>> [sensitivity(question, question.counts[0]) for question in QUESTIONS_OF_ORDERS]
    [45, 45]
    """
    groups = min(question.rows, len(question.groups(counts)))
    return min(question.rows, groups * question.rows_per_group)


def noise_scale(question: Question, counts: Counts) -> float:
    """The scale of the Laplace noise in each group: its variance is twice the square.

    >>> from .accuracy_questions import FOUR_COUNTS
    >>> noise_scale(FOUR_COUNTS, FOUR_COUNTS.counts[0])
    40.0
    """
    return sensitivity(question, counts) * len(question.counts) / float(question.epsilon)


def deviation(question: Question) -> float:
    """The standard deviation of the Gaussian noise in each group.

    >>> from .accuracy_questions import FOUR_COUNTS
    >>> deviation(FOUR_COUNTS)
    20.0
    """
    most = question.rows * min(question.rows, question.rows_per_group)
    return math.sqrt(most * len(question.counts)) / float(question.epsilon)


def sampled(question: Question, counts: Counts) -> str | None:
    """The rows that are counted, as SQL: at most N of a person, drawn anew, and at most m in a group, if that is less."""
    if question.unique:
        return None
    keys = ", ".join(question.key(name).sql for name in counts.by)
    if sensitivity(question, counts) == question.rows:
        kept = f"row_number() OVER (PARTITION BY {question.unit} ORDER BY dice) <= {question.rows}"
    else:
        per_group = f"row_number() OVER (PARTITION BY {question.unit}, {keys} ORDER BY dice)"
        kept = f"{per_group} <= {question.rows_per_group}"
    thrown = f"SELECT *, random() AS dice FROM {question.table} WHERE {counts.where}"
    return f"(SELECT * FROM ({thrown}) QUALIFY {kept})"


class Plain:
    """The plain approach to one question, with Laplace or Gaussian noise."""

    def __init__(
        self, question: Question, connection: duckdb.DuckDBPyConnection, *, gaussian: bool = False, seed: int = 1
    ) -> None:
        self._question, self._gaussian = question, gaussian
        self._kept = Kept(question, connection, bounded if gaussian else sampled)
        self._draw = np.random.default_rng(seed)

    def answer(self) -> dict[Cell, float]:
        """Every cell with noise, for the question's whole ε."""
        cells: dict[Cell, float] = {}
        for counts in self._question.counts:
            exact = self._kept.read(counts)
            noisy = np.fromiter(exact.values(), float) + self._noise(counts, len(exact))
            cells |= dict(zip(exact, noisy.tolist(), strict=True))
        return cells

    def _noise(self, counts: Counts, cells: int) -> Floats:
        if self._gaussian:
            return self._draw.normal(0, deviation(self._question), cells)
        return self._draw.laplace(0, noise_scale(self._question, counts), cells)


def predicted(question: Question) -> float:
    """The root mean square error over all cells that the noise alone makes.

    >>> from .accuracy_questions import NESTED
    >>> round(predicted(NESTED), 1)
    70.7
    """
    squares = [(2 * noise_scale(question, counts) ** 2, len(question.groups(counts))) for counts in question.counts]
    return math.sqrt(sum(square * cells for square, cells in squares) / sum(cells for _, cells in squares))
