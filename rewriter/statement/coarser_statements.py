"""The same statement over coarser groups: months for days, tens of years for years, one key fewer.

Which groups a statement asks for is the analyst's to choose. Others are proposed, never taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import Catalog, Column, Kind
from rewriter.statement.identifiers import folded

_NEXT: Mapping[str, tuple[str, Fraction]] = {
    "MINUTE": ("HOUR", Fraction(60)),
    "HOUR": ("DAY", Fraction(24)),
    "DAY": ("WEEK", Fraction(7)),
    "WEEK": ("MONTH", Fraction(30, 7)),
    "MONTH": ("QUARTER", Fraction(3)),
    "QUARTER": ("YEAR", Fraction(4)),
}
"""The next longer unit of time, and how many of the shorter one are in it."""

_BIN = 10
_MANY = 20
"""Whole numbers with so many values are worth bins."""


@dataclass(frozen=True, slots=True)
class CoarserGroups:
    """A statement over coarser groups, and the ``change`` in words.

    ``larger`` says how many of today's groups are in one of them, by what they are; None where only their numbers tell.
    ``without`` is the place of the column that such a statement no longer has.
    """

    change: str
    tree: exp.Query
    larger: Fraction | None = None
    without: int | None = None


def coarser_groups(tree: exp.Query, catalog: Catalog) -> Iterator[CoarserGroups]:
    """Each key coarser by one step, and each left out where there are several.

    >>> from rewriter.statement.parser import parse
    >>> tree = parse("SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visit GROUP BY m").tree
    >>> [one.change for one in coarser_groups(tree, Catalog({}, None))]
    ["GROUP BY DATE_TRUNC('QUARTER', day)"]
    """
    group = tree.args.get("group") if isinstance(tree, exp.Select) else None
    if not isinstance(group, exp.Group) or any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets")):
        return
    keys = [_meant(tree, key) for key in group.expressions]
    if any(isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Literal) for key in keys):
        return
    columns = _columns(tree, catalog)
    for key in keys:
        for coarse, larger in _coarser(key, columns):
            yield CoarserGroups(f"GROUP BY {_said(coarse)}", _with_key(tree, key, coarse), larger)
    if len(keys) > 1 and tree.args.get("order") is None and tree.args.get("limit") is None:
        for key in keys:
            place = _only_place(tree, key)
            if place is not None:
                left = [other for other in keys if other is not key]
                yield CoarserGroups(f"GROUP BY without {_said(key)}", _without(tree, left, place), without=place)


def _said(key: exp.Expr) -> str:
    return str(key.sql(dialect="postgres"))


def _meant(tree: exp.Query, key: exp.Expr) -> exp.Expr:
    """What a place in the list, or the name of an item, stands for."""
    items: list[exp.Expr] = tree.expressions
    if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.this) <= len(items):
        item: exp.Expr = items[int(key.this) - 1].unalias()
        return item
    if isinstance(key, exp.Column) and not key.table:
        named = [one for one in items if isinstance(one, exp.Alias) and one.alias.lower() == key.name.lower()]
        if len(named) == 1:
            shown: exp.Expr = named[0].this
            return shown
    return key


def _columns(tree: exp.Query, catalog: Catalog) -> Mapping[str, Column]:
    """The declared columns of the tables that are named, by their folded names."""
    found: dict[str, Column] = {}
    for named in tree.find_all(exp.Table):
        table = catalog.find(named.name, schema=named.db)
        if table is not None:
            found |= {name.lower(): column for name, column in table.columns.items()}
    return found


def _coarser(key: exp.Expr, columns: Mapping[str, Column]) -> Iterator[tuple[exp.Expr, Fraction | None]]:
    if isinstance(key, exp.TimestampTrunc | exp.DateTrunc):
        unit, times = _NEXT.get(str(key.args["unit"].name).upper(), ("", Fraction(1)))
        if unit:
            yield _truncated(key.this, unit), times
    elif isinstance(key, exp.Cast) and key.to.is_type(exp.DType.DATE):
        yield _truncated(key.this, "WEEK"), Fraction(7)
    elif isinstance(key, exp.Column):
        column = columns.get(folded(key.this).lower())
        if column is not None and column.type.kind is Kind.DATE:
            yield _truncated(key, "WEEK"), Fraction(7)
        elif column is not None and _is_wide(column):
            yield exp.Div(this=key.copy(), expression=exp.Literal.number(_BIN), typed=True, safe=False), Fraction(_BIN)
    elif (width := key.find(exp.Literal)) is not None and isinstance(width.parent, exp.Div) and not width.is_string:
        twice = exp.Literal.number(str(2 * Fraction(width.this)))
        if "/" not in twice.this and width is width.parent.expression:
            yield _replaced(key, width, twice), Fraction(2)


def _is_wide(column: Column) -> bool:
    ends = column.range
    return column.type.kind is Kind.INTEGER and ends is not None and int(ends[1]) - int(ends[0]) >= _MANY  # type: ignore[arg-type]


def _truncated(this: exp.Expr, unit: str) -> exp.Expr:
    return exp.TimestampTrunc(this=this.copy(), unit=exp.var(unit))


def _replaced(tree: exp.Expr, old: exp.Expr, new: exp.Expr) -> exp.Expr:
    return tree.copy().transform(lambda node: new.copy() if node == old and isinstance(node.parent, exp.Div) else node)


def _with_key(tree: exp.Query, key: exp.Expr, coarse: exp.Expr) -> exp.Query:
    """Another key wherever the key is shown or grouped by; rows are chosen as before."""
    found = tree.copy()
    for part in ("expressions", "group", "having", "order"):
        held = found.args.get(part)
        if isinstance(held, list):
            found.set(part, [_changed(one, key, coarse) for one in held])
        elif held is not None:
            found.set(part, _changed(held, key, coarse))
    return found


def _changed(node: exp.Expr, key: exp.Expr, coarse: exp.Expr) -> exp.Expr:
    return node.transform(lambda one: coarse.copy() if one == key else one)


def _only_place(tree: exp.Query, key: exp.Expr) -> int | None:
    """The place of the item that shows a key, where no other one reads it."""
    places = [at for at, item in enumerate(tree.expressions) if any(node == key for node in item.walk())]
    shown = [at for at in places if tree.expressions[at].unalias() == key]
    having = tree.args.get("having")
    if len(places) != 1 or shown != places or (having is not None and any(node == key for node in having.walk())):
        return None
    return places[0]


def _without(tree: exp.Query, keys: list[exp.Expr], place: int) -> exp.Query:
    found = tree.copy()
    found.set("expressions", [item for at, item in enumerate(found.expressions) if at != place])
    found.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return found
