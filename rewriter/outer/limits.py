"""The size of an outer SELECT once DuckDB has bound it: a short text can become exponentially large.

Guarantee: a tree that passes has a bounded number of expressions, columns and grouping sets *after* binding. DuckDB
puts the expression of a select item in the place of its alias, NULLIF and a named window repeat what they are given,
and ``SELECT *, *`` doubles its columns. Nested, each doubles with every level, and no time limit interrupts that.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from sqlglot import exp

from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.statement import is_star

MAX_SIZE = 50_000
MAX_WIDTH = 2_000
MAX_GROUPING_SETS = 256
UNKNOWN_WIDTH = 100
"""Columns of a table whose columns are not given."""

_NAMED_WINDOW = "window "
_Sizes = Mapping[str, int]


def check_size(tree: exp.Expr, tables: Container[str]) -> None:
    """Raises :class:`Refused` (54001) where binding could take more than a bounded time.

    >>> import sqlglot
    >>> items = ", ".join(f"s{i} + s{i} AS s{i + 1}" for i in range(30))
    >>> check_size(sqlglot.parse_one(f"SELECT 1 AS s0, {items}"), ())
    Traceback (most recent call last):
    rewriter.refused.Refused: the query becomes too large when its names are put in
    """
    _Measure(tables).size(tree, {}, {})


class _Measure:
    def __init__(self, tables: Container[str]) -> None:
        self._tables = tables
        self._widths: dict[int, int] = {}

    def size(self, node: exp.Expr, aliases: _Sizes, ctes: _Sizes) -> int:
        """The expressions that ``node`` becomes. ``aliases`` are the sizes of select items in reach by name."""
        with_ = node.args.get("with_")
        total = 1
        if with_ is not None:
            ctes = dict(ctes)
            for cte in with_.expressions:
                total += self.size(cte.this, {}, ctes)
                ctes[cte.alias.lower()] = self._width(cte.this)
        if isinstance(node, exp.Select):
            total += self._select(node, aliases, ctes)
        elif isinstance(node, exp.Column):
            total += 0 if node.args.get("table") else aliases.get(node.name.lower(), 0)
        else:
            if isinstance(node, exp.Window) and node.alias:
                total += aliases.get(_NAMED_WINDOW + node.alias.lower(), 0)
            elif isinstance(node, exp.Table):
                self._widths[id(node)] = self._stored(node, ctes)
            construct = CONSTRUCTS.of(node)
            for child in node.iter_expressions():
                if not isinstance(child, exp.With):
                    total += self.size(child, aliases, ctes) * (
                        construct.copies if child.arg_key in construct.repeated else 1
                    )
            if isinstance(node, exp.Query | exp.Values | exp.SetOperation):
                self._widths[id(node)] = self._width(node)
        return _bounded(total, MAX_SIZE, "the query becomes too large when its names are put in")

    def _select(self, select: exp.Select, aliases: _Sizes, ctes: _Sizes) -> int:
        total = 0
        sources = [item for part in ("from_", "joins") for item in _parts(select, part)]
        for item in sources:
            total += self.size(item, {}, ctes)
        inner = dict(aliases)
        for window in _parts(select, "windows"):
            inner[_NAMED_WINDOW + window.name.lower()] = size = self.size(window, aliases, ctes)
            total += size
        width, all_columns = 0, sum(self._width(item.this) for item in sources)
        for item in select.expressions:
            size = self.size(item, inner, ctes)
            if isinstance(item, exp.Alias):
                inner[item.alias.lower()] = max(size, inner.get(item.alias.lower(), 0))
            width += all_columns if is_star(item) else 1
            total += size
        for part in select.args:
            if part not in ("with_", "from_", "joins", "windows", "expressions"):
                total += sum(self.size(child, inner, ctes) for child in _parts(select, part))
        self._widths[id(select)] = _bounded(width, MAX_WIDTH, "the query has too many columns")
        _check_sets(select)
        return total

    def _stored(self, table: exp.Expr, ctes: _Sizes) -> int:
        if (width := ctes.get(table.name.lower())) is not None:
            return width
        columns = self._tables.get(table.name) if isinstance(self._tables, Mapping) else None
        return UNKNOWN_WIDTH if columns is None else len(columns)

    def _width(self, node: exp.Expr) -> int:
        if (known := self._widths.get(id(node))) is not None:
            return known
        if isinstance(node, exp.Subquery | exp.SetOperation):
            return self._width(node.this)
        if isinstance(node, exp.Values) and node.expressions:
            return max(len(row.expressions) for row in node.expressions)
        return 1


def _parts(node: exp.Expr, name: str) -> list[exp.Expr]:
    value = node.args.get(name)
    return [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, exp.Expr)]


def _check_sets(select: exp.Select) -> None:
    """GROUP BY ROLLUP(…), CUBE(…) has the product of their grouping sets."""
    group = select.args.get("group")
    sets = 1
    for node in group.find_all(exp.Rollup, exp.Cube, exp.GroupingSets) if group is not None else ():
        count = len(node.expressions)
        sets *= 2 ** min(count, 30) if isinstance(node, exp.Cube) else count + 1
        _bounded(sets, MAX_GROUPING_SETS, "GROUP BY has too many grouping sets")


def _bounded(number: int, most: int, message: str) -> int:
    if number > most:
        raise Refused(message, hint=f"at most {most:,}: use WITH for the parts", sqlstate=TOO_COMPLEX)
    return number
