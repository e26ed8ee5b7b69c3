"""The largest groups, where an answer shows no others: ``ORDER BY COUNT(*) DESC LIMIT 10`` over a public key set.

All groups can be measured and sorted. Or the ten groups are picked first and only they are measured: then a person who
is in many groups need not be bounded over all of them. A pick moves with the most that one person adds to one group,
the numbers shown with as much in ten groups. Nobody's groups are clipped together, so the norm over all of them
that counts are usually scaled into plays no part. Which of the two is better is decided where prices are
(:mod:`dpsql.mechanisms.top_k`), from public facts.

What is found here only chooses how a release is measured. Whatever else stands in the SELECT that has the LIMIT
(a condition on released numbers, a window, OFFSET) needs the other groups, and they are measured and sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.contribution import Norm
from rewriter.dialects import DUCKDB, Dialect
from rewriter.keys import public_keys
from rewriter.naming import output_name
from rewriter.narrowing import narrowed
from rewriter.plan import Block, Linear, Plan, Top
from rewriter.planner import plan
from rewriter.query import Query, Ranked, release_name
from rewriter.sensitivity import Sensitivity

_OTHERS = (
    "joins",
    "where",
    "group",
    "having",
    "distinct",
    "offset",
    "qualify",
    "windows",
    "fetch",
    "laterals",
    "with_",
)
"""What makes a SELECT need more groups than it shows, or something beside them."""


def with_rankings(releases: Sequence[Query], outer: exp.Query) -> tuple[Query, ...]:
    """The releases, each with what it is ranked by where ``outer`` shows no groups but its largest or smallest ones."""
    read: dict[str, list[exp.Table]] = {}
    for table in outer.find_all(exp.Table):
        read.setdefault(table.name, []).append(table)
    found = []
    for number, query in enumerate(releases):
        tables = read.get(release_name(number), [])
        ranked = _ranked(tables[0]) if len(tables) == 1 and query.keys and not query.sets else None
        plain = query.cumulative is None and ranked is not None
        found.append(replace(query, ranked=ranked) if plain else query)
    return tuple(found)


def _ranked(table: exp.Table) -> Ranked | None:
    """What the SELECT that reads a release's table sorts by, and how many rows it keeps."""
    select = table.parent_select
    if not isinstance(select, exp.Select) or select.args["from_"].this is not table:
        return None
    order, limit = select.args.get("order"), select.args.get("limit")
    if order is None or not isinstance(limit, exp.Limit) or any(select.args.get(part) for part in _OTHERS):
        return None
    if {name for name, value in limit.args.items() if value} != {"expression"}:
        return None
    if any(select.find(inner) is not None for inner in (exp.Window, exp.Subquery)):
        return None
    count, first = limit.expression, order.expressions[0]
    if not isinstance(count, exp.Literal) or count.is_string or not count.name.isdigit() or not int(count.name):
        return None
    place = _place(first.this, select, table)
    return None if place is None else Ranked(place, int(count.name), bool(first.args.get("desc")))


def _place(node: exp.Expr, select: exp.Select, table: exp.Table) -> int | None:
    """Which aggregate of the release a sort expression is: ``a0`` itself, or an output column or position of it."""
    if isinstance(node, exp.Literal):
        shown = int(node.name) if node.is_int and not node.is_string else 0
        node = select.expressions[shown - 1] if 1 <= shown <= len(select.expressions) else node
    elif isinstance(node, exp.Column) and not node.table:
        named = [item for item in select.expressions if output_name(item) == node.name]
        node = named[0] if len(named) == 1 else node
    node = node.unalias()
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Column) or node.table != table.alias_or_name or not node.name.startswith("a"):
        return None
    return int(node.name[1:]) if node.name[1:].isdigit() else None


def plan_top(query: Query, norm: Norm, dialect: Dialect = DUCKDB) -> Plan | None:
    """The plan that picks the groups that are shown and measures only those; None where there is nothing to choose.

    Every person is clipped within each group alone, so ``Top.reach`` is what one person moves in one group, and the
    sensitivities are those of any ``count`` of the groups. Sees no data.
    """
    ranked = query.ranked
    public = public_keys(query.keys, query.filters, dialect, complete=query.complete) if query.keys else None
    if ranked is None or public is None or public.cells <= ranked.count:
        return None
    if any(one.distinct and not (one.argument is not None and one.argument.unit) for one in query.aggregates):
        # Which values a person is credited with is decided over all groups.
        return None
    constant = all(key.value.constant for key in query.keys)
    rows = query.bound.rows if constant else query.bound.within(1, constant=False).rows_per_group
    # Bounded as if a person had one group: that is what clipping group by group is.
    alone = replace(
        query,
        bound=replace(query.bound, rows=rows),
        keys=tuple(replace(key, value=replace(key.value, constant=True)) for key in query.keys),
    )
    base = plan(alone, norm, dialect)
    if base.choices or any(block.prefix is not None for block in base.blocks):
        return None
    ordered = base.outputs[ranked.aggregate]
    estimator = ordered.estimator
    if not isinstance(estimator, Linear) or len(estimator.terms) != 1:
        return None
    ((name, weight),) = estimator.terms
    statistic = next(one for one in base.statistics if one.name == name)
    # Facts, not declarations: nobody is kept out of a group, however many rows the owner said there are.
    groups = 1 if constant or query.bound.unique else ranked.count
    top = Top(
        name=name,
        output=ordered.name,
        count=ranked.count,
        descending=ranked.descending is (weight > 0),
        reach=statistic.bound * (1 if _only_grows(query, ranked) else 2),
        text=ordered.text,
        most=ranked.descending,
    )
    return replace(
        base,
        blocks=tuple(_of_groups(block, groups) for block in base.blocks),
        top=top,
        exhaustive=False,
        notes=(*_notes(query, rows), *(note for note in base.notes if not note.startswith(_CLIPPED))),
    )


def _only_grows(query: Query, ranked: Ranked) -> bool:
    """Whether the aggregate is not below 0, whatever the data: then nobody's part of it is."""
    aggregate = query.aggregates[ranked.aggregate]
    aggregate = aggregate.within or aggregate
    if aggregate.function is exp.Count:
        return True
    conditions = [*query.filters, *([aggregate.condition] if aggregate.condition is not None else [])]
    within = None if aggregate.argument is None else narrowed(aggregate.argument, conditions)
    return within is not None and within.low >= 0


_CLIPPED = "each person counts with at most"


def _notes(query: Query, rows: int | None) -> tuple[str, ...]:
    return () if query.bound.unique or rows is None else (f"{_CLIPPED} {rows} rows in a group",)


def _of_groups(block: Block, groups: int) -> Block:
    """The block with the sensitivity of so many groups, in each of which one unit can move the same."""
    each = block.sensitivity
    joint = Sensitivity(l1=None if each.l1 is None else each.l1 * groups, l2_squared=each.l2_squared * groups)
    return replace(block, sensitivity=joint, statistics=tuple(replace(one, family="") for one in block.statistics))
