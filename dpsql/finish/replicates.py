"""Replicates of released tables: the same numbers with more noise of the same law.

The noise here hides nothing: the numbers that it is added to are released already. It is drawn by numpy from a seed
that follows from the released numbers and the question, so that the same question shows the same interval again. The
noise that hides people is drawn in :mod:`dpsql.mechanisms`, from a source without a seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpsql.finish.propagate import Ends
from dpsql.inference.estimates import released_picks
from dpsql.inference.intervals import Z
from dpsql.inference.numeric import FloatArray, IntArray
from dpsql.releases import Additive, IntegerColumn, NoisyTable, ReportDraws, weighted
from rewriter.debiased import Debiased
from rewriter.plan import Plan

FEWEST = 39
"""The least number of replicates that has a 2.5 % quantile."""

_ONE_SIDED = 4 / 3
"""From this quotient of its sides on an interval is made even; of 199 replicates, chance alone makes it once in 30.

Of the greater of two shares that differ by little, uneven ones held 76 to 95 times in 100, and even ones 95 to 98."""

"""From this scale on, discrete noise is continuous noise rounded."""


def generator(question: str, tables: Sequence[NoisyTable]) -> np.random.Generator:
    """A source that follows from a question and released numbers."""
    digest = hashlib.sha256(question.encode())
    for table in tables:
        numbers = sorted(table.statistics.items()), sorted(table.chosen.items())
        digest.update(repr((table.keys, *numbers, sorted({**table.noise, **table.picking}))).encode())
    return np.random.default_rng(int.from_bytes(digest.digest()[:16], "big"))


def replicated(
    tables: Sequence[NoisyTable], plans: Sequence[Plan], count: int, rng: np.random.Generator
) -> list[list[NoisyTable]]:
    """``count`` times the tables with noise added once more; tables of one measurement get the same."""
    found: dict[str, list[NoisyTable]] = {}
    for table, plan in zip(tables, plans, strict=True):
        if plan.identity in found:
            continue
        draws = {
            name: drawn(table.noise[name], count * len(column), rng).reshape(count, len(column))
            for name, column in table.statistics.items()
        }
        chosen = _repicked(table, plan, count, rng)
        reported = any(isinstance(output.estimator, Debiased) for output in plan.outputs)
        found[plan.identity] = [
            replace(
                table,
                statistics={
                    name: weighted([(IntegerColumn.of(one), 1) for one in (column, draws[name][number])], len(column))
                    for name, column in table.statistics.items()
                },
                chosen=chosen[number],
                reports=_report_draws(rng) if reported else None,
            )
            for number in range(count)
        ]
    return [[found[plan.identity][number] for plan in plans] for number in range(count)]


def _report_draws(rng: np.random.Generator) -> ReportDraws:
    """What people reported, once more: each report by its name, whoever asks for it."""
    known: dict[tuple[object, int], FloatArray] = {}

    def draws(report: object, groups: int) -> FloatArray:
        if (report, groups) not in known:
            known[report, groups] = rng.standard_normal(groups)
        return known[report, groups]

    return draws


def _repicked(
    table: NoisyTable, plan: Plan, count: int, rng: np.random.Generator
) -> list[Mapping[str, tuple[tuple[int | None, ...], ...]]]:
    """Replicates of quantiles: off by normal errors, 95 of 100 of which lie within the interval, mirrored. Mirrored,
    since a pick may be far below the truth where the truth may be far above the pick. None for modes, and where the
    interval is not known.
    """
    found: list[dict[str, tuple[tuple[int | None, ...], ...]]] = [{} for _ in range(count)]
    for choice in plan.choices:
        columns, size = table.chosen[choice.name], len(choice.fractions)
        picks = released_picks(table, choice)
        repicked: list[list[tuple[int | None, ...]]] = [[] for _ in range(count)]
        for place, column in enumerate(columns[:size]):
            reaches = np.array(picks.reaches(place, column)).reshape(-1, 2)
            known = np.isfinite(reaches).all(axis=1)
            values = np.array([0 if value is None else value for value in column], dtype=object)
            errors = rng.standard_normal((count, len(column))) / Z
            steps = np.where(known, np.nan_to_num(np.where(errors > 0, reaches[:, 1], reaches[:, 0])), 0.0)
            moved = -np.rint(errors * steps)
            for number in range(count):
                again = (value + int(more) for value, more in zip(values, moved[number], strict=True))
                repicked[number].append(
                    tuple(
                        min(max(one, choice.low), choice.high) if is_known else None
                        for one, is_known in zip(again, known, strict=True)
                    )
                )
        rest = columns[size:] if size else ()
        nothing = tuple((None,) * len(column) for column in columns) if not size else ()
        for number in range(count):
            found[number][choice.name] = (*repicked[number], *rest, *nothing)
    return list(found)


def drawn(noise: Additive, count: int, rng: np.random.Generator) -> IntArray:
    """Discrete Laplace or Gaussian noise, from numpy.

    >>> rng = np.random.default_rng(1)
    >>> from fractions import Fraction
    >>> from dpsql.mechanisms import Gaussian, Laplace
    >>> draws = [drawn(kind(Fraction(10)), 10_000, rng) for kind in (Laplace, Gaussian)]
    >>> [round(float(one.std())) for one in draws]
    [14, 10]
    """
    return noise.replicas(count, rng) if noise.scale > 0 else np.zeros(count, dtype=np.int64)


def replicate_ends(value: float, replicates: FloatArray) -> Ends | None:
    """The 95 % interval of a number, from what replicates make of it; None where they say too little.

    Replicates err around the released number as this errs around the truth, so their quantiles are mirrored at it
    (Davison, Hinkley 1997, basic bootstrap). Where they err to one side mostly, as the greatest of several numbers
    does, they do not tell on which side the truth is: then both ends are as far.

    >>> replicate_ends(25.0, np.arange(8.0, 47.0)), replicate_ends(10.0, np.arange(8.0, 47.0))
    ((4.0, 42.0), (-26.0, 46.0))
    """
    present = replicates[np.isfinite(replicates)]
    if len(present) < FEWEST or not math.isfinite(value):
        return None
    low, high = np.quantile(present, [0.025, 0.975], method="weibull")
    below, above = max(float(high) - value, 0.0), max(value - float(low), 0.0)
    if max(below, above) > _ONE_SIDED * min(below, above):
        below = above = max(below, above)
    return value - below, value + above
