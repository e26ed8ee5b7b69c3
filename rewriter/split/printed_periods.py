"""Periods of the calendar that are printed in another order than they follow each other, as groups of the periods.

``GROUP BY TO_CHAR(ts, 'MM/YYYY')`` groups by ``DATE_TRUNC('month', ts)``, and the text is printed above the groups.
Theorem: a pattern that prints the year and the month, and no field that differs within a month, has one text for each
month of the years 1 to 9999; so have other periods. Groups by such a text are therefore groups by the period.

Why: months lie along an axis, so that empty ones at its ends are left out, and months that another chart has paid for
are not bought again. A pattern whose texts sort as the times do stays as it is. Hours stay as well: when the clocks are
turned back, one text stands for two of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.dialects import is_in_order, letters_of, pattern_of, period_told
from rewriter.statement import grouped_item, output_name, unaliased, unparenthesised, walk

_LONG = ("quarter", "month", "week", "day")
"""Periods that are groups; a year alone is in order."""


def group_by_periods(tree: exp.Query) -> exp.Query:
    """``tree`` with periods in the place of their texts in each GROUP BY, its own copy where there are any. Its names
    are bound.

    >>> month = exp.ToChar(this=exp.column("x"), format=exp.Literal.string("MM/YYYY"))
    >>> tree = exp.select(exp.alias_(month, "m"), "COUNT(*)").from_("t").group_by("1")
    >>> group_by_periods(tree).args["group"].sql()
    'GROUP BY TIMESTAMP_TRUNC(x, MONTH)'
    """
    if not any(map(_texts, tree.find_all(exp.Select))):
        return tree
    found = tree.copy()
    for select in found.find_all(exp.Select):
        for text in _texts(select):
            _group_by_period(select, text.copy(), exp.Var(this=(period_of(text) or "").upper()))
    return found


def _texts(select: exp.Select) -> list[exp.ToChar]:
    """The keys of a SELECT that are texts of periods."""
    group = select.args.get("group")
    if group is None:
        return []
    keys = dict.fromkeys(unparenthesised(grouped_item(key, select)) for key in _keys(group))
    return [key for key in keys if isinstance(key, exp.ToChar) and period_of(key) is not None]


def _keys(group: exp.Group) -> Iterator[exp.Expr]:
    """The expressions of a GROUP BY, inside of its sets, too."""
    waiting: list[exp.Expr] = [group]
    while waiting:
        for node in waiting.pop().iter_expressions():
            if isinstance(node, _SETS):
                waiting.append(node)
            else:
                yield node


_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)


def period_of(text: exp.ToChar) -> str | None:
    """The period that a text of times stands for, one for one; None where there is none, or the texts are in order.

    >>> written = ("MM/YYYY", "FMMonth YYYY", "DD.MM.YYYY", "Q/YYYY", "IW/IYYY", "YYYY-MM", "MM/YY", "MM/IYYY")
    >>> [period_of(exp.ToChar(this=exp.column("x"), format=exp.Literal.string(one))) for one in written]
    ['month', 'month', 'day', 'quarter', 'week', None, None, None]
    """
    written = text.args.get("format")
    pattern = pattern_of(written.name) if isinstance(written, exp.Literal) and written.is_string else None
    if pattern is None or is_in_order(pattern):
        return None
    unit = period_told(letters_of(pattern))
    return unit if unit in _LONG else None


def _group_by_period(select: exp.Select, text: exp.ToChar, unit: exp.Var) -> None:
    start = exp.TimestampTrunc(this=text.this.copy(), unit=unit)
    shown = exp.ToChar(this=start.copy(), format=text.args["format"].copy())
    for key in list(_keys(select.args["group"])):
        if unparenthesised(grouped_item(key, select)) == text:
            key.replace(start.copy())
    for item in list(select.expressions):
        if unparenthesised(unaliased(item)) == text and not isinstance(item, exp.Alias):
            item.replace(exp.alias_(item.copy(), output_name(item), quoted=True))
    for name in ("expressions", "having", "order", "qualify"):
        part = select.args.get(name)
        for root in part if isinstance(part, list) else [part] if part is not None else []:
            for node in [one for one in walk(root) if one == text]:
                node.replace((start if isinstance(node.parent, exp.Grouping) else shown).copy())
