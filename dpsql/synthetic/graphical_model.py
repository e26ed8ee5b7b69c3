"""A graphical model of marginals, and rows that are drawn from it. Needs ``mbi``, which needs JAX.

Guarantee: rows follow from released counts alone: a model of them shows nothing that they do not.

The model keeps pairs of columns that depend on each other by more than noise and chance explain, those that depend
most first, as long as it stays small (the score of MWEM and AIM, McKenna and others 2022, here of numbers that were
released before: choosing costs nothing). It is the distribution of most entropy near the counts (McKenna and others
2019).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import pi, sqrt

import numpy as np

from dpsql.synthetic.marginals import ReleasedCounts, best

os.environ.setdefault("JAX_ENABLE_X64", "true")
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")

from mbi import Domain, LinearMeasurement, estimation, junction_tree

_MEGABYTES = 2.0
"""The size of a model that is fitted within a minute."""
_STEPS = 1_000


def draw(cells: Mapping[str, int], measured: Sequence[ReleasedCounts], rows: int | None) -> dict[str, np.ndarray]:
    """Rows of a model fitted to marginals, as cells of each attribute (:data:`dpsql.synthetic.Draw`)."""
    domain = Domain(tuple(cells), tuple(cells.values()))
    single = {name: best(measured, (name,)) for name in cells}
    pairs = _kept(domain, single, [one for one in measured if len(one.names) == 2])
    # A column of a pair that is left out is known by that pair, too.
    used = [*single.values(), *pairs]
    weighed = [LinearMeasurement(one.numbers.ravel(), one.names, one.deviation) for one in used]
    total = max(_total([*single.values()]), 1)
    model = estimation.MirrorDescent().estimate(domain, weighed, known_total=float(total), iters=_STEPS)
    made = model.synthetic_data(rows=total if rows is None else rows)
    return {name: np.asarray(made.data[name], dtype=int) for name in cells}


def _total(single: Sequence[ReleasedCounts]) -> int:
    """The number of rows, from counts by each column: weighted so that its variance is least."""
    totals = [one.by(()) for one in single]
    weights = [one.deviation**-2 for one in totals]
    return round(sum(float(one.numbers) * weight for one, weight in zip(totals, weights, strict=True)) / sum(weights))


def _kept(
    domain: Domain, single: Mapping[str, ReleasedCounts], pairs: Sequence[ReleasedCounts]
) -> list[ReleasedCounts]:
    scored = sorted(((_score(one, single), place) for place, one in enumerate(pairs)), reverse=True)
    kept: list[ReleasedCounts] = []
    for score, place in scored:
        names = [*((name,) for name in single), *(one.names for one in kept), pairs[place].names]
        if score > 0 and junction_tree.hypothetical_model_size(domain, names) <= _MEGABYTES:
            kept.append(pairs[place])
    return kept


def _score(pair: ReleasedCounts, single: Mapping[str, ReleasedCounts]) -> float:
    """How far the pair's counts are from those of columns that do not depend on each other, beyond what noise and the
    chance of who is in the table explain."""
    first, second = (np.maximum(single[name].numbers, 0) for name in pair.names)
    apart = np.outer(first, second) / max(float(first.sum()), 1.0)
    chance = np.sqrt(pair.deviation**2 + apart)
    return float(np.abs(pair.numbers - apart).sum() - sqrt(2 / pi) * chance.sum())
