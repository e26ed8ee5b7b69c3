"""Lists of the values that a table has, joined with the same table by these values: computed of each row itself.

``WITH drug AS (SELECT DISTINCT name, name LIKE '%pril' AS ace FROM prescription) SELECT … FROM prescription AS p JOIN
drug ON p.name = drug.name WHERE drug.ace`` looks at what other people's rows have, but a row's own value is always
among them. So a row meets exactly one row of the list, and what that says follows from the row.

Guarantee: the meaning is the same. The list is of one table, distinct, and computed of columns that are all joined by,
each with itself. A list that anything else decides on is left as it is, and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

from sqlglot import exp

from rewriter.declared import Table
from rewriter.statement import conjuncts, folded, from_items, output_name, unaliased, unparenthesised, walk

_PARTS = frozenset({"expressions", "from_", "where", "distinct"})

TableOf = Callable[[exp.Expr], Table | None]
"""The table of the catalog that an item of FROM is; None where it is something else."""


def with_own_values(
    select: exp.Select, lists: Mapping[int, tuple[exp.Query, TableOf]], answers: Set[int], table_of: TableOf
) -> exp.Select | None:
    """``select`` without the joins with such lists; None where a join with ``answers`` is something else.

    ``lists`` has the queries of FROM, as written, by the item's identity, and what their own FROM means.
    """
    joins = list(select.args.get("joins") or ())
    first = select.args["from_"].this
    if id(first) in answers:
        return None
    found = []
    for place, join in enumerate(joins):
        if id(join.this) in answers:
            one = _List.of(join, *lists[id(join.this)], from_items(select), table_of)
            if one is None:
                return None
            found.append((place, one))
    if not found:
        return None
    copy: exp.Select = select.copy()
    for place, one in reversed(found):
        del copy.args["joins"][place]
        if not one.put_into(copy):
            return None
    return copy


class _List:
    """The values of a table: ``outputs`` by name, over its columns, where ``tests`` hold; read by ``alias``, for
    ``rows`` of the same table."""

    def __init__(self, alias: str, rows: str, outputs: Mapping[str, exp.Expr], tests: list[exp.Expr]) -> None:
        self._alias = alias
        self._rows = rows
        self._outputs = outputs
        self._tests = tests

    @classmethod
    def of(
        cls, join: exp.Join, query: exp.Query, inner: TableOf, items: list[exp.Expr], table_of: TableOf
    ) -> _List | None:
        """The list that is joined, if it is one of the same table's values, joined by all that it is computed of."""
        if join.side or join.method or join.kind.upper() not in ("", "INNER") or join.args.get("on") is None:
            return None
        if not isinstance(query, exp.Select) or {name for name, value in query.args.items() if value} - _PARTS:
            return None
        distinct, item = query.args.get("distinct"), query.args["from_"].this
        if distinct is None or distinct.args.get("on"):
            return None
        if query.find(exp.AggFunc, exp.Window, exp.Subquery, exp.Exists) is not None:
            return None
        table = inner(item)
        outputs = {output_name(one): unaliased(one) for one in query.expressions}
        where = query.args.get("where")
        tests = [] if where is None else list(conjuncts(where.this))
        read = {folded(column) for part in (*outputs.values(), *tests) for column in part.find_all(exp.Column)}
        alias = join.this.alias_or_name.lower()
        pairs = [_pair(test, alias, outputs) for test in conjuncts(join.args["on"])]
        rows = {pair[0] for pair in pairs if pair is not None}
        if table is None or table.public or None in pairs or len(rows) != 1:
            return None
        (row,) = rows
        same = [one for one in items if one.alias_or_name.lower() == row and table_of(one) is table]
        if len(same) != 1 or {pair[1] for pair in pairs if pair is not None} != read:
            return None
        return cls(alias, row, outputs, tests)

    def put_into(self, select: exp.Select) -> bool:
        """Computes the list's columns of the row; False where it has no such column."""
        for item in list(select.expressions):
            if not isinstance(item, exp.Alias):
                item.replace(exp.alias_(item.copy(), output_name(item), quoted=True, copy=False))
        for column in [node for part in _parts(select) for node in walk(part) if isinstance(node, exp.Column)]:
            if column.table.lower() == self._alias:
                if folded(column) not in self._outputs:
                    return False
                column.replace(exp.Paren(this=self._of_row(self._outputs[folded(column)])))
        used = {folded(column) for value in self._outputs.values() for column in value.find_all(exp.Column)}
        used |= {folded(column) for test in self._tests for column in test.find_all(exp.Column)}
        for name in sorted(used):
            select.where(exp.Not(this=exp.Is(this=self._column(name), expression=exp.Null())), copy=False)
        for test in self._tests:
            select.where(exp.Paren(this=self._of_row(test)), copy=False)
        return True

    def _of_row(self, node: exp.Expr) -> exp.Expr:
        root = exp.Paren(this=node.copy())
        for column in list(root.find_all(exp.Column)):
            column.replace(self._column(folded(column)))
        result: exp.Expr = root.this
        return result.pop()

    def _column(self, name: str) -> exp.Column:
        return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(self._rows, quoted=True))


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    """What a SELECT computes of its rows."""
    yield from select.expressions
    yield from (join.args["on"] for join in select.args.get("joins") or () if join.args.get("on") is not None)
    yield from (part for name in ("where", "group", "having", "order") if (part := select.args.get(name)) is not None)


def _pair(test: exp.Expr, alias: str, outputs: Mapping[str, exp.Expr]) -> tuple[str, str] | None:
    """The rows' name and the column, where a condition compares a column with itself in the list."""
    test = unparenthesised(test)
    if not isinstance(test, exp.EQ):
        return None
    sides = [unparenthesised(side) for side in (test.this, test.expression)]
    if not all(isinstance(side, exp.Column) and side.table for side in sides):
        return None
    listed = [side for side in sides if side.text("table").lower() == alias]
    other = next((side for side in sides if side.text("table").lower() != alias), None)
    if len(listed) != 1 or other is None:
        return None
    value = outputs.get(folded(listed[0]))
    if not isinstance(value, exp.Column) or folded(value) != folded(other):
        return None
    return other.text("table").lower(), folded(other)
