"""How an answer grows with the block that gives it: what hangs on a block's size does not stand for the whole.

A count or a sum of n rows grows as n, a mean as n⁰, the quotient of two sums as n⁰ too, a standard error as n^-½. This
power is found from the expression alone; an answer over blocks needs 0. MIN, MAX and numbers of different values have
no power: the range of a hundred rows is narrower than that of ten thousand, however many blocks are averaged. So an
expression with one of them is refused, whatever it is divided by.

What a power says is true of large blocks: COUNT(*) - 1 grows as n.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from rewriter.refused import Refused
from rewriter.statement import is_aggregate

_SUMS = (exp.Count, exp.Sum, exp.CountIf, exp.RegrCount, exp.RegrSxx, exp.RegrSxy, exp.RegrSyy)
_ENDS = (exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd)
_KEPT = (exp.Paren, exp.Cast, exp.TryCast, exp.Neg, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Nullif, exp.Filter)
"""The first operand decides how these grow."""
_LARGEST = (exp.Add, exp.Sub, exp.Greatest, exp.Least, exp.Coalesce)


def check_power(node: exp.Expr) -> None:
    """Refuse an expression whose answers hang on how many rows a block has. Raises :class:`Refused`.

    >>> from sqlglot import parse_one
    >>> check_power(parse_one("SUM(a) / NULLIF(COUNT(*) - 1, 0) + AVG(b)"))
    >>> check_power(parse_one("STDDEV(a) / SQRT(COUNT(*))"))
    Traceback (most recent call last):
    rewriter.refused.Refused: a block's answer stands for the whole, and this one hangs on how many rows a block has
    """
    power = _power(node)
    while isinstance(node, exp.Paren | exp.Filter | exp.Cast):
        node = node.this
    if isinstance(node, _SUMS):
        raise Refused(
            "a block's answer stands for the whole, and a count or a sum of a block does not",
            hint="ask for the COUNT or SUM itself, without blocks; a quotient of sums is answered over blocks",
        )
    if power:
        raise Refused(
            "a block's answer stands for the whole, and this one hangs on how many rows a block has",
            hint="divide sums by sums or by counts: then it is the same of ten rows and of a thousand, or ask for its"
            " aggregates without blocks",
        )


def _power(node: exp.Expr) -> Fraction:
    """The power of the number of rows by which an expression grows."""
    if isinstance(node, exp.Window | exp.Query):
        return Fraction(0)
    if isinstance(node, exp.WithinGroup) or is_aggregate(node):
        return _of_aggregate(node)
    if isinstance(node, exp.Mul):
        return _power(node.this) + _power(node.expression)
    if isinstance(node, exp.Div | exp.IntDiv):
        return _power(node.this) - _power(node.expression)
    if isinstance(node, exp.Sqrt):
        return _power(node.this) / 2
    if isinstance(node, _KEPT):
        return _power(node.this)
    powers = [_power(one) for one in node.iter_expressions() if not isinstance(node, exp.Case)]
    if isinstance(node, exp.Case):
        for one in node.args["ifs"]:
            _power(one.this)  # conditions choose rows, and their ends are refused
        values = [*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")]
        powers = [_power(one) for one in values if one is not None]
    if isinstance(node, (*_LARGEST, exp.Case)):
        return max(powers, default=Fraction(0))
    # Of what grows, no other function is known to grow as any power; what does not grow may be put into any.
    return next((one for one in powers if one), Fraction(0))


def _of_aggregate(node: exp.Expr) -> Fraction:
    called = node
    while isinstance(called, exp.Filter | exp.WithinGroup):
        called = called.this
    if isinstance(called, _ENDS) or _is_end(called) or isinstance(called.this, exp.Distinct):
        raise Refused(
            "a block's answer stands for the whole: the least, the greatest and the different values of a block are"
            " fewer than those of all",
            hint="PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY x) minus that of 0.05 is a range that is answered over"
            " blocks; or ask for MIN, MAX or COUNT(DISTINCT x) itself, without blocks",
        )
    return Fraction(1) if isinstance(called, _SUMS) else Fraction(0)


def _is_end(called: exp.Expr) -> bool:
    """Whether a percentile is the least or the greatest value, or an aggregate is a number of different values."""
    if isinstance(called, exp.ApproxDistinct):
        return True
    share = called.this if isinstance(called, exp.PercentileCont | exp.PercentileDisc) else None
    while isinstance(share, exp.Paren | exp.Cast):
        share = share.this
    return isinstance(share, exp.Literal) and not share.is_string and float(share.this) in (0, 1)
