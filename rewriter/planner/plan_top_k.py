"""The largest groups, where an answer shows no others: ``ORDER BY COUNT(*) DESC LIMIT 10`` over a public key set.

All groups can be measured and sorted. Or the ten groups are picked first and only they are measured: then a person who
is in many groups need not be bounded over all of them. A pick moves with the most that one person adds to one group,
the numbers shown with as much in ten groups. Nobody's groups are clipped together, so the norm over all of them
that counts are usually scaled into plays no part. Which of the two is better is decided where prices are
(:mod:`dpsql.mechanisms.top_k`), from public facts.

Which answers show no other groups: :mod:`rewriter.split.largest_groups`.
"""

from __future__ import annotations

from dataclasses import replace

from rewriter.declared import Norm, Sensitivity
from rewriter.dialects import Dialect
from rewriter.plan import Block, Plan, Top
from rewriter.planner.picks_or_sorts import in_one_group, rows_in_group
from rewriter.planner.plan_release import declared_groups, plan
from rewriter.release import Query


def plan_top(query: Query, norm: Norm, dialect: Dialect) -> Plan | None:
    """The plan that picks the groups that are shown and measures only those; None where there is nothing to choose.

    Every person is clipped within each group alone, so ``Top.reach`` is what one person moves in one group, and the
    sensitivities are those of any ``count`` of the groups. Sees no data.
    """
    ranked = query.ranked
    declared = declared_groups(query, dialect)
    public = declared.public
    if ranked is None or public is None or public.cells <= ranked.count or query.bound.shared is not None:
        return None
    if any(one.distinct and not (one.argument is not None and one.argument.unit) for one in query.aggregates):
        # Which values a person is credited with is decided over all groups.
        return None
    # Bounded as if a person had one group: that is what clipping group by group is.
    alone = replace(
        query,
        bound=replace(query.bound, rows=rows_in_group(query), table=""),
        keys=tuple(replace(key, value=replace(key.value, constant=True)) for key in query.keys),
    )
    base = plan(alone, norm, dialect, ranked_by=ranked.aggregate, declared=declared)
    if base.choices or base.steps or any(block.prefix is not None for block in base.blocks):
        return None
    ordered = base.outputs[ranked.aggregate]
    total = ordered.estimator.as_sum
    if total is None or len(total.terms) != 1:
        return None
    ((name, weight),) = total.terms
    block, statistic = next((block, one) for block in base.blocks for one in block.statistics if one.name == name)
    groups = 1 if in_one_group(query) else ranked.count
    top = Top(
        name=name,
        output=ordered.name,
        count=ranked.count,
        descending=ranked.descending is (weight > 0),
        reach=statistic.bound * (1 if block.rises else 2),
        text=ordered.text,
        most=ranked.descending,
    )
    return replace(
        base,
        blocks=tuple(_of_groups(block, groups) for block in base.blocks),
        top=top,
        exhaustive=False,
        alone=True,
    )


def _of_groups(block: Block, groups: int) -> Block:
    """The block with the sensitivity of so many groups, in each of which one unit can move the same."""
    each = block.sensitivity
    joint = Sensitivity(l1=None if each.l1 is None else each.l1 * groups, l2_squared=each.l2_squared * groups)
    return replace(block, sensitivity=joint, statistics=tuple(replace(one, family="") for one in block.statistics))
