"""Literals of a policy, read as the type of the column they speak of.

Guarantee: the value is one that the column can hold, exactly; anything else raises ValueError with what would be right.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from dpsql.policy.fields import show
from dpsql.policy.yaml_text import Written, date, number, timestamp
from rewriter.declared import Kind, Scalar, Type


def typed(written: Written, type_: Type) -> Scalar:
    """One listed value. Raises ValueError.

    >>> from rewriter.declared.types import INTEGER, TEXT
    >>> typed(Written("007"), TEXT), typed(Written("007"), INTEGER), typed(Written("NO"), TEXT)
    ('007', 7, 'NO')
    """
    return _reader(type_)(written, type_)


def typed_range(low: Written, high: Written, type_: Type) -> tuple[Scalar, Scalar]:
    """A closed range. A day as the upper end of timestamps means until its last microsecond. Raises ValueError.

    Instants (``timestamptz``) are written in UTC.

    >>> from rewriter.declared.types import TIMESTAMP
    >>> typed_range(Written("2020-01-01"), Written("2020-12-31"), TIMESTAMP)[1]
    datetime.datetime(2020, 12, 31, 23, 59, 59, 999999)
    """
    if not (type_.numeric or type_.temporal):
        raise ValueError(f"{type_.one} has no range: leave it out, or list values")
    if type_.kind is Kind.DOUBLE:
        # Clipping bounds stay decimal: the interval that a policy spells has no binary neighbours.
        return number(low), number(high)
    ends = typed(low, type_), typed(high, type_)
    if type_.clocked and _is_date(high):
        last = datetime.timedelta(days=1) - datetime.timedelta(microseconds=1)
        return ends[0], ends[1] + last  # type: ignore[operator, return-value]
    return ends


def typed_step(step: Fraction, range_: tuple[Written, Written] | None, type_: Type) -> Fraction:
    """The distance of neighbouring values of a range, which it divides. Raises ValueError.

    >>> from rewriter.declared.types import INTEGER
    >>> typed_step(Fraction(100), (Written("0"), Written("5000")), INTEGER)
    Fraction(100, 1)
    >>> typed_step(Fraction(100), (Written("0"), Written("4999")), INTEGER)
    Traceback (most recent call last):
    ValueError: a step of 100 does not divide the range from 0 to 4999: write [0, 4900] or [0, 5000]
    """
    if not type_.numeric:
        raise ValueError(f"{type_.one} has no step: leave it out")
    if type_.kind is not Kind.DOUBLE and (step * 10**type_.scale).denominator != 1:
        raise ValueError(f"{show(step)} is finer than the values of {type_}: leave it out")
    if range_ is None:
        raise ValueError("a step needs a range")
    low, high = (Fraction(number(end)) for end in range_)
    steps = (high - low) / step
    if steps.denominator != 1:
        fitting = " or ".join(f"[{show(low)}, {show(low + step * count)}]" for count in (floor(steps), ceil(steps)))
        raise ValueError(
            f"a step of {show(step)} does not divide the range from {show(low)} to {show(high)}: write {fitting}"
        )
    return step


def _is_date(written: Written) -> bool:
    try:
        date(written)
    except ValueError:
        return False
    return True


def _boolean(written: Written, type_: Type) -> bool:
    word = written.lower()
    if word not in ("true", "false"):
        raise ValueError(f"{written[:40]!r} is not a boolean: write true or false")
    return word == "true"


def _integer(written: Written, type_: Type) -> int:
    value = number(written)
    least, most = type_.limits
    if not isinstance(value, int):
        raise ValueError(f"{written} is not a whole number, and the column is {type_}")
    if not least <= value <= most:
        raise ValueError(f"{written[:40]} does not fit into {type_}, which ends at {least} and {most}")
    return value


def _decimal(written: Written, type_: Type) -> Decimal:
    value = Decimal(number(written))
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and -exponent > type_.scale:
        raise ValueError(f"{written[:40]} has more than the {type_.scale} decimals of {type_}")
    if value.adjusted() >= type_.precision - type_.scale and value:
        raise ValueError(f"{written[:40]} has more digits than {type_}")
    return value


def _double(written: Written, type_: Type) -> float:
    # A listed value is compared with the column's value, which is the nearest double.
    value = float(number(written))
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{written[:40]} is beyond the range of a double")
    return value


def _text(written: Written, type_: Type) -> str:
    if "\0" in written:
        raise ValueError("a text with a NUL character")
    return str(written)


def _date(written: Written, type_: Type) -> datetime.date:
    return date(written)


def _timestamp(written: Written, type_: Type) -> datetime.datetime:
    if _is_date(written):
        return datetime.datetime.combine(date(written), datetime.time())
    return timestamp(written)


_READERS: Mapping[Kind, Callable[[Written, Type], Scalar]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.DOUBLE: _double,
    Kind.TEXT: _text,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: _timestamp,
}


def _reader(type_: Type) -> Callable[[Written, Type], Scalar]:
    if type_.kind not in _READERS:
        raise ValueError(f"{type_.one} has no literals here")
    return _READERS[type_.kind]
