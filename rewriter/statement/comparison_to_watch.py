"""The one comparison of a watched statement: an aggregate of people with a constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.refused import Refused

WATCHED_FORM = "a watch is one comparison of a COUNT or SUM with a number: SELECT COUNT(*) > 1000 FROM … WHERE …"
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}
_PLAIN = {"expressions", "from", "from_", "joins", "where"}


@dataclass(frozen=True, slots=True)
class WatchedComparison:
    """``tree`` asks for the aggregate alone; it is TRUE where ``sign · aggregate`` is at least ``least``, or more than
    that where it is ``strict``.

    >>> import sqlglot
    >>> found = watched_comparison(sqlglot.parse_one("SELECT 1000 > COUNT(*) AS few FROM visit", read="postgres"))
    >>> found.sign, found.least, found.strict, found.tree.sql()
    (-1, Fraction(-1000, 1), True, 'SELECT COUNT(*) AS watched FROM visit')
    """

    tree: exp.Select
    sign: int
    least: Fraction
    strict: bool

    def threshold(self, step: Fraction) -> int:
        """The least integer number of steps, with its sign, for which it is TRUE."""
        steps = self.least / step
        return math.floor(steps) + 1 if self.strict else math.ceil(steps)


def watched_comparison(tree: exp.Expr) -> WatchedComparison:
    """The comparison that a statement is. Raises :class:`Refused` where it is anything else."""
    given = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or not given <= _PLAIN:
        raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
    compared = tree.expressions[0].unalias().unnest()
    kind, one, other = type(compared), compared.args.get("this"), compared.args.get("expression")
    if kind not in _TURNED or one is None or other is None:
        raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
    constant = _number(other)
    if constant is None:
        kind, one, constant = _TURNED[kind], other, _number(one)
    aggregate = one.unnest()
    if constant is None or not isinstance(aggregate, exp.Count | exp.Sum | exp.CountIf | exp.Filter):
        raise Refused("this statement cannot be watched", hint=WATCHED_FORM)
    alone = tree.copy()
    alone.set("expressions", [exp.alias_(aggregate.copy(), "watched", copy=False)])
    sign = 1 if kind in (exp.GT, exp.GTE) else -1
    return WatchedComparison(alone, sign, sign * constant, kind in (exp.GT, exp.LT))


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
