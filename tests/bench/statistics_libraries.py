"""OpenDP and python-dp on the same statistics, as far as they have them.

OpenDP: a mean is a noisy sum over a noisy count, at half the price each; quantiles are picked among 1,001 candidates, evenly
apart, an even share of the price each; the largest groups are one noisy top-k. It has a variance only where the number
of people is public, and no correlation. python-dp: Google's bounded mean, deviation and quantile trees; pure ε only.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import opendp.prelude as dp

from .statistics_questions import TOP, TOPICS, Floats, Statistic
from .with_smartnoise import Unavailable

_CANDIDATES = 1001


class WithOpenDP:
    """A question by OpenDP, under ``zcdp`` or ``pure``. What measures is built once and drawn from as often as asked."""

    def __init__(self, question: Statistic, columns: Sequence[Floats], accounting: str) -> None:
        dp.enable_features("contrib")
        epsilon = Fraction(question.epsilon)
        self._loss = float(epsilon**2 / 2 if accounting == "zcdp" else epsilon)
        self._pure = accounting == "pure"
        self._question, self._columns = question, columns
        kinds = {"mean": self._mean, "quantiles": self._quantiles, "top": self._top}
        if question.kind not in kinds:
            raise Unavailable(f"OpenDP has no {question.name} where how many people there are is private")
        self._built: Callable[[], list[float]] = kinds[question.kind]()

    def answer(self) -> list[float]:
        return self._built()

    def _mean(self) -> Callable[[], list[float]]:
        (x,) = self._columns
        low, high = self._question.ranges[0]
        total = self._noise(max(abs(low), abs(high)))
        count = self._noise(1.0)
        sums = float(x.sum()), float(len(x))
        return lambda: [min(max(total(sums[0]) / max(count(sums[1]), 1), low), high)]

    def _noise(self, most: float) -> Callable[[float], float]:
        """Noise on one number at half of the price."""
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        make = dp.m.make_laplace if self._pure else dp.m.make_gaussian
        measurement: Any = dp.binary_search_chain(lambda scale: make(*space, scale), most, self._loss / 2, (0.0, 1e9))
        return lambda value: float(measurement(value))

    def _quantiles(self) -> Callable[[], list[float]]:
        low, high = self._question.ranges[0]
        candidates = [float(value) for value in np.linspace(low, high, _CANDIDATES)]
        fractions = self._question.fractions
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
        measure = dp.max_divergence() if self._pure else dp.zero_concentrated_divergence()

        def pick(fraction: float) -> Any:
            return dp.binary_search_chain(
                lambda scale: dp.m.make_private_quantile(*space, measure, candidates, fraction, scale),
                1,
                self._loss / len(fractions),
                (0.0, 1e9),
            )

        measurements = [pick(fraction) for fraction in fractions]
        rows = self._columns[0].tolist()
        return lambda: [float(measurement(rows)) for measurement in measurements]

    def _top(self) -> Callable[[], list[float]]:
        counts = np.bincount(self._columns[0].astype(int), minlength=TOPICS + 1)[1:].astype(int).tolist()
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)
        measure = dp.max_divergence() if self._pure else dp.zero_concentrated_divergence()
        measurement: Any = dp.binary_search_chain(
            lambda scale: dp.m.make_noisy_top_k(*space, measure, TOP, scale), 1, self._loss, (0.0, 1e9)
        )
        return lambda: [float(place + 1) for place in measurement(counts)]


class WithPythonDP:
    """A question by python-dp, at pure ε."""

    def __init__(self, question: Statistic, columns: Sequence[Floats]) -> None:
        if importlib.util.find_spec("pydp") is None:
            raise Unavailable("python-dp is not installed: pip install python-dp")
        if question.kind not in ("mean", "deviation", "quantiles"):
            raise Unavailable(f"python-dp has no {question.name}")
        self._algorithms: Any = importlib.import_module("pydp.algorithms.laplacian")
        self._question = question
        self._rows = columns[0].tolist()

    def answer(self) -> list[float]:
        (low, high), epsilon = self._question.ranges[0], float(self._question.epsilon)
        given = {"lower_bound": low, "upper_bound": high, "dtype": "float"}
        if self._question.kind == "mean":
            return [self._algorithms.BoundedMean(epsilon=epsilon, **given).quick_result(self._rows)]
        if self._question.kind == "deviation":
            return [self._algorithms.BoundedStandardDeviation(epsilon=epsilon, **given).quick_result(self._rows)]
        fractions = self._question.fractions
        share = epsilon / len(fractions)
        return [
            self._algorithms.Percentile(epsilon=share, percentile=fraction, **given).quick_result(self._rows)
            for fraction in fractions
        ]
