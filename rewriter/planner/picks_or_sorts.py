"""Whether groups that are picked first can be shown more accurately than by measuring all and sorting them.

Both ways are off by as much as the price allows: by √ρ, or by ε, so that which of them is better hardly hangs on the
price. What picking is off by at least follows from the groups alone, before anything of it is planned. Where that is
more than what sorting is off by, a plan of picks is not made. Accuracy is all that is at stake: each way is paid for by
its own sensitivities.

What the two ways are off by: :mod:`dpsql.calibrate.sort_or_pick`, :mod:`dpsql.mechanisms.top_k`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

from rewriter.declared import Norm
from rewriter.keys import plain_columns
from rewriter.plan import Plan
from rewriter.release import Query, Ranked, aggregate_name

_ALPHA = 0.05


def in_one_group(query: Query) -> bool:
    """Whether nobody has rows in two groups. A fact, not a declaration: nobody is kept out of a group, however many
    rows the owner said there are."""
    return query.bound.unique or all(key.value.constant for key in query.keys)


def rows_in_group(query: Query) -> int | None:
    """The most rows that one person may have in one group, of those that count."""
    if all(key.value.constant for key in query.keys):
        return query.bound.rows
    return query.bound.by(plain_columns(query.keys)).within(1, constant=False).rows_per_group


def only_sorts(query: Query, norms: Sequence[Norm], every: Sequence[Plan]) -> bool:
    """Whether to pick the groups that are shown is worse for certain than to measure all of them and sort.

    ``every`` are the plans that measure all groups, one in each of a ledger's ``norms``: L2 is that of ρ, L1 that of ε.
    Nothing is certain where it has both, since a δ that is divided buys less than its part.
    """
    if len(norms) != 1:
        return False
    rows = None if query.ranked is None else _most_counted(query, query.ranked)
    if query.ranked is None or rows is None:
        return False
    ranked, concentrated = query.ranked, tuple(norms) == (Norm.L2,)
    groups = 1 if in_one_group(query) else ranked.count
    return any(
        _sorted_error(plan, aggregate_name(ranked.aggregate), concentrated=concentrated)
        <= _picked_error(plan.cells, ranked.count, rows, groups, concentrated=concentrated)
        for plan in every
        if plan.cells is not None and plan.cells > ranked.count
    )


def _most_counted(query: Query, ranked: Ranked) -> int | None:
    """The most that one person adds to a group where groups are ranked by a count; None where they are not."""
    aggregate = query.aggregates[ranked.aggregate]
    aggregate = aggregate.within or aggregate
    if not aggregate.kind.counts:
        return None
    return 1 if aggregate.distinct or query.bound.unique else rows_in_group(query)


def _picked_error(cells: int, count: int, reach: int, groups: int, *, concentrated: bool) -> float:
    """The least that an answer of picked groups is off by at ρ or ε of 1, where one person is in so many of them: the
    excess of a hidden group, and one number. Nothing else is measured, and the price is divided at its best."""
    if concentrated:
        missed = math.log(20 * cells * count) * reach * math.sqrt(count / 8)
        shown = _normal(_ALPHA) * reach * math.sqrt(groups / 2)
        return float((missed ** (2 / 3) + shown ** (2 / 3)) ** 1.5)
    missed, shown = math.log(20 * cells * count) * reach * count, -math.log(_ALPHA) * reach * groups
    return (math.sqrt(missed) + math.sqrt(shown)) ** 2


def _sorted_error(plan: Plan, output: str, *, concentrated: bool) -> float:
    """What a sorted answer is off by at ρ or ε of 1: two groups that change places, and the number of one.

    >>> from rewriter.declared import BIGINT
    >>> from rewriter.plan import Block, Linear, Output, Sensitivity, Statistic
    >>> block = Block((Statistic("n", Fraction(1), 20, ""),), Sensitivity(l1=20, l2_squared=400))
    >>> n = Output("a0", BIGINT, Linear((("n", Fraction(1)),)), "COUNT(*)")
    >>> plan = Plan("", "duckdb", (), (block,), (n,), None, 100)
    >>> error, picked = _sorted_error(plan, "a0", concentrated=True), _picked_error(100, 10, 20, 10, concentrated=True)
    >>> round(error), round(picked)
    (126, 423)
    """
    estimator = next(one.estimator for one in plan.outputs if one.name == output).as_sum
    if estimator is None or plan.choices or any(block.prefix is not None for block in plan.blocks):
        return math.inf
    whole, cells = sum((block.weight for block in plan.blocks), Fraction(0)), plan.cells or 1
    weights = dict(estimator.terms)
    variance = total = 0.0
    for block in plan.blocks:
        own = [abs(float(weights[one.name])) for one in block.statistics if one.name in weights]
        part = float(whole / block.weight)
        if not own:
            continue
        if concentrated:
            variance += block.sensitivity.l2_squared * part / 2 * sum(weight * weight for weight in own)
        elif block.sensitivity.l1 is None:
            return math.inf
        else:
            total += block.sensitivity.l1 * part * sum(own)
    if concentrated:
        return math.sqrt(variance) * (2 * _normal(_ALPHA / cells) + _normal(_ALPHA))
    terms = len(weights)
    return total * (2 * math.log(terms * cells / _ALPHA) + math.log(terms / _ALPHA))


def _normal(alpha: float) -> float:
    """What a normal variable of variance 1 is beyond, on either side, with a probability of ``alpha``."""
    return NormalDist().inv_cdf(1 - alpha / 2)
