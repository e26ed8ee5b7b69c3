"""The columns of a table as attributes with a few cells each, and how a value is drawn of a cell.

Guarantee: cells follow from the policy and the schema alone. Each row of the table is in exactly one cell of each
attribute whatever it holds, so that counts by any attributes have the same total.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

import numpy as np
from sqlglot import exp

from dpsql.made_up_rows import why_not
from rewriter.declared import Catalog, Column, Kind, Scalar, Table, Type

BINS = 10
"""The cells of a range, where it has so many values."""
MOST_VALUES = 64
"""The most values of a list that counts by its pairs are still good for."""

Listed = Callable[[str], tuple[Scalar | None, ...] | None]
"""All values that a key of SQL has, of a list that is public; None where there may be others."""

_DAY = datetime.timedelta(days=1)
_TICK = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)
_UTC = datetime.UTC
_DIGITS = 3
"""The decimal digits of a drawn double below the width of its cell."""


@dataclass(frozen=True, slots=True)
class Unmodelled:
    """A column of which no value is made up, and the reason."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column, as the SQL ``key`` that its rows are counted by.

    ``values`` are those of a list, each a cell; ``edges`` are the ends of the cells of a range: cell i begins at edge i
    and ends before edge i + 1, and its values are whole ``step``s apart where there is one. ``open``: the last cell is
    that of all other rows, whose value is made NULL. The key of an attribute that is no list ``of_values`` is the
    number of the cell.
    """

    name: str
    type: Type
    key: str
    values: tuple[Scalar | None, ...] = ()
    edges: tuple[Fraction, ...] = ()
    step: Fraction = Fraction(0)
    open: bool = False
    of_values: bool = False

    @property
    def cells(self) -> int:
        return len(self.values) + max(len(self.edges) - 1, 0) + self.open

    def cell(self, key: Scalar | None) -> int:
        """The cell of an answer's key. Raises ValueError where it has none."""
        return self.values.index(key) if self.of_values else int(str(key))

    @property
    def middles(self) -> tuple[float, ...] | None:
        """The middles of the cells with numbers; None of an attribute without numbers."""
        if not self.type.numeric:
            return None
        if self.edges:
            pairs = zip(self.edges, self.edges[1:], strict=False)
            return tuple(float(low + high - self.step) / 2 for low, high in pairs)
        known = [value for value in self.values if value is not None]
        return tuple(float(value) for value in known)  # type: ignore[arg-type]

    def drawn(self, cells: np.ndarray, drawn: np.random.Generator) -> list[Scalar | None]:
        """A value of each cell: those of a range are equally likely anywhere in it."""
        if not self.edges:
            listed = [*self.values, None]
            return [listed[cell] for cell in cells]
        parts = drawn.random(len(cells))
        return [self._at(int(cell), Fraction(part)) for cell, part in zip(cells, parts, strict=True)]

    def _at(self, cell: int, part: Fraction) -> Scalar | None:
        if cell >= len(self.edges) - 1:
            return None
        low, high = self.edges[cell], self.edges[cell + 1]
        number = (high - low) * part
        if self.step:
            number = number // self.step * self.step
        return _value(low + number, self.type, high - low)


def attributes(
    table: Table, catalog: Catalog, only: Sequence[str] = (), listed: Listed = lambda key: None
) -> tuple[list[Attribute], list[Unmodelled]]:
    """The columns of a table that values can be made up for, and those that none can be; of the columns named
    ``only``, where any is. A column that takes its values from a table has those that are ``listed``."""
    keys = catalog.keys_of_people
    found: list[Attribute] = []
    without: list[Unmodelled] = []
    for name, column in table.columns.items():
        why = why_not(column, keys)
        one = _attribute(column, listed) if why is None else Unmodelled(name, why)
        if only and name not in only:
            one = Unmodelled(name, "is not among --columns")
        if isinstance(one, Attribute):
            found.append(one)
        else:
            without.append(one)
    return found, without


def _attribute(column: Column, listed: Listed) -> Attribute | Unmodelled:
    name, kind = quoted(column.name), column.type.kind
    if kind is Kind.BOOLEAN:
        values: tuple[Scalar | None, ...] = (False, True, None) if column.nullable else (False, True)
        return Attribute(column.name, column.type, name, values, of_values=True)
    declared = tuple(value for value in column.values or () if value is not None)
    if column.values_from is not None:
        known = listed(name)
        if known is None:
            return Unmodelled(column.name, "may have values that its table has not")
        if len(known) > MOST_VALUES:
            return Unmodelled(column.name, f"has more than {MOST_VALUES} values")
        return Attribute(column.name, column.type, name, known, of_values=True)
    if len(declared) > MOST_VALUES:
        return Unmodelled(column.name, f"has more than {MOST_VALUES} values")
    if declared and column.closed:
        values = (*declared, None) if column.nullable else declared
        return Attribute(column.name, column.type, name, values, of_values=True)
    if declared:
        whens = [f"{name} = {literal(value, column.type)}" for value in declared]
        return Attribute(column.name, column.type, _case(whens, len(whens)), declared, open=True)
    return Unmodelled(column.name, "has no value") if column.range is None else _binned(column, column.range)


def _binned(column: Column, ends: tuple[Scalar, Scalar]) -> Attribute | Unmodelled:
    """A range, cut into cells of one width: values beyond its ends are in the first and the last cell, as they are
    clipped there."""
    low, high = (_measure(end, column.type) for end in ends)
    name, last = quoted(column.name), _last(column.type) if column.step is None else column.step
    if low >= high:
        return Unmodelled(column.name, "has a range of one value")
    if last:
        many = (high - low) // last + 1
        each = last * -(-many // BINS)
        cuts = [low + each * place for place in range(-(-many // (each // last)))]
        edges = (*cuts, low + many * last)
    else:
        edges = tuple(low + (high - low) * place / BINS for place in range(BINS + 1))
    inner = [literal(_value(edge, column.type, Fraction(0)), column.type) for edge in edges[1:-1]]
    whens = [f"{name} < {edge}" for edge in inner]
    if column.nullable:
        whens.append(f"{name} IS NOT NULL")
    return Attribute(column.name, column.type, _case(whens, len(whens)), edges=edges, step=last, open=column.nullable)


def _case(whens: Sequence[str], rest: int) -> str:
    return f"CASE {' '.join(f'WHEN {when} THEN {place}' for place, when in enumerate(whens))} ELSE {rest} END"


def quoted(name: str) -> str:
    """A name, as PostgreSQL has it."""
    return exp.to_identifier(name, quoted=True).sql("postgres")


def literal(value: Scalar | None, of: Type) -> str:
    """A value, as PostgreSQL writes it.

    >>> from rewriter.declared import DATE, TEXT
    >>> literal("it's", TEXT), literal(datetime.date(2026, 1, 2), DATE)
    ("'it''s'", "DATE '2026-01-02'")
    """
    if of.temporal:
        zone = "+00" if of.kind is Kind.TIMESTAMPTZ else ""
        text = value.replace(tzinfo=None).isoformat(" ") if isinstance(value, datetime.datetime) else str(value)
        return f"{of.kind.value.upper()} '{text}{zone}'"
    if of.numeric:
        return format(Decimal(repr(value) if isinstance(value, float) else str(value)), "f")
    doubled = str(value).replace("'", "''")
    return f"'{doubled}'"


def _last(of: Type) -> Fraction:
    """The distance of a value to the next one; 0 where values lie anywhere."""
    if of.kind is Kind.DECIMAL:
        return Fraction(1, 10**of.scale)
    return Fraction(0) if of.kind is Kind.DOUBLE else Fraction(1)


def _measure(value: Scalar, of: Type) -> Fraction:
    """A value on the axis of its type: a number, days, or seconds."""
    if isinstance(value, datetime.datetime):
        plain = value.astimezone(_UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        found = Fraction((plain - _EPOCH) // _TICK, 10**6)
        return Fraction(math.floor(found / 86_400)) if of.kind is Kind.DATE else Fraction(math.floor(found))
    if isinstance(value, datetime.date):
        days = Fraction((value - _EPOCH.date()) // _DAY)
        return days if of.kind is Kind.DATE else days * 86_400
    return Fraction(value) if isinstance(value, int | float | Decimal) else Fraction(0)


def _value(number: Fraction, of: Type, width: Fraction) -> Scalar:
    """A point of the axis as a value of its type: the last one that is not above it. A double has few digits below
    the ``width`` of its cell."""
    if of.kind is Kind.DATE:
        return _EPOCH.date() + math.floor(number) * _DAY
    if of.kind is Kind.TIMESTAMP:
        return _EPOCH + datetime.timedelta(seconds=math.floor(number))
    if of.kind is Kind.TIMESTAMPTZ:
        return _EPOCH.replace(tzinfo=_UTC) + datetime.timedelta(seconds=math.floor(number))
    if of.kind is Kind.INTEGER:
        return math.floor(number)
    if of.kind is Kind.DECIMAL:
        unit = 10**of.scale
        return Decimal(math.floor(number * unit)).scaleb(-of.scale)
    if not width:
        return float(number)
    digits = _DIGITS - math.floor(math.log10(width))
    return float(Decimal(float(number)).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR))
