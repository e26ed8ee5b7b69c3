"""What an expression may contain: one line per class of syntax nodes. What is not here is refused.

The second argument of a rule names the parts of the node that it looks at: a node with any other part is refused, so
that nothing an analyst writes is silently left out.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable

from sqlglot import exp

from rewriter.dialects import refuse
from rewriter.expressions import arithmetic as numbers
from rewriter.expressions import casts, literals, logic, text, time
from rewriter.expressions import mathematics as reals
from rewriter.expressions.build import Context, Registry, rule
from rewriter.expressions.value import Value

RULES: Registry = {
    # literals and columns (columns are in rewriter.total)
    exp.Literal: rule(literals.number_literal, "this", "is_string"),
    exp.RawString: rule(literals.text_literal),
    exp.ByteString: rule(literals.text_literal),
    exp.Boolean: rule(literals.boolean_literal),
    exp.Null: rule(literals.null_literal),
    exp.Interval: rule(literals.interval_literal, "this", "unit"),
    exp.Paren: rule(logic.parentheses),
    # comparisons and logic
    exp.EQ: logic.comparison(exp.EQ),
    exp.NEQ: logic.comparison(exp.NEQ),
    exp.LT: logic.comparison(exp.LT),
    exp.LTE: logic.comparison(exp.LTE),
    exp.GT: logic.comparison(exp.GT),
    exp.GTE: logic.comparison(exp.GTE),
    exp.NullSafeEQ: logic.comparison(exp.NullSafeEQ),
    exp.NullSafeNEQ: logic.comparison(exp.NullSafeNEQ),
    exp.Not: rule(logic.negation),
    exp.Is: rule(logic.is_test, "this", "expression", "negate"),
    exp.Between: rule(logic.between, "this", "low", "high", "symmetric"),
    exp.In: rule(logic.membership, "this", "expressions", "query"),
    exp.Exists: rule(logic.exists),
    exp.Like: rule(logic.like, "this", "expression", "negate"),
    exp.ILike: rule(logic.like, "this", "expression", "negate"),
    exp.Escape: rule(logic.escaped, "this", "expression"),
    exp.RegexpLike: text.regex(ignore_case=False),
    exp.RegexpILike: text.regex(ignore_case=True),
    # choices
    exp.Case: rule(logic.case, "this", "ifs", "default"),
    exp.If: rule(logic.if_function, "this", "true", "false"),
    exp.Coalesce: rule(logic.coalesce, "this", "expressions"),
    exp.Nullif: rule(logic.nullif, "this", "expression"),
    exp.Greatest: logic.extreme("greatest", logic.greater),
    exp.Least: logic.extreme("least", logic.lesser),
    exp.Cast: rule(casts.cast, "this", "to"),
    exp.Date: rule(casts.date_function),
    # numbers
    exp.Neg: rule(numbers.negate),
    exp.Abs: rule(numbers.absolute),
    exp.Sign: rule(numbers.sign),
    exp.Floor: rule(numbers.floor),
    exp.Ceil: rule(numbers.ceiling),
    exp.Round: rule(numbers.round_, "this", "decimals"),
    exp.Trunc: rule(numbers.truncate, "this", "decimals"),
    exp.Pi: rule(reals.pi),
    exp.Pow: rule(reals.power, "this", "expression"),
    exp.Log: rule(reals.logarithm, "this", "expression"),
    exp.Ln: reals.real("ln", reals.increasing(math.log)),
    exp.Sqrt: reals.real("sqrt", reals.square_root_ends),
    exp.Cbrt: reals.real("cbrt", reals.increasing(math.cbrt)),
    exp.Exp: reals.bounded("exp", reals.increasing(math.exp)),
    exp.Sin: reals.real("sin", reals.between(-1, 1)),
    exp.Cos: reals.real("cos", reals.between(-1, 1)),
    exp.Tan: reals.real("tan"),
    exp.Cot: reals.bounded("cot", lambda _: None),
    exp.Asin: reals.real("asin", reals.between(-math.pi / 2, math.pi / 2)),
    exp.Acos: reals.real("acos", reals.between(0, math.pi)),
    exp.Atan: reals.bounded("atan", reals.increasing(math.atan)),
    exp.Atan2: rule(reals.arctangent2, "this", "expression"),
    exp.Degrees: reals.real("degrees", reals.increasing(math.degrees)),
    exp.Radians: reals.real("radians", reals.increasing(math.radians)),
    exp.WidthBucket: rule(reals.width_bucket, "this", "min_value", "max_value", "num_buckets"),
    # texts
    exp.Upper: text.in_case("upper"),
    exp.Lower: text.in_case("lower"),
    exp.Reverse: rule(text.reverse),
    exp.Length: rule(text.length),
    exp.Ascii: rule(text.ascii_code),
    exp.Trim: rule(text.trim, "this", "expression", "position"),
    exp.Substring: rule(text.substring, "this", "start", "length"),
    exp.Left: text.side("left"),
    exp.Right: text.side("right"),
    exp.Replace: rule(text.replace, "this", "expression", "replacement"),
    exp.Concat: rule(text.concat, "expressions", "safe", "coalesce"),
    exp.ConcatWs: rule(text.concat_ws, "expressions", "safe", "coalesce"),
    exp.StrPosition: rule(text.position, "this", "substr"),
    exp.SplitPart: rule(text.split_part, "this", "delimiter", "part_index"),
    exp.StartsWith: rule(text.starts_with, "this", "expression"),
    exp.Pad: rule(text.pad, "this", "expression", "fill_pattern", "is_left"),
    exp.Repeat: rule(text.repeat, "this", "times"),
    # time
    exp.TimestampTrunc: rule(time.date_trunc, "this", "unit", "zone"),
    exp.AtTimeZone: rule(time.at_time_zone, "this", "zone"),
    exp.Extract: rule(time.extract, "this", "expression"),
    exp.TimeToStr: rule(time.to_char, "this", "format"),
}


def _add(left: Value, right: Value, context: Context) -> Value:
    if time.involves_time(left, right):
        return time.plus(left, right, context)
    return numbers.add(*numbers.numbers(left, right, context, "+"), context)


def _subtract(left: Value, right: Value, context: Context) -> Value:
    if time.involves_time(left, right):
        return time.minus(left, right, context)
    return numbers.subtract(*numbers.numbers(left, right, context, "-"), context)


def _arithmetic(function: Callable[[Value, Value, Context], Value], sign: str) -> Operator:
    def apply(left: Value, right: Value, context: Context) -> Value:
        return function(*numbers.numbers(left, right, context, sign), context)

    return apply


def _integer_division(left: Value, right: Value, context: Context) -> Value:
    if any(value.type.numeric and value.type.kind != "integer" for value in (left, right)):
        raise refuse("DIV is answered for integers only", "write TRUNC(a / b)")
    return numbers.integer_quotient(*numbers.numbers(left, right, context, "DIV"), context)


Operator = Callable[[Value, Value, Context], Value]

OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.And: lambda left, right, context: logic.connect(exp.And, left, right, context),
    exp.Or: lambda left, right, context: logic.connect(exp.Or, left, right, context),
    exp.Add: _add,
    exp.Sub: _subtract,
    exp.Mul: _arithmetic(numbers.multiply, "*"),
    exp.Div: _arithmetic(numbers.divide, "/"),
    exp.Mod: _arithmetic(numbers.modulo, "%"),
    exp.IntDiv: _integer_division,
    exp.DPipe: text.concatenate,
}
"""Operators with two sides. A long chain of them is compiled without recursion."""

OPERATOR_PARTS = frozenset({"this", "expression", "safe", "typed"})

ANONYMOUS: dict[str, Callable[[list[exp.Expr], Context], Value]] = {
    "MAKE_DATE": time.make_date,
    "TIMEZONE": time.timezone,
}

NAMES = [
    "abs",
    "acos",
    "ascii",
    "asin",
    "atan",
    "atan2",
    "btrim",
    "cbrt",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cot",
    "date",
    "date_part",
    "date_trunc",
    "degrees",
    "div",
    "exp",
    "extract",
    "floor",
    "greatest",
    "least",
    "left",
    "length",
    "ln",
    "log",
    "log10",
    "lower",
    "lpad",
    "ltrim",
    "make_date",
    "mod",
    "nullif",
    "pi",
    "position",
    "power",
    "radians",
    "repeat",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "sign",
    "sin",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "substring",
    "tan",
    "timezone",
    "to_char",
    "trim",
    "trunc",
    "upper",
    "width_bucket",
]
"""Every function an analyst may call in an expression, by the name that PostgreSQL gives it."""


def nearest(name: str) -> str:
    """A hint that names what would work.

    >>> nearest("lenght")
    'did you mean length?'
    """
    close = difflib.get_close_matches(name.lower(), NAMES, n=2, cutoff=0.65)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "functions are " + ", ".join(NAMES)
