"""Plain SELECTs over one small released table, without a database: columns, conditions, an order and a limit.

Guarantee: columns, types, values and their order are those that DuckDB gives. What a SELECT may have in it is a closed
list, and all else is left to DuckDB: another node of the text, another type, more rows, and rows that an order does not
tell apart, whose order is DuckDB's own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from dpsql.releases import ReleasedColumn, ReleasedTable
from rewriter.declared import Kind, Scalar, Type

MOST_ROWS = 1_000
"""Rows of a table; of more, DuckDB is as fast."""

_KINDS = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.DOUBLE, Kind.TEXT, Kind.DATE})
_CLAUSES = frozenset({"kind", "expressions", "from_", "where", "order", "limit"})
_COMPARED: Mapping[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
}

Values = Sequence[Scalar | None]
PlainAnswer = tuple[tuple[tuple[str, Type], ...], Sequence[tuple[Scalar | None, ...]]]


@dataclass(frozen=True, slots=True)
class _Condition:
    """A column that is true, or an integer that compares with a number of the text."""

    column: str
    compared: Callable[[int, int], bool] | None = None
    number: int = 0

    def holds(self, value: Scalar | None) -> bool:
        """NULL is not true."""
        if self.compared is None or value is None:
            return value is True
        return self.compared(value, self.number)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Order:
    column: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class PlainSelect:
    """A SELECT of the closed list: names of the answer and columns of ``table``, conditions, an order and a limit."""

    table: str
    items: tuple[tuple[str, str], ...]
    conditions: tuple[_Condition, ...]
    orders: tuple[_Order, ...]
    limit: int | None

    def answer(self, tables: Mapping[str, ReleasedTable]) -> PlainAnswer | None:
        """The columns and rows over these tables; None where DuckDB has to say."""
        table = tables.get(self.table)
        if table is None or table.rows > MOST_ROWS:
            return None
        known: dict[str, ReleasedColumn] = {column.name: column for column in table.columns}
        names = {name for _, name in self.items}
        names |= {one.column for one in self.conditions} | {one.column for one in self.orders}
        if len(set(map(_lower, known))) != len(table.columns):
            return None
        if not all(name in known and _is_plain(known[name]) for name in names):
            return None
        kinds = {name: known[name].type.kind for name in names}
        wanted = ((one.column, Kind.BOOLEAN if one.compared is None else Kind.INTEGER) for one in self.conditions)
        if any(kinds[name] is not kind for name, kind in wanted):
            return None
        values = {name: known[name].column.arrow.to_pylist() for name in names}
        places = list(range(table.rows))
        for one in self.conditions:
            column = values[one.column]
            places = [place for place in places if one.holds(column[place])]
        if self.orders:
            keys = [values[one.column] for one in self.orders]
            for order, column in zip(reversed(self.orders), reversed(keys), strict=True):
                if any(type(value) is float and math.isnan(value) for value in column):
                    return None
                places = _ordered(places, column, order)
            # Rows after the first one that is cut off have no part in the answer.
            if not _tells_apart(keys, places if self.limit is None else places[: self.limit + 1]):
                return None
        cells = [[values[name][place] for place in places[: self.limit]] for _, name in self.items]
        return tuple((name, known[column].type) for name, column in self.items), tuple(zip(*cells, strict=True))


def _is_plain(column: ReleasedColumn) -> bool:
    """Whether DuckDB hands the values of a column over as they are. It takes 128 bits for a decimal."""
    return column.type.kind in _KINDS and column.type.bits != 128


def _tells_apart(keys: Sequence[Values], places: Sequence[int]) -> bool:
    """Whether an order says which of any two rows comes first."""
    rows = [tuple(column[place] for column in keys) for place in places]
    return len(set(rows)) == len(rows)


def _ordered(places: Sequence[int], column: Values, order: _Order) -> list[int]:
    """The places by the values of a column, texts by their bytes; those that it does not tell apart stay in order."""
    nulls = [place for place in places if column[place] is None]
    others = [place for place in places if column[place] is not None]
    others.sort(key=lambda place: column[place], reverse=order.descending)  # type: ignore[arg-type, return-value]
    return nulls + others if order.nulls_first else others + nulls


def plain_select(sql: str) -> PlainSelect | None:
    """A text as a plain SELECT; None of what is none.

    >>> plain_select('SELECT r.n AS "n" FROM r WHERE r.n > 5 AND r.there ORDER BY "n" DESC LIMIT 2').limit
    2
    >>> plain_select("SELECT r.n + 1 AS n FROM r"), plain_select("SELECT DISTINCT r.n AS n FROM r")
    (None, None)
    """
    if not sql.startswith("SELECT "):
        return None
    try:
        select, *more = parse(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return None  # DuckDB's grammar is its own.
    if (
        more
        or not isinstance(select, exp.Select)
        or any(value and name not in _CLAUSES for name, value in select.args.items())
    ):
        return None
    source = select.args.get("from_")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or any(value for name, value in table.args.items() if name != "this"):
        return None
    items = [_item(one, table.name) for one in select.expressions]
    where, order, limit = (select.args.get(name) for name in ("where", "order", "limit"))
    terms = [] if where is None else list(where.this.flatten() if isinstance(where.this, exp.And) else [where.this])
    conditions = [_condition(one, table.name) for one in terms]
    known = [one for one in items if one is not None]
    orders = [] if order is None else [_order(one, known, table.name) for one in order.expressions]
    most = None if limit is None else _whole(limit.expression)
    if not items or None in (*items, *conditions, *orders) or (limit is not None and (most is None or most < 0)):
        return None
    if limit is not None and any(value for name, value in limit.args.items() if name != "expression"):
        return None
    if order is not None and any(value for name, value in order.args.items() if name != "expressions"):
        return None
    return PlainSelect(
        table.name,
        tuple(known),
        tuple(one for one in conditions if one is not None),
        tuple(one for one in orders if one is not None),
        most,
    )


def _column(node: object, table: str) -> str | None:
    """The name of a column of the table."""
    if isinstance(node, exp.Column) and node.table == table and not node.args.get("db"):
        return node.name
    return None


def _lower(name: str) -> str:
    """A name as DuckDB looks it up: of the letters, those of ASCII in lower case."""
    return name.lower() if name.isascii() else "".join(one.lower() if one.isascii() else one for one in name)


def _item(node: exp.Expr, table: str) -> tuple[str, str] | None:
    column = _column(node.this, table) if isinstance(node, exp.Alias) else None
    return None if column is None else (node.alias, column)


def _condition(node: exp.Expr, table: str) -> _Condition | None:
    if (column := _column(node, table)) is not None:
        return _Condition(column)
    compared = _COMPARED.get(type(node))
    if compared is None:
        return None
    column, number = _column(node.this, table), _whole(node.expression)
    return None if column is None or number is None else _Condition(column, compared, number)


def _order(node: exp.Expr, items: Sequence[tuple[str, str]], table: str) -> _Order | None:
    """By a column of the table, or by the only item of a name. DuckDB does not tell upper from lower case."""
    if not isinstance(node, exp.Ordered) or node.args.get("with_fill"):
        return None
    column = _column(node.this, table)
    if column is None and isinstance(node.this, exp.Column) and not node.this.table:
        named = [one for name, one in items if _lower(name) == _lower(node.this.name)]
        column = named[0] if len(named) == 1 else None
    if column is None:
        return None
    return _Order(column, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _whole(node: object) -> int | None:
    """An integer of at most 18 digits."""
    if isinstance(node, exp.Neg):
        number = _whole(node.this)
        return None if number is None else -number
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() and len(node.name) <= 18:
        return int(node.name)
    return None
