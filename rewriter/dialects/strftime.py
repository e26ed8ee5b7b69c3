"""Times printed by ``strftime``, and the fields that it lacks put beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from rewriter.dialects.nodes import call, number, text
from rewriter.dialects.time_format import FormatField, fields

_OWN = {"L": "g"}
_PLAIN = frozenset("YyGmdHIMSjVupbBaALf")


def printed(sql: exp.Expr, pattern: str) -> exp.Expr:
    """A date or timestamp by a pattern of :mod:`rewriter.dialects.time_format`, in DuckDB's words.

    >>> printed(exp.column("t"), "%Y Q%q").sql("duckdb")
    "(STRFTIME(t, '%Y Q') || CAST(DATE_PART('quarter', t) AS TEXT))"
    """
    parts: list[exp.Expr] = []
    together = ""
    for field in fields(pattern):
        if not field.letter:
            together += field.text.replace("%", "%%")
        elif field.letter in _PLAIN and not set(field.flags) - {"-"}:
            together += f"%{field.flags}{_OWN.get(field.letter, field.letter)}"
        else:
            parts += [] if not together else [call("strftime", sql.copy(), text(together))]
            together = ""
            parts.append(_by_itself(sql, field))
    if together:
        parts.append(call("strftime", sql.copy(), text(together)))
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part)
    return whole if len(parts) == 1 else exp.Paren(this=whole)


def _by_itself(sql: exp.Expr, field: FormatField) -> exp.Expr:
    if (computed := _COMPUTED.get(field.letter)) is not None:
        return computed(sql)
    found = call("strftime", sql.copy(), text(f"%{field.letter}"))
    if "^" in field.flags or "_" in field.flags:
        found = call("upper" if "^" in field.flags else "lower", found)
    return call("rpad", found, number(9), text(" ")) if "9" in field.flags else found


def _part(unit: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda sql: call("date_part", text(unit), sql.copy())


def _text(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType(this=exp.DType.TEXT))


def _weeks(unit: str) -> Callable[[exp.Expr], exp.Expr]:
    """Seven days each, from the first day of the year or month."""

    def week(sql: exp.Expr) -> exp.Expr:
        before = exp.Paren(this=exp.Add(this=_part(unit)(sql), expression=number(6)))
        return exp.IntDiv(this=before, expression=number(7))

    return week


_COMPUTED: Mapping[str, Callable[[exp.Expr], exp.Expr]] = {
    "q": lambda sql: _text(_part("quarter")(sql)),
    "D": lambda sql: _text(exp.Paren(this=exp.Add(this=_part("dow")(sql), expression=number(1)))),
    "W": lambda sql: call("lpad", _text(_weeks("doy")(sql)), number(2), text("0")),
    "w": lambda sql: _text(_weeks("day")(sql)),
}
