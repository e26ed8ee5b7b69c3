"""Texts that are read as times by a format: TO_DATE(x, 'DD/MM/YYYY'), TO_TIMESTAMP(x, 'YYYY-MM-DD HH24:MI')."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_NAMED = re.compile(r"(?:TM)?(Month|MONTH|month|Mon|MON|mon)|MS|US")
_FIELD = re.compile(r"%[A-Za-z]|[A-Za-z]+|[^A-Za-z%]")
_WIDTHS: Mapping[str, str] = {
    "%Y": r"\d{4}", "%y": r"\d{2}", "%m": r"\d{1,2}", "%d": r"\d{1,2}", "%H": r"\d{1,2}", "%M": r"\d{1,2}",
    "%S": r"\d{1,2}", "%f": r"\d{1,6}", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}",
}  # fmt: skip


def python_format(pattern: str) -> str:
    """The parser's format, with PostgreSQL's names of months and fractions, too.

    >>> python_format("%d-Mon-%Y")
    '%d-%b-%Y'
    """
    return _NAMED.sub(lambda found: "%f" if found[1] is None else "%B" if len(found[1]) > 3 else "%b", pattern)


def read_by_format(text: exp.Expr, pattern: str, *, is_date: bool) -> exp.Expr | None:
    """A text read as a time, field by field: NULL where it does not follow its format, or names no time.

    What PostgreSQL reads beyond that (other widths, blanks between fields) is NULL. None where a field is not known.

    >>> import sqlglot
    >>> read_by_format(sqlglot.parse_one("x"), "%Y", is_date=True).sql("postgres")
    "CAST(SUBSTRING(x FROM '^ *([0-9]{4})') || '-' || '01' || '-' || '01' AS DATE)"
    """
    fields = _FIELD.findall(python_format(pattern))
    named = [one for one in fields if one.startswith("%")]
    known = all(one in _WIDTHS or (len(one) == 1 and not one.isalnum()) for one in fields)
    if not known or len(set(named)) < len(named) or not {"%Y", "%y"} & set(named) or (is_date and "%f" in named):
        return None

    def part(name: str) -> exp.Expr:
        return exp.Substring(this=text.copy(), start=exp.Literal.string(_pattern(fields, name)))

    day = _joined("-", [_year(named, part), _month(named, part), part("%d") if "%d" in named else _literal("01")])
    if is_date:
        return exp.Cast(this=day, to=exp.DataType.build("date"))
    clock = [_two(part(name)) if name in named else _literal("00") for name in ("%H", "%M", "%S")]
    moment = _joined(" ", [day, _joined(":", clock)])
    if "%f" in named:
        moment = _joined(".", [moment, part("%f")])
    local = exp.Cast(this=moment, to=exp.DataType.build("timestamp", dialect="postgres"))
    return exp.Cast(this=local, to=exp.DataType.build("timestamptz"))


def _pattern(fields: Sequence[str], wanted: str) -> str:
    """The format as a regular expression, of which one field is the group."""
    out = "^ *"
    for place, field in enumerate(fields):
        width = _WIDTHS.get(field)
        if width is None:
            out += "[^0-9A-Za-z]"
            continue
        beside = [*fields[max(place - 1, 0) : place], *fields[place + 1 : place + 2]]
        if any(one in _WIDTHS for one in beside):  # nothing stands between two numbers: each has its full width
            width = width.replace("{1,", "{")
        width = width.replace(r"\d", "[0-9]")
        out += f"({width})" if field == wanted else width
    return out


def _year(named: Sequence[str], part: Callable[[str], exp.Expr]) -> exp.Expr:
    if "%Y" in named:
        return part("%Y")
    short: exp.Expr = part("%y")
    century = exp.If(this=exp.LT(this=short.copy(), expression=_literal("70")), true=_literal("20"))
    chosen = exp.Case(ifs=[century], default=_literal("19"))
    return exp.Paren(this=exp.DPipe(this=chosen, expression=short))


def _month(named: Sequence[str], part: Callable[[str], exp.Expr]) -> exp.Expr:
    if "%m" in named:
        return part("%m")
    name = next((one for one in ("%b", "%B") if one in named), None)
    if name is None:
        return _literal("01")
    letters = exp.Lower(this=exp.Left(this=part(name), expression=exp.Literal.number(3)))
    place = exp.StrPosition(this=_literal(_MONTHS), substr=letters)
    number = exp.Div(this=exp.Paren(this=exp.Add(this=place, expression=exp.Literal.number(3))),
                     expression=exp.Literal.number(4), typed=True)  # fmt: skip
    return exp.Cast(this=exp.Paren(this=number), to=exp.DataType.build("text"))


def _two(digits: exp.Expr) -> exp.Expr:
    return exp.Pad(this=digits, expression=exp.Literal.number(2), fill_pattern=_literal("0"), is_left=True)


def _joined(mark: str, parts: Sequence[exp.Expr]) -> exp.Expr:
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=exp.DPipe(this=whole, expression=_literal(mark)), expression=part)
    return whole


def _literal(text: str) -> exp.Expr:
    return exp.Literal.string(text)
