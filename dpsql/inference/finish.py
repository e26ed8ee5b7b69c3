"""From noisy integers to the columns that were asked for. Post-processing: it costs nothing and sees no data.

Why a mean of nobody is NULL: where the noisy size of a group is not positive, the measurements say as clearly as they
can that the group is empty, and SQL's mean of no rows is NULL. The middle of the range would look like an answer.
The decision reads noisy numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from dpsql.inference.intervals import Z, half_width, mean_half_widths, variance, widest_mean_half_width
from dpsql.inference.prefix import Decoded, decoded
from dpsql.inference.rounding import nearest, quotients
from dpsql.table import Noise, NoisyTable, ReleasedColumn, ReleasedTable
from rewriter.plan import Estimator, Linear, Output, Plan, Ratio
from rewriter.types import Scalar


def infer(noisy: NoisyTable, plan: Plan, consistent: bool = True) -> ReleasedTable:
    """The released table: key columns, then outputs, in the order of the noisy table's groups.

    Each output comes with the half-width of its 95 % interval. Noisy integers are
    added up as they are; only a finished number is rounded or moved into its range.

    >>> from rewriter.types import BIGINT
    >>> n = Output("n", BIGINT, Linear((("rows", Fraction(1)),), integer=True, minimum=0), "COUNT(*)")
    >>> noisy = NoisyTable(((),), {"rows": (-3,)}, {"rows": Noise("laplace", Fraction(10))})
    >>> infer(noisy, Plan("SELECT …", "duckdb", (), (), (n,), None, 1)).columns[0]
    ReleasedColumn(name='n', type=Type(kind=<Kind.INTEGER: 'integer'>, bits=64, precision=0, scale=0),
                   values=(0,), margins=(30.0,))
    """
    keys = tuple(
        ReleasedColumn(key.name, key.type, tuple(row[place] for row in noisy.keys))
        for place, key in enumerate(plan.keys)
    )
    groups = decoded(noisy, plan, consistent)
    return ReleasedTable(keys + tuple(_finish(groups, output) for output in plan.outputs))


def expected_half_width(
    estimator: Estimator, noise: Mapping[str, Noise], steps: Mapping[str, Fraction], group_size: int
) -> float:
    """The 95 % half-width to expect; of a mean, the most it may be in a group of ``group_size`` rows.

    ``steps`` holds the granularity of each statistic.
    """
    if isinstance(estimator, Linear):
        return linear_half_width(estimator, noise)
    width = estimator.high - estimator.low
    total = float(group_size * width / steps[estimator.above])
    return float(width) * widest_mean_half_width(total, (noise[estimator.above], noise[estimator.below]))


def linear_half_width(estimator: Linear, noise: Mapping[str, Noise]) -> float:
    """Of every cell alike. Where weights are not integers, rounding to an integer adds a half at most."""
    weights: dict[str, Fraction] = {}
    for name, weight in estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight
    width = half_width(tuple((noise[name], weight) for name, weight in weights.items()))
    rounded = estimator.integer and any(weight.denominator != 1 for weight in weights.values())
    return width + 0.5 if rounded else width


def _finish(groups: Decoded, output: Output) -> ReleasedColumn:
    if isinstance(output.estimator, Linear):
        return _linear(groups, output, output.estimator)
    return _ratio(groups.table, output, output.estimator)


def _linear(groups: Decoded, output: Output, estimator: Linear) -> ReleasedColumn:
    noisy = groups.table
    denominator = math.lcm(*(weight.denominator for _, weight in estimator.terms))
    totals = [0] * len(noisy.keys)
    for name, weight in estimator.terms:
        factor = int(weight * denominator)
        totals = [total + factor * integer for total, integer in zip(totals, noisy.statistics[name], strict=True)]
    if estimator.integer:
        totals, denominator = [nearest(total, denominator) for total in totals], 1
    if estimator.minimum is not None:
        least = estimator.minimum * denominator
        totals = [max(total, least) for total in totals]
    value = quotients(output.type)
    values = tuple(value(total, denominator) for total in totals)
    return ReleasedColumn(output.name, output.type, values, _linear_margins(groups, estimator))


def _linear_margins(groups: Decoded, estimator: Linear) -> tuple[float, ...]:
    """By cell where the noise of cells differs: then it is a sum of many draws."""
    size = len(groups.table.keys)
    if not any(name in groups.variances for name, _ in estimator.terms):
        return (linear_half_width(estimator, groups.table.noise),) * size
    spread = sum(
        float(weight) ** 2 * groups.variances.get(name, np.full(size, variance(groups.table.noise[name])))
        for name, weight in estimator.terms
    )
    return tuple((Z * np.sqrt(spread)).tolist())


def _ratio(noisy: NoisyTable, output: Output, estimator: Ratio) -> ReleasedColumn:
    above, below = noisy.statistics[estimator.above], noisy.statistics[estimator.below]
    width = estimator.high - estimator.low
    # In common units, the range begins at ``low`` and is ``span`` wide.
    unit = math.lcm(estimator.low.denominator, width.denominator)
    low, span = int(estimator.low * unit), int(width * unit)
    value = quotients(output.type)
    values: list[Scalar | None] = []
    for a, b in zip(above, below, strict=True):
        total = a + b
        part = min(max(a, 0), total)
        values.append(value(low * total + span * part, unit * total) if total > 0 else None)
    shares = mean_half_widths(above, below, (noisy.noise[estimator.above], noisy.noise[estimator.below]))
    return ReleasedColumn(output.name, output.type, tuple(values), tuple(float(width) * share for share in shares))
