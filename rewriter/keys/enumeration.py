"""Keys and conditions over variables: each declared column that keys read, with the values that stand for all of it.

A column that is compared with literals alone is listed by one value of each region between them; a timestamp by one
of each day or hour that keys cut it to, and one on each side of what it is compared with; any other by its declared
values. The engine evaluates keys and conditions as they are over these lists, and finds the groups that rows can be in.

Why expressions fall back to their own domains: a column of doubles cannot be enumerated, but ``FLOOR(x / 10)`` of it
can. The smallest subexpression with a finite domain stands for itself.

A condition that these lists do not decide may be true or false. A group is left out where no row of it can satisfy the
conditions, in three-valued logic: NULL satisfies none that compares it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from rewriter.columns import (
    BEHIND,
    LISTED_COLUMN,
    ColumnLimits,
    Facts,
    Origin,
    Path,
    Probe,
    Use,
    Variable,
    admits,
    aliased,
    column_of,
    days,
    integers,
    listed,
    may_be_missing,
    moments,
    named,
    of_column,
    of_domain,
    of_table,
    periods,
    points,
    probe_of,
    probes_of,
    range_of,
    scalar_at,
    size_of,
    with_null,
)
from rewriter.declared import Interval, Kind, Scalar
from rewriter.dialects import Dialect, Period, TimeStep, wrap
from rewriter.expressions import DOMAIN, LIMITS, Domain, IntegerRange, Value, Values
from rewriter.keys.calendar_steps import Coarse, coarse
from rewriter.keys.periods import step_of
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import learned_ranges

MAX_CELLS = 100_000
"""The most groups that a public key set may have; a larger one is selected under δ instead."""
MAX_READ = 50_000
"""Syntax nodes of keys, and of what stands behind them in subqueries, that are read to list groups."""

_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_EQUAL = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In)
_STRICT = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Like, exp.ILike),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.DPipe, exp.Neg, exp.Not, exp.Paren, exp.Cast),
)
"""Nodes that are NULL where an operand is."""


class NotEnumerable(Exception):
    """A part of a key has no finite public domain. ``why`` is for analysts, where it has one that is too large."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why


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


@dataclass(frozen=True, slots=True)
class Item:
    """One list of FROM, and how many rows it has at most. ``linked``: it is read by conditions alone."""

    sql: exp.Expr
    size: int
    linked: bool = False


@dataclass(slots=True)
class Enumeration:
    """The variables that key expressions have needed so far. ``path`` are the subqueries around what is being read.

    ``linked`` are the public tables that conditions alone read, ``present`` the lists of which no key takes NULL.
    """

    dialect: Dialect
    facts: Facts
    uses: dict[Variable, Use] = field(default_factory=dict)
    derived: list[tuple[Domain, exp.Expr, Path]] = field(default_factory=list)
    linked: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    closed: bool = False
    cuts: frozenset[Probe] | None = None
    path: Path = ()
    budget: _Budget = field(default_factory=_Budget)

    # -- keys --------------------------------------------------------------------------------------------------------

    def key(self, value: Value) -> exp.Expr:
        """A key over the variables."""
        expression = self.substitute(value.sql)
        if isinstance(expression, exp.Column) and not value.nullable:
            self.present.add(expression.table)
        return expression

    def substitute(self, node: exp.Expr, step: TimeStep | None = None) -> exp.Expr:
        """A copy of ``node`` with columns replaced by variables. ``step`` is what timestamps are cut to."""
        self.budget.spend()
        behind = BEHIND.of(node)
        if isinstance(behind, Variable):
            return self._variable(named(behind, self.path), step)
        if isinstance(behind, Origin):
            around = self.path
            self.path = (*around, node.text("table"))
            try:
                return self.substitute(behind.sql, step)
            except NotEnumerable as reason:
                self.path = around
                return self._domain(node, reason.why)
            finally:
                self.path = around
        if isinstance(node, exp.Column | exp.Query):
            return self._domain(node, "")
        saved = dict(self.uses), list(self.derived), self.cuts
        try:
            return self._rebuild(node, step)
        except NotEnumerable as reason:
            self.uses, self.derived, self.cuts = saved
            return self._domain(node, reason.why)

    def _rebuild(self, node: exp.Expr, step: TimeStep | None) -> exp.Expr:
        inner = step_of(node, step)
        around, found = self.cuts, self._compared(node)
        if found is not None:
            self.cuts = found
        args: dict[str, object] = {}
        for name, value in node.args.items():
            if isinstance(value, exp.Query | exp.Subquery) and name == "query" and LISTED_COLUMN.is_on(node):
                args[name] = value.copy()
            elif isinstance(value, exp.Expr):
                args[name] = self.substitute(value, inner)
            elif isinstance(value, list):
                args[name] = [self.substitute(v, inner) if isinstance(v, exp.Expr) else v for v in value]
            else:
                args[name] = value
        self.cuts = around
        return type(node)(**args)

    def _compared(self, node: exp.Expr) -> frozenset[Probe] | None:
        """What a column is compared with, where the comparison does nothing else; None for any other expression."""
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return frozenset() if column_of(node.this, self.path) is not None else None
        if not isinstance(node, _ORDERED + _EQUAL) or node.args.get("symmetric") or node.args.get("query"):
            return None
        operands = list(node.iter_expressions())
        literals = [(operand, *probe_of(operand)) for operand in operands]
        subjects = [operand for operand, known, _ in literals if not known]
        scalars = [scalar for _, known, scalar in literals if known]
        if len(subjects) != 1 or column_of(subjects[0], self.path) is None:
            return None
        if any(isinstance(one, bool) or (isinstance(one, str) and not isinstance(node, _EQUAL)) for one in scalars):
            return None
        return frozenset(scalar for scalar in scalars if scalar is not None)

    def _domain(self, node: exp.Expr, why: str) -> exp.Expr:
        domain = _own_domain(node)
        # The same expression has one value in a row, wherever it stands: a guard and what it guards, a key and WHERE.
        for place, (known, source, path) in enumerate(self.derived):
            if known == domain and source == node and path == self.path:
                return exp.column("x", f"e{place}")
        if domain is None or self.closed or size_of(domain) > MAX_CELLS:
            raise NotEnumerable(why)
        self.derived.append((domain, node, self.path))
        return exp.column("x", f"e{len(self.derived) - 1}")

    def _variable(self, variable: Variable, step: TimeStep | None) -> exp.Expr:
        known = self.uses.get(variable)
        if known is None and self.closed:
            return self._beside(variable)
        use = known or Use()
        if self.cuts is not None and not variable.table.public:
            self.uses[variable] = replace(use, cuts=use.cuts | self.cuts)
            return column_for(variable)
        if self.closed and not use.whole:
            raise NotEnumerable
        if variable.column.type.clocked and not variable.table.public:
            step = None if step is None else step.beside(use.step)
            if step is None or (self.closed and step != use.step):
                raise NotEnumerable
        if known is None or not use.whole or step != use.step:
            self._check_finite(variable, step)
            self.uses[variable] = replace(use, whole=True, step=step)
        return column_for(variable)

    def _check_finite(self, variable: Variable, step: TimeStep | None) -> None:
        if (size := self.size(variable, step)) is None:
            raise NotEnumerable
        if size > MAX_CELLS:
            name = variable.column.name
            raise NotEnumerable(
                f"{name} has {size:,} declared values, and no more than {MAX_CELLS:,} groups are listed"
            )

    # -- conditions --------------------------------------------------------------------------------------------------

    def narrow(self) -> list[exp.Expr]:
        """The conditions that narrow the variables of keys, and the public rows that equalities tie to these
        variables."""
        self.closed = True
        found: list[exp.Expr] = []
        tied = -1
        while tied < len(self.uses):  # a condition may bring in a public table that another one ties to the keys
            tied = len(self.uses)
            found = [test for test in map(self._of_part, range(len(self.facts.parts))) if test is not None]
        return found

    def _of_part(self, place: int) -> exp.Expr | None:
        node, self.path = self.facts.parts[place]
        try:
            return self._possible(node, wanted=True)
        finally:
            self.path = ()

    def _possible(self, node: exp.Expr, *, wanted: bool) -> exp.Expr | None:
        """A condition that holds wherever ``node`` can be ``wanted``, and only there if it is decided. None:
        anywhere."""
        self.budget.spend()
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Not):
            return self._possible(node.this, wanted=not wanted)
        if isinstance(node, exp.And | exp.Or):
            parts = [self._possible(part, wanted=wanted) for part in _chain(node)]
            if isinstance(node, exp.And) is wanted:
                known = [part for part in parts if part is not None]
                return exp.and_(*known, copy=False) if known else None
            return None if None in parts else exp.or_(*parts, copy=False)
        saved = dict(self.uses), self.cuts
        try:
            test = self.substitute(node)
        except NotEnumerable:
            self.uses, self.cuts = saved
            given = [_present(column) for column in self._given(node)]
            return exp.and_(*given, copy=False) if given else None
        if isinstance(test, exp.EQ) and test.this == test.expression and wanted:
            return _present(test.this)  # the two sides of an equality that ties a table to itself
        return test if wanted else exp.Not(this=wrap(test))

    def _given(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The variables without which a node is NULL."""
        if (variable := column_of(node, self.path)) is not None:
            if variable in self.uses:
                yield column_for(variable)
        elif isinstance(node, exp.In) and not node.args.get("query"):
            yield from self._given(node.this)
        elif isinstance(node, exp.Case) and len(node.args["ifs"]) == 1 and node.args.get("default") is None:
            yield from self._given(node.args["ifs"][0].args["true"])
        elif isinstance(node, _STRICT):
            for child in node.iter_expressions():
                yield from self._given(child)

    def _beside(self, variable: Variable) -> exp.Expr:
        """Where conditions read a column that keys do not: of a public row that is listed, or tied by an equality."""
        if variable.table.public:
            rows = variable.table.rows
            beside = any(known.alias == variable.alias for known in self.uses)
            small = rows is not None and rows <= MAX_CELLS and not variable.optional
            if not beside and not (small and self._is_tied(variable.alias)):
                raise NotEnumerable
            if not beside:
                self.linked.add(variable.alias)
            self.uses[variable] = Use(whole=True)
            return column_for(variable)
        for other in self.facts.equals_of(variable):
            if other.column.type.kind is not variable.column.type.kind:
                continue
            if self.uses.get(other, Use()).whole:
                return column_for(other)
            if other.table.public and any(known.alias == other.alias for known in self.uses):
                return self._beside(other)
        raise NotEnumerable

    def _is_tied(self, alias: str) -> bool:
        """Whether an equality that holds on every row ties a public table to the variables."""
        return any(
            one.alias == alias and self.uses.get(other, Use()).whole
            for pair in self.facts.equal
            for one, other in (pair, pair[::-1])
        )

    # -- lists -------------------------------------------------------------------------------------------------------

    def size(self, variable: Variable, step: TimeStep | None) -> int | None:
        """How many values of a column are listed at most, but for NULL; None where nothing limits them."""
        column = variable.column
        if variable.table.public:
            return variable.table.rows
        if (values := self.values(variable)) is not None:
            return len(values)
        if column.values_from is not None:
            return None if variable.lister is None else variable.lister.rows
        if column.type.kind not in (Kind.INTEGER, Kind.DATE) and not column.type.clocked:
            return None
        low, high = self._ends(variable)
        if low is None or high is None or low > high:
            return None if low is None or high is None else 0
        if column.type.clocked:
            return None if step is None else periods(Interval(low, high), step)
        return max(math.floor(high) - math.ceil(low) + 1, 0)

    def values(self, variable: Variable) -> tuple[Scalar, ...] | None:
        """The values of a column that policy and conditions list one by one, NULL apart."""
        column, limits = variable.column, self.facts.of_column(variable)
        if column.values is not None:
            declared = dict.fromkeys(value for value in column.values if value is not None)
            return tuple(value for value in declared if admits(limits, value))
        if column.type.kind is Kind.BOOLEAN:
            return (False, True)
        if limits.values is None or column.values_from is not None or column.type.clocked:
            return None
        low, high = self._ends(variable)
        within = replace(limits, low=low, high=high)
        probes: list[Any] = sorted(limits.values, key=lambda probe: (str(type(probe)), probe))
        scalars = [scalar_at(probe, column.type) if isinstance(probe, Fraction) else probe for probe in probes]
        return tuple(scalar for scalar in scalars if scalar is not None and admits(within, scalar))

    def bounds(self, variable: Variable) -> Interval | None:
        """Where a column's values are listed: its declared range, and what conditions say. None: nowhere, or without
        end."""
        low, high = self._ends(variable)
        return None if low is None or high is None or low > high else Interval(low, high)

    def _ends(self, variable: Variable) -> tuple[Fraction | None, Fraction | None]:
        declared, limits = variable.column.range, self.facts.of_column(variable)
        if declared is not None:
            ends = range_of(declared)
            limits = limits.within(ColumnLimits(ends.low, ends.high))
        return limits.low, limits.high

    def takes_null(self, expression: exp.Expr) -> bool:
        """Whether NULL is on one of the lists that a key is made of."""
        tables = {column.table for column in expression.find_all(exp.Column)}
        for variable, use in self.uses.items():
            if table_for(variable) in tables and (variable.table.public or self.may_be_null(variable, use)):
                return True
        return any(f"e{place}" in tables for place in range(len(self.derived)))

    def may_be_null(self, variable: Variable, use: Use) -> bool:
        """Whether NULL is listed: where the database may store it; inside of CASE also where reading may give it."""
        column = variable.column
        if table_for(variable) in self.present:
            return False
        missing = column.nullable if use.whole else may_be_missing(column)
        return (variable.optional or missing or None in (column.values or ())) and not self.facts.is_given(variable)

    def items(
        self, keys: Sequence[exp.Expr], needed: Sequence[exp.Expr], narrowing: Sequence[exp.Expr], *, tight: bool
    ) -> tuple[list[Item], list[exp.Expr]]:
        """FROM items that enumerate the variables, and the conditions that are left to be asked.

        Columns of one public table stay together. ``needed`` are conditions that may not be left out; ``tight``:
        neither may those of ``narrowing``.
        """
        found: list[Item] = []
        tables: dict[str, list[Variable]] = {}
        left = [*needed, *narrowing]
        for variable, use in self.uses.items():
            if variable.table.public:
                tables.setdefault(variable.alias, []).append(variable)
                continue
            item = self._listed(variable, use)
            simple = use.whole and variable.column.type.temporal and not (use.step and use.step.zones)
            if simple and (bounds := self._in_series(variable)) is not None:
                required = [one for one in left if any(one is other for other in needed)]
                rest = [one for one in left if not any(one is other for other in needed)]
                if (cut := coarse(table_for(variable), keys, required, rest, tight=tight)) is not None:
                    ends = _ends(bounds)
                    size = cut.periods(ends) + item.size - periods(bounds, use.step or TimeStep(Period.DAY))
                    item = Item(aliased(self._cut(item.sql, variable, cut), table_for(variable)), size)
                    left = list(cut.outside)
            found.append(item)
        for alias, variables in tables.items():
            rows = MAX_CELLS + 1 if variables[0].table.rows is None else variables[0].table.rows
            sql = aliased(of_table(variables, self.dialect), f"d_{alias}")
            found.append(Item(sql, rows + variables[0].optional, alias in self.linked))
        for place, (domain, _, _) in enumerate(self.derived):
            query = of_domain(domain, self.dialect)
            null = f"e{place}" not in self.present and not (isinstance(domain, Values) and None in domain.values)
            query = with_null(query) if null else query
            found.append(Item(aliased(query, f"e{place}"), size_of(domain) + null))
        return found, left

    def _in_series(self, variable: Variable) -> Interval | None:
        listed = self.values(variable) is not None or variable.column.values_from is not None
        return None if listed else self.bounds(variable)

    def _listed(self, variable: Variable, use: Use) -> Item:
        """The values of a column of people, and NULL where it may be."""
        column, size = variable.column, self.size(variable, use.step) or 0
        null = self.may_be_null(variable, use)
        if not use.whole:
            probes = probes_of(variable, use, self.facts.of_column(variable))
            query, size = points(probes, column.type, self.dialect), len(probes)
        elif (values := self.values(variable)) is not None:
            query = listed(values, column.type, self.dialect)
        elif column.values_from is not None:
            query = of_column(column.values_from[1], variable, self.dialect)
        elif (bounds := self.bounds(variable)) is None:
            query = listed((), column.type, self.dialect)
        elif column.type.clocked:
            cuts = [cut for cut in use.cuts if not isinstance(cut, str | bool | None)]
            query = moments(bounds, use.step or TimeStep(Period.DAY), cuts, self.dialect)
        elif column.type.kind is Kind.DATE:
            query = days(bounds, self.dialect)
        else:
            query = integers(math.ceil(bounds.low), math.floor(bounds.high), column.type, self.dialect)
        return Item(aliased(with_null(query) if null else query, table_for(variable)), size + null)

    def _cut(self, item: exp.Expr, variable: Variable, found: Coarse) -> exp.Select:
        """The first day of each of the months or years of some days."""
        first = self.dialect.date_trunc(found.unit, exp.column("x", table_for(variable)))
        select = exp.Select(expressions=[exp.alias_(self.dialect.cast(first, variable.column.type), "x")])
        select.from_(item, copy=False).distinct(copy=False)
        if found.inside:
            select.set("where", exp.Where(this=exp.and_(*(one.copy() for one in found.inside), copy=False)))
        return select


def column_for(variable: Variable) -> exp.Column:
    """Where the value of a variable is found."""
    if variable.table.public:
        return exp.column(exp.to_identifier(variable.column.name, quoted=True), f"d_{variable.alias}")
    return exp.column("x", table_for(variable))


def table_for(variable: Variable) -> str:
    """The alias of the FROM item that lists a variable."""
    if variable.table.public:
        return f"d_{variable.alias}"
    return f"d_{variable.alias}_{list(variable.table.columns).index(variable.column.name)}"


def _chain(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that a chain of ANDs, or of ORs, connects."""
    kind, stack = type(node), [node]
    while stack:
        current = stack.pop()
        while isinstance(current, exp.Paren):
            current = current.this
        if type(current) is kind:
            stack += [current.args["expression"], current.this]
        else:
            yield current


def _own_domain(node: exp.Expr) -> Domain | None:
    """The finite domain of an expression, whatever it reads; a learned bound of a column says where to clip, and not
    which groups there are. Then it is what holds whatever the column does: WIDTH_BUCKET has limits."""
    domain, limits = DOMAIN.of(node), LIMITS.of(node)
    if not isinstance(domain, IntegerRange):
        return domain if isinstance(domain, Values) else None
    if limits == (domain.low, domain.high) or not learned_ranges(node):
        return domain
    return IntegerRange(*limits) if limits is not None and limits[1] - limits[0] < MAX_CELLS else None


def _present(column: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=column, expression=exp.Null()))


def _ends(bounds: Interval) -> tuple[datetime.date, datetime.date]:
    low, high = (datetime.date.fromordinal(math.floor(end)) for end in (bounds.low, bounds.high))
    return low, high
