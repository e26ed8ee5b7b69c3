"""The plain approach to statistics, as textbooks have it, to compare with.

Moments are quotients of noisy sums: ε is split evenly over the count, the sums, the sums of squares and of products, each
with Laplace noise of the scale that its declared range asks for (Dwork, McSherry, Nissim, Smith 2006). Quantiles are read
from a noisy histogram of 64 equal bins over the declared range, on a straight line within a bin. The largest groups are
the largest of all groups' noisy counts, where one person may be in all of them.

With Gaussian noise, k numbers share the price such that each has √k times the noise, and a person who is in k groups moves
their counts by √k.

Nothing here protects anybody: the noise is a float from a seeded generator. It is the error that counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .statistics_questions import MOST_TOPICS, TOP, TOPICS, Floats, Statistic

BINS = 64


class Plain:
    """The plain approach to one question, over columns that were read before, with Laplace or Gaussian noise."""

    def __init__(
        self, question: Statistic, columns: Sequence[Floats], *, gaussian: bool = False, seed: int = 1
    ) -> None:
        self._question, self._columns = question, columns
        self._epsilon, self._gaussian = float(question.epsilon), gaussian
        self._draw = np.random.default_rng(seed)
        if question.kind == "quantiles":
            self._counts = np.histogram(columns[0], BINS, question.ranges[0])[0].astype(float)
        elif question.kind == "top":
            self._counts = np.bincount(columns[0].astype(int), minlength=TOPICS + 1)[1:].astype(float)

    def answer(self) -> list[float]:
        kinds = {
            "mean": self._mean,
            "deviation": self._deviation,
            "correlation": self._correlation,
            "quantiles": self._quantiles,
            "top": self._top,
        }
        return kinds[self._question.kind]()

    def _sum(self, values: Floats, most: float, shares: int) -> float:
        return float(values.sum() + most * self._noise(shares, 1)[0])

    def _noise(self, shares: int, cells: int) -> Floats:
        """For numbers of sensitivity 1, at one of so many shares of the price."""
        if self._gaussian:
            return self._draw.normal(0, math.sqrt(shares) / self._epsilon, cells)
        return self._draw.laplace(0, shares / self._epsilon, cells)

    def _reach(self, column: int) -> float:
        return max(map(abs, self._question.ranges[column]))

    def _mean(self) -> list[float]:
        (x,) = self._columns
        low, high = self._question.ranges[0]
        count = max(self._sum(np.ones_like(x), 1, 2), 1)
        return [min(max(self._sum(x, self._reach(0), 2) / count, low), high)]

    def _deviation(self) -> list[float]:
        (x,) = self._columns
        reach = self._reach(0)
        count = max(self._sum(np.ones_like(x), 1, 3), 2)
        total, squares = self._sum(x, reach, 3), self._sum(x * x, reach**2, 3)
        return [math.sqrt(max(squares - total**2 / count, 0) / (count - 1))]

    def _correlation(self) -> list[float]:
        x, y = self._columns
        a, b = self._reach(0), self._reach(1)
        count = max(self._sum(np.ones_like(x), 1, 6), 2)
        sx, sy = self._sum(x, a, 6), self._sum(y, b, 6)
        xx, yy, xy = self._sum(x * x, a * a, 6), self._sum(y * y, b * b, 6), self._sum(x * y, a * b, 6)
        spread = max(xx - sx * sx / count, 0) * max(yy - sy * sy / count, 0)
        return [min(max((xy - sx * sy / count) / math.sqrt(spread), -1), 1) if spread else 0.0]

    def _quantiles(self) -> list[float]:
        noisy = np.maximum(self._counts + self._noise(1, BINS), 0)
        below = np.concatenate([[0], np.cumsum(noisy)])
        edges = np.linspace(*self._question.ranges[0], BINS + 1)
        return [float(np.interp(fraction * below[-1], below, edges)) for fraction in self._question.fractions]

    def _top(self) -> list[float]:
        noisy = self._counts + self._noise(MOST_TOPICS, TOPICS)
        return [float(place + 1) for place in np.argsort(-noisy)[:TOP]]
