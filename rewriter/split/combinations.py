"""Sums of aggregates, measured as one statistic where only the result is shown: ``SUM(a) - SUM(b)`` as one sum.

Why it is better: with the aggregates apart, one person's row moves each of them, and the noise of all is in the result.
Measured itself, a row moves the result by no more than the values that it adds to it; and where at most one of the
conditions of ``COUNT(*) FILTER (WHERE f) - COUNT(*) FILTER (WHERE m)`` holds, by 1.

What a row adds is computed in whole steps of one lattice, from values that are clipped as each sum would clip them. So
the result is that of the aggregates, and the range of what a row adds is exact. Where other columns are measured of the
same rows, the form with the smaller predicted variance is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from rewriter.aggregates import SUM
from rewriter.columns import narrowed
from rewriter.declared import BIGINT, DOUBLE, Interval, Kind, Norm, Type, decimal
from rewriter.dialects import Dialect, double, number
from rewriter.expressions import Value, both, clipped_steps, held, lattice, present
from rewriter.measure import clipping_note, signatures
from rewriter.plan import Plan
from rewriter.planner import plan
from rewriter.refused import Refused
from rewriter.relations import learned_ranges
from rewriter.release import Aggregate, Query, ReleaseColumn, Term, Wording, aggregate_name, release_name, renumber
from rewriter.statement import unparenthesised

_MOST_FACTOR = 1000
_MOST_STEPS = 1 << 52
"""What a row adds stays inside of what doubles and 64 bits hold exactly."""


def with_combinations(
    releases: Sequence[Query], outer: exp.Query, norms: Sequence[Norm], dialect: Dialect
) -> tuple[Query, ...]:
    """The releases, with sums of aggregates in the place of aggregates that nothing else reads. Changes ``outer``."""
    found = list(releases)
    for place in range(len(found)):
        while (better := _combined(found[place], release_name(place), outer, norms, dialect)) is not None:
            found[place] = better
    return tuple(found)


def _combined(query: Query, table: str, outer: exp.Query, norms: Sequence[Norm], dialect: Dialect) -> Query | None:
    """The release with more combinations, where that is better; its columns are renamed in ``outer``."""
    if query.others or len(query.aggregates) < 2:
        return None
    for sums in _together(_sums(outer, table)):
        members = {place for one in sums for place in one.weights}
        if not _alone(outer, table, sums):
            continue
        made = [combination(_factors(one, query), query.filters, dialect) for one in sums]
        aggregates = [one for one in made if one is not None]
        kept = [place for place in range(len(query.aggregates)) if place not in members]
        joint = replace(query, aggregates=(*(query.aggregates[place] for place in kept), *aggregates))
        if len(aggregates) == len(made) and _is_better(query, joint, sums, kept, norms, dialect):
            _rename(outer, table, sums, kept)
            return joint
    return None


def _factors(one: _Sum, query: Query) -> list[tuple[int, Aggregate]]:
    return [(factor, query.aggregates[place]) for place, factor in one.weights.items()]


# Which sums there are


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of aggregates of a release, by place, each with its factor, and where it stands."""

    weights: Mapping[int, int]
    nodes: list[exp.Expr]


def _sums(outer: exp.Query, table: str) -> list[_Sum]:
    """The largest sums of two and more columns of a release."""
    found: dict[frozenset[tuple[int, int]], _Sum] = {}
    stack: list[exp.Expr] = [outer]
    while stack:
        node = stack.pop()
        weights = (_weights(node, table) or {}) if isinstance(node, exp.Add | exp.Sub) else {}
        weights = {place: weight for place, weight in weights.items() if weight}
        if len(weights) > 1:
            found.setdefault(frozenset(weights.items()), _Sum(weights, [])).nodes.append(node)
        else:
            stack.extend(node.iter_expressions())
    return list(found.values())


def _together(sums: Sequence[_Sum]) -> list[list[_Sum]]:
    """The sums that have columns in common, directly or by others."""
    found: list[list[_Sum]] = []
    for one in sums:
        near = [group for group in found if any(one.weights.keys() & other.weights.keys() for other in group)]
        found = [group for group in found if not any(group is other for other in near)]
        found.append([*(other for group in near for other in group), one])
    return found


def _weights(node: exp.Expr, table: str) -> dict[int, int] | None:
    """The factors of aggregates in a sum of whole multiples of them; None for any other expression."""
    if isinstance(node, exp.Paren):
        return _weights(node.this, table)
    if isinstance(node, exp.Column):
        column = ReleaseColumn.of(node.name) if node.table == table else None
        return {column.place: 1} if column is not None and column.is_aggregate else None
    if isinstance(node, exp.Coalesce):
        # A sum of nothing is 0.
        return _weights(node.this, table) if all(_factor(one) == 0 for one in node.expressions) else None
    if isinstance(node, exp.Neg):
        return _times(_weights(node.this, table), -1)
    if isinstance(node, exp.Mul):
        sides = [(node.this, _factor(node.expression)), (node.expression, _factor(node.this))]
        return next((_times(_weights(side, table), by) for side, by in sides if by is not None), None)
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    one, other = _weights(node.this, table), _weights(node.expression, table)
    if one is None or other is None:
        return None
    sign = 1 if isinstance(node, exp.Add) else -1
    return {place: one.get(place, 0) + sign * other.get(place, 0) for place in {**one, **other}}


def _times(weights: dict[int, int] | None, by: int) -> dict[int, int] | None:
    return None if weights is None else {place: weight * by for place, weight in weights.items()}


def _factor(node: exp.Expr) -> int | None:
    node = unparenthesised(node)
    if isinstance(node, exp.Literal) and node.is_int and abs(int(node.name)) <= _MOST_FACTOR:
        return int(node.name)
    return None


def _alone(outer: exp.Query, table: str, sums: Sequence[_Sum]) -> bool:
    """Whether nothing else reads the columns of these sums, nor their margins."""
    places = {place for one in sums for place in one.weights}
    inside = {id(column) for one in sums for node in one.nodes for column in node.find_all(exp.Column)}
    named = ((one, ReleaseColumn.of(one.name)) for one in outer.find_all(exp.Column) if one.table == table)
    read = (one for one, known in named if known is not None and known.letter == "a" and known.place in places)
    return all(id(column) in inside for column in read)


def _rename(outer: exp.Query, table: str, sums: Sequence[_Sum], kept: Sequence[int]) -> None:
    """Columns of the sums in their place, behind the aggregates that are ``kept``."""
    made: set[int] = set()
    for place, one in enumerate(sums, len(kept)):
        for node in one.nodes:
            column = exp.column(aggregate_name(place), table)
            node.replace(column)
            made.add(id(column))
    places = {old: new for new, old in enumerate(kept)}
    for column in list(outer.find_all(exp.Column)):
        if column.table == table and id(column) not in made:
            renumber(column, places)


# What is measured


@dataclass(frozen=True, slots=True)
class _Summand:
    """The contribution of a row: ``factor`` times ``steps`` of ``granularity``, between ``low`` and ``high``, where
    ``test``."""

    factor: int
    steps: exp.Expr
    granularity: Fraction
    low: Fraction
    high: Fraction
    test: Value | None
    type: Type
    learned: bool
    notes: tuple[str, ...]

    def ends(self) -> tuple[Fraction, Fraction]:
        one, other = self.factor * self.low, self.factor * self.high
        return min(one, other), max(one, other)


def combination(
    factors: Sequence[tuple[int, Aggregate]], filters: Sequence[Value], dialect: Dialect
) -> Aggregate | None:
    """Counts and sums, each with its factor, as one SUM over what a row adds to all of them; None where it is none."""
    try:
        terms = [_term(factor, aggregate.within or aggregate, filters, dialect) for factor, aggregate in factors]
    except Refused:
        return None
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return None
    step = _common(term.granularity for term in known)
    low, high = _ends(known, filters)
    if max(abs(end) for term in known for end in term.ends()) * len(known) / step > _MOST_STEPS:
        return None
    steps = _sum(known, step, dialect)
    value = _of_type(steps, known, step, Interval(low, high), dialect)
    if value is None:
        return None
    if all(aggregate.output_type == BIGINT for _, aggregate in factors):
        # What is clipped stays within, and so does the type of the sum.
        value = replace(value, limits=(math.floor(low), math.ceil(high)))
    notes = tuple(dict.fromkeys(note for term in known for note in term.notes))
    text = _text(factors)
    weighted = tuple(Term(aggregate, Fraction(factor)) for factor, aggregate in factors)
    return Aggregate(SUM, value, None, False, Wording(text, (text,)), notes=notes, terms=weighted)


def _term(factor: int, aggregate: Aggregate, filters: Sequence[Value], dialect: Dialect) -> _Summand | None:
    argument, test = aggregate.argument, aggregate.condition
    if aggregate.distinct or aggregate.decides:
        return None
    if aggregate.kind.counts:
        test = both(test, present(argument))
        return _Summand(factor, number(1), Fraction(1), Fraction(1), Fraction(1), test, BIGINT, False, ())
    if not aggregate.kind.sums or argument is None:
        return None
    declared = narrowed(argument, [*filters, *([test] if test is not None else [])])
    if declared is None:
        return None
    learned = learned_ranges(argument.sql)
    granularity = lattice(argument.type, declared, learned=learned)
    interval = declared.outward(granularity)
    interval = held(interval, argument.type, granularity) if learned else interval
    steps = clipped_steps(argument, interval, granularity, dialect)
    notes = clipping_note(aggregate.wording.inner, argument, interval)
    there = both(test, present(argument))
    return _Summand(factor, steps, granularity, interval.low, interval.high, there, argument.type, learned, notes)


def _common(granularities: Iterable[Fraction]) -> Fraction:
    """The largest number that all of them are multiples of.

    >>> _common([Fraction(1, 4), Fraction(1, 100), Fraction(2)])
    Fraction(1, 100)
    """
    found = Fraction(0)
    for one in granularities:
        below = math.lcm(found.denominator, one.denominator)
        found = Fraction(math.gcd(int(found * below), int(one * below)), below)
    return found


def _ends(terms: Sequence[_Summand], filters: Sequence[Value]) -> tuple[Fraction, Fraction]:
    """Between which numbers lies what one row adds, whichever conditions it satisfies together."""
    known = signatures([term.test for term in terms], filters)
    nothing = Fraction(0)
    if known is None:
        ends = [term.ends() for term in terms]
        lows, highs = [min(low, nothing) for low, _ in ends], [max(high, nothing) for _, high in ends]
        return sum(lows, nothing), sum(highs, nothing)
    lows, highs = [nothing], [nothing]
    for signature in known:
        held_ = [term.ends() for place, term in enumerate(terms) if signature >> place & 1]
        lows.append(sum((low for low, _ in held_), nothing))
        highs.append(sum((high for _, high in held_), nothing))
    return min(lows), max(highs)


def _sum(terms: Sequence[_Summand], step: Fraction, dialect: Dialect) -> exp.Expr:
    """The contribution of a row, in steps: a BIGINT, never NULL."""
    found: exp.Expr | None = None
    for term in terms:
        steps = dialect.cast(term.steps, BIGINT)
        if term.test is not None:
            branch = exp.If(this=term.test.sql.copy(), true=steps)
            steps = exp.Case(ifs=[branch], default=dialect.cast(number(0), BIGINT))
        times = term.factor * int(term.granularity / step)
        one = steps if times == 1 else exp.Mul(this=steps, expression=dialect.cast(number(times), BIGINT))
        found = one if found is None else exp.Add(this=found, expression=one)
    if found is None:
        raise AssertionError("a combination has terms")
    return exp.Paren(this=found)


def _of_type(
    steps: exp.Expr, terms: Sequence[_Summand], step: Fraction, interval: Interval, dialect: Dialect
) -> Value | None:
    """The number that the steps are, in the type that the sum of the terms has."""
    kinds = {term.type.kind for term in terms}
    if Kind.DOUBLE in kinds:
        sql: exp.Expr = exp.Mul(this=dialect.cast(steps, DOUBLE), expression=double(float(step)))
        # A lattice of doubles has steps that are powers of two; that of decimals has none.
        return (
            Value(exp.Paren(this=sql), DOUBLE, interval, nullable=False, constant=False, domain=None)
            if kinds <= {Kind.DOUBLE, Kind.INTEGER}
            else None
        )
    if Kind.DECIMAL in kinds:
        scale = max(term.type.scale for term in terms)
        if any(abs(term.factor) != 1 for term in terms) or scale > 18 or (step * 10**scale).denominator != 1:
            return None
        digits = int(step * 10**scale)
        units = steps if digits == 1 else exp.Mul(this=steps, expression=dialect.cast(number(digits), BIGINT))
        unit = number(f"0.{1:0{scale}}") if scale else number(1)
        sql = exp.Mul(this=dialect.cast(units, decimal(19, 0)), expression=unit)
        kind = decimal(19 + scale, scale)
        return Value(
            dialect.cast(exp.Paren(this=sql), kind), kind, interval, nullable=False, constant=False, domain=None
        )
    if step.denominator != 1:
        return None
    sql = steps if step == 1 else exp.Paren(this=exp.Mul(this=steps, expression=number(int(step))))
    return Value(sql, BIGINT, interval, nullable=False, constant=False, domain=None)


def _text(factors: Sequence[tuple[int, Aggregate]]) -> str:
    """The sum as it would be written.

    >>> n, m = (Aggregate(SUM, None, None, False, Wording(f"SUM({x})", (x,))) for x in "ab")
    >>> _text([(1, n), (-2, m)]), _text([(-1, n), (1, m)])
    ('SUM(a) - 2 * SUM(b)', 'SUM(b) - SUM(a)')
    """
    parts = []
    for place, (factor, aggregate) in enumerate(sorted(factors, key=lambda one: one[0] < 0)):
        size = aggregate.text if abs(factor) == 1 else f"{abs(factor)} * {aggregate.text}"
        sign = ("-" if factor < 0 else "") if not place else (" - " if factor < 0 else " + ")
        parts.append(sign + size)
    return "".join(parts)


# Whether it is better


def _is_better(
    query: Query, made: Query, sums: Sequence[_Sum], kept: Sequence[int], norms: Sequence[Norm], dialect: Dialect
) -> bool:
    """Whether the columns that are shown have less variance, on average, in every norm."""
    for norm in norms:
        try:
            apart = [plan(one, norm, dialect) for one in query.groupings]
            joint = [plan(one, norm, dialect) for one in made.groupings]
        except Refused:
            return False
        ratios: list[float] = []
        for one, other in zip(apart, joint, strict=True):
            before, after = _Spread.of(one, norm), _Spread.of(other, norm)
            for place, shown in enumerate(sums, len(kept)):
                ratios.append(after.of_sum({place: 1}) / before.of_sum(shown.weights))
            ratios += [after.of_output(now) / before.of_output(at) for now, at in enumerate(kept)]
        if not ratios or sum(ratios) / len(ratios) >= 1:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Spread:
    """The variance of each statistic, at a price of 1; and of what is picked, or selected, up to a factor."""

    plan: Plan
    variances: Mapping[str, float]
    picked: float

    @classmethod
    def of(cls, one: Plan, norm: Norm) -> _Spread:
        whole = sum((block.weight for block in one.blocks), Fraction(one.selection is not None))
        whole += sum(max(len(choice.fractions), 1) for choice in one.choices)
        found: dict[str, float] = {}
        for block in one.blocks:
            share, moved = float(block.weight / whole), block.sensitivity
            variance = 2 * ((moved.l1 or 0) / share) ** 2 if norm is Norm.L1 else moved.l2_squared / share / 2
            found |= {statistic.name: float(variance) for statistic in block.statistics}
        return cls(one, found, float(whole) ** (2 if norm is Norm.L1 else 1))

    def of_sum(self, factors: Mapping[int, int]) -> float:
        """The variance of a sum of outputs, each of them a sum of statistics."""
        weights: dict[str, Fraction] = {}
        for place, factor in factors.items():
            total = self.plan.outputs[place].estimator.as_sum
            if total is None:
                return math.inf
            for statistic, weight in total.terms:
                weights[statistic] = weights.get(statistic, Fraction(0)) + factor * weight
        return sum(float(weight) ** 2 * self.variances[statistic] for statistic, weight in weights.items()) or math.inf

    def of_output(self, place: int) -> float:
        """The variance of an output. One that is no sum has the largest variance of its statistics."""
        estimator = self.plan.outputs[place].estimator
        if estimator.as_sum is not None:
            return self.of_sum({place: 1})
        steps = {one.name: float(one.granularity) for one in self.plan.statistics}
        return max((self.variances[one] * steps[one] ** 2 for one in estimator.statistics), default=self.picked)
