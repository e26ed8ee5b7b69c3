"""Released numbers and their error bars as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

from rewriter.declared import Scalar

Cell = Scalar | None

UNKNOWN = "?"
"""What stands after ± where a measured number has no finite interval."""


def places(margin: float) -> int:
    """Decimal places that show a margin to two digits.

    >>> places(0.314), places(24.0), places(6120.0)
    (2, 0, 0)
    """
    return max(0, 1 - math.floor(math.log10(margin)))


def items_of(array: str) -> list[float | None]:
    """The numbers of an array's text.

    >>> items_of("{1.5,NULL,-2}")
    [1.5, None, -2.0]
    """
    return [None if item == "NULL" else float(item) for item in array.strip("{}").split(",") if item]


def cell(value: Cell, margin: float | None = None) -> str:
    """A value as a person reads it; a measured number is rounded to its margin, with thousands set apart.

    >>> cell(76.234172, 0.314), cell(2414202, 61234.0), cell(2024), cell(None), cell(0.30000000000000004)
    ('76.23', '2,414,202', '2024', 'NULL', '0.3')
    >>> cell(-0.3, 26.0), cell(-0.004, 0.12)
    ('0', '0.00')
    >>> cell(chr(27) + "[2J")
    '\\\\x1b[2J'
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return _number(value, margin)
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in value)
    return str(value)


def list_cell(array: str, margins: Sequence[float]) -> str:
    """An array's text, each measured number with its error bar.

    >>> list_cell("{57.754,76.1256,NULL}", (0.31, math.inf, math.nan))
    '{57.75 ± 0.31, 76.1256 ± ?, NULL}'
    """
    items = zip(items_of(array), margins, strict=True)
    return (
        "{"
        + ", ".join("NULL" if one is None else f"{_number(one, width)} ± {bar(width)}" for one, width in items)
        + "}"
    )


def _number(value: float | Decimal, margin: float | None) -> str:
    if not math.isfinite(value):
        return str(value)
    if margin is None or not math.isfinite(margin):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, int) or margin <= 0:
        return f"{value:,}"
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    step = Decimal(1).scaleb(-places(margin))
    rounded = exact.quantize(step, rounding=ROUND_HALF_EVEN)
    return f"{rounded or abs(rounded):,}"  # 0 has no sign


def bar(margin: float, whole: bool = False) -> str:
    """A margin to two digits, never understated; for a whole number, to a whole number. An infinite one is not known.

    >>> bar(0.3141), bar(6120.4), bar(12.2, whole=True), bar(0.0), bar(math.inf)
    ('0.32', '6,200', '13', '0', '?')
    """
    if not math.isfinite(margin):
        return UNKNOWN
    if margin <= 0:
        return f"{margin:g}"
    digits = 1 - math.floor(math.log10(margin))
    step = Decimal(1).scaleb(-(min(digits, 0) if whole else digits))
    rounded = Decimal(repr(margin)).quantize(step, rounding=ROUND_CEILING)
    return f"{rounded:,f}"


def down(epsilon: float) -> str:
    """Budget that is left, to three places, never overstated.

    >>> down(9.87654), down(0.0)
    ('9.876', '0.000')
    """
    return f"{math.floor(epsilon * 1000) / 1000:.3f}"


def up(epsilon: float) -> str:
    """Budget that is spent, to three places, never understated.

    >>> up(0.12301)
    '0.124'
    """
    return f"{math.ceil(epsilon * 1000) / 1000:.3f}"
