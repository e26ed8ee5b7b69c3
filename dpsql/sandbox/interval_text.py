"""Intervals as PostgreSQL writes them: an answer holds their texts, in which months, days and hours stay apart.

Guarantee: the three parts that PostgreSQL would print of the same months, days and microseconds, never turned into
each other, in its style ``postgres``.
"""

from __future__ import annotations

import re

_PART = re.compile(r"(-?\d+) (year|month|day)s?")
_CLOCK = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?$")


def interval_text(spelt: str) -> str:
    """PostgreSQL's text of an interval, from DuckDB's.

    >>> interval_text("-1 year -2 months 3 days -00:00:04.5"), interval_text("00:00:00"), interval_text("1 month")
    ('-1 years -2 mons +3 days -00:00:04.5', '00:00:00', '1 mon')
    """
    parts: list[str] = []
    negative = False
    for amount, unit in _PART.findall(spelt):
        value = int(amount)
        plus = "+" if negative and value > 0 else ""
        parts.append(f"{plus}{value} {'mon' if unit == 'month' else unit}{'' if value == 1 else 's'}")
        negative = value < 0
    clock = _CLOCK.search(spelt)
    if clock is not None:
        sign = clock[1] or ("+" if negative else "")
        fraction = (clock[5] or "").rstrip("0")
        parts.append(f"{sign}{int(clock[2]):02d}:{clock[3]}:{clock[4]}{f'.{fraction}' if fraction else ''}")
    return " ".join(parts) or "00:00:00"
