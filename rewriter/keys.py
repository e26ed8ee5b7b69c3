"""Which groups may appear: a public key set, enumerated from declared domains, or groups selected under δ.

A key set is public when every key can be enumerated without looking at private rows: each declared column that the keys
read becomes a variable over its domain, and the key expressions are evaluated by the engine over all combinations,
filtered by those conditions of WHERE that read the same variables only. So ``date_trunc('month', day)`` over a declared
range of days gives exactly the months the engine would name, in its own types.

Why expressions fall back to their own domains: a column of doubles cannot be enumerated, but ``FLOOR(x / 10)`` of it
can. The smallest subexpression with a finite domain stands for itself.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlglot import exp

from rewriter.coarse import Coarse, coarse
from rewriter.dialects import Dialect, call, double, number
from rewriter.errors import TOO_COMPLEX, Refused
from rewriter.functions_values import LIMITS, wrap
from rewriter.functions_zones import STEP, ZONE
from rewriter.interval import measure
from rewriter.query import Key
from rewriter.source import ORIGIN, VARIABLE, Origin, Variable, table_node, variable_behind
from rewriter.types import BIGINT, DATE, TIMESTAMP, Kind, Scalar, Type
from rewriter.unbounded import learned_ranges
from rewriter.value import DOMAIN, Domain, IntegerRange, Value, Values
from rewriter.zoned_days import finer, lists, zoned_days

MAX_CELLS = 100_000
"""The most groups that a public key set may have; a larger one is selected under δ instead."""
MAX_READ = 50_000
"""Syntax nodes of keys, and of what stands behind them in subqueries, that are read to list groups."""

_DAY_UNITS = frozenset(
    {"DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "DOW", "ISODOW", "DOY", "ISOYEAR"}
)
_TIME_OF_DAY = re.compile("%[^YmdBbjaAuwWUGVy%-]|HH|MI|SS")
_HOUR_UNITS = frozenset({"HOUR"})


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """``sql`` lists every group once, as columns ``k0``, ``k1``, … of ``types``; ``cells`` is how many at most.

    ``closed`` says of each key whether every row of people has one of its values, by proof: the owner's list of values
    proves nothing, since rows may have others. ``listed`` says of each whether the owner listed its values one by one,
    and ``lists_null`` whether NULL is one of these.
    """

    sql: exp.Select
    cells: int
    types: tuple[Type, ...]
    closed: tuple[bool, ...]
    listed: tuple[bool, ...] = ()
    lists_null: tuple[bool, ...] = ()

    @property
    def exhaustive(self) -> bool:
        """By proof, every row of people is in one of the groups."""
        return all(self.closed)


class _NotEnumerable(Exception):
    """A part of a key has no finite public domain."""


def public_keys(
    keys: Sequence[Key], filters: Sequence[Value], dialect: Dialect, *, complete: bool = False
) -> PublicKeys | None:
    """The public key set of a GROUP BY, or None where the groups must be selected under δ.

    ``complete``: NULL is a group of every key that may be NULL, declared or not.
    """
    enumeration = _Enumeration(dialect, complete=complete)
    try:
        expressions = [enumeration.key(key.value.sql) for key in keys]
        needed, narrowing = enumeration.declared(expressions, keys), enumeration.narrow(filters)
        domains, conditions = enumeration.domains(expressions, needed, narrowing, tight=True)
        if math.prod(size for _, size in domains) > MAX_CELLS:
            domains, conditions = enumeration.domains(expressions, needed, narrowing, tight=False)
    except _NotEnumerable:
        return None
    cells = math.prod(size for _, size in domains)
    if cells > MAX_CELLS:
        return None
    columns = [
        exp.alias_(dialect.cast(expression, key.value.type), f"k{place}")
        for place, (expression, key) in enumerate(zip(expressions, keys, strict=True))
    ]
    select = exp.Select(expressions=columns, distinct=exp.Distinct())
    if domains:
        select.from_(domains[0][0], copy=False)
        select.set("joins", [exp.Join(this=item, kind="CROSS") for item, _ in domains[1:]])
    if conditions and domains:
        select.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    return PublicKeys(
        select,
        cells,
        tuple(key.value.type for key in keys),
        closed=tuple(
            enumeration.is_closed(expression) and (complete or not key.value.nullable or _lists_null(key.value.sql))
            for expression, key in zip(expressions, keys, strict=True)
        ),
        listed=tuple(_is_listed(key.value.sql, narrowing) for key in keys),
        lists_null=tuple(_names_null(key.value.sql) for key in keys),
    )


def _is_listed(node: exp.Expr, narrowing: Sequence[exp.Expr]) -> bool:
    """Whether the owner, or CASE, lists the values of a key one by one, and no condition on public rows left some out.

    Values that are computed, or lie in a range, are not: nobody expects each of them.
    """
    variable = variable_behind(node)
    if variable is None:
        return isinstance(node.meta.get(DOMAIN), Values)
    column = variable.column
    if column.values is not None and not variable.table.public:
        return True
    return (column.values_from is not None or variable.table.public) and not narrowing


def _names_null(node: exp.Expr) -> bool:
    """Whether the owner named NULL among the values of a column."""
    variable = variable_behind(node)
    return variable is not None and None in (variable.column.values or ())


def _has_all_values(variable: Variable) -> bool:
    """Whether the listed values of a column are all that its rows can have, NULL apart."""
    return variable.table.public or variable.column.closed


def _lists_null(node: exp.Expr) -> bool:
    """Whether a bare column's declared values have NULL among them, or are those of a public table."""
    variable = variable_behind(node)
    if variable is None:
        return False
    return variable.table.public or variable.optional or None in (variable.column.values or ())


@dataclass(slots=True)
class _Budget:
    """How much may still be read of what keys are made of: a key of a subquery may stand twice in that of the next."""

    left: int = MAX_READ

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Refused(
                "the keys become too large when their subqueries are put in",
                hint="GROUP BY a plain column, or name each key once",
                sqlstate=TOO_COMPLEX,
            )


@dataclass(slots=True)
class _Enumeration:
    """The variables that key expressions have needed so far, each with the step that timestamps need.

    ``missing`` are those that also take NULL, which is outside of what was declared but is what an expression such as
    ``CASE WHEN x > 5 THEN 'high' ELSE 'low' END`` makes a declared group of. ``path`` are the subqueries around the
    expression that is being read: a CTE that stands twice in FROM has its columns twice.
    """

    dialect: Dialect
    columns: dict[Variable, str | None] = field(default_factory=dict)
    derived: list[tuple[Domain, exp.Expr, tuple[str, ...]]] = field(default_factory=list)
    missing: set[Variable] = field(default_factory=set)
    closed: bool = False
    complete: bool = False
    path: tuple[str, ...] = ()
    budget: _Budget = field(default_factory=_Budget)

    def key(self, node: exp.Expr) -> exp.Expr:
        """A key over the variables; inside of an expression, columns that may be NULL take NULL too."""
        expression = self.substitute(node, None)
        if self.complete or not isinstance(expression, exp.Column):
            used = {column.table for column in expression.find_all(exp.Column)}
            self.missing |= {
                variable for variable in self.columns if _table_of(variable) in used and _may_miss(variable)
            }
        return expression

    def is_closed(self, expression: exp.Expr) -> bool:
        """Whether the values of a key over the variables are all that rows of people can have, NULL apart."""
        used = {column.table for column in expression.find_all(exp.Column)}
        derived = [one for place, one in enumerate(self.derived) if f"e{place}" in used]
        variables = [one for one in self.columns if {_table_of(one), f"d_{one.alias}"} & used]
        return all(_has_all_values(one) for one in variables) and all(
            isinstance(domain, Values) or node.meta.get(LIMITS) == (domain.low, domain.high)
            for domain, node, _ in derived
        )

    def declared(self, expressions: Sequence[exp.Expr], keys: Sequence[Key]) -> list[exp.Expr]:
        """A key is NULL only where that follows from declared values: not because a row's value is missing."""
        conditions: list[exp.Expr] = []
        if self.complete:
            return [
                exp.Not(this=exp.Is(this=wrap(expression.copy()), expression=exp.Null()))
                for expression, key in zip(expressions, keys, strict=True)
                if not key.value.nullable
            ]
        for expression in expressions:
            used = {column.table for column in expression.find_all(exp.Column)}
            given = [
                exp.Not(this=exp.Is(this=exp.column("x", _table_of(variable)), expression=exp.Null()))
                for variable in self.missing
                if _table_of(variable) in used
            ]
            if given:
                present = exp.Not(this=exp.Is(this=wrap(expression.copy()), expression=exp.Null()))
                conditions.append(exp.or_(present, exp.and_(*given, copy=False), copy=False))
        return conditions

    def narrow(self, filters: Sequence[Value]) -> list[exp.Expr]:
        """Those conditions that read nothing but the variables of the keys: they may narrow a key set, not widen it."""
        self.closed = True
        found = []
        for condition in filters:
            try:
                found.append(self.substitute(condition.sql, None))
            except _NotEnumerable:
                continue
        return found

    def substitute(self, node: exp.Expr, step: str | None) -> exp.Expr:
        """A copy of ``node`` with columns replaced by variables. ``step`` is the unit that a timestamp is cut to."""
        self.budget.spend()
        variable = node.meta.get(VARIABLE)
        if isinstance(variable, Variable):
            return self._variable(replace(variable, alias="_".join((*self.path, variable.alias))), step)
        origin = node.meta.get(ORIGIN)
        if isinstance(origin, Origin):
            around = self.path
            self.path = (*around, node.text("table"))
            try:
                return self.substitute(origin.sql, step)
            except _NotEnumerable:
                self.path = around
                return self._domain(node)
            finally:
                self.path = around
        if isinstance(node, exp.Column | exp.Query):
            return self._domain(node)
        saved = dict(self.columns), list(self.derived)
        try:
            return self._rebuild(node, step)
        except _NotEnumerable:
            self.columns, self.derived = saved
            return self._domain(node)

    def _rebuild(self, node: exp.Expr, step: str | None) -> exp.Expr:
        inner = _step_of(node) or step
        if inner is not None and (zone := node.meta.get(ZONE)) is not None:
            inner = f"{inner.split()[0]} {zone}"
        args: dict[str, object] = {}
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                args[name] = self.substitute(value, inner)
            elif isinstance(value, list):
                args[name] = [self.substitute(v, inner) if isinstance(v, exp.Expr) else v for v in value]
            else:
                args[name] = value
        return type(node)(**args)

    def _domain(self, node: exp.Expr) -> exp.Expr:
        domain = node.meta.get(DOMAIN)
        # The same expression has one value in a row, wherever it stands: a guard and what it guards, a key and WHERE.
        for place, (known, source, path) in enumerate(self.derived):
            if known == domain and source == node and path == self.path:
                return exp.column("x", f"e{place}")
        if domain is None or self.closed or _size(domain) > MAX_CELLS or _is_learned(domain, node):
            raise _NotEnumerable
        self.derived.append((domain, node, self.path))
        return exp.column("x", f"e{len(self.derived) - 1}")

    def _variable(self, variable: Variable, step: str | None) -> exp.Expr:
        if variable not in self.columns:
            # Another column of a public table that is read anyway adds no rows to it.
            beside = variable.table.public and any(known.alias == variable.alias for known in self.columns)
            if (self.closed and not beside) or not _is_finite(variable, step):
                raise _NotEnumerable
            self.columns[variable] = step if variable.column.type.clocked else None
        elif variable.column.type.clocked:
            known = self.columns[variable]
            if step is None or known is None or (self.closed and not lists(known, step)):
                raise _NotEnumerable
            self.columns[variable] = finer(known, step)
        if variable.table.public:
            return exp.column(exp.to_identifier(variable.column.name, quoted=True), f"d_{variable.alias}")
        return exp.column("x", _table_of(variable))

    def domains(
        self, keys: Sequence[exp.Expr], needed: Sequence[exp.Expr], narrowing: Sequence[exp.Expr], *, tight: bool
    ) -> tuple[list[tuple[exp.Expr, int]], list[exp.Expr]]:
        """FROM items that enumerate the variables, with their sizes, and the conditions that are left to be asked.

        Columns of one public table stay together. ``needed`` are conditions that may not be left out; ``tight``:
        neither may those of ``narrowing``.
        """
        items: list[tuple[exp.Expr, int]] = []
        tables: dict[str, list[Variable]] = {}
        left = [*needed, *narrowing]
        for variable, step in self.columns.items():
            if variable.table.public:
                tables.setdefault(variable.alias, []).append(variable)
                continue
            query, size = self._column_domain(variable, step)
            item, range_ = _aliased(query, _table_of(variable)), variable.column.range
            listed = variable.column.values is not None or variable.column.values_from is not None
            if range_ is not None and not listed and variable.column.type.temporal and " " not in (step or ""):
                required = [one for one in left if any(one is other for other in needed)]
                rest = [one for one in left if not any(one is other for other in needed)]
                if (found := coarse(_table_of(variable), keys, required, rest, tight=tight)) is not None:
                    size = found.periods(range_) + size - _days(range_, step)
                    item = _aliased(self._cut(item, variable, found), _table_of(variable))
                    left = list(found.outside)
            items.append((item, size))
        for alias, variables in tables.items():
            items.append(
                (
                    _aliased(_table_domain(variables, self.dialect), f"d_{alias}"),
                    _table_size(variables[0]),
                )
            )
        for place, (domain, _, _) in enumerate(self.derived):
            query = _domain_query(domain, None, self.dialect)
            if self.complete and not (isinstance(domain, Values) and None in domain.values):
                query = exp.union(query, exp.select(exp.alias_(exp.Null(), "x")), distinct=False)
            items.append((_aliased(query, f"e{place}"), _size(domain) + self.complete))
        return items, left

    def _cut(self, item: exp.Subquery, variable: Variable, found: Coarse) -> exp.Select:
        """The first day of each of the months or years of some days."""
        first = self.dialect.date_trunc(found.unit, exp.column("x", _table_of(variable)))
        select = exp.Select(expressions=[exp.alias_(self.dialect.cast(first, variable.column.type), "x")])
        select.from_(item, copy=False).distinct(copy=False)
        if found.inside:
            select.set("where", exp.Where(this=exp.and_(*(one.copy() for one in found.inside), copy=False)))
        return select

    def _column_domain(self, variable: Variable, step: str | None) -> tuple[exp.Expr, int]:
        column = variable.column
        nulls: tuple[Scalar | None, ...] = (None,) if variable.optional or variable in self.missing else ()
        if column.values is not None:
            values = tuple(dict.fromkeys((*column.values, *nulls)))
            return _domain_query(Values(values), column.type, self.dialect), len(values)
        if column.values_from is not None:
            lister = variable.lister
            if lister is None:
                raise _NotEnumerable
            reference = exp.column(exp.to_identifier(column.values_from[1], quoted=True))
            listed = exp.select(exp.alias_(reference, "x")).from_(table_node(lister, self.dialect)).distinct()
            query: exp.Query = listed.where(exp.Not(this=exp.Is(this=reference.copy(), expression=exp.Null())))
            size = MAX_CELLS + 1 if lister.rows is None else lister.rows
        elif column.range is not None:
            query, size = _range_query(column.range, column.type, step, self.dialect)
        else:
            raise _NotEnumerable
        if nulls:
            query = exp.union(query, exp.select(exp.alias_(exp.Null(), "x")), distinct=False)
        return query, size + len(nulls)


def _is_learned(domain: Domain, node: exp.Expr) -> bool:
    """Whether a range of whole numbers follows from what was learned of a column: that says where to clip, and not
    which groups there are. What holds whatever the column does (WIDTH_BUCKET has limits) is a domain."""
    if not isinstance(domain, IntegerRange) or node.meta.get(LIMITS) == (domain.low, domain.high):
        return False
    return learned_ranges(node)


def _table_of(variable: Variable) -> str:
    """The alias of the FROM item that enumerates a column of a private table."""
    return f"d_{variable.alias}_{_position(variable)}"


def _may_miss(variable: Variable) -> bool:
    column = variable.column
    return not (variable.table.public or variable.optional or not column.nullable or None in (column.values or ()))


def _position(variable: Variable) -> int:
    return list(variable.table.columns).index(variable.column.name)


def _is_finite(variable: Variable, step: str | None) -> bool:
    column = variable.column
    if variable.table.public:
        return variable.table.rows is not None and variable.table.rows <= MAX_CELLS
    if column.values is not None or column.values_from is not None:
        return True
    if column.range is None:
        return False
    if column.type.kind in (Kind.INTEGER, Kind.DATE):
        return _range_size(column.range, 1) <= MAX_CELLS
    if step is not None and " " in step:
        periods = zoned_days(column.range, step)
        return periods is not None and periods.size <= MAX_CELLS
    if column.type.clocked and step is not None:
        return _range_size(column.range, 24 if step == "HOUR" else 1) <= MAX_CELLS
    return False


def _range_size(bounds: tuple[Scalar, Scalar], steps: int) -> int:
    """How many days there are from the beginning of the first one, or of whatever a day has so many ``steps`` of.

    >>> _range_size((datetime.datetime(2025, 1, 1, 13), datetime.datetime(2025, 1, 2, 5)), 1)
    2
    """
    low, high = (math.floor(measure(end) * steps) for end in bounds)
    return high - low + 1


def _days(bounds: tuple[Scalar, Scalar], step: str | None) -> int:
    """How many days, or hours, a declared range is listed by."""
    return _range_size(bounds, 24 if step == "HOUR" else 1)


def _step_of(node: exp.Expr) -> str | None:
    """The unit that an expression cuts timestamps to, where it does: a day or an hour."""
    unit: str | None = node.meta.get(STEP)
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        unit = str(node.args["unit"].name).upper()
    elif isinstance(node, exp.Extract):
        unit = str(node.this.name).upper()
    elif isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
        unit = "DAY"
    elif isinstance(node, exp.Anonymous) and node.name in ("date_trunc", "date_part"):
        unit = str(node.expressions[0].name).upper()
    elif (
        isinstance(node, exp.Anonymous)
        and node.name in ("strftime", "to_char")
        and not _TIME_OF_DAY.search(node.expressions[1].name)
    ):
        unit = "DAY"
    if unit in _DAY_UNITS:
        return "DAY"
    return "HOUR" if unit in _HOUR_UNITS else None


def _size(domain: Domain) -> int:
    return len(domain.values) if isinstance(domain, Values) else domain.high - domain.low + 1


def _aliased(query: exp.Expr, alias: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _table_size(variable: Variable) -> int:
    rows = MAX_CELLS + 1 if variable.table.rows is None else variable.table.rows
    return rows + variable.optional


def _table_domain(variables: Sequence[Variable], dialect: Dialect) -> exp.Expr:
    """The distinct combinations of a public table's columns; with NULLs where an outer join can add them."""
    table = variables[0].table
    names = [exp.column(exp.to_identifier(variable.column.name, quoted=True)) for variable in variables]
    query = exp.select(*names).from_(table_node(table, dialect)).distinct()
    if variables[0].optional:
        return exp.union(query, exp.select(*(exp.Null() for _ in names)), distinct=True)
    return query


def _domain_query(domain: Domain, kind: Type | None, dialect: Dialect) -> exp.Query:
    if isinstance(domain, IntegerRange):
        return _series(number(domain.low), number(domain.high), None, kind or BIGINT, dialect)
    rows = [exp.Tuple(expressions=[literal_of(value, kind, dialect)]) for value in domain.values]
    alias = exp.TableAlias(this=exp.to_identifier("v"), columns=[exp.to_identifier("x")])
    return exp.select("x").from_(exp.Values(expressions=rows, alias=alias))


def _range_query(
    bounds: tuple[Scalar, Scalar], kind: Type, step: str | None, dialect: Dialect
) -> tuple[exp.Query, int]:
    low, high = bounds
    if kind.kind is Kind.INTEGER:
        least, most = math.ceil(measure(low)), math.floor(measure(high))
        return _series(number(least), number(most), None, kind, dialect), most - least + 1
    if step is not None and " " in step:
        if (periods := zoned_days(bounds, step)) is None:
            raise _NotEnumerable
        return periods.query(dialect), periods.size
    unit = step or "DAY"
    ends = [dialect.cast(literal_of(end, kind, dialect), TIMESTAMP) for end in (low, high)]
    first = dialect.date_trunc(unit.lower(), ends[0])
    hours = dialect.interval(0, 0, 3_600_000_000) if unit == "HOUR" else dialect.interval(0, 1, 0)
    return _series(first, ends[1], hours, kind, dialect), _days(bounds, unit)


def _series(low: exp.Expr, high: exp.Expr, step: exp.Expr | None, kind: Type, dialect: Dialect) -> exp.Query:
    """``low``, ``low + step``, … up to ``high``, as a column ``x`` of a type."""
    series = call("generate_series", low, high, *([] if step is None else [step]))
    table = exp.Table(this=series, alias=exp.TableAlias(this=exp.to_identifier("g"), columns=[exp.to_identifier("n")]))
    return exp.select(exp.alias_(dialect.cast(exp.column("n", "g"), kind), "x")).from_(table)


def literal_of(value: Scalar | None, kind: Type | None, dialect: Dialect) -> exp.Expr:
    """A value of a domain, cast to the column's type where that is known."""
    node: exp.Expr
    if value is None:
        node = exp.Null()
    elif isinstance(value, bool):
        node = exp.Boolean(this=value)
    elif isinstance(value, int):
        node = number(value)
    elif isinstance(value, Decimal | float):
        node = double(value) if isinstance(value, float) else number(format(value, "f"))
    elif isinstance(value, datetime.datetime):
        node = dialect.cast(exp.Literal.string(value.isoformat(" ")), TIMESTAMP)
    elif isinstance(value, datetime.date):
        node = dialect.cast(exp.Literal.string(value.isoformat()), DATE)
    else:
        node = exp.Literal.string(value)
    return node if kind is None else dialect.cast(node, kind)
