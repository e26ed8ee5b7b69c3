"""The size of engine SQL after its subqueries are expanded: a short text can become exponentially large.

Guarantee: a tree that passes has at most ``MAX_EXPANDED_SQL`` syntax nodes after columns of subqueries were replaced by
the expressions behind them. PostgreSQL's planner expands every subquery that it can pull up, and conditions that it
pushes down into a subquery: ``x + x AS x``, nested, doubles with every level. It takes 1 KB and 30 µs for each of these
nodes. An aggregate or a row number is computed once, however often it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from rewriter.refused import TOO_COMPLEX, Refused

MAX_EXPANDED_SQL = 100_000

_Size = tuple[int, int]
"""Of an expression: as it is computed, and as a condition that is pushed down."""
_Sizes = Mapping[str, _Size]
"""The sizes of a subquery's columns by name, in their order."""
_ONCE = (1, 1)
_CONDITIONS = ("joins", "where", "having", "qualify")
_COMPUTED_ONCE = (exp.AggFunc, exp.Window)
_ROWS = "r"
"""Our own name for the rows that are added up. What is computed of a row there is computed once: on PostgreSQL its
OFFSET 0 keeps it from being pulled up."""
_STAYS = ("group", "having", "distinct", "limit", "offset", "order", "with_")
"""What keeps a subquery from being pulled up."""


def check_expanded(tree: exp.Expr) -> None:
    """Raises :class:`Refused` (54001) where an engine could make too much of ``tree``.

    >>> import sqlglot
    >>> sql = "SELECT x FROM t"
    >>> for _ in range(20):
    ...     sql = f"SELECT x + x AS x FROM ({sql}) AS t"
    >>> check_expanded(sqlglot.parse_one(sql))
    Traceback (most recent call last):
    rewriter.refused.Refused: the query becomes too large when its subqueries are put in
    """
    _Measure().query(tree, {}, {})


class _Measure:
    """``tables`` are the columns of what is in reach by alias, ``ctes`` those of WITH; the sum of all is kept."""

    def __init__(self) -> None:
        self.total = 0

    def query(self, node: exp.Expr, tables: Mapping[str, _Sizes], ctes: Mapping[str, _Sizes]) -> _Sizes:
        if isinstance(with_ := node.args.get("with_"), exp.With):
            ctes = dict(ctes)
            for cte in with_.expressions:
                ctes[cte.alias] = self.query(cte.this, {}, ctes)
        if isinstance(node, exp.Subquery):
            return self.query(node.this, tables, ctes)
        if isinstance(node, exp.SetOperation):
            one, other = (self.query(node.args[side], tables, ctes) for side in ("this", "expression"))
            return {
                name: (max(a[0], b[0]), max(a[1], b[1]))
                for (name, a), b in zip(one.items(), other.values(), strict=False)
            }
        return self._select(node, tables, ctes) if isinstance(node, exp.Select) else {}

    def _select(self, select: exp.Select, around: Mapping[str, _Sizes], ctes: Mapping[str, _Sizes]) -> _Sizes:
        tables = dict(around)
        here: dict[str, _Size] = {}
        for item in _items(select):
            columns = self._item(item, tables, ctes)
            if item.alias_or_name == _ROWS:
                columns = {name: (1, pushed) for name, (_, pushed) in columns.items()}
            tables[item.alias_or_name] = columns
            here.update(columns)
        tables[""] = {**around.get("", {}), **here}
        found: dict[str, _Size] = {}
        stays = any(select.args.get(part) for part in _STAYS)
        for item in select.expressions:
            if isinstance(item, exp.Star):
                found.update({name: (1, size[1]) for name, size in here.items()} if stays else here)
                continue
            (computed, pushed), once = self._size(item, tables, ctes)
            self._spend(computed)
            found[item.alias_or_name] = _ONCE if once else (1 if stays else computed, pushed)
        for name, part in select.args.items():
            if name not in ("expressions", "with_", "from_"):
                for child in part if isinstance(part, list) else [part]:
                    inside = child.args.get("on") if isinstance(child, exp.Join) else child
                    self._spend(self._size(inside, tables, ctes)[0][name in _CONDITIONS])
        return found

    def _item(self, item: exp.Expr, tables: Mapping[str, _Sizes], ctes: Mapping[str, _Sizes]) -> _Sizes:
        if isinstance(item, exp.Table):
            return {} if item.args.get("db") else ctes.get(item.name, {})
        return self.query(item, tables, ctes)

    def _size(self, node: object, tables: Mapping[str, _Sizes], ctes: Mapping[str, _Sizes]) -> tuple[_Size, bool]:
        """The size of an expression, and whether it is computed once: an aggregate or a window is in it."""
        computed = pushed = 0
        once = False
        stack = [node] if isinstance(node, exp.Expr) else []
        while stack:
            part = stack.pop()
            if isinstance(part, exp.Column):
                size = tables.get(part.table, {}).get(part.name, _ONCE)
                computed, pushed = computed + size[0], pushed + size[1]
            elif isinstance(part, exp.Query):
                self.query(part, tables, ctes)
            else:
                computed, pushed = computed + 1, pushed + 1
                once = once or isinstance(part, _COMPUTED_ONCE)
                stack.extend(part.iter_expressions())
        return (computed, pushed), once

    def _spend(self, size: int) -> None:
        self.total += size
        if self.total > MAX_EXPANDED_SQL:
            raise Refused(
                "the query becomes too large when its subqueries are put in",
                hint="name each column of a subquery once, or compute it in fewer steps",
                sqlstate=TOO_COMPLEX,
            )


def _items(select: exp.Select) -> Iterator[exp.Expr]:
    if isinstance(from_ := select.args.get("from_"), exp.From):
        yield from_.this
    for join in select.args.get("joins") or ():
        yield join.this
