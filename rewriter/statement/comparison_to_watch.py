"""The one comparison of a watched statement: an aggregate of people with a constant, or with two, of all or by group.

A mean is above a number where the sum of what its values are beyond that number is above 0: one integer, as of a SUM.
Of no rows there is no mean, and no sum: what is compared then, :attr:`WatchedComparison.of_none` says. A mean between
two numbers would be two sums, and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

from sqlglot import exp

from rewriter.dialects import MIRRORED
from rewriter.refused import Refused

WATCHED_FORM = (
    "a watch is one comparison of a COUNT, SUM or AVG with a number, or of a COUNT or SUM with two:"
    " SELECT COUNT(*) > 1000 FROM … WHERE …, or COUNT(*) BETWEEN 10 AND 20; of each declared group,"
    " SELECT region, COUNT(*) > 1000 FROM … GROUP BY region, or SELECT region FROM … GROUP BY region HAVING …"
)
_Alone = Callable[[exp.Expr], tuple[exp.Select, tuple[int | None, ...]]]
_PLAIN = {"expressions", "from", "from_", "joins", "where", "group", "having"}


@dataclass(frozen=True, slots=True)
class WatchedComparison:
    """``tree`` asks for the aggregate alone; it is TRUE where ``sign · aggregate`` is at least ``least``, or more than
    that where it is ``strict``. With two ``ends``, it is TRUE where the aggregate is one of them or between them; where
    ``sign`` is -1, in all other cases. ``of_none`` says what is compared where there is no row; empty of a COUNT.
    ``beyond`` is the number that values are taken from before they are added up, where their mean is compared with it.
    By group, ``items`` are the columns that are shown: the place of a key in GROUP BY, None for the comparison. Where
    that is asked in HAVING, and so is none of them, the groups are shown of which it is TRUE.

    >>> import sqlglot
    >>> found = watched_comparison(sqlglot.parse_one("SELECT 1000 > COUNT(*) AS few FROM visit", read="postgres"))
    >>> found.sign, found.least, found.strict, found.tree.sql()
    (-1, Fraction(-1000, 1), True, 'SELECT COUNT(*) AS watched FROM visit')
    """

    tree: exp.Select
    items: tuple[int | None, ...]
    sign: int
    least: Fraction
    strict: bool
    ends: tuple[Fraction, Fraction] | None = None
    of_none: str = ""
    beyond: Fraction | None = None

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
    if not isinstance(tree, exp.Select) or not given <= _PLAIN:
        raise _unwatched()
    items = _items(tree)
    having = tree.args.get("having")
    if (items.count(None) == 1) is (having is not None) or items.count(None) > 1:
        raise _unwatched()
    asked = tree.expressions[items.index(None)] if having is None else having.this
    return _compared(asked, partial(_alone, tree, items))


def _items(tree: exp.Select) -> list[int | None]:
    """Which key of GROUP BY each item of the select list is, by its place, its name or its text; None for any other."""
    group = tree.args.get("group")
    if group is None:
        return [None] * len(tree.expressions)
    if any(value for name, value in group.args.items() if name != "expressions"):
        raise _unwatched()
    items = list(enumerate(tree.expressions))
    places: dict[int, int] = {}
    for is_key in (_is_written, _is_named):
        for number, key in enumerate(group.expressions):
            for place, item in items:
                if place not in places and is_key(key, place, item):
                    places[place] = number
    return [places.get(place) for place, _ in items]


def _is_written(key: exp.Expr, place: int, item: exp.Expr) -> bool:
    """Whether a key is an item's text or place."""
    value = item.unalias()
    if isinstance(key, exp.Column) and isinstance(value, exp.Column):
        return key.name == value.name and (key.table == value.table or not (key.table and value.table))
    return value == key or (isinstance(key, exp.Literal) and key.this == str(place + 1))


def _is_named(key: exp.Expr, _: int, item: exp.Expr) -> bool:
    """Whether a key is the name of an item that is a column; another expression may be named as a column of FROM is."""
    return isinstance(key, exp.Column) and key.name == item.alias and isinstance(item.unalias(), exp.Column)


def _unwatched() -> Refused:
    return Refused("this statement cannot be watched", hint=WATCHED_FORM)


def _compared(asked: exp.Expr, alone: _Alone) -> WatchedComparison:
    compared = asked.unalias().unnest()
    turned = isinstance(compared, exp.Not)
    between = compared.this.unnest() if turned else compared
    if isinstance(between, exp.Between) and not between.args.get("symmetric"):
        return _between(between, -1 if turned else 1, alone)
    kind, one, other = type(compared), compared.args.get("this"), compared.args.get("expression")
    if kind not in MIRRORED or one is None or other is None:
        raise _unwatched()
    constant = _number(other)
    if constant is None:
        kind, one, constant = MIRRORED[kind], other, _number(one)
    aggregate = one.unnest()
    if constant is None or not isinstance(aggregate, _AGGREGATES):
        raise _unwatched()
    sign = 1 if kind in (exp.GT, exp.GTE) else -1
    mean = aggregate.this if isinstance(aggregate, exp.Filter) else aggregate
    of_none, beyond_what = _OF_NONE.get(type(mean), ""), None
    if isinstance(mean, exp.Avg):
        if isinstance(mean.this, exp.Distinct):
            raise _unwatched()
        beyond = exp.Sum(this=exp.Sub(this=exp.paren(mean.this), expression=exp.paren(_literal(constant))))
        aggregate = exp.Filter(this=beyond, expression=aggregate.expression) if mean is not aggregate else beyond
        beyond_what, constant = constant, Fraction()
    strict = kind in (exp.GT, exp.LT)
    return WatchedComparison(*alone(aggregate), sign, sign * constant, strict, None, of_none, beyond_what)


_OF_NONE: dict[type[exp.Expr], str] = {
    exp.Sum: "the SUM of no rows is NULL in SQL; it is compared as 0 here",
    exp.Avg: "the AVG of no rows is NULL in SQL; it is taken for the number that it is compared with here",
}
_AGGREGATES = (exp.Count, exp.Sum, exp.CountIf, exp.Filter, exp.Avg)


def _between(between: exp.Between, sign: int, alone: _Alone) -> WatchedComparison:
    aggregate, ends = between.this.unnest(), [_number(between.args[end]) for end in ("low", "high")]
    low, high = ends
    inner = type(aggregate.this if isinstance(aggregate, exp.Filter) else aggregate)
    if low is None or high is None or inner is exp.Avg or not isinstance(aggregate, _AGGREGATES):
        raise _unwatched()
    return WatchedComparison(*alone(aggregate), sign, Fraction(), False, (low, high), _OF_NONE.get(inner, ""))


def _alone(
    tree: exp.Select, items: Sequence[int | None], aggregate: exp.Expr
) -> tuple[exp.Select, tuple[int | None, ...]]:
    """The statement with the aggregate in the place of its comparison, or as the last column where HAVING has it."""
    alone = tree.copy()
    alone.set("having", None)
    watched = exp.alias_(aggregate.copy(), "watched", copy=False)
    if None in items:
        alone.expressions[items.index(None)].replace(watched)
    else:
        alone.append("expressions", watched)
    return alone, tuple(items)


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
