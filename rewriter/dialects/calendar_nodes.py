"""Truncations, fields and prints of times, and prints of numbers: nodes of our own, which engines spell last.

Why last: the key set, the ranges that conditions leave and the length of a series all follow from the unit by which an
expression reads a time. They ask it here, of :func:`reading_of`, and so find the same whatever the engine's words are.
No engine knows these names: a tree that was not spelt cannot run.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from rewriter.dialects.nodes import call, text
from rewriter.dialects.time_format import finest_unit


class Read(Enum):
    """The kinds of calendar readings, by the names of our nodes for them."""

    START = "dpsql.start"
    FIELD = "dpsql.field"
    PRINT = "dpsql.print"
    NUMBER = "dpsql.number"
    DOUBLE = "dpsql.double"


@dataclass(frozen=True, slots=True)
class CalendarReading:
    """A reading of ``moment``: the start of the ``unit`` around it, its field of that name, or its print.

    A print has the ``unit`` that is the finest of its pattern's; one of a number, exact or a double, has none.
    """

    read: Read
    unit: str
    moment: exp.Expr
    pattern: str = ""


def start_of(unit: str, moment: exp.Expr) -> exp.Expr:
    """The timestamp at which the unit around a date or timestamp begins: DATE_TRUNC.

    >>> reading_of(start_of("month", exp.column("day"))).unit
    'month'
    """
    return call(Read.START.value, text(unit), moment)


def field_of(unit: str, moment: exp.Expr) -> exp.Expr:
    """A field of a date or timestamp as a number: EXTRACT."""
    return call(Read.FIELD.value, text(unit), moment)


def print_of(pattern: str, moment: exp.Expr) -> exp.Expr:
    """A date or timestamp as a text. ``pattern`` is one of :mod:`rewriter.dialects.time_format`."""
    return call(Read.PRINT.value, text(pattern), moment)


def number_print_of(written: str, amount: exp.Expr, *, exact: bool) -> exp.Expr:
    """A number as a text, by a format of :mod:`rewriter.dialects.number_format`. An exact one has no more decimals than
    the format; a double is rounded by its exact value."""
    return call((Read.NUMBER if exact else Read.DOUBLE).value, text(written), amount)


def reading_of(node: exp.Expr | None) -> CalendarReading | None:
    """The calendar reading that a node stands for; None for any other node.

    >>> reading_of(print_of("%Y-%m-%d %H", exp.column("t"))).unit
    'hour'
    """
    read = _READS.get(node.this) if isinstance(node, exp.Anonymous) else None
    if node is None or read is None:
        return None
    word, moment = node.expressions
    if read is Read.PRINT:
        return CalendarReading(read, finest_unit(word.name), moment, word.name)
    if read in (Read.NUMBER, Read.DOUBLE):
        return CalendarReading(read, "", moment, word.name)
    return CalendarReading(read, word.name, moment)


_READS = {read.value: read for read in Read}
