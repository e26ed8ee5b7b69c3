"""DISTINCT ON of groups, as DISTINCT ON of the rows of a subquery that has the groups.

    SELECT DISTINCT ON (sex) sex, region, COUNT(*) AS n FROM patient GROUP BY sex, region ORDER BY sex, n DESC
    SELECT DISTINCT ON (sex) sex, region, n FROM (SELECT sex, region, COUNT(*) AS n FROM patient GROUP BY sex, region)
      ORDER BY sex, n DESC

Theorem: DISTINCT ON and ORDER BY are computed of the rows that GROUP BY, HAVING and windows have made. What they name
beside the select list is a column of the subquery that nobody sees.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.refused import Refused
from rewriter.statement.and_branches import from_items, unparenthesised
from rewriter.statement.identifiers import folded, is_star, unaliased
from rewriter.statement.output_names import output_name
from rewriter.statement.select_shape import has_aggregate

_GROUPS = "dpsql_groups"
_OUTSIDE = ("with_", "distinct", "order", "limit", "offset")


def groups_first(tree: exp.Query) -> exp.Query:
    """``tree`` with each such SELECT as a subquery. Raises :class:`Refused` (42P10) as PostgreSQL does, where ORDER BY
    does not begin with what DISTINCT ON names.

    >>> import sqlglot
    >>> sql = "SELECT DISTINCT ON (a) a, COUNT(*) AS n FROM t GROUP BY a, b ORDER BY a, MAX(c)"
    >>> groups_first(sqlglot.parse_one(sql, read="postgres")).sql("postgres").partition(" FROM ")[0]
    'SELECT DISTINCT ON ("a") "a", "n"'
    """
    if not any(map(_is_of_groups, tree.find_all(exp.Select))):
        return tree
    root = exp.Paren(this=tree.copy())
    for select in [one for one in root.find_all(exp.Select) if _is_of_groups(one)]:
        names = [output_name(item) for item in select.expressions]
        if not any(map(is_star, select.expressions)) and len(set(names)) == len(names):
            _put_inside(select, names)
    found: exp.Query = root.this
    found.pop()
    return found


def _is_of_groups(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    grouped = select.args.get("group") or select.args.get("having") or any(map(has_aggregate, select.expressions))
    return distinct is not None and bool(distinct.args.get("on")) and bool(grouped)


def _put_inside(select: exp.Select, names: list[str]) -> None:
    columns = _Columns(select, names)
    on = select.args["distinct"].args["on"]
    keys = [columns.named(one) for one in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    order = select.args.get("order")
    ordered = [] if order is None else [columns.named(one.this) for one in order.expressions]
    _check(keys, ordered)
    inner = exp.Select(**{name: part for name, part in select.args.items() if name not in _OUTSIDE and part})
    inner.set("expressions", columns.items)
    outer = exp.Select(expressions=[_column(name) for name in names])
    outer.set("distinct", exp.Distinct(on=exp.Tuple(expressions=list(map(_column, keys)))))
    if order is not None:
        for one, name in zip(order.expressions, ordered, strict=True):
            one.set("this", _column(name))
    for part in ("with_", "order", "limit", "offset"):
        outer.set(part, select.args.get(part))
    alias = exp.TableAlias(this=exp.to_identifier(_GROUPS))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    select.replace(outer)


class _Columns:
    """The columns of the subquery: those of the select list, and what else DISTINCT ON and ORDER BY compute."""

    def __init__(self, select: exp.Select, names: Sequence[str]) -> None:
        self._alone = len(from_items(select)) == 1
        self._names = list(names)
        self._values = [self._plain(unaliased(item)) for item in select.expressions]
        self.items = [
            exp.alias_(unaliased(item).copy(), name, quoted=True)
            for item, name in zip(select.expressions, names, strict=True)
        ]

    def named(self, node: exp.Expr) -> str:
        """The column of an expression: a number counts the select list, a name alone is an output before an input."""
        node = unparenthesised(node)
        outputs = len(self.items)
        if isinstance(node, exp.Literal) and not node.is_string and node.is_int and 1 <= int(node.name) <= outputs:
            return self._names[int(node.name) - 1]
        if isinstance(node, exp.Column) and not node.table and folded(node) in self._names:
            return folded(node)
        value = self._plain(node)
        if value not in self._values:
            name = f"dpsql_by{outputs}"
            self._names.append(name)
            self._values.append(value)
            self.items.append(exp.alias_(node.copy(), name, quoted=True))
        return self._names[self._values.index(value)]

    def _plain(self, node: exp.Expr) -> exp.Expr:
        """An expression in which the columns of the only item of FROM are without its name."""
        copy = exp.Paren(this=node.copy())
        for column in copy.find_all(exp.Column) if self._alone else ():
            column.set("table", None)
        return copy


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _check(keys: Sequence[str], ordered: Sequence[str]) -> None:
    """Where something else is ordered by, all keys come before it."""
    begin = next((place for place, name in enumerate(ordered) if name not in keys), len(ordered))
    if begin < len(ordered) and not set(keys) <= set(ordered[:begin]):
        raise Refused(
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
            hint="begin ORDER BY with the expressions of DISTINCT ON",
            sqlstate="42P10",
        )
