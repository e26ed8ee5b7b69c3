"""How much one unit may contribute: rows, groups, rows in one group; and the norms that follow.

Nothing here is trusted to be true of the data. The norms are enforced by clipping (:mod:`rewriter.bound.bounded_sql`);
only ``unique`` is taken from the database's own constraints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from rewriter.declared.spans import Spans


class Norm(StrEnum):
    """The norm that one unit's vector is clipped in: L1 for discrete Laplace, L2 for discrete Gaussian noise."""

    L1 = "l1"
    L2 = "l2"


def least(bounds: Iterable[int | None]) -> int | None:
    """The smallest of the bounds that exist.

    >>> least([None, 7, 3]), least([None])
    (3, None)
    """
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known else None


MOST_JOINED = 1 << 20
"""Rows of a join that a person counts with where the bounds of its tables multiply to more: a million rows, each of
2²⁰ steps, can still be added up exactly. Two tables of a thousand rows a person each stay below it."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A row meets up to ``rows`` rows of ``table``: nothing says that the ``columns`` it is joined by are a key of it.

    >>> print(Repeated("rate", ("day",), 73_875))
    a row counts as up to 73,875, since it may meet so many of rate: with key: [day] for rate in the policy it meets one
    """

    table: str
    columns: tuple[str, ...]
    rows: int

    def __str__(self) -> str:
        key = ", ".join(self.columns)
        return (
            f"a row counts as up to {self.rows:,}, since it may meet so many of {self.table}: "
            f"with key: [{key}] for {self.table} in the policy it meets one"
        )


@dataclass(frozen=True, slots=True)
class SharedUnits:
    """Units are rows that may be of two people each, or groups of several: which tables they are made of, with the
    most rows of one person and how many changes each of them is (:mod:`rewriter.relations.shared_rows`,
    :mod:`rewriter.per_person.person_rows`).

    >>> shared = SharedUnits((("sale", 20, 1), ("return", 3, 2)))
    >>> shared.changes
    26
    >>> print(shared)
    rows may be of two people: one person counts with at most 20 rows of sale and 3 rows of return
    """

    tables: tuple[tuple[str, int, int], ...]
    grouped: bool = False

    @property
    def changes(self) -> int:
        """The most units that come or go with one person; one that becomes another is two."""
        return sum(rows * changes for _, rows, changes in self.tables)

    def __str__(self) -> str:
        most = [f"{rows:,} {'row' if rows == 1 else 'rows'} of {name}" for name, rows, _ in self.tables]
        units = "groups may be of several people" if self.grouped else "rows may be of two people"
        return f"{units}: one person counts with at most {' and '.join(most)}"


@dataclass(frozen=True, slots=True)
class ContributionBound:
    """At most ``rows`` rows of a unit in a relation, in at most ``groups`` groups of ``rows_per_group`` rows each.

    ``groups`` and ``rows_per_group`` speak of groupings whose keys vary within a unit. ``unique``: the database's
    constraints leave at most one row per unit. None: not declared. ``undeclared`` are the tables for which the owner
    gives no ``max_rows``: where ``rows`` is known all the same, they were learned. ``apart`` are columns, each by our
    alias of its table and its name, by which a unit's rows differ: where they are grouped by, a group has one of them;
    by some of them, as many as the others have values. ``values`` is how many some columns have within a unit.
    ``repeated`` are the joins that multiplied the bound, and would not with a key. ``spans`` are those that ``rows``
    is the bound of all of together. ``beyond`` is the product of the bounds, where ``rows`` is the smaller
    ``MOST_JOINED``: it is enforced by clipping like any other bound, so that any number would do. ``shared``: units are
    rows of several people; None where they are people. ``table`` is the one whose declarations these are, as they
    stand in the policy; "" where something else made them.

    >>> bound = ContributionBound(rows=40, groups=25, rows_per_group=2)
    >>> bound.l1, bound.l2_squared
    (40, 80)
    """

    rows: int | None = None
    groups: int | None = None
    rows_per_group: int | None = None
    unique: bool = False
    undeclared: frozenset[str] = frozenset()
    apart: tuple[frozenset[tuple[str, str]], ...] = ()
    values: tuple[tuple[tuple[str, str], int], ...] = ()
    repeated: tuple[Repeated, ...] = ()
    spans: tuple[Spans, ...] = ()
    shared: SharedUnits | None = None
    beyond: int | None = None
    table: str = ""

    def __post_init__(self) -> None:
        for bound in (self.rows, self.groups, self.rows_per_group):
            if bound is not None and bound < 1:
                raise ValueError("a contribution bound is at least 1")

    @property
    def l1(self) -> int | None:
        """The most rows a unit has in all groups: min(N, k·m)."""
        return least([self.rows, _product(self.groups, self.rows_per_group)])

    @property
    def l2_squared(self) -> int | None:
        """The square of the L2 norm of a unit's row counts: min(N², m²·k, N·m)."""
        rows, most = self.rows, self.rows_per_group
        return least([_product(rows, rows), _product(most, most, self.groups), _product(rows, most)])

    @property
    def most_groups(self) -> int | None:
        """The most groups that a unit has rows in."""
        return least([self.groups, self.rows])

    def within(self, groups: int | None, *, constant: bool) -> ContributionBound:
        """The bound under a grouping into at most ``groups`` groups, whose keys are ``constant`` per unit or not.

        Where the keys are constant a unit has one group, so its rows in that group are all its rows.
        """
        if constant:
            return replace(self, groups=1, rows_per_group=self.rows)
        most = self.rows if self.rows_per_group is None else least([self.rows, self.rows_per_group])
        return replace(self, groups=least([self.groups, groups]), rows_per_group=most)

    def by(self, columns: Iterable[tuple[str, str]]) -> ContributionBound:
        """The bound where rows are grouped by these columns, and perhaps by more.

        >>> lines = frozenset({("t1", "ordered"), ("t1", "product")})
        >>> bound = ContributionBound(rows=40, apart=(lines,), values=((("t1", "ordered"), 6),))
        >>> bound.by([("t1", "product")]).rows_per_group, bound.by(lines).rows_per_group
        (6, 1)
        >>> bound.by([("t1", "ordered")]).rows_per_group
        """
        grouped, values = frozenset(columns), dict(self.values)
        if not grouped:
            return self
        each = (_product(*(values.get(column) for column in key - grouped)) for key in self.apart)
        most = least([self.rows_per_group, *each])
        return (
            self
            if most is None or (self.rows is not None and most >= self.rows)
            else replace(self, rows_per_group=most)
        )

    def differ_by(self, columns: Iterable[tuple[str, str]]) -> bool:
        """Whether the database itself leaves a unit one row for each combination of these columns."""
        grouped = frozenset(columns)
        return any(one <= grouped for one in self.apart)

    def times(self, factor: int | None, undeclared: frozenset[str] = frozenset()) -> ContributionBound:
        """The bound of a join in which every row meets at most ``factor`` rows of the same unit.

        ``undeclared`` are the tables that the factor comes from without a declaration.

        >>> many = ContributionBound(rows=2000).times(2000)
        >>> many.rows, many.beyond, many.times(10).beyond
        (1048576, 4000000, 40000000)
        """
        undeclared |= self.undeclared
        if factor is not None and factor <= 1:
            return replace(self, undeclared=undeclared)
        rows, beyond = _product(self.rows, factor), _product(self.beyond, factor)
        if rows is not None and rows > MOST_JOINED and not self.spans and self.shared is None:
            rows, beyond = max(MOST_JOINED, self.rows or 1, factor or 1), beyond or rows
        return ContributionBound(
            rows,
            _product(self.groups, factor),
            _product(self.rows_per_group, factor),
            undeclared=undeclared,
            repeated=self.repeated,
            spans=self.spans,
            shared=self.shared,
            beyond=beyond,
        )

    def inside(self, alias: str) -> ContributionBound:
        """The same bound of a subquery, where columns of its tables are named by ours of it, too."""
        return replace(self, spans=tuple(replace(one, alias=f"{alias}_{one.alias}") for one in self.spans))

    def touching(self, touched: Callable[[Spans], int | Fraction]) -> ContributionBound:
        """The bound of rows of some spans of each of ``spans``: ``rows`` is that of all of them.

        >>> from fractions import Fraction
        >>> months = Spans("at", "month", Fraction(1), Fraction(365))
        >>> ContributionBound(rows=120, spans=(months,)).touching(lambda spans: 2).rows
        20
        """
        if self.rows is None:
            return self
        rows = self.rows
        for spans in self.spans:
            rows = math.ceil(rows * Fraction(min(touched(spans), spans.count)) / spans.count)
        return replace(self, rows=rows, spans=())

    def plus(self, other: ContributionBound) -> ContributionBound:
        """The bound of a UNION ALL."""
        if self.shared is not None or other.shared is not None:
            raise ValueError("rows of two people are added to no others")
        return ContributionBound(
            _sum(self.rows, other.rows),
            _sum(self.groups, other.groups),
            _sum(self.rows_per_group, other.rows_per_group),
            undeclared=self.undeclared | other.undeclared,
            repeated=tuple(dict.fromkeys((*self.repeated, *other.repeated))),
            beyond=None if self.beyond is other.beyond is None else (self.beyond or 0) + (other.beyond or 0),
        )


def _product(*factors: int | None) -> int | None:
    result = 1
    for factor in factors:
        if factor is None:
            return None
        result *= factor
    return result


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


ONE = ContributionBound(rows=1, groups=1, rows_per_group=1, unique=True)
