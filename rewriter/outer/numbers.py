"""Numbers of an outer SELECT as PostgreSQL computes them: a NUMERIC that is divided is a double in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.dialects import Fact, NumberFormat, call, number_printed
from rewriter.expressions import OF_TIMESTAMP
from rewriter.outer.construct import ConstructTable, Spelling, Trait

_STANDS_FOR_NUMERIC: Fact[bool] = Fact("stands for numeric")
"""Of a cast to DOUBLE that nobody wrote: the value is NUMERIC in PostgreSQL."""

_WHOLE: Fact[bool] = Fact("whole")
"""Of a NUMERIC that is a whole number."""

HOLDS_DOUBLES: Fact[bool] = Fact("holds doubles")
"""Of a column that is a double in PostgreSQL, too, as a released mean may not be."""

EVEN = "ROUND_EVEN"
_INTEGERS = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_WIDE = exp.DataType.build("decimal(38, 0)")


def is_double(node: exp.Expr, constructs: ConstructTable) -> bool:
    """Whether PostgreSQL computes with doubles: a cast, a column or DATE_PART is one, and they prevail."""
    return any(_has_doubles(part) for part in _operands(node, constructs))


def _has_doubles(part: exp.Expr) -> bool:
    if isinstance(part, exp.Cast):
        return part.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT) and not _STANDS_FOR_NUMERIC.is_on(part)
    return OF_TIMESTAMP.is_on(part) or HOLDS_DOUBLES.is_on(part)


def divided(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """A plain ``/``: the database truncates integers by its own setting, knowing their types."""
    left, right = (_exact_part(side, spelling) for side in (node.this, node.args["expression"]))
    return exp.Div(this=left, expression=right, typed=False, safe=False)


def whole_quotient(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """DIV(a, b), also of decimals."""
    left, right = exp.Paren(this=node.this), exp.Paren(this=node.args["expression"])
    whole = call("TRUNC", exp.Div(this=left, expression=right, typed=False, safe=False))
    return _WHOLE.on(whole, True)


def is_whole(node: exp.Expr) -> bool:
    """Whether a NUMERIC is a whole number by the way it is spelt here."""
    return isinstance(node, exp.Anonymous) and (node.name == EVEN or _WHOLE.is_on(node))


def cast(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """NUMERIC without digits holds any number in PostgreSQL, and three decimals in DuckDB."""
    to = node.args["to"]
    if to.this in _INTEGERS:
        _to_integer(node, spelling.constructs)
    if to.this is not exp.DType.DECIMAL or to.expressions:
        return node
    return exp.Cast(this=node.this, to=_WIDE.copy()) if _WHOLE.is_on(node.this) else _double(node.this)


def rounded(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """ROUND(x) of what PostgreSQL has as a double takes halves to the even neighbour."""
    if node.args.get("decimals") is not None or not is_double(node.this, spelling.constructs):
        return node
    return call(EVEN, node.this, exp.Literal.number(0))


def printed(node: exp.Expr, pattern: NumberFormat, spelling: Spelling) -> exp.Expr:
    """A number by a format: a double by its exact value, any other with halves rounded away from zero."""
    decimals = len(pattern.decimals)
    if is_double(node, spelling.constructs):
        digits = call("PRINTF", exp.Literal.string(f"%.{decimals}f"), node)
    else:
        rounded_off = call("ROUND", node, exp.Literal.number(decimals))
        exact = exp.TryCast(this=rounded_off, to=exp.DataType.build(f"decimal(38, {decimals})"))
        digits = exp.Cast(this=exact, to=exp.DataType.build("text"))
    return number_printed(digits, pattern)


def put_under(node: exp.Expr, wrapper: exp.Expr) -> None:
    """Put ``node`` itself, not a copy of it, under ``wrapper``, in the place of its first operand: rules for the parts
    of the node may be still to come."""
    node.replace(wrapper)
    if isinstance(wrapper, exp.Anonymous):
        wrapper.set("expressions", [node, *wrapper.expressions[1:]])
    else:
        wrapper.set("this", node)


def _operands(node: exp.Expr, constructs: ConstructTable) -> Iterator[exp.Expr]:
    """The operands from which arithmetic computes a number, and the steps in between."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        if constructs.has(found, Trait.OPERAND_TYPE):
            stack.extend(found.iter_expressions())


def _exact_part(operand: exp.Expr, spelling: Spelling) -> exp.Expr:
    """EXTRACT is NUMERIC and DATE_PART a double in PostgreSQL; both are integers in DuckDB, whose quotient differs."""
    bare = operand
    while isinstance(bare, exp.Paren | exp.Neg | exp.Add | exp.Sub | exp.Mul):
        bare = bare.this
    if not spelling.constructs.has(bare, Trait.FIELD):
        return operand
    return exp.cast(operand, "double") if is_double(operand, spelling.constructs) else _double(operand)


def _double(operand: exp.Expr) -> exp.Expr:
    """What is NUMERIC in PostgreSQL."""
    return _STANDS_FOR_NUMERIC.on(exp.Cast(this=operand, to=exp.DataType.build("double")), True)


def _to_integer(node: exp.Expr, constructs: ConstructTable) -> None:
    """A NUMERIC becomes an integer with halves rounded away from zero; DuckDB takes those of its doubles to even."""
    operand = node.this
    fraction = any(constructs.has(part, Trait.DIVIDED) for part in _operands(operand, constructs))
    if fraction and not is_double(operand, constructs):
        node.set("this", call("ROUND", operand))
