"""Scalar functions above releases: those of the one table of functions, with what is particular to some of them.

What could make one value grow without bound (REPEAT, LPAD, REPLACE) takes literals of limited size.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import Type, measure
from rewriter.dialects import DUCKDB, call, format_of, number, pattern_of, printed, when
from rewriter.expressions import (
    DAY,
    FUNCTIONS,
    check_capture,
    constant_point,
    constant_span,
    first_group,
    length_of,
    replacement_of,
)
from rewriter.outer import numbers, printed_texts
from rewriter.outer import provenance_rules as rules
from rewriter.outer.construct import ORDINARY, Construct, OuterFunction, Spelling, Trait
from rewriter.outer.json_values import COPIES, json_key, json_value
from rewriter.outer.outer_syntax import whole_literal
from rewriter.refused import BAD_PARAMETER, TOO_COMPLEX, Refused

MAX_PADDED = 1_000
MAX_REPLACEMENT = 20
MAX_SERIES = 100_000

PARTS_OF_TIME = frozenset(
    [
        "YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DAYOFWEEK", "ISODOW", "DOY", "DAYOFYEAR",
        "HOUR", "MINUTE", "EPOCH", "DECADE", "CENTURY",
    ]
)  # fmt: skip
"""What EXTRACT may take; its SECOND has a fraction in PostgreSQL only."""

UNITS = frozenset(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "DECADE", "CENTURY"])
"""What DATE_TRUNC may take."""

_SERIES = ("start", "end", "step")
_MOMENT = ("year", "month", "day", "hour", "min", "sec")
_MOMENT_PARTS = frozenset(_MOMENT)

_FORMAT = re.compile(r"(?:%[YymdHIMSfjBbAa]|[^A-Za-z%\"])*")
"""A time format that was understood as a whole: what is left of PostgreSQL's own letters was not."""

# Checks


def _check_extract(node: exp.Expr) -> None:
    if node.this.name.upper() not in PARTS_OF_TIME:
        raise Refused(
            f"EXTRACT({node.this.name[:40]} …) is not answered", hint="extract YEAR, MONTH, DAY, HOUR, DOW or EPOCH"
        )


def _check_trunc(node: exp.Expr) -> None:
    unit = node.args.get("unit")
    if unit is None or unit.name.upper() not in UNITS:
        raise Refused("DATE_TRUNC needs a unit", hint="write DATE_TRUNC('month', x)", sqlstate=BAD_PARAMETER)


def _check_format(node: exp.Expr) -> None:
    written = node.args.get("format")
    if not isinstance(written, exp.Literal) or not written.is_string or _FORMAT.fullmatch(written.name) is None:
        raise Refused("this format is not answered", hint="use YYYY, MM, DD, HH24, MI and SS, e.g. 'YYYY-MM'")


def _check_bin(node: exp.Expr) -> None:
    """Bins are whole microseconds, counted from a constant."""
    span, origin = constant_span(node.this, DUCKDB), _origin(node)
    if span is None or span[0] or length_of(span) <= 0:
        raise Refused("the stride of DATE_BIN is a constant without months", hint="write DATE_BIN('15 minutes', x, …)")
    if node.args.get("zone") is None and (origin is None or not origin[0].temporal):
        raise Refused("the origin of DATE_BIN is a constant", hint="write TIMESTAMP '2001-01-01' last")


def _origin(node: exp.Expr) -> tuple[Type, Fraction] | None:
    origin = node.args.get("unit")
    if isinstance(origin, exp.Var):  # what the parser makes of a text there
        origin = exp.Literal.string(origin.name)
    if isinstance(origin, exp.Literal):
        origin = exp.cast(origin.copy(), "timestamp")
    return None if origin is None else constant_point(origin, DUCKDB)


def _check_printed(node: exp.Expr) -> None:
    written = node.args.get("format")
    known = isinstance(written, exp.Literal) and written.is_string
    if written is None or not known or (pattern_of(written.name) is None and format_of(written.name) is None):
        raise Refused(
            "this format is not answered",
            hint="write 'YYYY-MM', 'Dy', 'Mon' or 'IYYY-\"W\"IW' of times, and 'FM999,990.00' of numbers",
        )


def _check_substring(node: exp.Expr) -> None:
    start = node.args.get("start")
    if start is None or isinstance(start, exp.Neg):
        raise Refused("SUBSTRING needs a position from 1, or a pattern", hint="use RIGHT(x, n), or '[0-9]+'")
    if isinstance(start, exp.Literal) and start.is_string:
        first_group(start.name)
        if node.args.get("length") is not None:
            raise Refused("SUBSTRING FROM a pattern takes no length", hint="write SUBSTRING(x FROM '[0-9]+')")


def _check_repeat(node: exp.Expr) -> None:
    times = whole_literal(node.args.get("times"))
    text = node.this
    if not isinstance(text, exp.Literal) or times is None or len(text.name) * times > MAX_PADDED:
        raise Refused(
            f"REPEAT gives at most {MAX_PADDED} characters, of literals",
            hint="a bar of n characters is LEFT(REPEAT('#', 100), n)",
            sqlstate=TOO_COMPLEX,
        )


def _check_pad(node: exp.Expr) -> None:
    length = whole_literal(node.args.get("expression"))
    if length is None or length > MAX_PADDED:
        raise Refused(f"LPAD and RPAD take a number up to {MAX_PADDED}", hint="write LPAD(x, 10)", sqlstate=TOO_COMPLEX)


def _check_replace(node: exp.Expr) -> None:
    replacement = node.args.get("replacement")
    if replacement is not None and not (
        isinstance(replacement, exp.Literal) and len(replacement.name) <= MAX_REPLACEMENT
    ):
        raise Refused(
            f"a replacement is a literal of at most {MAX_REPLACEMENT} characters",
            hint="use CASE for whole values",
            sqlstate=TOO_COMPLEX,
        )


def _check_regexp_replace(node: exp.Expr) -> None:
    _check_replace(node)
    replacement_of(node)


def _check_pattern(node: exp.Expr) -> None:
    pattern = node.args.get("expression")
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or check_capture(pattern.name).may_be_empty:
        raise Refused("REGEXP_COUNT needs a literal pattern", hint="its match has one character at least")


def _check_series(node: exp.Expr) -> None:
    """A series is short by its text: numbers that are written out, or times that are a day apart at least."""
    step = node.args.get("step")
    if isinstance(step, exp.Cast) and step.to.this is exp.DType.INTERVAL:
        step = step.this
    if isinstance(step, exp.Interval | exp.Literal) and not (isinstance(step, exp.Literal) and not step.is_string):
        if re.fullmatch(r"'?[1-9]\d{0,3}'?\s*(day|week|month|quarter|year)s?", _span_text(step), re.IGNORECASE):
            return
        raise Refused("GENERATE_SERIES of times needs days, weeks, months or years", hint="write INTERVAL '1 day'")
    ends = [_signed(node.args.get(part)) for part in ("start", "end")]
    size = 1 if step is None else _signed(step)
    if size is None or not size or None in ends or abs(ends[1] - ends[0]) > MAX_SERIES * abs(size):  # type: ignore[operator]
        raise Refused(
            f"GENERATE_SERIES needs numbers that are written out, at most {MAX_SERIES:,} of them",
            hint="write GENERATE_SERIES(1, 12), or times with INTERVAL '1 day'",
            sqlstate=TOO_COMPLEX,
        )


def _span_text(step: exp.Expr) -> str:
    if not isinstance(step, exp.Interval):
        return step.name
    unit = step.args.get("unit")
    return step.this.name if unit is None else f"{step.this.name} {unit.name}"


def _signed(node: exp.Expr | None) -> int | None:
    sign = 1
    while isinstance(node, exp.Neg | exp.Paren):
        sign, node = -sign if isinstance(node, exp.Neg) else sign, node.this
    number = whole_literal(node)
    return None if number is None else sign * number


def _check_hexadecimal(node: exp.Expr) -> None:
    if isinstance(node.this, exp.Literal) and node.this.is_string:
        raise Refused("TO_HEX is of a whole number", hint="write TO_HEX(COUNT(*))", sqlstate="42883")


# Spellings


def _regexp_replace(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    pattern, pieces, flags = replacement_of(node)
    printed_texts.limited(node, spelling)
    return DUCKDB.replace_match(node.this, pattern, pieces, everywhere="g" in flags, ignore_case="i" in flags)


def _substring(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    start = node.args["start"]
    if not isinstance(start, exp.Literal) or not start.is_string:
        return node
    return DUCKDB.first_match(node.this, first_group(start.name))


def _regexp_count(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return DUCKDB.count_matches(node.this, node.expression.name)


def _character(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return call("CHR", exp.Cast(this=node.expressions[0], to=exp.DataType.build("int")))


def _initcap(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return DUCKDB.capitalised(node.this)


def _octets(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return DUCKDB.bytes_of(node.expressions[0])


def _series(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """A row each, as PostgreSQL has a series in a select list."""
    return call("UNNEST", call("GENERATE_SERIES", *(part for part in map(node.args.get, _SERIES) if part is not None)))


def _size(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """An array without items has no length in PostgreSQL."""
    return call("NULLIF", call("LEN", node.this), exp.Literal.number(0))


def _cardinality(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return call("LEN", *node.expressions)


def _parts(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return call("STRING_SPLIT", node.this, node.expression)


def _to_json(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """NULL is no JSON in PostgreSQL."""
    (value,) = node.expressions
    return when(value.copy().is_(exp.Null()).not_(), call("TO_JSON", json_value(value, spelling)))


def _hexadecimal(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """The digits of a whole number in so many bits as its type has: those of a negative number begin with f. The
    engine has no ``&`` of doubles and decimals, so that they are refused; other whole numbers are none of PostgreSQL's.
    """
    of_type = call("TYPEOF", node.this.copy())
    short = exp.In(this=of_type, expressions=list(map(exp.Literal.string, ("INTEGER", "SMALLINT"))))
    long = exp.EQ(this=of_type.copy(), expression=exp.Literal.string("BIGINT"))
    ones = exp.Literal.number((1 << 32) - 1)
    bits = exp.Case(ifs=[exp.If(this=long, true=number(-1)), exp.If(this=short, true=ones)])
    masked = exp.BitwiseAnd(this=exp.Paren(this=node.this), expression=exp.cast(bits, "bigint"))
    return call("PRINTF", exp.Literal.string("%x"), masked)


def _json_object(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    parts = [(json_value if place % 2 else json_key)(one, spelling) for place, one in enumerate(node.expressions)]
    return call("JSON_OBJECT", *parts)


def _json_array(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return call("JSON_ARRAY", *(json_value(one, spelling) for one in node.expressions))


def _make_timestamp(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    return call("MAKE_TIMESTAMP", *(node.args[part] for part in _MOMENT))


def _bin(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """The time less what it is beyond the beginning of its bin: bins before the origin begin, too."""
    spelt: exp.Expr | None = node.args.get("zone")
    if spelt is not None:
        return spelt
    span, origin = constant_span(node.this, DUCKDB), _origin(node)
    if span is None or origin is None:
        raise AssertionError("a bin was checked")
    width = exp.Literal.number(length_of(span))
    begins = number(int((origin[1] - measure(datetime.date(1970, 1, 1))) * DAY))
    since = exp.Paren(this=exp.Sub(this=call("EPOCH_US", node.expression.copy()), expression=begins))
    rest = exp.Mod(this=since, expression=width)
    beyond = exp.Mod(this=exp.Paren(this=exp.Add(this=exp.Paren(this=rest), expression=width)), expression=width)
    return exp.Paren(this=exp.Sub(this=node.expression, expression=call("TO_MICROSECONDS", beyond)))


def _printed(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """A time, or a number where the format can be one of numbers: ``D`` is a day and a point."""
    if (pattern := format_of(node.args["format"].name)) is not None:
        return numbers.printed(node.this, pattern, spelling)
    return printed(node.this, pattern_of(node.args["format"].name) or "")


# The table

_PADDED = Construct(check=_check_pad)
_WHOLE = Construct(decimals=printed_texts.no_decimals, traits=Trait.OF_NUMBER)
_NEVER_NEGATIVE = Construct(nonnegative=rules.always)
_JOINED = Construct(spelling=printed_texts.concatenated, traits=Trait.JOINS_TEXTS)

PARTICULAR: Mapping[str, Construct] = {
    "coalesce": Construct(provenance=rules.first_not_null, nonnegative=rules.of_all, traits=Trait.OPERAND_TYPE),
    "nullif": Construct(
        provenance=rules.first,
        nonnegative=rules.of_first,
        traits=Trait.NULLIF | Trait.OPERAND_TYPE,
        repeated=frozenset({"this"}),
    ),
    "abs": Construct(nonnegative=rules.always, traits=Trait.OPERAND_TYPE | Trait.OF_NUMBER),
    "floor": _WHOLE,
    "ceil": _WHOLE,
    "round": Construct(
        provenance=rules.rounded_number,
        nonnegative=rules.of_first,
        spelling=numbers.rounded,
        decimals=printed_texts.decimals,
        traits=Trait.ROUNDED | Trait.OF_NUMBER,
    ),
    "trunc": Construct(decimals=printed_texts.decimals, traits=Trait.OF_NUMBER),
    "sign": Construct(traits=Trait.OF_NUMBER),
    "mod": Construct(traits=Trait.OPERAND_TYPE),
    "div": Construct(spelling=numbers.whole_quotient),
    "sqrt": _NEVER_NEGATIVE,
    "exp": _NEVER_NEGATIVE,
    "trim": Construct(frozenset({"this", "expression", "position"})),
    "substring": Construct(check=_check_substring, spelling=_substring),
    "chr": Construct(frozenset({"expressions"}), spelling=_character),
    "initcap": Construct(frozenset({"this", "expression"}), spelling=_initcap),
    "octet_length": Construct(spelling=_octets, nonnegative=rules.always),
    "regexp_count": Construct(
        frozenset({"this", "expression"}), _check_pattern, spelling=_regexp_count, nonnegative=rules.always
    ),
    "make_timestamp": Construct(_MOMENT_PARTS, spelling=_make_timestamp),
    "replace": Construct(check=_check_replace, spelling=printed_texts.limited, traits=Trait.REPLACES_TEXT),
    "regexp_replace": Construct(
        frozenset({"this", "expression", "replacement", "modifiers", "single_replace"}),
        _check_regexp_replace,
        spelling=_regexp_replace,
        traits=Trait.REPLACES_TEXT,
    ),
    "concat": _JOINED,
    "concat_ws": _JOINED,
    "position": Construct(frozenset({"this", "substr"})),
    "split_part": Construct(repeated=frozenset({"this", "delimiter", "part_index"})),
    "lpad": _PADDED,
    "repeat": Construct(check=_check_repeat),
    "date_trunc": Construct(frozenset({"this", "unit"}), _check_trunc),
    "date_bin": Construct(
        frozenset({"this", "expression", "unit", "zone"}), _check_bin, spelling=_bin, repeated=frozenset({"expression"})
    ),
    "extract": Construct(check=_check_extract, traits=Trait.FIELD),
    "to_char": Construct(frozenset({"this", "format"}), _check_printed, spelling=_printed),
    "to_date": Construct(check=_check_format),
    "to_hex": Construct(check=_check_hexadecimal, spelling=_hexadecimal, repeated=frozenset({"this"})),
    "unnest": Construct(frozenset({"this"}), traits=Trait.ROWS),
    "generate_series": Construct(frozenset(_SERIES), _check_series, spelling=_series, traits=Trait.ROWS),
    "array_length": Construct(spelling=_size, repeated=frozenset({"this"})),
    "cardinality": Construct(spelling=_cardinality),
    "string_to_array": Construct(spelling=_parts),
    "to_json": Construct(spelling=_to_json, repeated=frozenset({"expressions"}), copies=COPIES + 1),
    "json_build_object": Construct(spelling=_json_object, repeated=frozenset({"expressions"}), copies=COPIES),
    "json_build_array": Construct(spelling=_json_array, repeated=frozenset({"expressions"}), copies=COPIES),
}
"""What is particular to a function, by its first name in the one table of functions."""

SCALARS: Sequence[OuterFunction] = tuple(
    OuterFunction(row.names, row.node, row.examples, PARTICULAR.get(row.names[0], ORDINARY), row.arguments)
    for row in FUNCTIONS
    if row.above
)
