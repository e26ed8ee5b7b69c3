"""Words that DuckDB has beside PostgreSQL's: fields and names of times as functions, DATE_DIFF and STRFTIME.

Guarantee: what comes out has DuckDB's value for every row, NULLs included; EXTRACT's is a numeric, as in PostgreSQL.
What is not understood stays as it is, for a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

from rewriter.expressions import position_of
from rewriter.refused import Refused

_STEPS = {
    "day": "{b}::date - {a}::date",
    "month": "12 * (EXTRACT(YEAR FROM {b}) - EXTRACT(YEAR FROM {a})) + EXTRACT(MONTH FROM {b})"
    " - EXTRACT(MONTH FROM {a})",
    "quarter": "4 * (EXTRACT(YEAR FROM {b}) - EXTRACT(YEAR FROM {a})) + EXTRACT(QUARTER FROM {b})"
    " - EXTRACT(QUARTER FROM {a})",
    "year": "EXTRACT(YEAR FROM {b}) - EXTRACT(YEAR FROM {a})",
}
"""How many borders of such a unit lie between two times."""


def _steps_between(node: exp.Expr) -> exp.Expr:
    """``DATE_DIFF('day', a, b)``, as DuckDB has it: the borders of days between them."""
    unit = _text(node.expressions[0]) if len(node.expressions) == 3 else None
    if unit is None or unit.lower() not in _STEPS:
        raise Refused(
            f"this {node.name.upper()} is not answered",
            hint="DATE_DIFF('day', a, b) is, or of 'month', 'quarter', 'year'; b::date - a::date are days",
            sqlstate="42883",
            position=position_of(node),
        )
    pattern = sqlglot.parse_one(_STEPS[unit.lower()].format(a="_a", b="_b"), read="postgres")
    times = {"_a": node.expressions[1], "_b": node.expressions[2]}

    def filled(part: exp.Expr) -> exp.Expr:
        return exp.Paren(this=times[part.name].copy()) if isinstance(part, exp.Column) else part

    return exp.Paren(this=pattern.transform(filled))


_FORMATS = {
    "Y": "YYYY",
    "y": "YY",
    "m": "MM",
    "d": "DD",
    "H": "HH24",
    "I": "HH12",
    "M": "MI",
    "S": "SS",
    "j": "DDD",
    "b": "Mon",
    "B": "FMMonth",
    "a": "Dy",
    "A": "FMDay",
    "p": "AM",
    "G": "IYYY",
    "V": "IW",
}
_UNPADDED = frozenset("mdHIMSj")
"""Directives that DuckDB prints without leading zeros after ``-``."""
_DIRECTIVE = re.compile(r"%(-?.)|([^%]+)", re.DOTALL)


def _shown_time(node: exp.Expr) -> exp.Expr | None:
    """``STRFTIME(x, '%Y-%m')`` as ``TO_CHAR(x, 'YYYY-MM')``; DuckDB takes the two in either order."""
    if len(node.expressions) != 2:
        return None
    value, text = node.expressions[0], _text(node.expressions[1])
    if text is None:
        value, text = node.expressions[1], _text(node.expressions[0])
    parts = [] if text is None else _DIRECTIVE.findall(text)
    is_whole = "".join(f"%{letter}" if letter else other for letter, other in parts) == text
    if not parts or not is_whole or any(letter and _field(letter) is None for letter, _ in parts):
        return None
    spelt = "".join(_field(letter) or _as_text(other) for letter, other in parts)
    return exp.ToChar(this=value.copy(), format=exp.Literal.string(spelt))


def _field(directive: str) -> str | None:
    """A directive in TO_CHAR's letters; None for what has none, and for no directive."""
    letter = directive.removeprefix("-")
    if directive == letter or letter in _UNPADDED:
        return f"FM{_FORMATS[letter]}" if directive != letter else _FORMATS.get(letter)
    return None


def _as_text(text: str) -> str:
    """Text between the fields of TO_CHAR: letters in double quotes."""
    return re.sub(r"[A-Za-z]+", lambda found: f'"{found[0]}"', text)


FIELDS: Mapping[type[exp.Expr], str] = {
    exp.Year: "YEAR",
    exp.Quarter: "QUARTER",
    exp.Month: "MONTH",
    exp.Week: "WEEK",
    exp.WeekOfYear: "WEEK",
    exp.Day: "DAY",
    exp.DayOfMonth: "DAY",
    exp.DayOfWeek: "DOW",
    exp.DayOfWeekIso: "ISODOW",
    exp.DayOfYear: "DOY",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
}
"""Fields of a time by functions of their own, which DuckDB and others have beside EXTRACT."""


NAMES: Mapping[type[exp.Expr], str] = {exp.Monthname: "FMMonth", exp.Dayname: "FMDay"}
"""Names of a month and of a day of the week by functions of their own, with the format that prints them."""


def name_of_time(node: exp.Expr) -> exp.Expr | None:
    """``MONTHNAME(x)`` as ``TO_CHAR(x, 'FMMonth')``."""
    if any(value for name, value in node.args.items() if name != "this"):
        return None
    return exp.ToChar(this=node.this.copy(), format=exp.Literal.string(NAMES[type(node)]))


def field_of_time(node: exp.Expr) -> exp.Expr | None:
    """``YEAR(x)`` as ``EXTRACT(YEAR FROM x)``."""
    if any(value for name, value in node.args.items() if name != "this"):
        return None
    return exp.Extract(this=exp.Var(this=FIELDS[type(node)]), expression=node.this.copy())


def _text(node: object) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


WORDS_OF_DUCKDB: Mapping[str, Callable[[exp.Expr], exp.Expr | None]] = {
    "DATE_DIFF": _steps_between,
    "DATEDIFF": _steps_between,
    "STRFTIME": _shown_time,
}
"""Functions that the parser leaves as they are written, by their names."""
