"""Figures that are asked of a block, in words that are answered of any group of rows: means and counts of powers.

Guarantee: an expression of AVG and COUNT with the meaning of the figure, NULL where that has none. Powers are those of
distances from the middle of the declared range, so that doubles keep their digits. Where no answer can lie outside of a
range, whatever the block holds of declared values, the range comes with it.

What divides by a variance has no answer in a block whose values lie so close together, beside their declared range,
that the variance is mostly the rounding of doubles: constants have none, and neither has what only differs from them in
the last digits. A standard deviation has to be a 400,000th of half the range for CORR, REGR_R2 and REGR_SLOPE, a
5,000th for SKEWNESS and a 600th for KURTOSIS, or about that.

``KURTOSIS`` and ``SKEWNESS`` are those of a sample, as DuckDB has them; PostgreSQL has none. ``ENTROPY`` is in bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.columns import variable_behind
from rewriter.declared import Interval
from rewriter.dialects import Dialect
from rewriter.expressions import compile_expression
from rewriter.refused import Refused
from rewriter.relations import BlockScope
from rewriter.statement import is_aggregate

_DIGITS = Context(prec=1100)


def decimal_number(value: Fraction) -> exp.Expr:
    """A literal of a number that a double holds.

    >>> decimal_number(Fraction(-5, 2)).sql()
    '(-2.5)'
    """
    shown = f"{_DIGITS.create_decimal(Decimal(abs(value).numerator)) / Decimal(value.denominator):f}"
    spelt: exp.Expr = exp.Literal.number(shown)
    return exp.Paren(this=exp.Neg(this=spelt)) if value < 0 else spelt


_MOST_VALUES = 64
_NO_MAD = "MAD is not answered: PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY x) minus that of 0.25 is, in blocks too"


class Figures:
    """The figures of one SELECT, spelt."""

    def __init__(self, scope: BlockScope, dialect: Dialect) -> None:
        self._scope = scope
        self._dialect = dialect
        self._names: dict[exp.Expr, str] = {}

    def named(self, node: exp.Expr) -> exp.Expr:
        """A part that is computed once, in a subquery: an alias within an expression, see :func:`layers`."""
        name = self._names.setdefault(node, f"f{len(self._names)}")
        return exp.Alias(this=node.copy(), alias=exp.to_identifier(name, quoted=True))

    def spelt(self, node: exp.Expr) -> tuple[exp.Expr, Interval | None]:
        """An expression with its figures spelt, and where it lies if it is one figure."""
        root = exp.Paren(this=node.copy())
        whole: Interval | None = None
        for call in [one for one in root.walk() if (rule := _rule(one)) is not None]:
            around = call.parent if isinstance(call.parent, exp.Filter) else call
            test = around.expression.this if around is not call else None
            if (rule := _rule(call)) is None:
                continue
            plain, interval = rule(self, call, test)
            if around.parent is root:
                whole = interval
            around.replace(exp.Paren(this=plain))
        self._name_aggregates(root)
        found: exp.Expr = root.this
        found.pop()
        return found, whole

    def _name_aggregates(self, root: exp.Expr) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            if is_aggregate(node):
                node.replace(self.named(node))
            elif not isinstance(node, exp.Alias):
                stack.extend(node.iter_expressions())

    def interval(self, node: exp.Expr) -> Interval | None:
        return compile_expression(node, self._scope, self._dialect).interval

    def values(self, node: exp.Expr) -> tuple[object, ...]:
        """The values that the owner lists of a column."""
        variable = variable_behind(compile_expression(node, self._scope, self._dialect).sql)
        listed = variable.column.values if variable is not None else None
        if listed is None or not 0 < len(listed) <= _MOST_VALUES:
            raise Refused(
                f"ENTROPY is answered of columns with at most {_MOST_VALUES} declared values",
                hint="declare values: [...] for the column in the policy, or write a CASE over COUNT(*) FILTER",
            )
        return listed


def layers(nodes: Sequence[exp.Expr]) -> list[list[tuple[str, exp.Expr]]]:
    """Expressions ``v0``, ``v1``, … as select lists, each over the columns of those before: what is named within them,
    the innermost first, so that nothing is written out more than once.

    >>> import sqlglot
    >>> sum_, twice = exp.alias_(sqlglot.parse_one("SUM(x)"), "f0", quoted=True), sqlglot.parse_one("a + a")
    >>> for column in list(twice.find_all(exp.Column)):
    ...     _ = column.replace(sum_.copy())
    >>> [[(name, node.sql()) for name, node in layer] for layer in layers([twice])]
    [[('f0', 'SUM(x)')], [('v0', '"f0" + "f0"')]]
    """
    roots = [exp.Paren(this=node) for node in nodes]
    found: list[list[tuple[str, exp.Expr]]] = []
    while innermost := [one for root in roots for one in root.find_all(exp.Alias) if not _holds_names(one)]:
        found.append(list({one.alias: one.this.copy() for one in innermost}.items()))
        for one in innermost:
            one.replace(exp.column(exp.to_identifier(one.alias, quoted=True)))
    return [*found, [(f"v{place}", root.this) for place, root in enumerate(roots)]]


def _holds_names(alias: exp.Expr) -> bool:
    return any(other is not alias for other in alias.find_all(exp.Alias))


_Rule = Callable[[Figures, exp.Expr, exp.Expr | None], tuple[exp.Expr, Interval | None]]


def _mean(node: exp.Expr, test: exp.Expr | None) -> exp.Expr:
    return _tested(exp.Avg(this=node.copy()), test)


def _count(node: exp.Expr, test: exp.Expr | None) -> exp.Expr:
    return exp.Cast(this=_tested(exp.Count(this=node.copy()), test), to=_DOUBLE.copy())


_DOUBLE = exp.DataType(this=exp.DType.DOUBLE)


def _tested(call: exp.Expr, test: exp.Expr | None) -> exp.Expr:
    return call if test is None else exp.Filter(this=call, expression=exp.Where(this=test.copy()))


def _number(value: int | float) -> exp.Expr:
    return decimal_number(Fraction(value))


def _times(*factors: exp.Expr) -> exp.Expr:
    found, *rest = (exp.Paren(this=one.copy()) for one in factors)
    whole: exp.Expr = found
    for one in rest:
        whole = exp.Mul(this=whole, expression=one)
    return exp.Paren(this=whole)


def _plus(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Add(this=one.copy(), expression=exp.Paren(this=other.copy())))


def _minus(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=one.copy(), expression=exp.Paren(this=other.copy())))


def _over(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Div(this=one.copy(), expression=exp.Paren(this=other.copy())))


def _root(node: exp.Expr) -> exp.Expr:
    return exp.Sqrt(this=node.copy())


def _centred(figures: Figures, node: exp.Expr) -> exp.Expr:
    """A double: the distance from the middle of the range."""
    value = exp.Cast(this=exp.Paren(this=node.copy()), to=_DOUBLE.copy())
    interval = figures.interval(node)
    middle = 0.0 if interval is None else float((interval.low + interval.high) / 2)
    return value if middle == 0 else _minus(value, _number(middle))


def _moments(figures: Figures, x: exp.Expr, test: exp.Expr | None, most: int) -> list[exp.Expr]:
    """The central moments from the second on."""
    t = _centred(figures, x)
    raw = [figures.named(_mean(_times(*[t] * power) if power > 1 else t, test)) for power in range(1, most + 1)]
    m1, m2 = raw[0], raw[1]
    square = figures.named(_times(m1, m1))
    found: list[exp.Expr] = [exp.Abs(this=_minus(m2, square))]
    if most > 2:
        third = _minus(raw[2], _times(_number(3), figures.named(_times(m1, m2))))
        found.append(_plus(third, _times(_number(2), figures.named(_times(square, m1)))))
    if most > 3:
        fourth = _minus(raw[3], _times(_number(4), figures.named(_times(m1, raw[2]))))
        fourth = _plus(figures.named(fourth), _times(_number(6), figures.named(_times(square, m2))))
        found.append(_minus(figures.named(fourth), _times(_number(3), figures.named(_times(square, square)))))
    return [figures.named(one) for one in found]


def _resolved(figures: Figures, x: exp.Expr, variance: exp.Expr, power: int = 2) -> exp.Expr:
    """A variance whose root, to a power, is beyond what rounding adds to a moment of that power; else NULL.

    With R the half-width of the range and steps of R^power · 2⁻⁴⁴, rounding changes a variance by R² · 2⁻⁴³ at most,
    and a fourth moment by R⁴ · 2⁻³⁹. The limit is 2⁻³⁷ of R^power.
    """
    interval = figures.interval(x)
    least = 0.0 if interval is None else float(interval.width / 2) ** 2 * 2.0 ** (-37 * 2 / power)
    enough = exp.GT(this=variance.copy(), expression=exp.Paren(this=_number(least)))
    return figures.named(exp.Case(ifs=[exp.If(this=enough, true=variance.copy())]))


def _variance(sample: bool, root: bool) -> _Rule:
    def rule(figures: Figures, call: exp.Expr, test: exp.Expr | None) -> tuple[exp.Expr, Interval | None]:
        (found,) = _moments(figures, call.this, test, 2)
        if sample:
            n = figures.named(_count(call.this, test))
            found = figures.named(_over(_times(found, n), _minus(n, _number(1))))
        interval = figures.interval(call.this)
        if interval is None:
            return (_root(found) if root else found), None
        # Of two ends of the range, n / (n - 1) is 2 at most.
        most = interval.width**2 / (2 if sample else 4)
        high = Fraction(math.nextafter(math.sqrt(most), math.inf)) if root else most
        return (_root(found) if root else found), Interval(Fraction(0), high)

    return rule


def _both(call: exp.Expr, test: exp.Expr | None) -> exp.Expr:
    """The rows that have both."""
    known = [
        exp.Not(this=exp.Is(this=exp.Paren(this=one.copy()), expression=exp.Null()))
        for one in (call.this, call.expression)
    ]
    return exp.and_(*known, *([] if test is None else [test.copy()]), copy=False)


def _of_two(name: str) -> _Rule:
    def rule(figures: Figures, call: exp.Expr, test: exp.Expr | None) -> tuple[exp.Expr, Interval | None]:
        where = _both(call, test)
        y, x = (_centred(figures, one) for one in (call.this, call.expression))
        product, mean_y, mean_x = (figures.named(_mean(one, where)) for one in (_times(y, x), y, x))
        covariance = figures.named(_minus(product, _times(mean_y, mean_x)))
        of_y, of_x = (_moments(figures, one, where, 2)[0] for one in (call.this, call.expression))
        told_y, told_x = (_resolved(figures, *one) for one in ((call.this, of_y), (call.expression, of_x)))
        if name == "slope":
            return _over(covariance, told_x), None
        if name == "r2":
            squares = (figures.named(_times(*pair)) for pair in ((covariance, covariance), (told_y, told_x)))
            # All of a constant y is explained.
            explained = exp.Coalesce(this=figures.named(_over(*squares)), expressions=[_number(1)])
            known = exp.Not(this=exp.Is(this=exp.Paren(this=told_x.copy()), expression=exp.Null()))
            return exp.Case(ifs=[exp.If(this=known, true=explained)]), Interval.of(0, 1)
        if name == "corr":
            roots = figures.named(_times(*(figures.named(_root(one)) for one in (told_y, told_x))))
            return _over(covariance, roots), Interval.of(-1, 1)
        if name == "sample":
            n = figures.named(_count(call.this, where))
            return _over(_times(covariance, n), _minus(n, _number(1))), None
        return covariance, None

    return rule


def _skewness(figures: Figures, call: exp.Expr, test: exp.Expr | None) -> tuple[exp.Expr, Interval | None]:
    second, third = _moments(figures, call.this, test, 3)
    second = _resolved(figures, call.this, second, 3)
    n = figures.named(_count(call.this, test))
    root = figures.named(_root(figures.named(_times(n, _minus(n, _number(1))))))
    factor = figures.named(_over(root, _minus(n, _number(2))))
    scale = figures.named(_times(second, figures.named(_root(second))))
    return _times(factor, figures.named(_over(third, scale))), None


def _kurtosis(figures: Figures, call: exp.Expr, test: exp.Expr | None) -> tuple[exp.Expr, Interval | None]:
    second, _, fourth = _moments(figures, call.this, test, 4)
    second = _resolved(figures, call.this, second, 4)
    n = figures.named(_count(call.this, test))
    share = figures.named(_over(fourth, figures.named(_times(second, second))))
    inner = figures.named(_times(_plus(n, _number(1)), share))
    inner = figures.named(_minus(inner, _times(_number(3), _minus(n, _number(1)))))
    less = figures.named(_times(_minus(n, _number(2)), _minus(n, _number(3))))
    return _times(figures.named(_over(_minus(n, _number(1)), less)), inner), None


def _geometric(figures: Figures, call: exp.Expr, test: exp.Expr | None) -> tuple[exp.Expr, Interval | None]:
    (x,) = _arguments(call, 1)
    interval = figures.interval(x)
    if interval is None or interval.low <= 0:
        raise Refused(
            "GEOMETRIC_MEAN needs a number above 0", hint="GEOMETRIC_MEAN(CASE WHEN x >= 1 THEN x END), with a range"
        )
    return exp.Exp(this=_mean(exp.Ln(this=exp.Cast(this=x.copy(), to=_DOUBLE.copy())), test)), interval


def _entropy(figures: Figures, call: exp.Expr, test: exp.Expr | None) -> tuple[exp.Expr, Interval | None]:
    (x,) = _arguments(call, 1)
    listed = figures.values(x)
    n = figures.named(_count(x, test))
    total: exp.Expr = _number(0)
    for value in listed:
        same = exp.EQ(this=x.copy(), expression=exp.convert(value))
        where = same if test is None else exp.and_(same, test.copy(), copy=False)
        share = figures.named(_over(figures.named(_count(x, where)), n))
        # 0 · log 0 is 0.
        part = _times(share, _over(exp.Ln(this=share.copy()), exp.Ln(this=_number(2))))
        term = exp.Case(
            ifs=[exp.If(this=exp.GT(this=share.copy(), expression=_number(0)), true=part)], default=_number(0)
        )
        total = _minus(total, figures.named(term))
    known = exp.GT(this=n.copy(), expression=_number(0))
    whole = exp.Case(ifs=[exp.If(this=known, true=total)])
    return whole, Interval(Fraction(0), Fraction(math.nextafter(math.log2(max(len(listed), 2)), math.inf)))


def _no_deviation(figures: Figures, call: exp.Expr, test: exp.Expr | None) -> tuple[exp.Expr, Interval | None]:
    raise Refused("MAD is not answered in blocks", hint=_NO_MAD)


def _arguments(call: exp.Expr, count: int) -> list[exp.Expr]:
    if len(call.expressions) != count:
        raise Refused(
            f"{str(call.this).upper()} has {count} argument",
            hint=f"write {str(call.this).upper()}(x)",
            sqlstate="42883",
        )
    return list(call.expressions)


_NODES: Mapping[type[exp.Expr], _Rule] = {
    exp.VariancePop: _variance(sample=False, root=False),
    exp.Variance: _variance(sample=True, root=False),
    exp.StddevPop: _variance(sample=False, root=True),
    exp.Stddev: _variance(sample=True, root=True),
    exp.StddevSamp: _variance(sample=True, root=True),
    exp.CovarPop: _of_two("covariance"),
    exp.CovarSamp: _of_two("sample"),
    exp.Corr: _of_two("corr"),
    exp.RegrR2: _of_two("r2"),
    exp.RegrSlope: _of_two("slope"),
    exp.Kurtosis: _kurtosis,
    exp.Skewness: _skewness,
}
_NAMED: Mapping[str, _Rule] = {
    "geometric_mean": _geometric,
    "geomean": _geometric,
    "entropy": _entropy,
    "mad": _no_deviation,
}


def _rule(node: exp.Expr) -> _Rule | None:
    if isinstance(node, exp.AnonymousAggFunc):
        return _NAMED.get(str(node.this).lower())
    return _NODES.get(type(node))
