"""A checked expression: what it computes, in which type, and what is known about it without data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from rewriter.declared import BOOLEAN, Grain, Interval, Kind, OwnerKey, Randomization, Scalar, Type
from rewriter.dialects import Fact, Magnitude

Limits = tuple[int, int]
"""The least and the greatest integer that a value can be, *whatever a row holds*, unlike the declared interval."""
Span = tuple[int, int, int]
"""Months, days, microseconds."""


@dataclass(frozen=True, slots=True)
class Values:
    """A finite domain, listed. ``None`` stands for NULL."""

    values: tuple[Scalar | None, ...]


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """Every integer from ``low`` to ``high``."""

    low: int
    high: int


Domain = Values | IntegerRange


@dataclass(frozen=True, slots=True)
class Constant:
    """The value that a literal stands for."""

    scalar: Scalar | None


@dataclass(frozen=True, slots=True)
class Length:
    """At most ``plus`` characters and, of each of ``texts``, ``times`` its bytes; a missing one may count as none.

    ``checked``: a guard has seen to it that the whole is no longer than an engine can work with.
    """

    texts: tuple[tuple[exp.Expr, int, bool], ...] = ()
    plus: int = 0
    checked: bool = False

    def times(self, factor: int) -> Length:
        """``factor`` copies, of which there is at least one."""
        return Length(tuple((text, times * factor, missing) for text, times, missing in self.texts), self.plus * factor)

    def __add__(self, other: Length) -> Length:
        found: dict[exp.Expr, tuple[int, bool]] = {}
        for text, times, missing in (*self.texts, *other.texts):
            before, missed = found.get(text, (0, False))
            found[text] = before + times, missed or missing
        return Length(tuple((text, *facts) for text, facts in found.items()), self.plus + other.plus)

    def missing(self) -> Length:
        """The same where NULL counts as an empty text."""
        return replace(self, texts=tuple((text, times, True) for text, times, _ in self.texts))


@dataclass(frozen=True, slots=True)
class TextSize:
    """A text is at most ``growth`` times as long as the stored texts are. ``length`` is that of each row.

    ``guarded``: the expression is a CASE that gives NULL in the place of too long a text.
    """

    growth: int = 1
    length: Length | None = None
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class LinearTime:
    """``factor`` times the place of a ``moment`` on the number line, in days, and an ``offset``."""

    moment: exp.Expr
    factor: int
    offset: Fraction


VARYING = -1
"""Decimals that PostgreSQL prints of values of a NUMERIC, where each has its own: 0 beside 12.50."""

DOMAIN: Fact[Domain] = Fact("domain")
"""The finite domain of an expression, where one follows from the expression itself."""
LIMITS: Fact[Limits] = Fact("limits")
LITERAL: Fact[Constant] = Fact("literal")
LINEAR: Fact[LinearTime] = Fact("linear")
"""Of what is computed of one time and of literals, wherever it is not NULL: ``now() - x``, ``x + INTERVAL '1 day'``."""
EPOCH: Fact[LinearTime] = Fact("epoch")
"""Of the seconds since 1970 of a time, which are rounded to a double."""
NUMERAL: Fact[Interval] = Fact("numeral")
"""Of a text that spells a number: where that should lie by the declared ranges."""
REPORTED: Fact[bool] = Fact("reported")
"""Of a reference of ours to a column of reports, that reads them as they are."""


@dataclass(frozen=True, slots=True)
class ConditionalKey:
    """A key of a person that a column holds on the rows on which another column of its relation has a ``value``.

    ``column`` is the text of that other column's expression: equal texts read one column of one row.
    """

    key: OwnerKey
    column: str
    value: str | int


@dataclass(frozen=True, slots=True)
class Value:
    """An expression over the rows of a relation that never raises, whatever a row holds.

    ``sql`` is a tree of our own making, built only from allowed nodes. ``interval`` is where its values
    should lie by the declared ranges (None: unbounded or not a number), see :mod:`rewriter.declared.interval`.
    ``constant``: the same on every row of one unit. ``unit``: it is the privacy unit's key.
    ``keys``: equal values that hold one such key belong to one unit. ``ways``: so they should, by another way to it,
    and whoever ties rows by it compares their units as well. ``ways_when`` are ways on some of the rows, and nothing
    rests on them before a statement's conditions say that it reads no others. ``domain`` is a finite superset of its
    values where one follows from the expression itself. ``halves_away`` (DOUBLE only): PostgreSQL computes it as a
    NUMERIC, whose halves are rounded away from zero and not to the even neighbour. ``real`` (DOUBLE only): it has four
    bytes in PostgreSQL, which shows when it is printed or made a NUMERIC. ``decimals`` (of a NUMERIC): how many
    are printed of each value, where these are not its type's; :data:`VARYING` where values differ. ``grain`` is that of
    a column, of the literals compared with it.

    The rest is about ``sql`` itself. ``literal`` and ``span`` are what a literal stands for; ``times`` (INTERVAL): it
    is a multiple of "days", or of what a "clock" shows; "apart": its whole days are apart from less than a day, as
    those of a difference of times are; an "age" has months, and "months" nothing else. ``limits`` (INTEGER) and
    ``magnitude`` (DOUBLE) are how far it can reach, ``raw`` (DOUBLE): it may still be NaN or ±inf. ``size`` is that
    of a text. The node carries domain, limits and literal into the larger expressions that it becomes part of.

    ``named``: it is the key of somebody who has rows in the group of several people that is the unit.
    ``randomized``: it is a column of reports, which no expression reads as if it were what people have.

    The facts that bounds and keys follow from have no defaults: whoever makes a value says what is known of it. The
    same values by another expression are :meth:`carried_by` it.
    """

    sql: exp.Expr
    type: Type
    interval: Interval | None
    nullable: bool
    constant: bool
    domain: Domain | None
    unit: bool = False
    grain: Grain | None = None
    keys: frozenset[OwnerKey] = frozenset()
    ways: frozenset[OwnerKey] = frozenset()
    ways_when: tuple[ConditionalKey, ...] = ()
    halves_away: bool = False
    real: bool = False
    decimals: int | None = None
    literal: Constant | None = None
    span: Span | None = None
    times: str | None = None
    limits: Limits | None = None
    magnitude: Magnitude | None = None
    raw: bool = False
    size: TextSize | None = None
    named: bool = False
    randomized: Randomization | None = None

    @property
    def identifies(self) -> bool:
        """Whether equal values of one relation belong to one unit, or should, also where they are NULL."""
        return any(key.null or not self.nullable for key in self.keys | self.ways)

    def unowned(self) -> Value:
        """The value without what it says of owners: it is computed, and another unit's may be equal."""
        return replace(self, unit=False, keys=frozenset(), ways=frozenset(), ways_when=(), named=False)

    @property
    def exact(self) -> bool:
        """Whether PostgreSQL computes it as an integer or a NUMERIC, not as a double."""
        return self.halves_away or self.type.kind in (Kind.INTEGER, Kind.DECIMAL)

    @property
    def printed_decimals(self) -> int | None:
        """How many decimals PostgreSQL prints of each value; None where values differ, or nothing is known."""
        if self.decimals is not None:
            return None if self.decimals == VARYING else self.decimals
        return None if self.type.kind is Kind.DOUBLE else self.type.scale

    def __post_init__(self) -> None:
        if (self.size is None) is (self.type.kind is Kind.TEXT):
            raise TypeError(f"a value of type {self.type} {'has no' if self.size else 'has a'} size of texts")
        if self.domain is not None:
            DOMAIN.on(self.sql, self.domain)
        if self.limits is not None:
            LIMITS.on(self.sql, self.limits)
        if self.literal is not None:
            LITERAL.on(self.sql, self.literal)

    @classmethod
    def unknown(cls, sql: exp.Expr, type_: Type) -> Value:
        """A value of which nothing is known but its type."""
        return cls(sql, type_, interval=None, nullable=True, constant=False, domain=None, size=text_size(type_))

    @classmethod
    def condition(cls, sql: exp.Expr, *, nullable: bool, constant: bool) -> Value:
        """A condition on rows, which is no key and not listed."""
        return cls(sql, BOOLEAN, interval=None, nullable=nullable, constant=constant, domain=None)

    def carried_by(self, node: exp.Expr) -> Value:
        """The same values, by another expression: how the old one computes them says nothing of the new one."""
        size = self.size and TextSize(self.size.growth)
        return replace(self, sql=node, literal=None, span=None, limits=None, magnitude=None, raw=False, size=size)


def growth_of(*values: Value) -> int:
    """How many times as long as the texts that are stored the texts among some values may be, at most."""
    return max((value.size.growth for value in values if value.size is not None), default=1)


def text_size(type_: Type, *made_of: Value) -> TextSize | None:
    """The size of a text that is stored, or one of some values; None of any other type."""
    return TextSize(growth_of(*made_of)) if type_.kind is Kind.TEXT else None


def common_decimals(type_: Type, values: Iterable[Value]) -> int | None:
    """The ``decimals`` of values that are put into one type, and keep what PostgreSQL prints of each."""
    printed = {value.printed_decimals for value in values if value.exact}
    return decimals_in(type_, next(iter(printed)) if len(printed) == 1 else None)


def decimals_in(type_: Type, printed: int | None) -> int | None:
    """The ``decimals`` of a value of a type of which so many are printed; None where that is not known."""
    if type_.kind is Kind.DECIMAL:
        return None if printed == type_.scale else VARYING if printed is None else printed
    return printed if type_.kind is Kind.DOUBLE else None


class Scope(Protocol):
    """Where an expression finds its columns and its subqueries."""

    def column(self, node: exp.Column) -> Value:
        """The value of a column reference. Raises :class:`rewriter.refused.Refused` (42703, 42702)."""
        ...

    def membership(self, node: exp.In | exp.Exists | exp.Subquery) -> Value:
        """``x IN (SELECT …)`` or ``EXISTS (SELECT …)`` as a boolean value, ``(SELECT …)`` as a value, or a refusal."""
        ...
