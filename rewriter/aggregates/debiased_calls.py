"""Aggregates that read columns which people randomized themselves, as weighted sums of aggregates over their reports.

Guarantee: the mean of the sum, over what people did to their own values, is the aggregate over what they truly have.

An aggregate that adds up over rows, COUNT(*) FILTER (WHERE smoker = 'yes' AND age > 40), is a sum over true values t
of the same with t in the place of the column: of t = 'yes' it counts the rows with age > 40, of 'no' none. The rows of
all who truly have t are estimated by the inverse of the randomization's matrix from the rows of all who *support* each
value (:mod:`rewriter.declared.randomization`). So it is measured as COUNT(*) FILTER (WHERE age > 40 AND reported = r)
for each r, and the weights are public: above the noise, they cost nothing. Where several true values leave the same
aggregate, they share it. What does not add up over rows has no such sum, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod

from sqlglot import exp

from rewriter.aggregates.sums import SUM
from rewriter.aggregates.true_values import of_literals
from rewriter.columns import Source
from rewriter.declared import BIGINT, DOUBLE, Randomization, Rappor, Response, Scalar, Type
from rewriter.dialects import Dialect
from rewriter.expressions import REPORTED
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import BlockScope, resolved
from rewriter.release import Aggregate, AggregateKind, Debiasing, MeasuredBy, ReportedPart, Wording
from rewriter.statement import known, written

MOST_SUPPORTS = 128
"""The most combinations of reported values that one aggregate is measured by."""

_HINT = (
    "COUNT, SUM and AVG add up over people, and are answered by {0}: SELECT {0}, COUNT(*), AVG(x) … GROUP BY {0}, or "
    "with FILTER (WHERE {0} = …)"
)
ONE = Fraction(1)
Compile = Callable[[exp.Expr, BlockScope, Dialect], Aggregate]


@dataclass(frozen=True, slots=True)
class ByReports(AggregateKind):
    """An aggregate by what people truly have, over what they reported. To all rules that know aggregates by what they
    are measured by, it is none of them."""

    def output_type(self, aggregate: Aggregate) -> Type:
        return DOUBLE if aggregate.type is None else aggregate.type


DEBIASED = ByReports("an aggregate over randomized values", exp.AggFunc, MeasuredBy.REPORTS)


@dataclass(frozen=True, slots=True)
class ReportedColumn:
    """A column of reports. Its categories are the values of its law and, where a person may have given no report, NULL,
    which nothing randomized."""

    source: Source
    name: str
    law: Randomization
    nullable: bool

    @property
    def categories(self) -> tuple[Scalar | None, ...]:
        return (*self.law.values, None) if self.nullable else self.law.values

    @property
    def column(self) -> exp.Column:
        return REPORTED.on(resolved(self.source, self.name), True)

    def support(self, place: int) -> exp.Expr:
        """The condition on a report that it supports a category."""
        if place == len(self.law.values):
            return exp.Is(this=self.column, expression=exp.Null())
        patterns = self.law.patterns(place)
        if not patterns:
            return exp.EQ(this=self.column, expression=exp.convert(self.law.values[place]))
        likes: list[exp.Expr] = [exp.Like(this=self.column, expression=exp.Literal.string(one)) for one in patterns]
        return exp.paren(reduce(lambda left, right: exp.Or(this=left, expression=right), likes), copy=False)

    def estimator(self, wanted: Sequence[Fraction]) -> list[Fraction]:
        size = len(self.law.values)
        return [*self.law.estimator(wanted[:size]), *wanted[size:]]

    def spread(self, weights: Sequence[Fraction]) -> list[Fraction]:
        size = len(self.law.values)
        return [*self.law.spread(weights[:size]), *(Fraction(0) for _ in weights[size:])]


@dataclass(frozen=True, slots=True)
class JointReports:
    """Several columns of reports: the reports of a person are independent, given what the person truly has."""

    columns: tuple[ReportedColumn, ...]

    @property
    def truths(self) -> Iterator[tuple[int, ...]]:
        return product(*(range(len(one.categories)) for one in self.columns))

    @property
    def size(self) -> int:
        return prod(len(one.categories) for one in self.columns)

    @property
    def uniform(self) -> Fraction | None:
        """The probability that all reports of a person are drawn evenly, whatever the truth is; None where one report
        supports several values."""
        found = ONE
        for one in self.columns:
            if not isinstance(one.law, Response):
                return None
            found *= 0 if one.nullable else len(one.law.values) * one.law.other
        return found

    def estimator(self, wanted: Sequence[Fraction]) -> list[Fraction]:
        """The inverse of a product of matrices is the product of the inverses: along one column after another."""
        return self._along(wanted, lambda one, numbers: one.estimator(numbers))

    def spread(self, weights: Sequence[Fraction]) -> list[Fraction]:
        if len(self.columns) == 1:
            return self.columns[0].spread(weights)
        squares = self._along([one * one for one in weights], _mean)
        means = self._along(weights, _mean)
        return [square - mean * mean for square, mean in zip(squares, means, strict=True)]

    def _along(
        self, numbers: Sequence[Fraction], change: Callable[[ReportedColumn, Sequence[Fraction]], Sequence[Fraction]]
    ) -> list[Fraction]:
        found, step = list(numbers), 1
        for one in reversed(self.columns):
            size = len(one.categories)
            for first in (at for at in range(len(found)) if (at // step) % size == 0):
                places = range(first, first + step * size, step)
                for place, value in zip(places, change(one, [found[at] for at in places]), strict=True):
                    found[place] = value
            step *= size
        return found


def _mean(one: ReportedColumn, numbers: Sequence[Fraction]) -> list[Fraction]:
    if not isinstance(one.law, Response):
        raise AssertionError("several columns are all of randomized response")
    size = len(one.law.values)
    return [*one.law.mean(numbers[:size]), *numbers[size:]]


Supports = dict[tuple[exp.Expr, exp.Expr | None, tuple[int, ...]], Aggregate]
"""The aggregates of the reports that support a value: those of all calls over the same columns are the same ones."""


def debiased(
    node: exp.Expr,
    columns: Sequence[tuple[Source, str]],
    scope: BlockScope,
    dialect: Dialect,
    compile_call: Compile,
    shared: Supports | None = None,
) -> Aggregate:
    """An aggregate call that reads such columns. ``shared`` are the supports of other calls of the same rows.

    Raises :class:`Refused` for one that does not add up over rows.
    """
    joint = _joint(columns)
    call, test = (node.this, node.expression.this) if isinstance(node, exp.Filter) else (node, None)
    name = columns[0][1]
    if type(call) not in (exp.Count, exp.CountIf, exp.Sum, exp.Avg):
        raise Refused(
            f"{written(call)} of people by {name}, which they randomized themselves, is not answered",
            hint=_HINT.format(name),
        )
    divides = isinstance(call, exp.Avg)
    supports: Supports = {} if shared is None else shared

    def supported(measured: exp.Expr, where: exp.Expr | None, truth: tuple[int, ...]) -> Aggregate:
        key = measured, where, truth
        if key not in supports:
            supports[key] = compile_call(_member(*key, joint), scope, dialect)
        return supports[key]

    forms: dict[str, tuple[exp.Expr, exp.Expr | None, list[Fraction]]] = {}
    for place, truth in enumerate(joint.truths):
        own, where = _counted(_at(call, truth, joint, scope)), None if test is None else _at(test, truth, joint, scope)
        condition = None if where is None else known(where)
        if condition is not None and condition != ("truth", True):
            continue
        where = None if condition is not None else where
        spelt = f"{own.sql()} {'' if where is None else where.sql()}"
        forms.setdefault(spelt, (own, where, [Fraction(0)] * joint.size))[2][place] = ONE
    parts = [
        part
        for own, where, wanted in forms.values()
        if (part := _part(own, where, wanted, joint, supported)) is not None
    ]
    whole = _typed(call, scope, dialect, parts, compile_call)
    once = isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct)
    words = "; ".join(f"{one.name}: {one.law.words}" for one in joint.columns)
    wording = Wording(written(node), tuple(written(one) for one in call.iter_expressions()))
    how = Debiasing(tuple(parts), words, divides, once)
    return Aggregate(DEBIASED, None, None, False, wording, type=whole, debiasing=how)


def _joint(columns: Sequence[tuple[Source, str]]) -> JointReports:
    found = []
    for source, name in columns:
        value = source.fields[name]
        if value.randomized is None:
            raise AssertionError("a column that nobody randomized")
        found.append(ReportedColumn(source, name, value.randomized, value.nullable))
    joint = JointReports(tuple(found))
    if len(found) > 1 and any(isinstance(one.law, Rappor) for one in found):
        raise Refused(
            "RAPPOR beside another randomized column is not answered", hint="ask for one of the two at a time"
        )
    if joint.size > MOST_SUPPORTS:
        names = " and ".join(one.name for one in found)
        raise Refused(
            f"{names} have {joint.size} combinations of values, more than {MOST_SUPPORTS}",
            hint="ask for fewer of these columns at once",
            sqlstate=TOO_COMPLEX,
        )
    return joint


def _at(node: exp.Expr, truth: Sequence[int], joint: JointReports, scope: BlockScope) -> exp.Expr:
    """The expression of people who truly have these values, as far as that decides it."""
    root = exp.Paren(this=node.copy())
    for column in [found for found in root.find_all(exp.Column) if not REPORTED.is_on(found)]:
        try:
            source, name = scope.resolve(column)
        except Refused:
            continue
        for place, one in zip(truth, joint.columns, strict=True):
            if (source.alias, name) == (one.source.alias, one.name):
                column.replace(exp.convert(one.categories[place]))
    return of_literals(root.this)


def _counted(call: exp.Expr) -> exp.Expr:
    """COUNT of something that is there counts rows, whatever it is."""
    literal = known(call.this) if type(call) is exp.Count else None
    return exp.Count(this=exp.Star()) if literal is not None and literal[0] != "null" else call


def _part(
    call: exp.Expr,
    where: exp.Expr | None,
    wanted: list[Fraction],
    joint: JointReports,
    supported: Callable[[exp.Expr, exp.Expr | None, tuple[int, ...]], Aggregate],
) -> ReportedPart | None:
    """The rows of all true values that leave one aggregate; None where they add nothing. ``supported`` is what of a
    call is of the reports that support a value."""
    constant: Fraction | None = None
    measured = call
    literal = None if isinstance(call.this, exp.Star | exp.Distinct) else known(call.this)
    if literal is not None and isinstance(call, exp.CountIf):
        if literal != ("truth", True):
            return None
        measured = exp.Count(this=exp.Star())
    elif literal is not None:
        if literal[0] == "null":
            return None
        if not isinstance(call, exp.Count):
            if literal[0] != "number":
                raise Refused(f"{written(call)} needs a number", hint="use COUNT, or a CASE with numbers")
            constant = literal[1]  # type: ignore[assignment]
            if constant == 0 and isinstance(call, exp.Sum):
                return None
        measured = exp.Count(this=exp.Star())
    elif isinstance(call, exp.Sum):
        # Of a mean, the sums of both distances from the ends of the range are measured: the rows are known then, too.
        measured = exp.Avg(this=call.this.copy())
    weights = joint.estimator(wanted)
    costs = joint.spread(weights)
    spread = joint.estimator(costs)
    everyone = joint.estimator([ONE] * joint.size)
    places = [place for place, pair in enumerate(zip(weights, spread, strict=True)) if any(pair)]
    truths = list(joint.truths)
    members = tuple(supported(measured, where, truths[place]) for place in places)
    if any(member.distinct and not (member.argument is not None and member.argument.unit) for member in members):
        raise Refused(
            "distinct values by a column that people randomized themselves are not counted",
            hint="COUNT(*) and COUNT(DISTINCT the key of the person) are",
        )
    own, how, every = (tuple(numbers[place] for place in places) for numbers in (weights, spread, everyone))
    return ReportedPart(members, own, how, every, min(costs), max(costs), constant, joint.uniform)


def _member(call: exp.Expr, where: exp.Expr | None, truth: Sequence[int], joint: JointReports) -> exp.Expr:
    tests = [one.support(place) for one, place in zip(joint.columns, truth, strict=True)]
    if where is not None:
        tests.insert(0, exp.paren(where.copy(), copy=False))
    test = reduce(lambda left, right: exp.And(this=left, expression=right), tests)
    return exp.Filter(this=call.copy(), expression=exp.Where(this=test))


def _typed(
    call: exp.Expr, scope: BlockScope, dialect: Dialect, parts: Sequence[ReportedPart], compile_call: Compile
) -> Type:
    """The type of the aggregate: that of a sum is the sum's."""
    if isinstance(call, exp.Count | exp.CountIf):
        return BIGINT
    if isinstance(call, exp.Avg):
        return DOUBLE
    for part in parts:
        if part.constant is None:
            return SUM.output_type(part.members[0])
    return BIGINT if all((part.constant or 0).denominator == 1 for part in parts) else DOUBLE


def with_filter(node: exp.Expr, tests: Sequence[exp.Expr]) -> exp.Expr:
    """An aggregate call over the rows on which further conditions hold.

    >>> import sqlglot
    >>> with_filter(sqlglot.parse_one("SUM(x)"), [sqlglot.parse_one("y = 1")]).sql("postgres")
    'SUM(x) FILTER(WHERE (y = 1))'
    """
    if not tests:
        return node
    call, own = (node.this, [node.expression.this]) if isinstance(node, exp.Filter) else (node, [])
    every: list[exp.Expr] = [exp.paren(test.copy(), copy=False) for test in (*own, *tests)]
    test = reduce(lambda left, right: exp.And(this=left, expression=right), every)
    return exp.Filter(this=call.copy(), expression=exp.Where(this=test))
