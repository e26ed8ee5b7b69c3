"""``WITH RECURSIVE`` over constants, made plain: the rows that it counts up to are a list of values.

Guarantee: the rows are PostgreSQL's, in the order in which its rounds find them; whatever is not computed exactly here
is refused. Columns are whole numbers, decimals, dates, times and texts, of the types of the first query. A round reads
the rows of the round before, and nothing else: recursion over tables is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import BIGINT, INTEGER, TEXT, Kind, Type
from rewriter.dialects import Dialect
from rewriter.expressions import constant_point
from rewriter.refused import NUMBER_OUT_OF_RANGE, SYNTAX, TOO_COMPLEX, TYPE_MISMATCH, UNKNOWN_COLUMN, Refused
from rewriter.split.series_rows import moment
from rewriter.statement import folded, only, output_name, unaliased

MOST = 2_000
"""Rows of all recursive queries of one statement."""
_MOST_PARTS = 60_000
"""Parts of expressions that are evaluated for one statement, and letters of texts."""
_FORM = "WITH RECURSIVE d(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM d WHERE n < 12) SELECT …"

Point = tuple[Type, Fraction | str]
"""The type of a constant, and its value: a text, or the place of a number or a time on the number line."""
Row = tuple[Point, ...]


def plain_recursion(tree: exp.Query, dialect: Dialect) -> exp.Query:
    """``tree`` with the rows of each recursive query in its place; no WITH is recursive after it."""
    if not any(one.args.get("recursive") for one in tree.find_all(exp.With)):
        return tree
    copy: exp.Query = tree.copy()
    budget = _Budget()
    for with_ in [one for one in copy.find_all(exp.With) if one.args.get("recursive")]:
        names = [folded(cte.args["alias"].this) for cte in with_.expressions]
        for place, cte in enumerate(with_.expressions):
            read = {folded(table.this) for table in cte.this.find_all(exp.Table) if _is_bare(table)}
            if names[place] in read:
                _Recursion(cte, names[place], dialect, budget).replace()
            elif not read.isdisjoint(names[place:]):
                raise Refused("a WITH query reads one that is defined after it", hint="define what is read first")
        with_.set("recursive", None)
    return copy


def _is_bare(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Identifier) and not table.args.get("db")


@dataclass(slots=True)
class _Budget:
    """How many rows and parts one statement may still evaluate."""

    rows: int = MOST
    parts: int = _MOST_PARTS
    times: dict[tuple[str, Type], Point] = field(default_factory=dict)
    """The times that texts mean, by the text and the type."""

    def pay(self, rows: int = 0, parts: int = 0) -> None:
        self.rows -= rows
        self.parts -= parts
        if self.rows < 0:
            hint = "end it by a condition, as in WHERE n < 12"
            raise Refused(f"a recursive query has more than {MOST:,} rows", hint=hint, sqlstate=TOO_COMPLEX)
        if self.parts < 0:
            raise Refused("recursive queries compute too much", hint="use fewer rows or columns", sqlstate=TOO_COMPLEX)


@dataclass(slots=True)
class _Recursion:
    """One recursive query of WITH: its rows, round by round."""

    cte: exp.Expr
    name: str
    dialect: Dialect
    budget: _Budget

    def replace(self) -> None:
        """Put the rows in the place of the query."""
        union = self.cte.this
        if type(union) is not exp.Union or not self._reads(union.expression) or self._reads(union.this):
            raise _refused()
        only(union, frozenset({"this", "expression", "distinct"}), "a recursive query")
        first = list(self._first(union.this))
        names = self._columns(union.this)
        types = [_common([row[place][0] for row in first]) for place in range(len(names))] if first else []
        rows = self._rows(union, first, names, types) if first else []
        if not rows:
            raise Refused("the first query of a recursion has no row", hint="begin with a row of constants")
        self.cte.set("this", _listed(rows, names, types))
        self.cte.args["alias"].set("columns", None)

    def _rows(self, union: exp.Union, first: list[Row], names: list[str], types: list[Type]) -> list[Row]:
        distinct = bool(union.args.get("distinct"))
        step = _Step.of(union.expression, self.name, names)
        seen: set[tuple[Fraction | str, ...]] = set()
        found: list[Row] = []
        fresh = first
        while fresh:
            kept: list[Row] = []
            for row in fresh:
                values = tuple(value for _, value in row)
                if not distinct or values not in seen:
                    seen.add(values)
                    kept.append(tuple(map(_as_column, row, types)))
            self.budget.pay(rows=len(kept))
            found += kept
            fresh = []
            for row in kept:
                constants = _Constants(dict(zip(names, row, strict=True)), step.alias, self.dialect, self.budget)
                if step.condition is None or constants.holds(step.condition):
                    made = tuple(map(constants.value, step.items))
                    for point, kind in zip(made, types, strict=True):
                        _check_fits(point[0], kind)
                    fresh.append(made)
        return found

    def _reads(self, query: exp.Expr) -> bool:
        return any(_is_bare(table) and folded(table.this) == self.name for table in query.find_all(exp.Table))

    def _first(self, query: exp.Expr) -> Iterator[Row]:
        """The rows of the first query: a SELECT of constants, VALUES, or UNION ALL of such."""
        constants = _Constants({}, self.name, self.dialect, self.budget)
        for items in _constant_rows(query):
            yield tuple(constants.value(unaliased(item)) for item in items)

    def _columns(self, query: exp.Expr) -> list[str]:
        while isinstance(query, exp.Union):
            query = query.this
        items = next(iter(_constant_rows(query)))
        values = _values_of(query) is not None
        names = [f"column{place}" if values else output_name(item) for place, item in enumerate(items, start=1)]
        given = [folded(one) for one in self.cte.args["alias"].args.get("columns") or ()]
        names = [*given, *names[len(given) :]]
        if len(names) != len(items) or len(set(names)) != len(names):
            raise Refused(
                "the columns of a recursive query need a name each", hint=f"write {_FORM}", sqlstate=UNKNOWN_COLUMN
            )
        return names


@dataclass(frozen=True, slots=True)
class _Step:
    """The query of each round: what it selects of the rows before, which it calls ``alias``."""

    items: list[exp.Expr]
    condition: exp.Expr | None
    alias: str

    @classmethod
    def of(cls, query: exp.Expr, name: str, names: list[str]) -> _Step:
        if not isinstance(query, exp.Select) or query.args.get("from_") is None:
            raise _refused()
        only(query, frozenset({"expressions", "from_", "where"}), "the second query of a recursion")
        table = query.args["from_"].this
        if not isinstance(table, exp.Table) or not _is_bare(table) or folded(table.this) != name:
            raise _refused()
        only(table, frozenset({"this", "alias"}), "the second query of a recursion")
        alias = table.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise _refused()
        where = query.args.get("where")
        if len(query.expressions) != len(names):
            raise Refused(
                "the queries of a recursion have different numbers of columns",
                hint=f"write {_FORM}",
                sqlstate=SYNTAX,
            )
        condition = None if where is None else where.this
        called = name if alias is None or alias.this is None else folded(alias.this)
        return cls(list(map(unaliased, query.expressions)), condition, called)


def _constant_rows(query: exp.Expr) -> Iterator[list[exp.Expr]]:
    if isinstance(query, exp.Subquery) and not query.args.get("alias"):
        query = query.this
    if type(query) is exp.Union and not query.args.get("distinct"):
        only(query, frozenset({"this", "expression", "distinct"}), "a recursive query")
        yield from _constant_rows(query.this)
        yield from _constant_rows(query.expression)
    elif (values := _values_of(query)) is not None:
        yield from (row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions)
    elif isinstance(query, exp.Select):
        only(query, frozenset({"expressions"}), "the first query of a recursion")
        yield query.expressions
    else:
        raise _refused()


def _values_of(query: exp.Expr) -> exp.Values | None:
    """VALUES as the parser reads it within WITH: ``SELECT * FROM (VALUES …) AS _values``."""
    if isinstance(query, exp.Select) and len(query.expressions) == 1 and isinstance(query.expressions[0], exp.Star):
        from_ = query.args.get("from_")
        query = exp.Null() if from_ is None or set(filter(query.args.get, query.args)) - _PLAIN else from_.this
    alias = query.args.get("alias")
    plain = isinstance(query, exp.Values) and (alias is None or not alias.args.get("columns"))
    return query if plain else None  # type: ignore[return-value]


_PLAIN = {"expressions", "from_"}


@dataclass(frozen=True, slots=True)
class _Constants:
    """Expressions over one row of constants, whose columns are ``known``."""

    known: Mapping[str, Point]
    alias: str
    dialect: Dialect
    budget: _Budget

    def value(self, node: exp.Expr) -> Point:
        """The value of an expression. Raises :class:`Refused` where it is not computed exactly."""
        self.budget.pay(parts=1)
        if isinstance(node, exp.Paren):
            return self.value(node.this)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal) and node.is_string:
            self.budget.pay(parts=len(node.name))
            return TEXT, node.name
        if isinstance(node, exp.Case):
            return self._case(node)
        if (whole := self._whole(node)) is not None:
            return whole
        return self._computed(node)

    def _computed(self, node: exp.Expr) -> Point:
        copy = node.copy()
        self.budget.pay(parts=sum(1 for _ in copy.walk()))
        for column in list(copy.find_all(exp.Column)):
            column.replace(_literal(self._column(column)))
        point = constant_point(copy, self.dialect)
        if point is None or not _is_exact(point):
            raise _refused()
        return point

    def _column(self, node: exp.Column) -> Point:
        qualified = node.args.get("table")
        point = self.known.get(folded(node.this)) if isinstance(node.this, exp.Identifier) else None
        if point is None or node.args.get("db") or (qualified is not None and folded(qualified) != self.alias):
            raise Refused(
                f"there is no column {node.name} in a recursive query", hint=f"write {_FORM}", sqlstate=UNKNOWN_COLUMN
            )
        if isinstance(point[1], str):
            self.budget.pay(parts=len(point[1]))
        return point

    def _whole(self, node: exp.Expr) -> Point | None:
        """Arithmetic of whole numbers alone, as PostgreSQL's types have it; None of anything else."""
        if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
            number = Fraction(node.name)
            return (INTEGER if number <= INTEGER.limits[1] else BIGINT), number
        if isinstance(node, exp.Paren):
            return self._whole(node.this)
        if isinstance(node, exp.Column):
            point = self._column(node)
            return point if point[0].kind is Kind.INTEGER else None
        rule = _WHOLE.get(type(node))
        if rule is None:
            return None
        self.budget.pay(parts=1)
        left, right = (self._whole(side) for side in (node.this, node.expression))
        if left is None or right is None:
            return None
        first, second = int(left[1]), int(right[1])
        if rule in (_quotient, _rest) and not second:
            raise Refused("division by zero", hint="divide by another number", sqlstate="22012")
        kind = max(left[0], right[0], key=lambda one: one.bits)
        result = kind, Fraction(rule(first, second))
        _check_range(result, kind)
        return result

    def _case(self, node: exp.Case) -> Point:
        """Each branch is computed, so that their types are known to be one."""
        subject, default = node.this, node.args.get("default")
        if subject is not None or default is None:
            raise _refused()
        branches = [(self.holds(one.this), self.value(one.args["true"])) for one in node.args["ifs"]]
        results = [*(value for _, value in branches), self.value(default)]
        kind = _common([kind for kind, _ in results])
        return kind, next((value for holds, (_, value) in branches if holds), results[-1][1])

    def holds(self, node: exp.Expr) -> bool:
        """Whether a condition is true; no operand is NULL."""
        self.budget.pay(parts=1)
        if isinstance(node, exp.Paren):
            return self.holds(node.this)
        if isinstance(node, exp.Boolean):
            return bool(node.this)
        if isinstance(node, exp.Not):
            return not self.holds(node.this)
        if isinstance(node, exp.And | exp.Or):
            left, right = self.holds(node.this), self.holds(node.expression)
            return left and right if isinstance(node, exp.And) else left or right
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            return self._order(node.this, node.args["low"]) >= 0 >= self._order(node.this, node.args["high"])
        if isinstance(node, exp.In) and node.expressions:
            return True in {self._equal(node.this, one) for one in node.expressions}
        if isinstance(node, exp.EQ | exp.NEQ):
            return self._equal(node.this, node.expression) is isinstance(node, exp.EQ)
        if isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE):
            order = self._order(node.this, node.expression)
            return (order == 0 and isinstance(node, exp.LTE | exp.GTE)) or (
                order < 0 if isinstance(node, exp.LT | exp.LTE) else order > 0
            )
        raise _refused()

    def _equal(self, left: exp.Expr, right: exp.Expr) -> bool:
        first, second = self._alike(left, right)
        return first == second

    def _order(self, left: exp.Expr, right: exp.Expr) -> int:
        first, second = self._alike(left, right)
        if isinstance(first, str) or isinstance(second, str):
            raise _refused()  # The order of texts is that of a collation.
        return (first > second) - (first < second)

    def _alike(self, left: exp.Expr, right: exp.Expr) -> tuple[Fraction | str, Fraction | str]:
        """Two values that can be compared: a text that is written beside a time is a time."""
        first, second = self.value(left), self.value(right)
        if second[0] == TEXT and first[0].temporal and isinstance(right, exp.Literal):
            second = self._time(right, first[0])
        if first[0] == TEXT and second[0].temporal and isinstance(left, exp.Literal):
            first = self._time(left, second[0])
        if not any(first[0].kind in kinds and second[0].kind in kinds for kinds in _COMPARED):
            raise _refused()
        return first[1], second[1]

    def _time(self, text: exp.Literal, kind: Type) -> Point:
        known = self.budget.times
        if (text.name, kind) not in known:
            known[text.name, kind] = self._computed(exp.cast(text.copy(), str(kind)))
        return known[text.name, kind]


_COMPARED = (
    (Kind.INTEGER, Kind.DECIMAL),
    (Kind.DATE, Kind.TIMESTAMP),
    (Kind.TIMESTAMPTZ,),
    (Kind.TEXT,),
)  # fmt: skip


def _quotient(first: int, second: int) -> int:
    """Cut toward zero."""
    return abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)


def _rest(first: int, second: int) -> int:
    """The rest has the sign of the first number."""
    return first - second * _quotient(first, second)


_WHOLE: Mapping[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: int.__add__,
    exp.Sub: int.__sub__,
    exp.Mul: int.__mul__,
    exp.Div: _quotient,
    exp.Mod: _rest,
}


def _is_exact(point: tuple[Type, Fraction]) -> bool:
    """Whether a value is one of its type, which SQL can be written of."""
    kind, value = point
    if kind.temporal:
        return 1 <= value < _AFTER_YEAR_9999
    if kind.kind is Kind.DECIMAL:
        return kind.scale > 0 and (value * 10**kind.scale).denominator == 1
    return kind.kind is Kind.INTEGER and kind.bits <= 64


_AFTER_YEAR_9999 = 3_652_060


def _common(kinds: list[Type]) -> Type:
    """The one type of several values: the widest of whole numbers."""
    first = max(kinds, key=lambda one: (one.bits, one.scale, one.precision))
    for kind in kinds:
        _check_fits(kind, first)
    return first


def _check_fits(kind: Type, column: Type) -> None:
    """The type of a column is that of the first query, as in PostgreSQL."""
    if kind.kind is not column.kind or kind.bits > column.bits:
        raise Refused(
            f"a column of a recursive query is {column} in the first query, and {kind} in the other",
            hint=f"cast it to the type that it has in the first query: (…)::{column}",
            sqlstate=TYPE_MISMATCH,
        )


def _as_column(point: Point, column: Type) -> Point:
    """A value in the type of its column; each decimal keeps its own digits, as in PostgreSQL."""
    return point if column.kind is Kind.DECIMAL else (column, point[1])


def _check_range(point: Point, kind: Type) -> None:
    low, high = kind.limits
    if not low <= Fraction(point[1]) <= high:
        raise Refused(f"{kind} out of range", hint="begin with 1::bigint", sqlstate=NUMBER_OUT_OF_RANGE)


def _listed(rows: list[Row], names: list[str], types: list[Type]) -> exp.Select:
    columns = [f"value{place}" for place in range(len(names))]
    alias = exp.TableAlias(this=exp.to_identifier("dpsql_values"), columns=[exp.to_identifier(one) for one in columns])
    items = [
        exp.alias_(exp.column(column, "dpsql_values"), name, quoted=True)
        for column, name in zip(columns, names, strict=True)
    ]
    written = [exp.Tuple(expressions=[_literal(point) for point in row]) for row in rows]
    return exp.Select(expressions=items).from_(exp.Values(expressions=written, alias=alias), copy=False)


def _literal(point: Point) -> exp.Expr:
    kind, value = point
    if isinstance(value, str):
        return exp.Literal.string(value)
    if kind.temporal:
        spelt = moment(value).isoformat(" ")
        if kind.kind is Kind.DATE:
            return exp.cast(exp.Literal.string(spelt[:10]), "date")
        zoned = kind.kind is Kind.TIMESTAMPTZ
        return exp.cast(exp.Literal.string(spelt + "+00:00" * zoned), "timestamptz" if zoned else "timestamp")
    digits = str(abs(int(value * 10**kind.scale))).rjust(kind.scale + 1, "0")
    spelt = f"{digits[: -kind.scale]}.{digits[-kind.scale :]}" if kind.scale else digits
    number: exp.Expr = exp.Literal.number(spelt)
    number = exp.Neg(this=number) if value < 0 else number
    return number if kind == INTEGER or kind.kind is Kind.DECIMAL else exp.cast(number, str(kind))


def _refused() -> Refused:
    return Refused(
        "WITH RECURSIVE is answered over constants alone",
        hint=f"write {_FORM}; levels of a table are written out, a join each",
    )
