"""Types that PostgreSQL's functions and aggregates take and give: an extract of ``pg_proc``, by kinds of types.

A function that is not listed takes any types, and nothing is known of its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import Kind
from rewriter.refused import NO_FUNCTION, TYPE_MISMATCH

Kinds = frozenset[Kind]
"""The kinds that a value may have. NULL is that of a quoted literal, whose type is decided by its place."""
ANY_KIND: Kinds = frozenset(Kind)
NUMBERS: Kinds = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE})
NUMERIC_OR_DOUBLE: Kinds = frozenset({Kind.DECIMAL, Kind.DOUBLE})
MOMENTS: Kinds = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME, Kind.INTERVAL})

_INTEGER, _DOUBLE, _BOOLEAN, _TEXT = (
    frozenset({kind}) for kind in (Kind.INTEGER, Kind.DOUBLE, Kind.BOOLEAN, Kind.TEXT)
)
_LENGTHS: Kinds = NUMBERS | {Kind.INTERVAL}


@dataclass(frozen=True, slots=True)
class FunctionTypes:
    """A function takes values of the given kinds in its ``parts``; ``result`` is None where it is that of the first.

    The values in the parts that are ``alike`` have one type, which is that of the result; ``compared``: the first of
    them is compared with the second. ``ordered`` are the kinds of x in WITHIN GROUP (ORDER BY x). ``word`` is its name
    where the parser has another one, ``unlike`` the SQLSTATE where values that should be alike have no common type.
    """

    parts: tuple[tuple[str, Kinds], ...] = ()
    result: Kinds | None = None
    alike: tuple[str, ...] = ()
    compared: bool = False
    ordered: Kinds = ANY_KIND
    word: str = ""
    unlike: str = TYPE_MISMATCH


def _of(first: Kinds, result: Kinds | None = None, **others: Kinds) -> FunctionTypes:
    return FunctionTypes((("this", first), *others.items()), result)


_SCALAR: Mapping[type[exp.Expr], FunctionTypes] = {
    exp.Abs: _of(_LENGTHS),
    **dict.fromkeys((exp.Sign, exp.Floor, exp.Ceil, exp.Exp, exp.Ln, exp.Sqrt), _of(NUMBERS, NUMERIC_OR_DOUBLE)),
    **dict.fromkeys((exp.Round, exp.Trunc), _of(NUMBERS, NUMERIC_OR_DOUBLE, decimals=_INTEGER)),
    **dict.fromkeys((exp.Log, exp.Pow), _of(NUMBERS, NUMERIC_OR_DOUBLE, expression=NUMBERS)),
    **dict.fromkeys(
        (
            exp.Cbrt,
            exp.Sin,
            exp.Cos,
            exp.Tan,
            exp.Cot,
            exp.Asin,
            exp.Acos,
            exp.Atan,
            exp.Sinh,
            exp.Cosh,
            exp.Tanh,
            exp.Asinh,
            exp.Acosh,
            exp.Atanh,
            exp.Degrees,
            exp.Radians,
        ),
        _of(NUMBERS, _DOUBLE),
    ),
    exp.Atan2: _of(NUMBERS, _DOUBLE, expression=NUMBERS),
    **dict.fromkeys((exp.Upper, exp.Lower, exp.Reverse, exp.Initcap, exp.MD5), _of(_TEXT, _TEXT)),
    **dict.fromkeys((exp.Length, exp.Ascii, exp.BitLength), _of(_TEXT, _INTEGER)),
    exp.Trim: _of(_TEXT, _TEXT, expression=_TEXT),
    exp.Substring: _of(_TEXT, _TEXT, start=_INTEGER | _TEXT, length=_INTEGER | _TEXT),
    **dict.fromkeys((exp.Left, exp.Right), _of(_TEXT, _TEXT, expression=_INTEGER)),
    exp.Replace: _of(_TEXT, _TEXT, expression=_TEXT, replacement=_TEXT),
    exp.RegexpReplace: _of(_TEXT, _TEXT, expression=_TEXT, replacement=_TEXT),
    exp.Translate: _of(_TEXT, _TEXT, from_=_TEXT, to=_TEXT),
    exp.StrPosition: FunctionTypes((("this", _TEXT), ("substr", _TEXT)), _INTEGER, word="POSITION"),
    exp.SplitPart: _of(_TEXT, _TEXT, delimiter=_TEXT, part_index=_INTEGER),
    exp.StartsWith: _of(_TEXT, _BOOLEAN, expression=_TEXT),
    exp.Pad: FunctionTypes((("this", _TEXT), ("expression", _INTEGER), ("fill_pattern", _TEXT)), _TEXT, word="LPAD"),
    exp.Repeat: _of(_TEXT, _TEXT, times=_INTEGER),
    **dict.fromkeys((exp.Concat, exp.ConcatWs), FunctionTypes(result=_TEXT)),
    exp.Extract: FunctionTypes((("expression", MOMENTS),), NUMBERS),
    exp.TimestampTrunc: FunctionTypes(
        (("this", MOMENTS),), frozenset({Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.INTERVAL}), word="DATE_TRUNC"
    ),
    exp.ToChar: _of(NUMBERS | MOMENTS, _TEXT),
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), FunctionTypes(alike=("this", "expressions"))),
    exp.Nullif: FunctionTypes(alike=("this", "expression"), compared=True),
}

_OVER_ROWS: Mapping[type[exp.Expr], FunctionTypes] = {
    exp.Count: FunctionTypes(result=_INTEGER),
    exp.Sum: _of(_LENGTHS, _LENGTHS),
    exp.Avg: _of(_LENGTHS, NUMERIC_OR_DOUBLE | {Kind.INTERVAL}),
    **dict.fromkeys((exp.Min, exp.Max), _of(ANY_KIND - _BOOLEAN)),
    **dict.fromkeys(
        (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop), _of(NUMBERS, NUMERIC_OR_DOUBLE)
    ),
    **dict.fromkeys((exp.Corr, exp.CovarPop, exp.CovarSamp), _of(NUMBERS, _DOUBLE, expression=NUMBERS)),
    exp.LogicalAnd: FunctionTypes((("this", _BOOLEAN),), _BOOLEAN, word="BOOL_AND"),
    exp.LogicalOr: FunctionTypes((("this", _BOOLEAN),), _BOOLEAN, word="BOOL_OR"),
    exp.BitwiseAndAgg: FunctionTypes((("this", _INTEGER),), word="BIT_AND"),
    exp.BitwiseOrAgg: FunctionTypes((("this", _INTEGER),), word="BIT_OR"),
    exp.BitwiseXorAgg: FunctionTypes((("this", _INTEGER),), word="BIT_XOR"),
    exp.GroupConcat: FunctionTypes((("this", _TEXT), ("separator", _TEXT)), _TEXT, word="STRING_AGG"),
    exp.PercentileCont: FunctionTypes(result=frozenset({Kind.DOUBLE, Kind.INTERVAL}), ordered=_LENGTHS),
    **dict.fromkeys((exp.AnyValue, exp.FirstValue, exp.LastValue, exp.NthValue), _of(ANY_KIND)),
    **dict.fromkeys((exp.Lag, exp.Lead), FunctionTypes(alike=("this", "default"), unlike=NO_FUNCTION)),
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile), FunctionTypes(result=_INTEGER)),
    **dict.fromkeys((exp.PercentRank, exp.CumeDist), FunctionTypes(result=_DOUBLE)),
}

FUNCTION_TYPES: Mapping[type[exp.Expr], FunctionTypes] = {**_SCALAR, **_OVER_ROWS}
