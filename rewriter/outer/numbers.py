"""Numbers of an outer SELECT as PostgreSQL rounds and prints them: a NUMERIC that is divided is a double in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from rewriter.declared import Kind, Type
from rewriter.dialects import Fact

STANDS_FOR_NUMERIC: Fact[bool] = Fact("stands for numeric")
"""Of a cast to DOUBLE that nobody wrote: the value is NUMERIC in PostgreSQL."""

_ARITHMETIC = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Abs, exp.Coalesce, exp.Nullif)
_TRUTHS = (exp.Predicate, exp.And, exp.Or, exp.Not, exp.Boolean, exp.LogicalAnd, exp.LogicalOr)
_MOST_DIGITS = 30
_EVEN = "ROUND_EVEN"
_Schema = Mapping[str, Mapping[str, Type]]


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a number is computed from by arithmetic, and the steps in between."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        if isinstance(found, _ARITHMETIC):
            stack.extend(found.iter_expressions())


def _is_double(node: exp.Expr) -> bool:
    """Whether PostgreSQL computes with doubles: one is written as such, and they prevail."""
    return any(
        isinstance(part, exp.Cast)
        and part.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT)
        and not STANDS_FOR_NUMERIC.is_on(part)
        for part in _operands(node)
    )


def to_integer(node: exp.Expr) -> None:
    """A NUMERIC becomes an integer with halves rounded away from zero; DuckDB takes those of its doubles to even."""
    operand = node.this
    divided = any(isinstance(part, exp.Div | exp.Avg) for part in _operands(operand))
    if divided and not _is_double(operand):
        node.set("this", exp.Round(this=operand))


def rounded(node: exp.Expr) -> exp.Expr:
    """ROUND(x) of what PostgreSQL has as a double takes halves to the even neighbour."""
    if node.args.get("decimals") is not None or not _is_double(node.this):
        return node
    return exp.Anonymous(this=_EVEN, expressions=[node.this, exp.Literal.number(0)])


def printed(node: exp.Expr, schema: _Schema, *, short: bool = False) -> exp.Expr:
    """An operand of a text, as PostgreSQL prints it. ``short``: a boolean is t or f, as CONCAT has it."""
    bare = node
    while isinstance(bare, exp.Paren):
        bare = bare.this
    digits = _digits(bare)
    type_ = _type_of(bare, schema)
    if digits is not None:
        to = exp.DataType.build(f"decimal(38, {digits})")
        return exp.TryCast(this=node, to=to)
    if short and (isinstance(bare, _TRUTHS) or (type_ is not None and type_.kind is Kind.BOOLEAN)):
        return exp.Left(this=_as_text(node), expression=exp.Literal.number(1))
    if _is_double(bare) or (type_ is not None and type_.kind is Kind.DOUBLE):
        whole = [_as_text(node), exp.Literal.string(r"\.0$"), exp.Literal.string("")]
        return exp.Anonymous(this="REGEXP_REPLACE", expressions=whole)
    return node


def _digits(node: exp.Expr) -> int | None:
    """How many decimals it is printed with, where that follows from the text: ROUND(x, 2) has two of them."""
    if isinstance(node, exp.Floor | exp.Ceil) or (isinstance(node, exp.Anonymous) and node.name == _EVEN):
        return 0
    if not isinstance(node, exp.Round | exp.Trunc):
        return None
    decimals = node.args.get("decimals")
    if decimals is None or isinstance(decimals, exp.Neg):
        return 0
    if isinstance(decimals, exp.Literal) and decimals.is_int and int(decimals.name) <= _MOST_DIGITS:
        return int(decimals.name)
    return None


def _type_of(node: exp.Expr, schema: _Schema) -> Type | None:
    """The type of a column of a release, which is named by its table."""
    return schema.get(node.table, {}).get(node.name) if isinstance(node, exp.Column) else None


def _as_text(node: exp.Expr) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType.build("text"))
