"""Vectors of cells, in which statistics are measured: a cell adds up an integer over the rows of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.dialects import Dialect
from rewriter.expressions import Value
from rewriter.plan import Linear, Output, Part
from rewriter.strategies import Prefix

POINT = "dpsql_point_"
"""Begins the names that stand for released numbers."""


@dataclass(frozen=True, slots=True)
class Addend:
    """``weight`` times a sum over rows: of the row column ``summed``, or of 1 where ``counted`` is not NULL.

    Without either, of 1; with ``distinct``, of 1 for each different combination of these row columns. ``test`` is a
    boolean row column that restricts the rows; with ``atom``, a column of numbers of atoms, and the rows are those of
    that atom. ``person``: of 1 for each person with a row in the group.
    """

    weight: int
    summed: str | None = None
    counted: str | None = None
    test: str | None = None
    atom: int | None = None
    distinct: tuple[str, ...] = ()
    person: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One component of a vector, the sum of its addends: an integer number of steps of ``granularity``."""

    name: str
    text: str
    granularity: Fraction
    addends: tuple[Addend, ...]


@dataclass(frozen=True, slots=True)
class Credit:
    """The distinct values that a vector of one cell counts: combinations of the row columns ``values`` where ``test``
    holds.

    ``each`` is the most values that one person is credited with in a group, where less than their rows.
    """

    values: tuple[str, ...]
    test: str | None
    each: int | None


@dataclass(frozen=True, slots=True)
class Vector:
    """Cells that are clipped together. One row adds at most ``row_l1`` in L1 and √``row_l2_squared`` in L2.

    ``signed``: cells can be negative. ``distinct`` vectors count a unit once per group, whatever its rows. A vector
    with a ``prefix`` is clipped in L1. ``weight`` is its share of the price, see
    :func:`rewriter.strategies.conditional_sums.weight`. ``credit``: the one cell counts distinct values, and is no sum
    over people. ``rows`` counts the rows of a vector that each row moves by the full amount: a unit with too many rows
    is clipped by their number, whatever their values. It is None where the norm of the vector itself decides.
    ``most_rows``: one person moves the vector by no more than so many of the largest rows, however many rows the person
    has; None where only the number of rows bounds it. ``most_in_group``: nor by more than so many of them in one group.
    """

    cells: tuple[Cell, ...]
    row_l1: int
    row_l2_squared: int
    distinct: bool = False
    signed: bool = False
    prefix: Prefix | None = None
    weight: Fraction = Fraction(1)
    credit: Credit | None = None
    rows: Addend | None = None
    most_rows: Fraction | None = None
    most_in_group: int | None = None


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """A row column that is computed of others: ``sql`` over the row columns ``of``, which may be computed ones; ``how``
    says it without names."""

    name: str
    sql: exp.Expr
    how: str
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """``columns`` are row columns by name (values in steps, conditions, atoms), ``vectors`` what is measured.

    ``clips``: values may be moved into a range. ``derived`` are more row columns. ``parts`` and ``orders`` are as in
    the plan; a part that is not additive is when a unit has one group. ``steps`` are vectors that are measured later,
    one step after another, by SQL that has released numbers in the place of columns.
    """

    columns: tuple[tuple[str, exp.Expr], ...]
    vectors: tuple[Vector, ...]
    outputs: tuple[Output, ...]
    notes: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    orders: tuple[tuple[int, int], ...] = ()
    derived: tuple[ComputedColumn, ...] = ()
    clips: bool = False
    steps: tuple[tuple[Vector, ...], ...] = ()


class Builder:
    """Collects row columns, vectors and parts; equal expressions share one column, and equal parts one place.

    ``filters`` hold on every row; ``rows`` bounds the rows of a unit, as far as is known. ``apart``: every atom is
    measured on its own, since the groups' series are transformed. ``one_row``: a unit has at most one row.
    """

    def __init__(
        self, dialect: Dialect, filters: Sequence[Value], rows: int, *, apart: bool = False, one_row: bool = False
    ) -> None:
        self.apart = apart
        self.one_row = one_row
        self.dialect = dialect
        self.filters = filters
        self.rows = rows
        self.columns: dict[str, tuple[str, exp.Expr]] = {}
        self.vectors: list[Vector] = []
        self.notes: list[str] = []
        self.clips = False
        self.parts: list[Part] = []
        self.orders: list[tuple[int, int]] = []
        self.derived: dict[tuple[str, tuple[str, ...]], ComputedColumn] = {}
        self._cells = 0
        self._steps: list[list[Vector]] = []
        self._points = 0

    def column(self, prefix: str, sql: exp.Expr) -> str:
        key = self.spelt(sql)
        if key not in self.columns:
            self.columns[key] = (f"{prefix}{len(self.columns)}", sql)
        return self.columns[key][0]

    def derive(self, how: str, sql: exp.Expr, of: tuple[str, ...]) -> str:
        """The name of a row column that is computed of others."""
        found = self.derived.get((how, of))
        if found is None:
            found = self.derived[how, of] = ComputedColumn(f"d{len(self.derived)}", sql, how, of)
        return found.name

    def derived_column(self, name: str) -> ComputedColumn:
        return next(one for one in self.derived.values() if one.name == name)

    def condition(self, value: Value | None) -> str | None:
        return None if value is None else self.column("f", value.sql)

    def cell(self) -> str:
        self._cells += 1
        return f"s{self._cells - 1}"

    def points(self, count: int) -> tuple[str, ...]:
        """New names that stand in the SQL of a step for so many released numbers."""
        first, self._points = self._points, self._points + count
        return tuple(f"{POINT}{place}" for place in range(first, self._points))

    def measure_later(self, step: int, vector: Vector) -> None:
        """A vector that is measured in a step; they are counted from 0."""
        while len(self._steps) <= step:
            self._steps.append([])
        self._steps[step].append(vector)

    @property
    def steps(self) -> tuple[tuple[Vector, ...], ...]:
        return tuple(map(tuple, self._steps))

    def part(self, estimator: Linear, unit: Fraction, *, additive: bool = True) -> int:
        """The place of a part."""
        part = Part(estimator, unit, additive)
        if part not in self.parts:
            self.parts.append(part)
        return self.parts.index(part)

    def spelt(self, sql: exp.Expr | None) -> str:
        """The text of an expression: equal texts are equal expressions."""
        return "" if sql is None else self.dialect.sql(sql)
