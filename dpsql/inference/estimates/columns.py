"""From noisy integers to the columns that were asked for. Post-processing: it costs nothing and sees no data.

Why a mean of nobody is NULL: where the noisy size of a group is not positive, the measurements say as clearly as they
can that the group is empty, and SQL's mean of no rows is NULL. The middle of the range would look like an answer.
The decision reads noisy numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.inference.estimates.mean_share import Share
from dpsql.inference.estimates.moment_figures import expected_moment, moment_ends, moment_values
from dpsql.inference.estimates.parts import Column, finished, measured, values
from dpsql.inference.estimates.picked_quantiles import chosen_column
from dpsql.inference.estimates.rounding import nearest, quotients
from dpsql.inference.estimates.running_estimates import decoded
from dpsql.inference.intervals import ALPHA, half_width
from dpsql.inference.numeric import FloatArray
from dpsql.releases import Additive, NoisyTable, ReleasedColumn, ReleasedTable
from rewriter.declared import Scalar
from rewriter.plan import Chosen, Estimator, Linear, Moment, Output, Plan, Ratio, statistics_of


def infer(noisy: NoisyTable, plan: Plan, *, consistent: bool = True, summed: bool = False) -> ReleasedTable:
    """The released table: key columns, then outputs, in the order of the noisy table's groups.

    Each output comes with the half-width of its 95 % interval. Noisy integers are
    added up as they are; only a finished number is rounded or moved into its range, and where outputs are sums of the
    same parts, they still are afterwards. ``summed``: the groups' sum stays unbiased, too. Not ``consistent``: nothing
    is moved.

    >>> from dpsql.mechanisms import Laplace
    >>> from rewriter.declared.types import BIGINT
    >>> n = Output("n", BIGINT, Linear((("rows", Fraction(1)),), integer=True, minimum=0), "COUNT(*)")
    >>> noisy = NoisyTable(((),), {"rows": (-3,)}, {"rows": Laplace(Fraction(10))})
    >>> infer(noisy, Plan("SELECT …", "duckdb", (), (), (n,), None, 1)).columns[0]
    ReleasedColumn(name='n', type=Type(kind=<Kind.INTEGER: 'integer'>, bits=64, precision=0, scale=0),
                   values=(0,), margins=(30.0,), reaches=None)
    """
    groups = decoded(noisy, plan, consistent=consistent)
    columns = finished(groups.table, plan, summed=summed) if consistent else None
    return table_of(groups.table, plan, columns, {}, groups.factors)


Pairs = Mapping[str, tuple[FloatArray, ...]]
"""Of each mean or moment, by its output's name, the statistics that it is made of, in steps."""


def table_of(
    noisy: NoisyTable, plan: Plan, columns: Sequence[Column] | None, pairs: Pairs, shrunk: FloatArray | None
) -> ReleasedTable:
    """The released table of finished parts. ``columns`` None: the measurements as they are.

    ``shrunk`` is what the standard deviations of the cells are multiplied by, since other measurements joined in.
    """
    keys = tuple(
        ReleasedColumn(key.name, key.type, tuple(row[place] for row in noisy.keys))
        for place, key in enumerate(plan.keys)
    )
    outputs = tuple(_finish(noisy, plan, output, columns, pairs.get(output.name), shrunk) for output in plan.outputs)
    return ReleasedTable(keys + outputs, None if shrunk is None else tuple(shrunk[: len(noisy.keys)].tolist()))


def expected_half_width(estimator: Estimator, noise: Mapping[str, Additive], group_size: int) -> float:
    """The 95 % half-width to expect; of a mean, the most it may be in a group of ``group_size`` rows."""
    if isinstance(estimator, Linear):
        return linear_half_width(estimator, noise)
    if isinstance(estimator, Moment):
        return expected_moment(estimator, [noise[name] for name, _ in estimator.cells], group_size)[1]
    if isinstance(estimator, Chosen):
        raise ValueError("how far a quantile is off depends on the data")
    share = Share.of(estimator)
    return float(estimator.high - estimator.low) * share.widest(group_size, noise)


def linear_half_width(estimator: Linear, noise: Mapping[str, Additive], alpha: float = ALPHA) -> float:
    """Of every cell alike. Where weights are not integers, rounding to an integer adds a half at most."""
    weights: dict[str, Fraction] = {}
    for name, weight in estimator.terms:
        weights[name] = weights.get(name, Fraction(0)) + weight
    width = half_width(tuple((noise[name], weight) for name, weight in weights.items()), alpha)
    rounded = estimator.integer and any(weight.denominator != 1 for weight in weights.values())
    return width + 0.5 if rounded else width


def _finish(
    noisy: NoisyTable,
    plan: Plan,
    output: Output,
    columns: Sequence[Column] | None,
    pair: tuple[FloatArray, ...] | None,
    shrunk: FloatArray | None,
) -> ReleasedColumn:
    if isinstance(output.estimator, Moment):
        return _moment(noisy, output, output.estimator, pair, shrunk)
    if isinstance(output.estimator, Chosen):
        return chosen_column(noisy, plan, output, output.estimator, ordered=columns is not None)
    if isinstance(output.estimator, Ratio):
        return _ratio(noisy, output, output.estimator, pair, shrunk)
    if output.parts and columns is not None:
        found = values(output, plan, columns)[: len(noisy.keys)]
    else:
        found = _linear(noisy, output, output.estimator, bounded=columns is not None)
    # What is no sum of parts has nothing to agree with.
    return ReleasedColumn(
        output.name, output.type, found, _margins(noisy, output.estimator, shrunk if output.parts else None)
    )


def _margins(noisy: NoisyTable, estimator: Linear, shrunk: FloatArray | None) -> tuple[float, ...]:
    margin = linear_half_width(estimator, noisy.noise)
    if shrunk is None:
        return (margin,) * len(noisy.keys)
    return tuple(margin * factor for factor in shrunk[: len(noisy.keys)].tolist())


def _linear(noisy: NoisyTable, output: Output, estimator: Linear, *, bounded: bool) -> tuple[Scalar | None, ...]:
    totals, denominator = measured(noisy, estimator, Fraction(1))
    if estimator.integer:
        totals, denominator = [nearest(total, denominator) for total in totals], 1
    if estimator.minimum is not None and bounded:
        least = estimator.minimum * denominator
        totals = [max(total, least) for total in totals]
    if estimator.maximum is not None and bounded:
        most = estimator.maximum * denominator
        totals = [min(total, most) for total in totals]
    value = quotients(output.type)
    return tuple(value(total, denominator) for total in totals)


def _ratio(
    noisy: NoisyTable,
    output: Output,
    estimator: Ratio,
    pair: tuple[FloatArray, ...] | None,
    shrunk: FloatArray | None,
) -> ReleasedColumn:
    share = Share.of(estimator)
    columns: Mapping[str, Sequence[int]] = noisy.statistics
    if pair is not None:
        sides = ([round(number) for number in side[: len(noisy.keys)].tolist()] for side in pair)
        columns = dict(zip(statistics_of(estimator), sides, strict=True))
    above, below = share.sides(columns, len(noisy.keys))
    width = estimator.high - estimator.low
    # In common units, the range begins at ``low`` and is ``span`` wide.
    unit = math.lcm(estimator.low.denominator, width.denominator)
    low, span = int(estimator.low * unit), int(width * unit)
    value = quotients(output.type)
    means: list[Scalar | None] = []
    for a, b in zip(above, below, strict=True):
        total = a + b
        part = min(max(a, 0), total)
        means.append(value(low * total + span * part, unit * total) if total > 0 else None)
    down, up = share.reaches(*_enlarged(above, below, shrunk), noisy.noise)
    reaches = tuple(zip((down * float(width)).tolist(), (up * float(width)).tolist(), strict=True))
    return ReleasedColumn(output.name, output.type, tuple(means), tuple(map(max, reaches)), reaches)


def _moment(
    noisy: NoisyTable,
    output: Output,
    estimator: Moment,
    sides: tuple[FloatArray, ...] | None,
    shrunk: FloatArray | None,
) -> ReleasedColumn:
    cells: list[Sequence[int]] = [noisy.statistics[name] for name, _ in estimator.cells]
    if sides is not None:
        cells = [[round(number) for number in side[: len(noisy.keys)].tolist()] for side in sides]
    found = moment_values(estimator, cells)
    low, high = moment_ends(estimator, cells, [noisy.noise[name] for name, _ in estimator.cells], shrunk)
    reaches = tuple(
        (0.0, 0.0) if value is None else (max(value - down, 0.0), max(up - value, 0.0))
        for value, down, up in zip(found, low.tolist(), high.tolist(), strict=True)
    )
    return ReleasedColumn(output.name, output.type, tuple(found), tuple(map(max, reaches)), reaches)


def _enlarged(
    above: Sequence[int], below: Sequence[int], shrunk: FloatArray | None
) -> tuple[Sequence[int], Sequence[int]]:
    """Less noise in a group is the same as larger sums in it."""
    if shrunk is None:
        return above, below
    factors = shrunk[: len(above)].tolist()
    larger = [
        [round(number / factor) if factor > 0 else number for number, factor in zip(side, factors, strict=True)]
        for side in (above, below)
    ]
    return larger[0], larger[1]
