"""Conversions between types: explicit casts, and the common type of several operands. None of them raises.

Where PostgreSQL would raise for a row (a text that is no number, a number out of range) the result is NULL. Departures,
all towards wider types: ``numeric`` without digits is a decimal for integers and a double for doubles and texts; texts
are read as dates and timestamps in ISO form only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    Interval,
    Kind,
    Type,
    decimal,
)
from rewriter.dialects import Dialect, duplicate, number, reaching, refuse, text, when, wrap
from rewriter.expressions.build import (
    Context,
    convert,
    derive,
    digits_of,
    finite,
    integer_domain,
    is_literal,
    is_null,
    is_unknown,
    limits_of,
    literal,
    one_zero,
    scalar_of,
    settled,
)
from rewriter.expressions.clock_word import CLOCK_WORD
from rewriter.expressions.doubles import magnitude_of, operand
from rewriter.expressions.interval_length import DAY, microseconds
from rewriter.expressions.literals import (
    DATE_TEXT,
    FALSE_WORDS,
    INTEGER_TEXT,
    NUMBER_TEXT,
    TIMESTAMP_TEXT,
    TRUE_WORDS,
    interval_value,
    parse_text,
)
from rewriter.expressions.local_time import as_local_literal, offset_text, to_instant, to_local
from rewriter.expressions.shown_times import BEGUN, SHOWN, ShownTime, day_of, still_shown_in
from rewriter.expressions.text_length import PRINTED, as_long_as, readable
from rewriter.expressions.value import NUMERAL, Length, TextSize, Value, Values, common_decimals
from rewriter.refused import BAD_CAST, TYPE_MISMATCH

# -- common types ------------------------------------------------------------------------------------------------


def compared_as_doubles(one: Value, other: Value) -> bool:
    """Whether two exact numbers have more digits together than any decimal: then two that differ may be equal."""
    return {one.type.kind, other.type.kind} <= {Kind.INTEGER, Kind.DECIMAL} and common_type([one, other]) == DOUBLE


def common_type(values: Sequence[Value], unlike: str = TYPE_MISMATCH) -> Type:
    """The type that all values widen to without error. Quoted literals follow the others, as in PostgreSQL.
    ``unlike`` is the SQLSTATE where there is none: values that are compared lack an operator (42883)."""
    typed = [value for value in values if not is_unknown(value) and not is_null(value)]
    if not typed:
        return TEXT
    kinds = {value.type.kind for value in typed}
    if len(kinds) == 1 and (kind := next(iter(kinds))) not in (Kind.INTEGER, Kind.DECIMAL):
        if kind is Kind.INTERVAL:
            raise refuse("intervals cannot be compared", "use EXTRACT(EPOCH FROM a - b)")
        return Type(kind)
    if kinds <= {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE}:
        return _common_number(typed)
    if kinds <= {Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ}:
        return TIMESTAMPTZ if Kind.TIMESTAMPTZ in kinds else TIMESTAMP
    names = " and ".join(dict.fromkeys(str(value.type) for value in typed))
    raise refuse(f"{names} do not go together", hint_of_kinds(kinds), unlike)


def hint_of_kinds(kinds: AbstractSet[Kind]) -> str:
    """How values of these kinds can be compared after all."""
    numbers = kinds & {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE}
    if numbers and Kind.TEXT in kinds:
        return "write the number in quotes, as '1', or cast the text, as in x::integer"
    if numbers and kinds & {Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ}:
        return "write a date, as in DATE '2024-12-31', or compare a number of it, as in EXTRACT(YEAR FROM x)"
    if Kind.BOOLEAN in kinds:
        return "write TRUE or FALSE, or a comparison, like x <> 0"
    return "cast one side, as in x::text"


def _common_number(values: Sequence[Value]) -> Type:
    if any(value.type.kind is Kind.DOUBLE for value in values):
        return DOUBLE
    if all(value.type.kind is Kind.INTEGER for value in values):
        return max((value.type for value in values), key=lambda type_: type_.bits)
    exact = [decimal_type(value) for value in values]
    if any(type_ is None for type_ in exact):
        return DOUBLE
    scale = max(type_.scale for type_ in exact if type_)
    whole = max(type_.precision - type_.scale for type_ in exact if type_)
    return decimal(whole + scale, scale) if whole + scale <= 38 else DOUBLE


def decimal_type(value: Value) -> Type | None:
    """The decimal that holds every value of an integer or decimal exactly."""
    if value.type.kind is Kind.DECIMAL:
        return value.type
    digits = digits_of(limits_of(value))
    return decimal(digits, 0) if digits <= 38 else None


_IMPLICIT = frozenset(
    {
        (Kind.INTEGER, Kind.DOUBLE),
        (Kind.DECIMAL, Kind.DOUBLE),
        (Kind.DATE, Kind.TIMESTAMP),
        (Kind.DATE, Kind.TIMESTAMPTZ),
        (Kind.TIMESTAMP, Kind.TIMESTAMPTZ),
    }
)


def coerce(value: Value, type_: Type, context: Context, what: str = "the argument") -> Value:
    """An implicit conversion to a kind of type: widening, quoted literals and NULL; else refused (42804)."""
    kinds = (value.type.kind, type_.kind)
    if is_unknown(value) or is_null(value):
        return widen(value, type_, context.dialect)
    if value.type.kind is type_.kind and type_.kind not in (Kind.INTEGER, Kind.DECIMAL):
        return value
    if kinds in _IMPLICIT:
        return widen(value, type_, context.dialect)
    hint = "write a comparison, like x <> 0" if type_ == BOOLEAN else f"cast it: (…)::{type_}"
    raise refuse(f"{what} must be {type_}, not {value.type}", hint, TYPE_MISMATCH)


def comparable(values: Sequence[Value], context: Context) -> Sequence[Value]:
    """Values to be compared: literal instants beside local times are local times, so that the column stays bare."""
    if any(value.type.kind is Kind.INTERVAL for value in values):
        return [microseconds(value, context.dialect) for value in values]
    zoned = [value for value in values if value.type.kind is Kind.TIMESTAMPTZ]
    if not zoned or not all(map(is_literal, zoned)) or len(zoned) == len(values) or any(map(is_unknown, values)):
        return values
    dialect = context.dialect
    here = {id(value): as_local_literal(value, dialect.zone, dialect) for value in zoned}
    if None in here.values():
        return values
    return [here.get(id(value)) or value for value in values]


def lengths(values: Sequence[Value], context: Context) -> tuple[Sequence[Value], str | None, bool]:
    """Values of which one is chosen, as microseconds where they are intervals: how these are laid out, and whether they
    are. Microseconds order intervals, where no calendar is needed to know them."""
    if not any(value.type.kind is Kind.INTERVAL for value in values):
        return values, None, False
    known = [interval_value(str(scalar_of(one)), context.dialect) if is_unknown(one) else one for one in values]
    if any(value.times in ("age", "months") or (value.span is not None and value.span[0]) for value in known):
        raise refuse("months have no fixed length", "choose among differences of times, days and hours")
    laid = [_layouts(one) for one in known if not is_null(one)]
    alike = [layout for layout in _LAYOUTS if all(layout in one for one in laid)]
    return [microseconds(one, context.dialect) for one in known], alike[0] if alike else None, True


_LAYOUTS = ("days", "apart", "clock")


def _layouts(value: Value) -> frozenset[str]:
    """How the days and hours of an interval are: ``times`` of what it may be taken for."""
    if value.span is None:
        return frozenset({"days", "apart"} if value.times == "days" else {value.times} - {None})  # type: ignore[arg-type]
    _, days, micros = value.span
    return frozenset(
        layout
        for layout, fits in (
            ("days", not micros),
            ("apart", abs(micros) < DAY and days * micros >= 0),
            ("clock", not days),
        )
        if fits
    )


def as_length(chosen: Value, times: str | None, is_interval: bool) -> Value:
    """What was chosen, as the interval that it is."""
    return replace(chosen, type=INTERVAL, unit=False, literal=None, times=times) if is_interval else chosen


def unify(values: Sequence[Value], context: Context, unlike: str = TYPE_MISMATCH) -> tuple[Type, list[Value]]:
    """All values in their common type."""
    type_ = common_type(values, unlike)
    plain = type_ == TEXT  # a quoted literal is already spelt as a text
    return type_, [value if plain and is_unknown(value) else widen(value, type_, context.dialect) for value in values]


def widen(value: Value, type_: Type, dialect: Dialect) -> Value:
    """The same value in a type that holds it: never an error, never NULL for a value."""
    if value.type == type_ and not is_unknown(value):
        return value
    if is_literal(value):
        scalar = scalar_of(value)
        if is_unknown(value) and isinstance(scalar, str):
            word = CLOCK_WORD.of(value.sql)
            told = None if word is None else word.of_type(type_)
            scalar = parse_text(scalar, type_, dialect.zone) if told is None else told
        elif type_.kind is Kind.TIMESTAMPTZ and scalar is not None and value.type != type_:
            return to_instant(widen(value, TIMESTAMP, dialect), dialect.zone, dialect)
        found = literal(convert(scalar, type_), type_, dialect)
        return replace(found, halves_away=type_ == DOUBLE and value.exact, decimals=common_decimals(type_, [value]))
    if type_.kind is Kind.TIMESTAMPTZ:
        return to_instant(widen(value, TIMESTAMP, dialect), dialect.zone, dialect)
    interval = value.interval
    if value.type.kind in (Kind.INTEGER, Kind.DECIMAL) and type_.kind is Kind.DOUBLE:
        interval = _near(interval)
    domain = value.domain
    if isinstance(domain, Values):
        domain = Values(tuple(convert(scalar, type_) for scalar in domain.values))
    limits = limits_of(value) if type_.kind is value.type.kind is Kind.INTEGER else None
    sql = dialect.cast(value.sql, type_)
    # PostgreSQL makes doubles of integers and decimals beside doubles only: else this one stands for a NUMERIC.
    away = type_ == DOUBLE and value.exact
    magnitude = reaching(magnitude_of(value)) if type_ == DOUBLE else None
    found = derive(
        sql, type_, value, interval=interval, domain=domain, limits=limits, magnitude=magnitude, halves_away=away
    )
    return replace(found, decimals=common_decimals(type_, [value]))


def _near(interval: Interval | None) -> Interval | None:
    """Room for an inexact conversion to double; numbers below 2**53 convert exactly."""
    if interval is None or (
        interval.magnitude < 1 << 53 and interval.low.denominator == interval.high.denominator == 1
    ):
        return interval
    slack = interval.magnitude / (1 << 50)
    return Interval(interval.low - slack, interval.high + slack)


# -- explicit casts ----------------------------------------------------------------------------------------------

_DTYPES: dict[exp.DType, Type] = {
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INTEGER,
    exp.DType.BIGINT: BIGINT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.FLOAT: DOUBLE,
    exp.DType.TEXT: TEXT,
    exp.DType.VARCHAR: TEXT,
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMPTZ,
    exp.DType.TIMESTAMPLTZ: TIMESTAMPTZ,
    exp.DType.TIME: TIME,
}
_TYPES_HINT = (
    "types are smallint, integer, bigint, numeric(p,s), double precision, text, boolean, date, time, timestamp, "
    "timestamptz"
)


def cast(node: exp.Expr, context: Context) -> Value:
    """CAST(x AS type) and x::type."""
    target = node.args["to"]
    if not isinstance(target, exp.DataType) or any(
        part for name, part in target.args.items() if name not in ("this", "expressions")
    ):
        raise refuse(f"there is no cast to {target.sql('postgres')}", _TYPES_HINT)
    kind = target.this
    sizes = _sizes(target)
    if kind is exp.DType.INTERVAL and not sizes and isinstance(node.this, exp.Literal) and node.this.is_string:
        return interval_value(node.this.this, context.dialect)
    value = context.finite(node.this)
    if kind is exp.DType.INTERVAL and not sizes and value.type.kind is Kind.INTERVAL:
        return value
    if kind is exp.DType.DECIMAL:
        return _to_decimal(value, sizes, context.dialect)
    if kind is exp.DType.VARCHAR and len(sizes) == 1:
        return _cut(convert_to(value, TEXT, context.dialect), sizes[0], context.dialect)
    if kind in (exp.DType.CHAR, exp.DType.NCHAR):
        raise refuse("CHAR pads with blanks, which is not supported", "cast to text or varchar(n)")
    type_ = _DTYPES.get(kind)
    if type_ is None or (sizes and kind is not exp.DType.DOUBLE):
        raise refuse(f"there is no cast to {target.sql('postgres')}", _TYPES_HINT)
    converted = convert_to(value, type_, context.dialect)
    if kind is exp.DType.FLOAT or (sizes and sizes[0] <= 24):
        return _to_real(converted, context.dialect)
    return converted


def date_function(node: exp.Expr, context: Context) -> Value:
    """DATE(x) is x::date."""
    return convert_to(context.finite(node.this), DATE, context.dialect)


def _sizes(target: exp.DataType) -> list[int]:
    found: list[int] = []
    for parameter in target.expressions:
        size = parameter.this if isinstance(parameter, exp.DataTypeParam) else None
        if not isinstance(size, exp.Literal) or size.is_string or not size.this.isdigit() or len(size.this) > 9:
            raise refuse(f"there is no type {target.sql('postgres')}", _TYPES_HINT)
        found.append(int(size.this))
    return found


def convert_to(value: Value, type_: Type, dialect: Dialect) -> Value:
    """An explicit conversion; NULL for rows that cannot be converted."""
    source = value.type
    if source == type_ and not is_unknown(value):
        return replace(value.unowned(), halves_away=False, real=False, decimals=None)
    if is_null(value) or is_unknown(value):
        return widen(value, type_, dialect)
    if is_literal(value) and type_.kind is Kind.TEXT and source.kind is Kind.TEXT:
        return widen(value, type_, dialect)
    conversion = _CONVERSIONS.get((source.kind, type_.kind))
    if conversion is None:
        raise refuse(f"cannot cast {source} to {type_}", _castable(source.kind), BAD_CAST)
    return _still_shown(value, conversion(value, type_, dialect))


def _castable(kind: Kind) -> str:
    """The hint with the types that values of a kind can be cast to."""
    names = ", ".join(target for known, target in _CONVERSIONS if known is kind and target is not kind)
    return f"{kind} can be cast to {names}" if names else f"there is no cast from {kind}"


def _still_shown(value: Value, found: Value) -> Value:
    """The digits of a time are the same in each type of numbers that has room for them."""
    shown, type_ = SHOWN.of(value.sql), found.type
    if shown is None or shown.zeros or (digits := shown.digits) is None:
        return found
    room = {
        Kind.INTEGER: type_.kind is Kind.INTEGER and 10**digits <= type_.limits[1],
        Kind.DECIMAL: type_.kind is Kind.DECIMAL and digits <= type_.precision - type_.scale,
        Kind.DOUBLE: digits <= 15,
    }
    if room.get(type_.kind, False):
        SHOWN.on(found.sql, shown)
    return found


def _to_integer(value: Value, type_: Type, dialect: Dialect) -> Value:
    """Doubles round half to even, decimals and their quotients half away from zero; NULL out of range."""
    low, high = type_.limits
    limits = _known_limits(value)
    inside = limits is not None and low <= limits[0] and limits[1] <= high
    if inside and is_literal(value) and value.type.kind is Kind.INTEGER:
        return widen(value, type_, dialect)
    whole = dialect.whole(operand(value)).sql if value.halves_away else value.sql
    sql = dialect.cast(whole, type_) if inside else dialect.try_cast(whole, type_, value.type)
    interval = _rounded(value)
    return derive(
        sql,
        type_,
        value,
        interval=interval,
        domain=integer_domain(interval),
        nullable=value.nullable or not inside,
        limits=limits if inside else None,
    )


def _rounded(value: Value) -> Interval | None:
    if value.interval is None or value.type.kind is Kind.INTEGER:
        return value.interval
    even = value.type.kind is Kind.DOUBLE and not value.halves_away
    return value.interval.monotone(lambda end: Fraction(round(end)) if even else half_away(end))


def half_away(value: Fraction) -> Fraction:
    """The nearest integer; halves go away from zero.

    >>> half_away(Fraction(-5, 2))
    Fraction(-3, 1)
    """
    rounded = math.floor(abs(value) + Fraction(1, 2))
    return Fraction(rounded if value >= 0 else -rounded)


def _known_limits(value: Value) -> tuple[int, int] | None:
    if value.type.kind is Kind.INTEGER:
        return limits_of(value)
    if value.type.kind is Kind.DECIMAL:
        most = 10 ** (value.type.precision - value.type.scale)
        return -most, most
    return None


def _to_decimal(value: Value, sizes: Sequence[int], dialect: Dialect) -> Value:
    if not sizes:
        exact = decimal_type(value) if value.type.kind in (Kind.INTEGER, Kind.DECIMAL) else None
        if exact is not None:
            return widen(value, exact, dialect)
        return replace(convert_to(finite(_in_decimal(value, dialect), dialect), DOUBLE, dialect), halves_away=True)
    if len(sizes) > 2 or not 1 <= sizes[0] <= 38 or (len(sizes) == 2 and sizes[1] > sizes[0]):
        raise refuse("numeric has 1 to 38 digits", "write numeric(15,2)", "22023")
    type_ = decimal(sizes[0], sizes[1] if len(sizes) == 2 else 0)
    if is_unknown(value):
        return convert_to(convert_to(value, TEXT, dialect), type_, dialect)
    return convert_to(value, type_, dialect)


def _in_decimal(value: Value, dialect: Dialect) -> Value:
    """A double with the digits that PostgreSQL's NUMERIC has of it: 15, and 6 of a real."""
    if value.type != DOUBLE or value.halves_away:
        return value
    digits = 6 if value.real else 15
    if is_literal(value):
        scalar = scalar_of(value)
        return literal(float(f"{scalar:.{digits}g}") if isinstance(scalar, float) else None, DOUBLE, dialect)
    interval = value.interval
    if interval is not None:
        slack = interval.magnitude / 10 ** (digits - 1)
        interval = Interval(interval.low - slack, interval.high + slack)
    return derive(dialect.shortened(value.sql, digits), DOUBLE, value, interval=interval, raw=True)


def _number_to_decimal(value: Value, type_: Type, dialect: Dialect) -> Value:
    value = finite(_in_decimal(value, dialect), dialect)
    exact = decimal_type(value) if value.type.kind is not Kind.DOUBLE else None
    fits = exact is not None and (
        exact.scale <= type_.scale and exact.precision - exact.scale <= type_.precision - type_.scale
    )
    interval = value.interval
    if interval is not None and not fits:
        step = Fraction(1, 10**type_.scale)
        interval = interval.outward(step) if interval.magnitude / step < 1 << 53 else None
    sql = dialect.cast(value.sql, type_) if fits else dialect.try_cast(value.sql, type_, value.type)
    found = derive(sql, type_, value, interval=interval, nullable=value.nullable or not fits)
    return replace(found, decimals=None)


def _to_double(value: Value, type_: Type, dialect: Dialect) -> Value:
    return replace(widen(value, type_, dialect), halves_away=False, decimals=None)


def _to_real(value: Value, dialect: Dialect) -> Value:
    sql = dialect.as_real(value.sql)
    interval = value.interval
    if interval is not None:
        slack = interval.magnitude / (1 << 23) + Fraction(1, 1 << 149)
        interval = Interval(interval.low - slack, interval.high + slack)
    return replace(derive(sql, DOUBLE, value, interval=interval, nullable=True, raw=True), real=True)


def _cut(value: Value, size: int, dialect: Dialect) -> Value:
    if size < 1 or size > 10_485_760:
        raise refuse(f"there is no varchar({size})", "use text", "22023")
    short = as_long_as(dialect.call("left", value.sql, number(size)), value, most=size)
    if (numeral := NUMERAL.of(value.sql)) is not None and len(str(math.floor(numeral.high))) <= size:
        NUMERAL.on(short.sql, numeral)
    return still_shown_in(short, value, size)


def _text_to_number(value: Value, type_: Type, dialect: Dialect) -> Value:
    interval, value = NUMERAL.of(value.sql), readable(value, dialect)
    pattern = INTEGER_TEXT if type_.kind is Kind.INTEGER else NUMBER_TEXT
    sql = dialect.parse(value.sql, pattern, type_)
    raw = type_.kind is Kind.DOUBLE
    return finite(derive(sql, type_, value, nullable=True, raw=raw, interval=interval), dialect)


def _text_to_time(value: Value, type_: Type, dialect: Dialect) -> Value:
    value = readable(value, dialect)
    pattern = DATE_TEXT if type_ == DATE else TIMESTAMP_TEXT
    return derive(dialect.parse(value.sql, pattern, type_), type_, value, nullable=True)


def _text_to_boolean(value: Value, type_: Type, dialect: Dialect) -> Value:
    value = readable(value, dialect)

    def among(words: Sequence[str], sql: exp.Expr) -> exp.Expr:
        return exp.In(this=dialect.call("lower", dialect.call("trim", sql)), expressions=[text(word) for word in words])

    false = exp.If(this=among(FALSE_WORDS, value.sql), true=exp.Boolean(this=False))
    true = exp.If(this=among(TRUE_WORDS, duplicate(value.sql)), true=exp.Boolean(this=True))
    return derive(exp.Case(ifs=[true, false]), type_, value, nullable=True)


def _integer_to_boolean(value: Value, type_: Type, dialect: Dialect) -> Value:
    return derive(exp.NEQ(this=wrap(value.sql), expression=number(0)), type_, value)


def _boolean_to_integer(value: Value, type_: Type, dialect: Dialect) -> Value:
    interval = Interval(Fraction(0), Fraction(1))
    sql = dialect.cast(value.sql, INTEGER)
    if type_ != INTEGER:
        sql = dialect.cast(sql, type_)
    return derive(sql, type_, value, interval=interval, domain=integer_domain(interval), limits=(0, 1))


def to_text(value: Value, type_: Type, dialect: Dialect) -> Value:
    """As PostgreSQL prints the value; doubles without a trailing ``.0``, a NUMERIC with the decimals that it has."""
    if value.exact and value.type.kind is not Kind.INTEGER:
        value = _with_decimals(value, dialect)
    if value.type.kind is Kind.BOOLEAN:
        words = when(duplicate(value.sql), text("true"), when(exp.Not(this=wrap(value.sql)), text("false")))
        return derive(words, TEXT, value, domain=Values(("true", "false", None)), size=_PRINTED)
    if value.type.kind is Kind.DOUBLE:
        shown = one_zero(value.sql, dialect)
        printed = dialect.real_text(shown) if value.real else dialect.double_text(shown)
        return derive(dialect.call("regexp_replace", printed, text(r"\.0$"), text("")), TEXT, value, size=_PRINTED)
    sql = dialect.cast(value.sql, TEXT)
    if value.type.kind in (Kind.DATE, Kind.TIMESTAMP):
        SHOWN.on(sql, _spelt(value))
    return derive(sql, TEXT, value, size=_PRINTED)


def _with_decimals(value: Value, dialect: Dialect) -> Value:
    """A NUMERIC in a type with as many decimals as PostgreSQL prints."""
    decimals = value.printed_decimals
    if decimals is None:
        raise refuse("a NUMERIC is printed with as many decimals as each value has", "say how many: ROUND(x, 2)::text")
    if value.type == DOUBLE:
        return _number_to_decimal(value, decimal(38, min(decimals, 38)), dialect)
    whole = value.type.precision - value.type.scale
    fits = max(1, min(38, whole + decimals))
    return value if decimals == value.type.scale else _number_to_decimal(value, decimal(fits, decimals), dialect)


def _spelt(value: Value) -> ShownTime:
    """The time that ``2026-04-03`` shows, or ``2026-04-03 14:05:``, after which seconds follow."""
    is_date = value.type.kind is Kind.DATE
    return ShownTime("%Y-%m-%d" if is_date else "%Y-%m-%d %H:%M:", value.sql, is_date, whole=is_date)


_PRINTED = TextSize(length=Length(plus=PRINTED, checked=True))


def _between_times(value: Value, type_: Type, dialect: Dialect) -> Value:
    interval = value.interval
    if interval is not None and type_ == DATE:
        interval = interval.monotone(lambda end: Fraction(math.floor(end)))
    sql = dialect.cast(value.sql, type_)
    if value.type == TIMESTAMP and type_ == DATE:
        BEGUN.on(sql, day_of(value.sql))
    elif (begun := BEGUN.of(value.sql)) is not None:
        BEGUN.on(sql, begun)
    return settled(derive(sql, type_, value, interval=interval), dialect, value)


def _time_of_day(value: Value, type_: Type, dialect: Dialect) -> Value:
    return derive(dialect.cast(value.sql, type_), type_, value)


def _from_instant(value: Value, type_: Type, dialect: Dialect) -> Value:
    """The time that clocks of the session's zone show."""
    return convert_to(to_local(value, dialect.zone, dialect), type_, dialect)


def _zoned_text(value: Value, type_: Type, dialect: Dialect) -> Value:
    """The local time, and how far it is from UTC: ``2026-07-01 14:30:00+02``."""
    there = to_local(value, dialect.zone, dialect)
    printed = to_text(there, TEXT, dialect)
    away = offset_text(duplicate(there.sql), duplicate(value.sql), dialect.zone, dialect)
    sql = SHOWN.on(exp.DPipe(this=wrap(printed.sql), expression=wrap(away)), _spelt(there))
    return derive(sql, TEXT, printed, size=_PRINTED)


_NO_TEXT = (Kind.NULL, Kind.INTERVAL, Kind.TEXT, Kind.JSON, Kind.JSONB, Kind.TEXTS, Kind.INTEGERS)
_CONVERSIONS: dict[tuple[Kind, Kind], Callable[[Value, Type, Dialect], Value]] = {
    (Kind.INTEGER, Kind.INTEGER): _to_integer,
    (Kind.DECIMAL, Kind.INTEGER): _to_integer,
    (Kind.DOUBLE, Kind.INTEGER): _to_integer,
    (Kind.TEXT, Kind.INTEGER): _text_to_number,
    (Kind.BOOLEAN, Kind.INTEGER): _boolean_to_integer,
    (Kind.INTEGER, Kind.DECIMAL): _number_to_decimal,
    (Kind.DECIMAL, Kind.DECIMAL): _number_to_decimal,
    (Kind.DOUBLE, Kind.DECIMAL): _number_to_decimal,
    (Kind.TEXT, Kind.DECIMAL): _text_to_number,
    (Kind.INTEGER, Kind.DOUBLE): _to_double,
    (Kind.DECIMAL, Kind.DOUBLE): _to_double,
    (Kind.TEXT, Kind.DOUBLE): _text_to_number,
    (Kind.INTEGER, Kind.BOOLEAN): _integer_to_boolean,
    (Kind.TEXT, Kind.BOOLEAN): _text_to_boolean,
    (Kind.TEXT, Kind.DATE): _text_to_time,
    (Kind.TEXT, Kind.TIMESTAMP): _text_to_time,
    (Kind.DATE, Kind.TIMESTAMP): _between_times,
    (Kind.TIMESTAMP, Kind.DATE): _between_times,
    (Kind.DATE, Kind.TIMESTAMPTZ): widen,
    (Kind.TIMESTAMP, Kind.TIMESTAMPTZ): widen,
    (Kind.TIMESTAMP, Kind.TIME): _time_of_day,
    (Kind.TIMESTAMPTZ, Kind.TIME): _from_instant,
    (Kind.TIMESTAMPTZ, Kind.DATE): _from_instant,
    (Kind.TIMESTAMPTZ, Kind.TIMESTAMP): _from_instant,
    **{(kind, Kind.TEXT): to_text for kind in Kind if kind not in _NO_TEXT},
    (Kind.TIMESTAMPTZ, Kind.TEXT): _zoned_text,
}
