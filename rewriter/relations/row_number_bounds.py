"""Conditions on a number that each row of a person has: ``rn = 1`` leaves one row, ``rn <= 3`` at most three.

A numbered column gives each row of one unit, in one source, another number (``ROW_NUMBER() OVER (PARTITION BY the
unit …)``): that is by the engine's doing and not by anybody's word, so a bound that follows from it is true of any
data. It holds for the rows of that source alone: a join repeats them, and then no column numbers them any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlglot import exp

from rewriter.columns import Source
from rewriter.declared import ONE, ContributionBound
from rewriter.dialects import MIRRORED
from rewriter.refused import Refused
from rewriter.statement import unparenthesised

Resolve = Callable[[exp.Column], tuple[Source, str]]


def limited(source: Source, conditions: Iterable[exp.Expr], resolve: Resolve) -> Source:
    """The source with the bound that conditions on its numbered columns leave. They hold on every row that is kept.

    ``resolve`` says which source's column a condition reads.
    """
    if not source.numbered:
        return source
    bound = source.bound
    for condition in conditions:
        found = _most(condition, source, resolve)
        if found is not None:
            bound = _at_most(bound, max(found, 1))
    return replace(source, bound=bound)


def _at_most(bound: ContributionBound, rows: int) -> ContributionBound:
    if rows == 1:
        return replace(ONE, shared=bound.shared)
    if bound.rows is not None and bound.rows <= rows:
        return bound
    return replace(bound, rows=rows, table="")


def _most(condition: exp.Expr, source: Source, resolve: Resolve) -> int | None:
    """How many rows of a unit satisfy a condition, where it limits a numbered column.

    The numbers are whole and begin at 1.
    """
    if isinstance(condition, exp.In) and not condition.args.get("query"):
        listed = [_number(item) for item in condition.expressions]
        known = _is_numbered(condition.this, source, resolve) and None not in listed
        return len(set(listed)) if known else None
    if isinstance(condition, exp.Between):
        # SYMMETRIC takes the ends in either order.
        ends = [_number(condition.args[end]) for end in ("high", *(["low"] if condition.args.get("symmetric") else []))]
        most = [end for end in ends if end is not None]
        return max(most) if len(most) == len(ends) and _is_numbered(condition.this, source, resolve) else None
    if type(condition) not in (exp.EQ, *MIRRORED):
        return None
    kind, number, column = type(condition), _number(condition.expression), condition.this
    if number is None:
        kind, number, column = MIRRORED.get(kind, kind), _number(condition.this), condition.expression
    if number is None or not _is_numbered(column, source, resolve):
        return None
    if kind is exp.EQ:
        return 1
    if kind is exp.LTE:
        return number
    return number - 1 if kind is exp.LT else None


def _is_numbered(node: exp.Expr, source: Source, resolve: Resolve) -> bool:
    node = unparenthesised(node)
    if not isinstance(node, exp.Column):
        return False
    try:
        found, name = resolve(node)
    except Refused:
        return False
    return found.alias == source.alias and name in source.numbered


def _number(node: exp.Expr) -> int | None:
    node = unparenthesised(node)
    return int(node.this) if isinstance(node, exp.Literal) and node.is_int else None
