"""Conditions on the rank of a row among all rows, as the share of the rows that it stands at.

``n = CAST(total * 0.25 AS INT)`` is a quarter of the rows, and so is ``n >= total / 4.0`` at its first row. What a
condition rounds, and whether it counts from 0 or from 1, moves it by a rank or two; by more than three it is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction

from sqlglot import exp

from rewriter.statement import conjuncts, unparenthesised

_ROUNDED = exp.Ceil | exp.Floor | exp.Round
_FLIPPED = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE, exp.EQ: exp.EQ}
MOST_RANKS = 3
"""So many ranks beside the share itself may a row be that a condition keeps."""


class KeptRows(Enum):
    """Which rows of those around a share a condition keeps."""

    AT = auto()
    FROM = auto()
    UP_TO = auto()


@dataclass(frozen=True, slots=True)
class RankTest:
    """A condition that keeps the rows at a ``share`` of all rows, or those on a ``side`` of it. ``exact``: with no rank
    more or less than PERCENTILE_DISC has. ``single``: it keeps one row at most."""

    share: Fraction
    side: KeptRows
    exact: bool
    single: bool = False


Is = Callable[[exp.Expr], bool]


def rank_test(node: exp.Expr, is_rank: Is, is_total: Is) -> RankTest | None:
    """The share that a condition on a rank stands for; None where it is none.

    >>> import sqlglot
    >>> def test(sql):
    ...     found = rank_test(sqlglot.parse_one(sql), lambda one: one.name == "n", lambda one: one.name == "m")
    ...     return None if found is None else (str(found.share), found.side.name, found.exact)
    >>> test("n >= 0.25 * m"), test("m / 4 < n"), test("n = CAST(m * 0.5 AS INT) + 1")
    (('1/4', 'FROM', True), ('1/4', 'FROM', False), ('1/2', 'AT', False))
    >>> test("(n = CEIL(m * 0.5) AND m > 3) OR (n = FLOOR(m * 50 / 100) AND FLOOR(m / 2) <> m / 2)")
    ('1/2', 'AT', False)
    >>> test("n = 3"), test("n = m * 0.5 OR n = m * 0.25"), test("n = m * 0.5 AND x > 3")
    (None, None, None)
    >>> test("n = FLOOR(m / 100) * 25")
    """
    node = unparenthesised(node)
    if isinstance(node, exp.Or):
        sides = [rank_test(side, is_rank, is_total) for side in (node.this, node.expression)]
        found = [side for side in sides if side is not None and side.side is KeptRows.AT]
        same = len(found) == 2 and found[0].share == found[1].share
        return RankTest(found[0].share, KeptRows.AT, False) if same else None
    if isinstance(node, exp.And):
        return _with_conditions(node, is_rank, is_total)
    if isinstance(node, exp.Between):
        ends = [_share(unparenthesised(node.args[end]), is_total) for end in ("low", "high")]
        if not is_rank(unparenthesised(node.this)) or ends[0] is None or ends[0] != ends[1]:
            return None
        return RankTest(ends[0], KeptRows.AT, False)
    if isinstance(node, exp.In) and node.args.get("expressions"):
        shares = [_share(unparenthesised(one), is_total) for one in node.expressions]
        if not is_rank(unparenthesised(node.this)) or shares[0] is None or len(set(shares)) != 1:
            return None
        return RankTest(shares[0], KeptRows.AT, False)
    return _comparison(node, is_rank, is_total)


def _with_conditions(node: exp.And, is_rank: Is, is_total: Is) -> RankTest | None:
    """A condition on a rank beside others on the number of rows alone."""
    tests = list(conjuncts(node))
    mine = [one for one in tests if any(is_rank(part) for part in one.walk())]
    rest = [one for one in tests if one not in mine]
    if len(mine) != 1 or any(not is_total(column) for one in rest for column in one.find_all(exp.Column)):
        return None
    if any(one.find(exp.Query, exp.Anonymous) for one in rest):
        return None
    found = rank_test(mine[0], is_rank, is_total)
    return None if found is None or found.side is not KeptRows.AT else RankTest(found.share, KeptRows.AT, False)


def _comparison(node: exp.Expr, is_rank: Is, is_total: Is) -> RankTest | None:
    kind = type(node)
    if kind not in _FLIPPED:
        return None
    left, right = unparenthesised(node.this), unparenthesised(node.expression)
    if is_rank(right):
        left, right, kind = right, left, _FLIPPED[kind]
    share = _share(right, is_total) if is_rank(left) else None
    if share is None:
        return None
    side = KeptRows.AT if kind is exp.EQ else KeptRows.FROM if kind in (exp.GT, exp.GTE) else KeptRows.UP_TO
    # The first row that is not below a share is PERCENTILE_DISC's, and so is the one at it, rounded up.
    exact = (kind is exp.GTE and _is_product(right)) or (
        kind is exp.EQ and isinstance(right, exp.Ceil) and _is_product(unparenthesised(right.this))
    )
    return RankTest(share, side, exact, single=side is KeptRows.AT)


def _is_product(node: exp.Expr) -> bool:
    """Whether a node is the number of rows times a fraction, and not divided by an integer, which rounds."""
    if isinstance(node, exp.Mul):
        return any(_constant(unparenthesised(side)) is not None for side in (node.this, node.expression))
    divisor = unparenthesised(node.expression) if isinstance(node, exp.Div) else None
    return isinstance(divisor, exp.Literal) and not divisor.is_int


def _share(node: exp.Expr, is_total: Is) -> Fraction | None:
    """The share of the number of rows that an expression is, up to a few ranks; it lies between 0 and 1."""
    found = _linear(node, is_total)
    if found is None or not 0 < found.slope < 1 or abs(found.start) + found.rounded > MOST_RANKS:
        return None
    return found.slope


@dataclass(frozen=True, slots=True)
class _Line:
    """``slope · total + start``, of which what it computes differs by ``rounded`` at most."""

    slope: Fraction
    start: Fraction = Fraction(0)
    rounded: Fraction = Fraction(0)

    def __add__(self, other: _Line) -> _Line:
        return _Line(self.slope + other.slope, self.start + other.start, self.rounded + other.rounded)

    def times(self, factor: Fraction) -> _Line:
        return _Line(self.slope * factor, self.start * factor, self.rounded * abs(factor))

    def to_integer(self) -> _Line:
        return _Line(self.slope, self.start, self.rounded + 1)


def _linear(node: exp.Expr, is_total: Is) -> _Line | None:
    node = unparenthesised(node)
    if is_total(node):
        return _Line(Fraction(1))
    if (number := _constant(node)) is not None:
        return _Line(Fraction(0), number)
    if isinstance(node, _ROUNDED | exp.Cast):
        inner = _linear(node.this, is_total)
        known = node.to.is_type(*_NUMBERS) if isinstance(node, exp.Cast) else not node.args.get("decimals")
        return None if inner is None or not known or isinstance(node, exp.TryCast) else inner.to_integer()
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        return None
    left, right = _linear(node.this, is_total), _linear(node.expression, is_total)
    if left is None or right is None:
        return None
    if isinstance(node, exp.Add | exp.Sub):
        return left + (right if isinstance(node, exp.Add) else right.times(Fraction(-1)))
    if isinstance(node, exp.Mul):
        if left.slope and right.slope:
            return None
        factor, other = (right, left) if left.slope else (left, right)
        return None if factor.rounded else other.times(factor.start)
    if right.slope or right.rounded or not right.start:
        return None
    found = left.times(1 / right.start)
    divisor = unparenthesised(node.expression)
    # Of two integers, the quotient is rounded towards 0.
    return found.to_integer() if isinstance(divisor, exp.Literal) and divisor.is_int else found


_NUMBERS = (
    exp.DType.INT,
    exp.DType.BIGINT,
    exp.DType.SMALLINT,
    exp.DType.DECIMAL,
    exp.DType.DOUBLE,
    exp.DType.FLOAT,
)


def _constant(node: exp.Expr) -> Fraction | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return Fraction(node.name)
    except ValueError:
        return None
