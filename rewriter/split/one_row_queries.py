"""Queries over releases of one row, without the subqueries and WITH queries around each figure.

``SELECT (SELECT a0 FROM r) AS f, (SELECT a1 FROM r) AS m`` reads the same row twice: it is ``SELECT a0 AS f, a1 AS m
FROM r``, where it can be seen how the figures belong together. A release without GROUP BY has one row, whatever the
data, so a query that only computes with its columns can stand wherever its columns are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from sqlglot import exp

from rewriter.dialects import named_table
from rewriter.release import Query, is_released, release_name
from rewriter.split.named_queries import drop_unread_queries
from rewriter.statement import alias_columns, folded, from_items, is_grouped, nodes_of, output_name, unparenthesised

_OWN = frozenset({"expressions", "from_", "joins", "order"})
"""What a query may have that is its select list over one row, and nothing else."""
_LARGEST = 200
"""Syntax nodes of a query that is put in the place of its names: it may be named many times."""
_UNKNOWN = (exp.Query, exp.Window, exp.AggFunc, exp.Anonymous)


@dataclass(frozen=True, slots=True)
class _Row:
    """A query that is one row: its columns by name, over the releases of one row that are its ``tables``."""

    columns: tuple[tuple[str, exp.Expr], ...]
    tables: tuple[str, ...]


def single(releases: Sequence[Query]) -> frozenset[str]:
    """The tables of releases that have one row."""
    return frozenset(release_name(number) for number, query in enumerate(releases) if not (query.keys or query.sets))


def flattened(outer: exp.Query, single: Set[str]) -> exp.Query:
    """``outer``, where it reads releases of one row (``single``, by table) more than once. The meaning is the same."""
    if sum(table.name in single for table in outer.find_all(exp.Table)) < 2:
        return outer
    copy: exp.Query = outer.copy()
    root = exp.Subquery(this=copy)
    _Flattener(single).query(copy, {})
    found: exp.Query = root.this
    found.pop()
    drop_unread_queries(found)
    return found


class _Flattener:
    def __init__(self, single: Set[str]) -> None:
        self._single = single

    def query(self, node: exp.Expr, rows: Mapping[str, _Row | None]) -> None:
        """Flatten a query in place; ``rows`` are the WITH queries in reach."""
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            self.query(cte.this, rows)
            alias = cte.args["alias"]
            rows = {**rows, folded(alias.this): None if alias_columns(alias) else self._row(cte.this)}
        if isinstance(node, exp.Subquery):
            self.query(node.this, rows)
        elif isinstance(node, exp.SetOperation):
            self.query(node.this, rows)
            self.query(node.expression, rows)
        elif isinstance(node, exp.Select):
            for inner in list(_inside(node)):
                self.query(inner, rows)
            self._select(node, rows)

    def _select(self, select: exp.Select, rows: Mapping[str, _Row | None]) -> None:
        if is_grouped(select):
            return
        self._scalars(select)
        self._from(select, rows)

    # Subqueries in the select list

    def _scalars(self, select: exp.Select) -> None:
        items = from_items(select)
        names = [column.name for column in select.find_all(exp.Column) if not column.table]
        if any(map(is_released, names)):
            return
        for subquery in [found for item in select.expressions for found in item.find_all(exp.Subquery)]:
            row = self._row(subquery.this) if _is_number(subquery) else None
            if row is None or len(row.columns) != 1 or subquery.find_ancestor(exp.Select) is not select:
                continue
            subquery.replace(_operand(row.columns[0][1]))
            for table in row.tables:
                if table not in {item.name for item in items if isinstance(item, exp.Table)}:
                    _add(select, table)
                    items = from_items(select)

    # FROM

    def _from(self, select: exp.Select, rows: Mapping[str, _Row | None]) -> None:
        """Put columns in the place of the queries in FROM, where all of these have one row."""
        items = from_items(select)
        found = [(item.alias_or_name, self._item(item, rows)) for item in items]
        known = {alias.lower(): row for alias, row in found if row is not None}
        joined = all(_is_free(join) for join in select.args.get("joins") or ())
        if (
            len(known) < len(items)
            or not joined
            or all(isinstance(i, exp.Table) and i.name in self._single for i in items)
            or any(part.find(exp.Query) is not None for part in _parts(select))
        ):
            return
        columns = [node for part in _parts(select) for node in part.find_all(exp.Column)]
        # A name alone is an output, in ORDER BY.
        columns = [column for column in columns if column.table and column.table not in self._single]
        keys = [(column.table.lower(), folded(column)) for column in columns]
        meant = {(alias, name): value for alias, row in known.items() for name, value in row.columns}
        if not meant.keys() >= {*keys}:  # It reads a query around it.
            return
        for column, key in zip(columns, keys, strict=True):
            column.replace(_operand(meant[key]))
        select.set("from_", None)
        select.set("joins", None)
        for table in dict.fromkeys(table for row in known.values() for table in row.tables):
            _add(select, table)

    def _item(self, item: exp.Expr, rows: Mapping[str, _Row | None]) -> _Row | None:
        alias = item.args.get("alias")
        if alias_columns(alias):
            return None
        if isinstance(item, exp.Subquery):
            return self._row(item.this)
        if not isinstance(item, exp.Table) or item.db:
            return None
        if (row := rows.get(folded(item.this))) is not None:
            return row
        return _Row((), (item.name,)) if item.name in self._single and alias is None else None

    def _row(self, query: exp.Expr) -> _Row | None:
        """The columns of a query that has one row, computed of releases of one row and of nothing else."""
        if not isinstance(query, exp.Select) or {part for part, value in query.args.items() if value} - _OWN:
            return None
        items = from_items(query)
        read = {item.name for item in items if isinstance(item, exp.Table) and item.name in self._single}
        if not items or len(read) < len(items) or not all(_is_free(join) for join in query.args.get("joins") or ()):
            return None
        if any(part.find(*_UNKNOWN) for part in query.expressions):
            return None
        if sum(1 for part in query.expressions for _ in part.walk()) > _LARGEST:
            return None
        if any(column.table not in read for part in query.expressions for column in part.find_all(exp.Column)):
            return None
        columns = tuple(
            (output_name(item), item.this if isinstance(item, exp.Alias) else item) for item in query.expressions
        )
        return _Row(columns, tuple(item.name for item in items))


def _inside(select: exp.Select) -> Iterator[exp.Query]:
    """The queries in a SELECT, those in its FROM too, but not those in them and not its WITH."""
    stack = [part for name in select.args if name != "with_" for part in nodes_of(select.args[name])]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
            yield node
        else:
            stack.extend(node.iter_expressions())


def _parts(select: exp.Select) -> list[exp.Expr]:
    """All of a SELECT that names columns."""
    return [
        part for name in select.args if name not in ("from_", "joins", "with_") for part in nodes_of(select.args[name])
    ]


def _add(select: exp.Select, table: str) -> None:
    if select.args.get("from_") is None:
        select.set("from_", exp.From(this=named_table(table)))
    else:
        select.append("joins", exp.Join(this=named_table(table), kind="CROSS"))


def _is_free(join: exp.Join) -> bool:
    """Whether a join with one row keeps that row: CROSS JOIN, a comma, ON TRUE."""
    plain = join.side in ("", "LEFT")
    on = join.args.get("on")
    return plain and join.kind in ("", "CROSS", "INNER", "OUTER") and (on is None or _is_true(on))


def _is_true(node: exp.Expr) -> bool:
    node = unparenthesised(node)
    if isinstance(node, exp.EQ) and isinstance(node.this, exp.Literal):
        return bool(node.this == node.expression)
    return isinstance(node, exp.Boolean) and bool(node.this)


def _is_number(subquery: exp.Subquery) -> bool:
    """Whether a subquery stands for its one value."""
    return subquery.arg_key in ("this", "expression", "expressions", "true", "default") and not isinstance(
        subquery.parent, exp.In | exp.Exists | exp.Any | exp.All | exp.From | exp.Join | exp.Subquery | exp.SetOperation
    )


def _operand(node: exp.Expr) -> exp.Expr:
    return node.copy() if isinstance(node, exp.Column | exp.Literal) else exp.Paren(this=node.copy())
