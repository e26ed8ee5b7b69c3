"""A checked expression: what it computes, in which type, and what is known about it without data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from rewriter.declared import Interval, Kind, Scalar, Type
from rewriter.dialects import Fact

GROWTH = "growth"
"""The ``meta`` key for how many times as long as the stored texts a text may be; 1 where it is not there."""


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

DOMAIN: Fact[Domain] = Fact("domain")
"""The finite domain of an expression, where one follows from the expression itself."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression over the rows of a relation that never raises, whatever a row holds.

    ``sql`` is a tree of our own making, built only from allowed nodes. ``interval`` is where its values
    should lie by the declared ranges (None: unbounded or not a number), see :mod:`rewriter.declared.interval`.
    ``constant``: the same on every row of one unit. ``unit``: it is the privacy unit's key.
    ``identifies``: equal values imply the same unit. ``domain`` is a finite superset of its values where one follows
    from the expression itself; ``sql`` carries it into larger expressions. ``halves_away`` (DOUBLE only): PostgreSQL
    computes it as a NUMERIC, whose halves are rounded away from zero and not to the even neighbour. ``real`` (DOUBLE
    only): it has four bytes in
    PostgreSQL, which shows when it is printed or made a NUMERIC.
    """

    sql: exp.Expr
    type: Type
    interval: Interval | None = None
    nullable: bool = True
    constant: bool = False
    unit: bool = False
    identifies: bool = False
    domain: Domain | None = None
    halves_away: bool = False
    real: bool = False

    @property
    def exact(self) -> bool:
        """Whether PostgreSQL computes it as an integer or a NUMERIC, not as a double."""
        return self.halves_away or self.type.kind in (Kind.INTEGER, Kind.DECIMAL)

    def __post_init__(self) -> None:
        if self.domain is not None:
            DOMAIN.on(self.sql, self.domain)


def growth_of(node: exp.Expr) -> int:
    """How many times as long as the texts that are stored ``node`` may be, at most."""
    found = [part.meta[GROWTH] for part in node.walk(prune=lambda part: GROWTH in part.meta) if GROWTH in part.meta]
    return max((times for times in found if isinstance(times, int)), default=1)


def growing(column: exp.Column, *behind: exp.Expr) -> exp.Column:
    """The column of a subquery, as long as what is behind it."""
    column.meta[GROWTH] = max(map(growth_of, behind))
    return column


class Scope(Protocol):
    """Where an expression finds its columns and its subqueries."""

    def column(self, node: exp.Column) -> Value:
        """The value of a column reference. Raises :class:`rewriter.refused.Refused` (42703, 42702)."""
        ...

    def membership(self, node: exp.In | exp.Exists) -> Value:
        """``x IN (SELECT …)`` or ``EXISTS (SELECT …)`` as a boolean value, or a refusal."""
        ...
