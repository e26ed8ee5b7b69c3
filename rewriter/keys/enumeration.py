"""Keys and conditions over variables: each declared column that keys read, with the values that stand for all of it.

The engine evaluates keys and conditions as they are over these lists (:mod:`rewriter.keys.declared_lists`), and finds
the groups that rows can be in.

Why expressions fall back to their own domains: a column of doubles cannot be enumerated, but ``FLOOR(x / 10)`` of it
can. The smallest subexpression with a finite domain stands for itself.

A condition that these lists do not decide may be true or false. A group is left out where no row of it can satisfy the
conditions, in three-valued logic: NULL satisfies none that compares it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rewriter.columns import (
    BEHIND,
    LISTED_COLUMN,
    Origin,
    Path,
    Probe,
    Use,
    Variable,
    aliased,
    column_of,
    may_be_missing,
    named,
    of_domain,
    of_table,
    probe_of,
    size_of,
    with_null,
)
from rewriter.dialects import Period, TimeStep, reading_of, wrap
from rewriter.expressions import CUT, DOMAIN, LIMITS, ZONE, Domain, IntegerRange, Value, Values
from rewriter.keys.calendar_steps import coarse
from rewriter.keys.declared_lists import MAX_CELLS, DeclaredLists, Item, column_for, table_for
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import learned_ranges
from rewriter.statement import unparenthesised

MAX_READ = 50_000
"""Syntax nodes of keys, and of what stands behind them in subqueries, that are read to list groups."""
_MANY_CONDITIONS = 256
"""So many combinations of conditions are not listed for the sake of a CASE of few values."""

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


@dataclass(slots=True)
class Enumeration:
    """The variables that key expressions have needed so far. ``path`` are the subqueries around what is being read.

    ``linked`` are the public tables that conditions alone read, ``present`` the lists of which no key takes NULL.
    ``outer`` has the condition of each outer join by which a public table is read, and the subqueries around it.
    """

    lists: DeclaredLists
    uses: dict[Variable, Use] = field(default_factory=dict)
    derived: list[tuple[Domain, exp.Expr, Path]] = field(default_factory=list)
    linked: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    outer: dict[str, tuple[exp.Expr, Path]] = field(default_factory=dict)
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
            rebuilt, why = self._rebuild(node, step), ""
        except NotEnumerable as reason:
            rebuilt, why = None, reason.why
        if rebuilt is not None and not self._has_fewer_values(node, self.derived[len(saved[1]) :]):
            return rebuilt
        self.uses, self.derived, self.cuts = saved
        return self._domain(node, why)

    def _has_fewer_values(self, node: exp.Expr, derived: Sequence[tuple[Domain, exp.Expr, Path]]) -> bool:
        """Whether a CASE lists its values, and these are few beside all that its conditions may be together."""
        if not isinstance(node, exp.Case) or self.closed:
            return False
        together = math.prod(size_of(domain) for domain, _, _ in derived)
        return together > _MANY_CONDITIONS and isinstance(_own_domain(node), Values)

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
                args[name] = _operand(node, value, self.substitute(value, inner))
            elif isinstance(value, list):
                args[name] = [
                    _operand(node, v, self.substitute(v, inner)) if isinstance(v, exp.Expr) else v for v in value
                ]
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
                return exp.column("x", derived_table(place))
        if domain is None or self.closed or size_of(domain) > MAX_CELLS:
            raise NotEnumerable(why)
        self.derived.append((domain, node, self.path))
        return exp.column("x", derived_table(len(self.derived) - 1))

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
            if variable.table.public and variable.on is not None:
                self.outer[variable.alias] = variable.on, self.path
            self.uses[variable] = replace(use, whole=True, step=step)
        return column_for(variable)

    def _check_finite(self, variable: Variable, step: TimeStep | None) -> None:
        if (size := self.lists.size(variable, step)) is None:
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
            tests = (*map(self._of_part, range(len(self.lists.facts.parts))), *map(self._of_outer_join, self.outer))
            found = [test for test in tests if test is not None]
        return found

    def _of_part(self, place: int) -> exp.Expr | None:
        node, self.path = self.lists.facts.parts[place]
        try:
            return self._possible(node, wanted=True)
        finally:
            self.path = ()

    def _of_outer_join(self, alias: str) -> exp.Expr | None:
        """Which rows of a public table stand beside people: those that satisfy ON, and NULL in all of its columns.

        Where the lists decide ON, NULL stands only beside values that no row of the table satisfies it with.
        """
        on, self.path = self.outer[alias]
        saved = dict(self.uses), self.cuts
        try:
            test, decided = self.substitute(on), True
        except NotEnumerable:
            self.uses, self.cuts = saved
            possible, decided = self._possible(on, wanted=True), False
            if possible is None:
                return None
            test = possible
        finally:
            self.path = ()
        read = [variable for variable in self.uses if variable.alias == alias]
        alone = [exp.Not(this=_present(column_for(variable))) for variable in read]
        if decided:
            rows = aliased(of_table([replace(one, optional=False) for one in read], self.lists.dialect), f"d_{alias}")
            alone.append(exp.Not(this=exp.Exists(this=exp.select("1").from_(rows).where(test.copy()))))
        return wrap(exp.or_(test, exp.and_(*alone, copy=False), copy=False))

    def _possible(self, node: exp.Expr, *, wanted: bool) -> exp.Expr | None:
        """A condition that holds wherever ``node`` can be ``wanted``, and only there if it is decided. None:
        anywhere."""
        self.budget.spend()
        node = unparenthesised(node)
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
        for other in self.lists.facts.equals_of(variable):
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
            for pair in self.lists.facts.equal
            for one, other in (pair, pair[::-1])
        )

    # -- lists -------------------------------------------------------------------------------------------------------

    def takes_null(self, expression: exp.Expr) -> bool:
        """Whether NULL is on one of the lists that a key is made of."""
        tables = {column.table for column in expression.find_all(exp.Column)}
        for variable, use in self.uses.items():
            if table_for(variable) in tables and (variable.table.public or self.may_be_null(variable, use)):
                return True
        return any(derived_table(place) in tables for place in range(len(self.derived)))

    def may_be_null(self, variable: Variable, use: Use) -> bool:
        """Whether NULL is listed: where the database may store it; inside of CASE also where reading may give it."""
        column = variable.column
        if table_for(variable) in self.present:
            return False
        if self.lists.facts.is_given(variable):
            return False
        missing = column.nullable if use.whole else may_be_missing(column)
        return variable.optional or missing or None in (column.values or ())

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
            item = self.lists.item(variable, use, null=self.may_be_null(variable, use))
            simple = use.whole and variable.column.type.temporal and not (use.step and use.step.zones)
            if simple and self.lists.series(variable) is not None:
                required = [one for one in left if any(one is other for other in needed)]
                rest = [one for one in left if not any(one is other for other in needed)]
                if (cut := coarse(table_for(variable), keys, required, rest, tight=tight)) is not None:
                    item, left = self.lists.coarser(item, variable, use, cut), list(cut.outside)
            found.append(item)
        for alias, variables in tables.items():
            rows = MAX_CELLS + 1 if variables[0].table.rows is None else variables[0].table.rows
            sql = aliased(of_table(variables, self.lists.dialect), f"d_{alias}")
            grows = variables[0].table.grows
            found.append(Item(sql, rows + variables[0].optional, alias in self.linked, grows))
        for place, (domain, _, _) in enumerate(self.derived):
            table, query = derived_table(place), of_domain(domain, self.lists.dialect)
            null = table not in self.present and not (isinstance(domain, Values) and None in domain.values)
            query = with_null(query) if null else query
            found.append(Item(aliased(query, table), size_of(domain) + null))
        return found, left


def derived_table(place: int) -> str:
    """The alias of the FROM item that lists the expression at a place, which has a domain of its own."""
    return f"e{place}"


def _chain(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that a chain of ANDs, or of ORs, connects."""
    kind, stack = type(node), [node]
    while stack:
        current = unparenthesised(stack.pop())
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


def _operand(node: exp.Expr, before: exp.Expr, now: exp.Expr) -> exp.Expr:
    """What stands in the place of a part of a node: a column needs no parentheses, and what it is computed by may.

    >>> minus = exp.Sub(this=exp.column("a"), expression=exp.Literal.number(7))
    >>> _operand(exp.Mod(), exp.column("x"), minus).sql()
    '(a - 7)'
    """
    delimited = isinstance(node, exp.Paren | exp.Cast) or (
        isinstance(node, exp.Func) and not isinstance(node, exp.Binary)
    )
    return wrap(now) if isinstance(before, exp.Column) and not delimited else now


_DAYS = ("day", "week", "month", "quarter", "year", "decade", "century", "dow", "isodow", "doy", "isoyear")
_PERIODS: Mapping[str, Period] = {
    **dict.fromkeys(_DAYS, Period.DAY),
    "hour": Period.HOUR,
    "minute": Period.MINUTE,
    "second": Period.SECOND,
    "microsecond": Period.within(1),
}


def step_of(node: exp.Expr, around: TimeStep | None) -> TimeStep | None:
    """The step at which a time inside of an expression is listed: that of the expression, where it cuts times to days
    or parts of one, or else of the expression ``around`` it; by the clocks of the zone whose time it gives."""
    period = _period_of(node)
    step = around if period is None else TimeStep(period)
    zone = ZONE.of(node)
    return step if step is None or zone is None else step.by(zone)


def _period_of(node: exp.Expr) -> Period | None:
    if (reading := reading_of(node)) is not None:
        return _PERIODS.get(reading.unit)
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
        return Period.DAY
    return CUT.of(node)
