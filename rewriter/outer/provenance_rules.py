"""What is known of the result of an operator or a function, from what is known of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.outer.provenance import PUBLIC, Measured, add, divide, literal, multiply, rounded, unknown

# Forms


def literal_number(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return PUBLIC if node.args.get("is_string") else literal(node.name)


def inner(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return parts[0]


def first(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    """``NULLIF(x, 0)``: x, wherever it is shown."""
    return unknown(*parts) if any(part.constant is None for part in parts[1:]) else parts[0]


def first_not_null(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    """``COALESCE(x, 0)``: x, wherever it is shown, unless it hides NULLs that x is guarded by."""
    return unknown(*parts) if parts[0].guarded else first(node, parts)


def sum_of(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return add(parts[0], parts[1])


def difference(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return add(parts[0], parts[1], -1)


def product(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return multiply(parts[0], parts[1])


def quotient(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return divide(parts[0], parts[1])


def negated(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    return multiply(parts[0], literal("-1")) if parts[0].noisy else _negative(parts[0])


def _negative(one: Measured) -> Measured:
    constant = one.constant
    return PUBLIC if constant is None else replace(literal(str(-constant)), whole=one.whole)


def cast_number(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    """To a number: rounded to its digits. NUMERIC without digits holds any."""
    to, one = node.args["to"], parts[0]
    if to.this in (exp.DType.DOUBLE, exp.DType.FLOAT) or (to.this is exp.DType.DECIMAL and not to.expressions):
        return replace(one, whole=False)
    if to.this is exp.DType.DECIMAL:
        digits = [size.this.name for size in to.expressions] + ["0"]
        return replace(rounded(one, int(digits[1])), whole=False) if digits[1].isdigit() else unknown(one)
    if to.this in (exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT):
        return replace(rounded(one, 0), whole=True)
    return unknown(one)


def rounded_number(node: exp.Expr, parts: Sequence[Measured]) -> Measured:
    digits = parts[1].constant if len(parts) > 1 else Fraction(0)
    if len(parts) > 2 or digits is None or digits.denominator != 1 or abs(digits) > 30:
        return unknown(*parts)
    return rounded(parts[0], int(digits))


# Signs


def of_first(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    """Not below 0 where the first operand is not."""
    return bool(parts) and isinstance(node.this, exp.Expr) and parts[0].nonnegative


def of_all(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    """Not below 0 where no operand is."""
    return all(part.nonnegative for part in parts)


def always(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    """Never below 0."""
    return True


def of_number(node: exp.Expr, parts: Sequence[Measured]) -> bool:
    """A number that is written out has no sign."""
    return not node.is_string
