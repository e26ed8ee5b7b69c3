"""OpenDP's library as its guide shows it: a context that splits the loss evenly, one vector of counts per query.

The counts are DuckDB's, each person's rows cut to the policy's bounds in SQL; OpenDP is told the norm that follows and
finds the scale of the noise. Under zCDP that is the discrete Gaussian, under pure ε the discrete Laplace. The library has
no SQL and no inference for such tables, so its answers are the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import duckdb
import opendp.prelude as dp

from .accuracy_questions import Cell, Question
from .kept import Kept, bounded

Measurement = Callable[[list[int]], list[int]]


class WithOpenDP:
    """A question by OpenDP, under ``zcdp`` or ``pure``. A measurement is built once and drawn from as often as asked."""

    def __init__(self, question: Question, connection: duckdb.DuckDBPyConnection, accounting: str) -> None:
        dp.enable_features("contrib")
        self._question, self._accounting = question, accounting
        self._kept = Kept(question, connection, bounded)
        self._measurement = cache(self._built)

    def answer(self) -> dict[Cell, float]:
        cells: dict[Cell, float] = {}
        for counts in self._question.counts:
            exact = self._kept.read(counts)
            noisy = self._measurement(len(exact))(list(exact.values()))
            cells |= dict(zip(exact, map(float, noisy), strict=True))
        return cells

    def _built(self, groups: int) -> Measurement:
        question = self._question
        if self._accounting == "zcdp":
            unit = dp.unit_of(l2=math.sqrt(question.rows * min(question.rows, question.rows_per_group)))
            loss = dp.loss_of(rho=float(Fraction(question.epsilon) ** 2 / 2))
        else:
            unit, loss = dp.unit_of(l1=question.rows), dp.loss_of(epsilon=float(question.epsilon))
        context = dp.Context.compositor(
            data=[0] * groups,
            domain=dp.vector_domain(dp.atom_domain(T=int)),
            privacy_unit=unit,
            privacy_loss=loss,
            split_evenly_over=len(question.counts),
        )
        query = context.query()
        measurement: Measurement = (query.gaussian() if self._accounting == "zcdp" else query.laplace()).resolve()
        return measurement
