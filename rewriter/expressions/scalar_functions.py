"""Every scalar function, a row each: over rows of people, and above a release.

Lists of what may be called, hints and tests are made of the rows. What is not here is refused.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.expressions import ages, bits, casts, logic, made_times, text, text_forms, text_matches, time, time_bins
from rewriter.expressions import arithmetic as numbers
from rewriter.expressions import mathematics as reals
from rewriter.expressions.build import Rule, rule
from rewriter.expressions.operators import OPERATORS, Operator


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function by the names that PostgreSQL gives it, and the parser's ``node``: Anonymous where it has no class.

    ``compiled`` is how it is computed over rows of people; None: it is answered above a release alone. ``above``:
    it is answered there, with so many ``arguments`` where the parser does not know how many it takes. Over rows of
    people ``examples`` have columns that make it go wrong: ``s i b h`` integers, ``m w n`` decimals, ``x y`` doubles,
    ``z`` any number, ``t u`` texts, ``f`` a boolean, ``d e`` dates, ``p`` a timestamp and ``q`` an instant.
    """

    names: tuple[str, ...]
    node: type[exp.Expr]
    compiled: Rule | Operator | None
    examples: tuple[str, ...] = ()
    above: bool = True
    arguments: int | None = None


def _function(
    names: str, node: type[exp.Expr], compiled: Rule | Operator | None, examples: str = "", *, above: bool = True
) -> ScalarFunction:
    return ScalarFunction(tuple(names.split()), node, compiled, tuple(filter(None, examples.split("; "))), above)


def _named(
    name: str, arguments: int, compiled: Rule | None, examples: str = "", *, above: bool = True
) -> ScalarFunction:
    return replace(_function(name, exp.Anonymous, compiled, examples, above=above), arguments=arguments)


ANY_NUMBER = -1
"""Of arguments."""

FUNCTIONS: Sequence[ScalarFunction] = (
    # choices
    _function("coalesce", exp.Coalesce, rule(logic.coalesce, "this", "expressions"), "COALESCE(x, z, 0)"),
    _function("nullif", exp.Nullif, rule(logic.nullif, "this", "expression"), "NULLIF(x, 0); NULLIF(t, 'a')"),
    _function("greatest", exp.Greatest, logic.extreme("greatest", logic.greater), "GREATEST(x, z); GREATEST(t, u)"),
    _function("least", exp.Least, logic.extreme("least", logic.lesser), "LEAST(d, e); LEAST(i, m, x)"),
    # numbers; MOD and DIV are operators by another name
    _function("abs", exp.Abs, rule(numbers.absolute), "ABS(x); ABS(h)"),
    _function("sign", exp.Sign, rule(numbers.sign), "SIGN(x); SIGN(m); SIGN(h); SIGN(i)"),
    _function("floor", exp.Floor, rule(numbers.floor), "FLOOR(w); FLOOR(z)"),
    _function("ceil ceiling", exp.Ceil, rule(numbers.ceiling), "CEIL(x); CEILING(m)"),
    _function(
        "round",
        exp.Round,
        rule(numbers.round_, "this", "decimals"),
        "ROUND(x); ROUND(x, 2); ROUND(y, 1); ROUND(z, -2); "
        "ROUND(x, 30); ROUND(x, -30); ROUND(m, 1); ROUND(w, 3); ROUND(h, -5)",
    ),
    _function(
        "trunc", exp.Trunc, rule(numbers.truncate, "this", "decimals"), "TRUNC(x, 1); TRUNC(z, -1); TRUNC(m, -3)"
    ),
    _function("mod", exp.Mod, OPERATORS[exp.Mod], "MOD(h, b); MOD(w, m); MOD(b, s)"),
    _function("div", exp.IntDiv, OPERATORS[exp.IntDiv], "DIV(i, s); DIV(h, b); DIV(b, -1)"),
    _function("pi", exp.Pi, rule(reals.pi), "PI() * x"),
    _function(
        "power",
        exp.Pow,
        rule(reals.power, "this", "expression"),
        "POWER(x, 2); POWER(x, 0.5); POWER(x, -1); POWER(i, s); "
        "POWER(-2, i); POWER(1.0000001, b); POWER(0, x); POWER(x, 3); POWER(y, 100)",
    ),
    _function(
        "log log10",
        exp.Log,
        rule(reals.logarithm, "this", "expression"),
        "LOG(x); LOG10(m); LOG(2, x); LOG(x, 2); LOG(i, b)",
    ),
    _function("ln", exp.Ln, reals.real("ln", reals.increasing(math.log)), "LN(z); LN(b)"),
    _function("sqrt", exp.Sqrt, reals.real("sqrt", reals.square_root_ends), "SQRT(z); SQRT(m)"),
    _function("cbrt", exp.Cbrt, reals.real("cbrt", reals.increasing(math.cbrt)), "CBRT(x); CBRT(z)"),
    _function("exp", exp.Exp, reals.bounded("exp", reals.increasing(math.exp)), "EXP(x); EXP(y); EXP(i); EXP(-b)"),
    _function("sin", exp.Sin, reals.real("sin", reals.between(-1, 1)), "SIN(x)"),
    _function("cos", exp.Cos, reals.real("cos", reals.between(-1, 1)), "COS(x)"),
    _function("tan", exp.Tan, reals.real("tan"), "TAN(y)"),
    _function("cot", exp.Cot, reals.bounded("cot", lambda _: None), "COT(m)"),
    _function("asin", exp.Asin, reals.real("asin", reals.between(-math.pi / 2, math.pi / 2)), "ASIN(y)"),
    _function("acos", exp.Acos, reals.real("acos", reals.between(0, math.pi)), "ACOS(x); ACOS(i)"),
    _function("atan", exp.Atan, reals.bounded("atan", reals.increasing(math.atan)), "ATAN(x)"),
    _function("atan2", exp.Atan2, rule(reals.arctangent2, "this", "expression"), "ATAN2(x, y); ATAN2(i, s)"),
    _function("sinh", exp.Sinh, reals.real("sinh", reals.increasing(math.sinh)), "SINH(x); SINH(y)"),
    _function("cosh", exp.Cosh, reals.real("cosh", reals.hyperbolic_cosine_ends), "COSH(x); COSH(y)"),
    _function("asinh", exp.Asinh, reals.real("asinh", reals.increasing(math.asinh)), "ASINH(x); ASINH(b)"),
    _function("acosh", exp.Acosh, reals.real("acosh", reals.increasing(math.acosh)), "ACOSH(x); ACOSH(i)"),
    _function("atanh", exp.Atanh, reals.real("atanh", reals.increasing(math.atanh)), "ATANH(x); ATANH(y)"),
    _function("tanh", exp.Tanh, reals.bounded("tanh", reals.increasing(math.tanh)), "TANH(x); TANH(z); TANH(b)"),
    _function("degrees", exp.Degrees, reals.real("degrees", reals.increasing(math.degrees)), "DEGREES(x); DEGREES(y)"),
    _function("radians", exp.Radians, reals.real("radians", reals.increasing(math.radians)), "RADIANS(x); RADIANS(z)"),
    _function(
        "width_bucket",
        exp.WidthBucket,
        rule(reals.width_bucket, "this", "min_value", "max_value", "num_buckets"),
        "WIDTH_BUCKET(x, 0, 10, 5); WIDTH_BUCKET(z, -1, 1, 100000); WIDTH_BUCKET(m, 0.5, 99.5, 7)",
        above=False,
    ),
    _named("gcd", 2, rule(bits.common("gcd"), "this", "expressions"), "GCD(i, 6); GCD(b, s); GCD(b, b)"),
    _named("lcm", 2, rule(bits.common("lcm"), "this", "expressions"), "LCM(i, 6); LCM(b, s); LCM(i, i)"),
    # texts
    _function("upper", exp.Upper, text.in_case("upper"), "UPPER(t)"),
    _function("lower", exp.Lower, text.in_case("lower"), "LOWER(t)"),
    _function("reverse", exp.Reverse, rule(text.reverse), "REVERSE(t)"),
    _function(
        "length char_length character_length",
        exp.Length,
        rule(text.length),
        "CHAR_LENGTH(t); CHARACTER_LENGTH(u); LENGTH(t || u)",
    ),
    _function("ascii", exp.Ascii, rule(text.ascii_code), "ASCII(t)"),
    _function("chr", exp.Chr, rule(text_forms.character, "expressions", "charset"), "CHR(65); CHR(i); CHR(s); CHR(h)"),
    _function(
        "trim btrim ltrim rtrim",
        exp.Trim,
        rule(text.trim, "this", "expression", "position"),
        "BTRIM(t, 'a,'); BTRIM(t); LTRIM(t, 'é'); RTRIM(t); TRIM(TRAILING '%' FROM t)",
    ),
    _function(
        "substring substr",
        exp.Substring,
        rule(text.substring, "this", "start", "length"),
        "SUBSTR(t, 2, 3); SUBSTR(t, 2147483647, 2147483647); SUBSTRING(t FROM 2147483647); SUBSTRING(t FROM 0 FOR 0); "
        "SUBSTRING(t FROM '[0-9]+'); SUBSTRING(u FROM '^.(.)'); SUBSTRING(t, 'a(?:b|c)?'); "
        "SUBSTRING(t FROM POSITION('a' IN u) + 1); SUBSTRING(t, i); SUBSTRING(t, s - 2, LENGTH(u))",
    ),
    _function(
        "left",
        exp.Left,
        text.side("left"),
        "LEFT(t, 2147483647); LEFT(t, -2147483648); LEFT(t, i); LEFT(u, LENGTH(t) - 2); LEFT(t, s)",
    ),
    _function(
        "right", exp.Right, text.side("right"), "RIGHT(t, -2147483648); RIGHT(t, -1); RIGHT(t, i); RIGHT(u, s - 1)"
    ),
    _function(
        "replace",
        exp.Replace,
        rule(text.replace, "this", "expression", "replacement"),
        "REPLACE(t, u, 'zz'); REPLACE(t, '', 'zz')",
    ),
    _function(
        "translate",
        exp.Translate,
        rule(text.translate, "this", "from_", "to"),
        "TRANSLATE(t, 'aé%', 'éb'); TRANSLATE(u, 'aab', 'xyz'); TRANSLATE(t || u, '', 'x'); TRANSLATE(t, 'a', NULL)",
    ),
    _function(
        "regexp_replace",
        exp.RegexpReplace,
        rule(text_matches.regexp_replace, "this", "expression", "replacement", "modifiers", "single_replace"),
        r"REGEXP_REPLACE(t, 'a', 'b', 'g'); REGEXP_REPLACE(t, '^(.)(.*)$', '\2\1'); "
        r"REGEXP_REPLACE(u, '[a-z]', 'zz', 'gi'); "
        r"REGEXP_REPLACE(t || u, ',.*', '<\&>'); REGEXP_REPLACE(t, '[0-9]', ''); REGEXP_REPLACE(t, 'a', NULL)",
    ),
    _function(
        "regexp_count",
        exp.RegexpCount,
        rule(text_matches.regexp_count, "this", "expression"),
        "REGEXP_COUNT(t, 'a'); REGEXP_COUNT(u, '[0-9]+')",
    ),
    _function("initcap", exp.Initcap, rule(text_forms.initcap, "this", "expression"), "INITCAP(t); INITCAP(t || u)"),
    _named("octet_length", 1, rule(text_forms.octets, "this", "expressions"), "OCTET_LENGTH(t)"),
    _function("bit_length", exp.BitLength, rule(text_forms.bits), "BIT_LENGTH(t)"),
    _function("overlay", exp.Overlay, None, "OVERLAY(t PLACING 'x' FROM 1)"),
    _function("concat", exp.Concat, rule(text.concat, "expressions", "safe", "coalesce"), "CONCAT(t, z, m, f, d, p)"),
    _function(
        "concat_ws", exp.ConcatWs, rule(text.concat_ws, "expressions", "safe", "coalesce"), "CONCAT_WS(',', t, u, x, f)"
    ),
    _function(
        "position strpos",
        exp.StrPosition,
        rule(text.position, "this", "substr"),
        "POSITION(u IN t); STRPOS(t, u); STRPOS(t, '')",
    ),
    _function(
        "split_part",
        exp.SplitPart,
        rule(text.split_part, "this", "delimiter", "part_index"),
        "SPLIT_PART(t, ',', 1); SPLIT_PART(t, ',', -2); SPLIT_PART(t, ',', 1000); SPLIT_PART(t, ',', -1000)",
    ),
    _function(
        "starts_with",
        exp.StartsWith,
        rule(text.starts_with, "this", "expression"),
        "STARTS_WITH(t, u); STARTS_WITH(t, '')",
    ),
    _function(
        "lpad rpad",
        exp.Pad,
        rule(text.pad, "this", "expression", "fill_pattern", "is_left"),
        "LPAD(t, 1000, 'é'); LPAD(t, 0, 'x'); RPAD(u, 7, 'xy')",
    ),
    _function("repeat", exp.Repeat, rule(text.repeat, "this", "times"), "REPEAT(t, 100); REPEAT('ab', 3)"),
    _function("md5", exp.MD5, rule(text_forms.md5), "MD5(t); MD5(t || u)"),
    # times
    _function(
        "date_trunc",
        exp.TimestampTrunc,
        rule(time.date_trunc, "this", "unit", "zone"),
        "DATE_TRUNC('millisecond', p); DATE_TRUNC('microseconds', p); DATE_TRUNC('minute', q); DATE_TRUNC('day', d); "
        "DATE_TRUNC('hour', q AT TIME ZONE 'Europe/Berlin' AT TIME ZONE 'UTC')",
    ),
    _function(
        "extract date_part",
        exp.Extract,
        rule(time.extract, "this", "expression"),
        "DATE_PART('year', d); DATE_PART('second', p); DATE_PART('isodow', q); EXTRACT(CENTURY FROM d); "
        "EXTRACT(MILLENNIUM FROM p); EXTRACT(DOY FROM d); EXTRACT(QUARTER FROM p); EXTRACT(HOUR FROM p); "
        "EXTRACT(MINUTE FROM q); EXTRACT(ISOYEAR FROM d)",
    ),
    _function(
        "date_bin",
        exp.DateBin,
        rule(time_bins.date_bin, "this", "expression", "unit", "zone"),
        "DATE_BIN('15 minutes', p, TIMESTAMP '2001-01-01'); DATE_BIN('7 days', d, TIMESTAMP '2001-01-01'); "
        "DATE_BIN('90 seconds', q, TIMESTAMPTZ '1970-01-01 00:00:07+00'); DATE_BIN('36500 days', p, '9000-01-01')",
    ),
    _function(
        "to_timestamp",
        exp.UnixToTime,
        rule(time_bins.to_timestamp),
        "TO_TIMESTAMP(x); TO_TIMESTAMP(h); TO_TIMESTAMP(b); TO_TIMESTAMP(w)",
    ),
    _function("date", exp.Date, rule(casts.date_function), "DATE(p); DATE(t)", above=False),
    _named(
        "make_date",
        3,
        rule(time.make_date, "this", "expressions"),
        "MAKE_DATE(2000 + s, 2, 29); MAKE_DATE(i, s, s); MAKE_DATE(2024, s, s); MAKE_DATE(2020, s % 13, s)",
    ),
    _function(
        "make_timestamp",
        exp.TimestampFromParts,
        rule(made_times.make_timestamp, "year", "month", "day", "hour", "min", "sec"),
        "MAKE_TIMESTAMP(i, s, s, s, s, x); MAKE_TIMESTAMP(2000 + s, 2, 29, 23, 59, 59.5); "
        "MAKE_TIMESTAMP(2020, 1, 2, 3, 4, m)",
    ),
    _named(
        "timezone",
        2,
        rule(time.timezone, "this", "expressions"),
        "TIMEZONE('Asia/Kolkata', q); TIMEZONE('Asia/Kolkata', p)",
        above=False,
    ),
    _function(
        "to_char",
        exp.ToChar,
        rule(time.to_char, "this", "format"),
        "TO_CHAR(p, 'YYYY-MM-DD HH24:MI:SS'); TO_CHAR(d, 'DDD, MM/YYYY'); TO_CHAR(q, 'HH24.MI'); "
        "TO_CHAR(p, 'FMDay, Month DD Dy Mon YY'); TO_CHAR(d, 'IYYY-\"W\"IW ID D WW W Q'); "
        "TO_CHAR(p, 'HH12:MI:SS.US AM %')",
    ),
    _function("to_date", exp.StrToDate, None, "TO_DATE(t, 'YYYY-MM-DD')"),
    _named("age", 2, rule(ages.age, "this", "expressions"), "EXTRACT(DAY FROM AGE(p, d)); AGE(d, p) > '40 days'"),
    _named("isfinite", 1, None, "ISFINITE(d)"),
    _function("to_hex", exp.Hex, None, "TO_HEX(i); TO_HEX(b)"),
    # lists and JSON
    _function("unnest", exp.Explode, None, "UNNEST(ARRAY[i])"),
    _function("generate_series", exp.ExplodingGenerateSeries, None, "GENERATE_SERIES(1, 1)"),
    _function("array_length", exp.ArraySize, None, "ARRAY_LENGTH(ARRAY[i, s], 1)"),
    _named("cardinality", 1, None, "CARDINALITY(ARRAY[i, s])"),
    _function("array_to_string", exp.ArrayToString, None, "ARRAY_TO_STRING(ARRAY[t, u], ',')"),
    _function("string_to_array", exp.StringToArray, None, "STRING_TO_ARRAY(t, ',')"),
    _named("to_json", 1, None, "TO_JSON(i)"),
    _named("json_build_object", ANY_NUMBER, None, "JSON_BUILD_OBJECT('n', i)"),
    _named("json_build_array", ANY_NUMBER, None, "JSON_BUILD_ARRAY(i, t)"),
)

RULES = {row.node: row.compiled for row in FUNCTIONS if isinstance(row.compiled, Rule) and row.arguments is None}

NAMED = {
    row.names[0].upper(): row.compiled
    for row in FUNCTIONS
    if isinstance(row.compiled, Rule) and row.arguments is not None
}
"""What the parser has no class for."""

NAMES = sorted({name for row in FUNCTIONS if row.compiled is not None for name in row.names})
"""Every function that may be called over rows of people."""


_AGGREGATES = ("count", "sum", "avg", "min", "max", "median", "mode", "stddev", "variance", "corr", "percentile_cont")
"""The aggregates that are misspelt most."""

_OF_OTHER_SYSTEMS = {
    "ISNULL": "write COALESCE(x, y)",
    "LEN": "write LENGTH(x)",
    "GETDATE": "write CURRENT_DATE or now()",
    "DATEADD": "write x + INTERVAL '1 day'",
    "STRFTIME": "write TO_CHAR(day, 'YYYY-MM')",
    "CHARINDEX": "write POSITION('a' IN x)",
    "DECODE": "write CASE x WHEN 1 THEN 'a' ELSE 'b' END",
}
"""What PostgreSQL has in the place of functions of other systems."""


def nearest(name: str) -> str:
    """A hint that names what would work.

    >>> nearest("lenght"), nearest("cuont"), nearest("isnull")
    ('did you mean length?', 'did you mean count or cot?', 'write COALESCE(x, y)')
    """
    if name.upper() in _OF_OTHER_SYSTEMS:
        return _OF_OTHER_SYSTEMS[name.upper()]
    close = difflib.get_close_matches(name.lower(), [*_AGGREGATES, *NAMES], n=2, cutoff=0.65)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "the guide lists the functions that are answered, those of numbers, texts and times among them"
