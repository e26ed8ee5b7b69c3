"""The one comparison of a watched statement: an aggregate of people with a constant, or with two.

A mean is above a number where the sum of what its values are beyond that number is above 0: one integer, as of a SUM.
Of no rows there is no mean, and no sum: what is compared then, :attr:`WatchedComparison.of_none` says. A mean between
two numbers would be two sums, and is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from rewriter.refused import Refused

WATCHED_FORM = (
    "a watch is one comparison of a COUNT, SUM or AVG with a number, or of a COUNT or SUM with two:"
    " SELECT COUNT(*) > 1000 FROM … WHERE …, or COUNT(*) BETWEEN 10 AND 20"
)
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}
_PLAIN = {"expressions", "from", "from_", "joins", "where"}


@dataclass(frozen=True, slots=True)
class WatchedComparison:
    """``tree`` asks for the aggregate alone; it is TRUE where ``sign · aggregate`` is at least ``least``, or more than
    that where it is ``strict``. With two ``ends``, it is TRUE where the aggregate is one of them or between them; where
    ``sign`` is -1, in all other cases. ``of_none`` says what is compared where there is no row; empty of a COUNT.

    >>> import sqlglot
    >>> found = watched_comparison(sqlglot.parse_one("SELECT 1000 > COUNT(*) AS few FROM visit", read="postgres"))
    >>> found.sign, found.least, found.strict, found.tree.sql()
    (-1, Fraction(-1000, 1), True, 'SELECT COUNT(*) AS watched FROM visit')
    """

    tree: exp.Select
    sign: int
    least: Fraction
    strict: bool
    ends: tuple[Fraction, Fraction] | None = None
    of_none: str = ""

    def threshold(self, step: Fraction) -> int:
        """The least integer number of steps, with its sign, for which it is TRUE. With two ends: of how far inside of
        them a number is."""
        if self.ends is not None:
            return 0 if self.sign > 0 else 1
        steps = self.least / step
        return math.floor(steps) + 1 if self.strict else math.ceil(steps)

    def inside(self, step: Fraction) -> tuple[int, int] | None:
        """The first and the last number of steps between its two ends."""
        return None if self.ends is None else (math.ceil(self.ends[0] / step), math.floor(self.ends[1] / step))


def watched_comparison(tree: exp.Expr) -> WatchedComparison:
    """The comparison that a statement is. Raises :class:`Refused` where it is anything else."""
    given = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or not given <= _PLAIN:
        raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
    compared = tree.expressions[0].unalias().unnest()
    turned = isinstance(compared, exp.Not)
    between = compared.this.unnest() if turned else compared
    if isinstance(between, exp.Between) and not between.args.get("symmetric"):
        return _between(tree, between, -1 if turned else 1)
    kind, one, other = type(compared), compared.args.get("this"), compared.args.get("expression")
    if kind not in _TURNED or one is None or other is None:
        raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
    constant = _number(other)
    if constant is None:
        kind, one, constant = _TURNED[kind], other, _number(one)
    aggregate = one.unnest()
    if constant is None or not isinstance(aggregate, _AGGREGATES):
        raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
    sign = 1 if kind in (exp.GT, exp.GTE) else -1
    mean = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    of_none = _OF_NONE.get(type(mean), "")
    if isinstance(mean, exp.Avg):
        if isinstance(mean.this, exp.Distinct):
            raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
        beyond = exp.Sum(this=exp.Sub(this=exp.paren(mean.this), expression=exp.paren(_literal(constant))))
        aggregate = exp.Filter(this=beyond, expression=aggregate.expression) if mean is not aggregate else beyond
        constant = Fraction()
    return WatchedComparison(_alone(tree, aggregate), sign, sign * constant, kind in (exp.GT, exp.LT), None, of_none)


_OF_NONE: dict[type[exp.Expr], str] = {
    exp.Sum: "the SUM of no rows is NULL in SQL; it is compared as 0 here",
    exp.Avg: "the AVG of no rows is NULL in SQL; it is taken for the number that it is compared with here",
}
_AGGREGATES = (exp.Count, exp.Sum, exp.CountIf, exp.Filter, exp.Avg)


def _between(tree: exp.Select, between: exp.Between, sign: int) -> WatchedComparison:
    aggregate, ends = between.this.unnest(), [_number(between.args[end]) for end in ("low", "high")]
    low, high = ends
    inner = type(aggregate.this if isinstance(aggregate, exp.Filter) else aggregate)
    if low is None or high is None or inner is exp.Avg or not isinstance(aggregate, _AGGREGATES):
        raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
    return WatchedComparison(_alone(tree, aggregate), sign, Fraction(), False, (low, high), _OF_NONE.get(inner, ""))


def _alone(tree: exp.Select, aggregate: exp.Expr) -> exp.Select:
    alone = tree.copy()
    alone.set("expressions", [exp.alias_(aggregate.copy(), "watched", copy=False)])
    return alone


def _literal(number: Fraction) -> exp.Expr:
    """A number that was a literal, as one.

    >>> _literal(Fraction(-85, 2)).sql()
    '-42.5'
    """
    text = format(Decimal(number.numerator) / Decimal(number.denominator), "f")
    return exp.Neg(this=exp.Literal.number(text[1:])) if text.startswith("-") else exp.Literal.number(text)


def _number(node: exp.Expr) -> Fraction | None:
    node = node.unnest()
    if isinstance(node, exp.Neg):
        found = _number(node.this)
        return None if found is None else -found
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return Fraction(str(node.this)) if len(str(node.this)) < 40 else None
    except ValueError:
        return None
