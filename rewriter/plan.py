"""The plan of one release: bounded SQL, key set, statistics with their sensitivities, and outputs."""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Protocol, Self

from rewriter.at_rest import AtRest
from rewriter.canonical_form import identity_of
from rewriter.declared import Scalar, Sensitivity, Type
from rewriter.once import remembering
from rewriter.partial_sums import PartialSums
from rewriter.strategies import MissingComponents, Prefix

_CELL = "~"


def celled_family(asked: str, own: str) -> str:
    """The family of a key with a cell for undeclared values, of that of the key as it was ``asked`` and its ``own``."""
    return f"{asked}{_CELL}{own}"


def asked_family(family: str) -> str:
    """The family of a key as it was asked. A release with a cell for undeclared values tells of its groups, not one
    without of the cell.

    >>> asked_family(celled_family("region", "region or another")), asked_family("region")
    ('region', 'region')
    """
    return family.partition(_CELL)[0]


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A grouping key: column ``name`` of the engine's answer, as the analyst wrote it in ``text``.

    ``family`` is a name that two keys over the same rows share only when they are the same expression.
    ``closed``: by proof, every row of people has one of the key's public values, whatever the database holds.
    ``listed``: the owner listed the values one by one, and no condition left any of them out; ``lists_null``: NULL is
    one of these; ``may_lack``: it may be NULL, which no list names. ``sorts``: it is texts that sort as the times do
    that they are printed of. ``celled``: one of the values is :data:`UNDECLARED`, of which no reader sees a group.
    """

    name: str
    type: Type
    text: str
    family: str = field(default="", repr=False)
    closed: bool = field(default=False, repr=False, compare=False)
    listed: bool = field(default=False, repr=False, compare=False)
    lists_null: bool = field(default=False, repr=False, compare=False)
    may_lack: bool = field(default=False, repr=False, compare=False)
    sorts: bool = field(default=False, repr=False, compare=False)
    celled: bool = field(default=False, repr=False, compare=False)

    @property
    def attribute(self) -> str:
        """The family of the key whose values it has: of one with a cell, that of the key with the cell."""
        return self.family.rpartition(_CELL)[2]

    @property
    def ordered(self) -> bool:
        """Whether the values lie along an axis, so that neighbouring groups tell of each other."""
        return (self.type.on_axis or self.sorts) and not self.listed


@dataclass(frozen=True, slots=True)
class Statistic:
    """An exact integer column of the bounded query, secret until noise is added.

    Column ``name`` counts steps of size ``granularity``: the number it stands for is
    ``integer * granularity``. ``bound`` is the most that one unit can move one cell, in steps.
    ``family`` is a name that two statistics share only when the integer of a group is, whatever the data, the sum of
    the other's integers over the groups that it is made of (:mod:`rewriter.planner.lineage`); "" where nothing is
    known.
    """

    name: str
    granularity: Fraction
    bound: int
    text: str
    family: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """Statistics that are clipped together: one vector over (group, statistic) with one joint sensitivity.

    With a ``prefix``, its integers are measured in place of those of the groups, and the sensitivity is theirs.
    ``weight`` is its share of the price against the other blocks'; a single count has weight 1. ``rises``: one person
    more makes no integer smaller, in any group, whatever the data.
    """

    statistics: tuple[Statistic, ...]
    sensitivity: Sensitivity
    prefix: Prefix | None = None
    weight: Fraction = Fraction(1)
    rises: bool = False

    @property
    def strategy(self) -> Prefix | MissingComponents | None:
        """What is measured in place of the groups' integers."""
        return self.prefix


@dataclass(frozen=True, slots=True)
class ComponentBlock(Block):
    """A block of which some components are measured in place of the groups' integers; the sensitivity is theirs.

    >>> new = MissingComponents((2, 2), ((0, 1),))
    >>> count = Block((Statistic("n", Fraction(1), 1, "count", "f"),), Sensitivity(1, 1))
    >>> ComponentBlock.of(count, new).sensitivity, ComponentBlock.of(count, new).statistics[0].family
    (Sensitivity(l1=None, l2_squared=4), '')
    """

    components: MissingComponents = field(default_factory=lambda: MissingComponents((), ()))

    @classmethod
    def of(cls, block: Block, components: MissingComponents) -> ComponentBlock:
        """The components of a block that measures its groups. Their integers are no sums of any others."""
        if block.strategy is not None:
            raise ValueError("components are those of groups")
        statistics = tuple(replace(one, family="") for one in block.statistics)
        sensitivity = components.sensitivity(block.sensitivity)
        return cls(statistics, sensitivity, None, block.weight, False, components)

    @property
    def strategy(self) -> MissingComponents:
        return self.components


@dataclass(frozen=True, slots=True)
class Selection:
    """Which groups may be named: those whose noisy weight reaches a threshold.

    Column ``name`` holds, per group, the sum of one weight per unit, in steps of ``granularity``. A unit in
    t groups adds at most ``1/sqrt(t)`` to each, so its L2 norm is at most 1; a unit in more than
    ``max_groups`` groups adds nothing. With ``max_groups`` 1 the weight is the number of units. Where the number of
    units is asked for, ``name`` is that of its statistic: what is measured once selects, and is shown. At most
    ``units`` units come or go with one person.
    """

    name: str
    granularity: Fraction
    max_groups: int
    units: int = 1

    @property
    def sensitivity(self) -> Sensitivity:
        """One person's weights, in steps: L2 norm at most units/granularity; L1 too when each has one group."""
        steps = int(self.units / self.granularity)
        return Sensitivity(l1=steps if self.max_groups == 1 else None, l2_squared=steps * steps)


@dataclass(frozen=True, slots=True)
class Top:
    """Only ``count`` groups are measured, those with the most of the statistic ``name``, or the least: they are picked
    before, one after another.

    ``reach``, in steps, is the width of the interval that one unit moves the statistic by, in every group it is in:
    from 0 to its bound where numbers only grow. ``output`` is the column that is asked for in ``text``, and ``most``
    says whether the largest of it are wanted; its weight of the statistic may be negative.
    """

    name: str
    output: str
    count: int
    descending: bool
    reach: int
    text: str
    most: bool = True


UNDECLARED = "dpsql undeclared values 4c1d86b90f5ea237"
"""Stands in the groups of a release for all values of a key that are not declared. No reader sees it."""

BLOCK_KEY = "dpsql block key 7b1f5c93e2a84d06"
"""Stands in a plan's SQL for the secret by which people are put into blocks: a fresh one each time it is read."""

Terms = tuple[tuple[str, Fraction], ...]
"""A weighted sum of statistics, each named once: ``Σ weight · integer``."""


class Estimator(ABC):
    """How a column of the release follows from what is measured. Each kind says of itself what a plan asks.

    ``dpsql.inference.estimates`` has the other half of each kind: its values, intervals and expected errors.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def statistics(self) -> tuple[str, ...]:
        """The names of the statistics that the column is made of; none of a value that is picked."""

    @abstractmethod
    def finer(self, refinement: Mapping[str, int]) -> Self:
        """The same over lattices that are finer by whole factors."""

    @property
    def as_sum(self) -> Linear | None:
        """The weighted sum of statistics that the column is; None of all other kinds."""
        return None

    @property
    def picks(self) -> tuple[Chosen, ...]:
        """The values that are picked for the column; none for all that is computed from statistics."""
        return ()

    @property
    def has_margin(self) -> bool:
        """Whether a released number comes with a half-width. A picked one is off by a known number of rows, not by a
        known distance."""
        return not self.picks

    @property
    def is_quotient(self) -> bool:
        """Whether sums are divided, so that the error falls with the number of rows."""
        return self.as_sum is None and not self.picks

    @property
    def nonnegative(self) -> bool:
        """Whether no value is below 0, whatever the data."""
        return False

    @property
    def possible(self) -> tuple[float, float]:
        """The least and the most that a value can be, whatever the data."""
        return -math.inf, math.inf

    @property
    def squared(self) -> tuple[Fraction, ...]:
        """Numbers whose squares doubles must hold, beside the bounds of statistics."""
        return ()


def made_of(terms: Terms, sums: Mapping[str, Terms]) -> Terms:
    """The same weighted sum, of the numbers that each statistic is a weighted sum of.

    >>> made_of((("n", Fraction(2)), ("s", Fraction(1))), {"n": (("a", Fraction(1, 2)),), "s": (("a", Fraction(1)),)})
    (('a', Fraction(2, 1)),)
    """
    found: dict[str, Fraction] = {}
    for name, weight in terms:
        for other, part in sums[name]:
            found[other] = found.get(other, Fraction(0)) + weight * part
    return tuple((name, weight) for name, weight in found.items() if weight)


def _finer(terms: Terms, refinement: Mapping[str, int]) -> Terms:
    return tuple((name, weight / refinement[name]) for name, weight in terms)


@dataclass(frozen=True, slots=True)
class Linear(Estimator):
    """An output that is a weighted sum of statistics: ``Σ weight · integer``.

    Weights already contain the granularities. ``integer`` outputs are rounded; an output with a ``minimum``
    is not reported below it, one with a ``maximum`` not above it.
    """

    terms: Terms
    integer: bool = False
    minimum: int | None = None
    maximum: int | None = None

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    @property
    def as_sum(self) -> Linear:
        return self

    @property
    def nonnegative(self) -> bool:
        return self.minimum == 0

    def made_of(self, sums: Mapping[str, Terms]) -> Linear:
        """The same output, of the numbers that each statistic is a weighted sum of."""
        return replace(self, terms=made_of(self.terms, sums))

    def finer(self, refinement: Mapping[str, int]) -> Linear:
        return replace(self, terms=_finer(self.terms, refinement))


@dataclass(frozen=True, slots=True)
class Ratio(Estimator):
    """A mean from a = Σt and b = Σ(1-t), which together are the number of rows: ``low + (high - low) · a / (a + b)``,
    inside [low, high], where t = (x - low) / (high - low).

    ``above`` and ``below`` are what a and b are of the statistics. One that is in both has one noise in both.
    """

    above: Terms
    below: Terms
    low: Fraction
    high: Fraction

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in (*self.above, *self.below)))

    @property
    def nonnegative(self) -> bool:
        return self.low >= 0

    @property
    def possible(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    def made_of(self, sums: Mapping[str, Terms]) -> Ratio:
        """The same output, of the numbers that each statistic is a weighted sum of."""
        return replace(self, above=made_of(self.above, sums), below=made_of(self.below, sums))

    def finer(self, refinement: Mapping[str, int]) -> Ratio:
        return replace(self, above=_finer(self.above, refinement), below=_finer(self.below, refinement))


class Figure(StrEnum):
    """A figure that is computed from moments of x, or of x and y. Slope and intercept are those of y over x."""

    MEAN = "mean"
    VARIANCE_POP = "variance of all"
    VARIANCE_SAMP = "variance"
    DEVIATION_POP = "deviation of all"
    DEVIATION_SAMP = "deviation"
    SQUARES = "sum of squares"
    COVARIANCE_POP = "covariance of all"
    COVARIANCE_SAMP = "covariance"
    PRODUCTS = "sum of products"
    CORRELATION = "correlation"
    DETERMINATION = "r2"
    SLOPE = "slope"
    INTERCEPT = "intercept"

    @property
    def degrees(self) -> tuple[int, int]:
        """The highest powers of x and of y that it is made of."""
        return _DEGREES.get(self, (2, 0))

    @property
    def nonnegative(self) -> bool:
        return self.degrees == (2, 0) or self is Figure.DETERMINATION


class Bend(StrEnum):
    """What becomes another number where the values of one column are clipped: slopes of what is explained, or by what
    explains alone; a correlation; the share that is explained; a covariance."""

    EXPLAINED = "slopes of"
    EXPLAINING = "slopes by"
    CORRELATED = "correlations of"
    DETERMINED = "r² of"
    COVARYING = "covariances of"


_DEGREES = {
    Figure.MEAN: (1, 0),
    Figure.COVARIANCE_POP: (1, 1),
    Figure.COVARIANCE_SAMP: (1, 1),
    Figure.PRODUCTS: (1, 1),
    Figure.SLOPE: (2, 1),
    Figure.INTERCEPT: (2, 1),
    Figure.CORRELATION: (2, 2),
    Figure.DETERMINATION: (2, 2),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """The range of a variable, and the degree of its Bernstein polynomials; 0 for a variable that there is not."""

    low: Fraction
    high: Fraction
    degree: int


@dataclass(frozen=True, slots=True)
class Moment(Estimator):
    """A figure of the moments of x and y, from sums of products of Bernstein polynomials of both.

    With t = (x - low) / (high - low), the polynomial of degree d and number i is C(d, i) tⁱ (1-t)ᵈ⁻ⁱ. ``cells`` has the
    statistic of every pair of numbers, those of y running faster, with the weight of an integer in it: the sum of what
    rows have. All cells together are the number of rows.
    """

    figure: Figure
    x: Axis
    y: Axis
    cells: Terms

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.cells)

    @property
    def nonnegative(self) -> bool:
        return self.x.low >= 0 if self.figure is Figure.MEAN else self.figure.nonnegative

    @property
    def squared(self) -> tuple[Fraction, ...]:
        """A variance is a square, and its error is squared again."""
        axes = (self.x, self.y)
        widths = [(axis.high - axis.low) ** 2 for axis in axes if axis.degree]
        return (*widths, *(max(abs(axis.low), abs(axis.high)) ** 2 or Fraction(1) for axis in axes))

    @property
    def possible(self) -> tuple[float, float]:
        if self.figure is Figure.MEAN:
            return float(self.x.low), float(self.x.high)
        if self.figure is Figure.CORRELATION:
            return -1.0, 1.0
        return (0.0 if self.figure.nonnegative else -math.inf), (
            1.0 if self.figure is Figure.DETERMINATION else math.inf
        )

    @property
    def sides(self) -> tuple[Terms, Terms]:
        """Σt and Σ(1-t) of x: of cell i of degree d, i/d is t, in the sum over all cells of y.

        >>> ends = Axis(Fraction(0), Fraction(1), 2), Axis(Fraction(0), Fraction(1), 0)
        >>> cells = tuple((name, Fraction(1)) for name in "abc")
        >>> above, below = Moment(Figure.MEAN, *ends, cells).sides
        >>> [(name, str(weight)) for name, weight in above], [(name, str(weight)) for name, weight in below]
        ([('b', '1/2'), ('c', '1')], [('a', '1'), ('b', '1/2')])
        """
        width = self.y.degree + 1
        shares = [Fraction(place // width, self.x.degree) for place in range(len(self.cells))]
        above = ((name, one * t) for (name, one), t in zip(self.cells, shares, strict=True))
        below = ((name, one * (1 - t)) for (name, one), t in zip(self.cells, shares, strict=True))
        return tuple(one for one in above if one[1]), tuple(one for one in below if one[1])

    def made_of(self, sums: Mapping[str, Terms]) -> Moment | None:
        """The same output, of the numbers that each cell is a multiple of; None where a cell is a sum of several."""
        cells = [made_of((cell,), sums) for cell in self.cells]
        return replace(self, cells=tuple(cell for (cell,) in cells)) if all(len(one) == 1 for one in cells) else None

    def finer(self, refinement: Mapping[str, int]) -> Moment:
        return replace(self, cells=_finer(self.cells, refinement))


@dataclass(frozen=True, slots=True)
class Chosen(Estimator):
    """A value that the exponential mechanism picks: fraction number ``place`` of the choice of this name."""

    choice: str
    place: int

    @property
    def statistics(self) -> tuple[str, ...]:
        return ()

    @property
    def picks(self) -> tuple[Chosen]:
        return (self,)

    def finer(self, refinement: Mapping[str, int]) -> Chosen:
        return self


def aim_of(fraction: Fraction) -> tuple[Fraction, Fraction]:
    """The share of all rows, and the number of rows more, that are to be below the value of a ``fraction``.

    From 0 to 1 it is a share of the rows. Above 1 it is one more than a number of rows from the least value, below 0
    minus a number of rows from the greatest. The k-th row is aimed at in its middle, k - 1/2 rows from its end.

    >>> [tuple(map(str, aim_of(Fraction(one)))) for one in ("0.9", "100.5", "-99.5")]
    [('9/10', '0'), ('0', '199/2'), ('1', '-199/2')]
    """
    if fraction > 1:
        return Fraction(0), fraction - 1
    return (Fraction(1), fraction) if fraction < 0 else (fraction, Fraction(0))


@dataclass(frozen=True, slots=True)
class Choice:
    """A column of whose values quantiles are picked, group by group, from the lattice ``low``, ``low + 1``, … ``high``.

    ``sql`` answers rows ``(keys…, v, w, below, n)`` of integers, secret: at the lattice value v there is the weight w,
    and n is the weight of the whole group; ``below`` is what is below the first value of those that have the same, of
    which none is missing. Every value is there whose distance from one of the
    ``fractions`` is below ``window``, see :mod:`dpsql.mechanisms.quantiles.one`; 0 and 1 stand for MIN and MAX, and
    fractions beyond them for a number of rows (:func:`aim_of`), all counted from one end. One unit's weights in the
    groups have norms of at most ``sensitivity``; a row weighs ``row``, or less where its unit has more rows than are
    counted. The number that v stands for is ``v * granularity``.

    With ``distinct`` it is distinct values that are weighed: each as the heaviest row that has it. So one unit changes
    the weight of a value by at most the weight of her own rows that have it, as she does where rows are weighed.

    With ``candidates`` it is the mode that is picked, ``fractions`` are none, and v is a place among the candidates;
    every value that has weight is there.

    ``within`` is the SQL of a window that is smaller, for who looks no further.
    """

    name: str
    sql: str
    fractions: tuple[Fraction, ...]
    low: int
    high: int
    granularity: Fraction
    sensitivity: Sensitivity
    row: int
    window: int
    text: str
    candidates: tuple[Scalar, ...] = ()
    distinct: bool = False
    within: Callable[[int], str] | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """How many values are picked in a group."""
        return max(len(self.fractions), 1)


@dataclass(frozen=True, slots=True)
class Part:
    """A number of one group that outputs are sums of: what is made consistent between groups and between releases.

    ``estimator`` is unbiased; its ``minimum`` is 0 where the number cannot be negative. Finished numbers are multiples
    of ``unit``: 1 for counts and sums of whole numbers, the last digit for decimals, the lattice step for doubles.
    ``additive``: the part of a group is the sum of the parts of the groups that it falls into. The number of people is
    not, where one person can be in several groups.
    """

    estimator: Linear
    unit: Fraction
    additive: bool = True


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the release: how it is finished from the measurements, and how it was asked in ``text``.

    ``parts`` are places in the plan's parts whose sum the output is; none for what is no such sum, as a mean.
    ``decides`` is what turns where it exceeds its margin, as it was asked.
    """

    name: str
    type: Type
    estimator: Estimator
    text: str
    parts: tuple[int, ...] = ()
    decides: str = ""


EXISTS = "EXISTS"
"""What a count decides that is asked for whether there is a row."""


@dataclass(frozen=True, slots=True)
class Inhabited:
    """SQL that answers the same as ``whole``, the SQL of a plan, in no order: without groups that nobody is in, and
    with groups that are not in the key set. ``tables`` are those of the database that list the groups, with schemas."""

    sql: str
    whole: str
    tables: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, order=True)
class NumberCut:
    """A point that divides numbers: before those that are at least ``at``, or ``above`` those that equal it."""

    at: Fraction
    above: bool = False


Cuts = Mapping[str, tuple[NumberCut, ...]]
"""In order, the cuts that divide columns of numbers into intervals, by the families of these columns."""


class WaysOver(Protocol):
    """The ways to have a release from one over more rows (:class:`DrillDown`).

    With ``cuts``, also those of which a key is the interval of a number: between these cuts of the column, and those
    that the statement's own conditions name.
    """

    def __call__(self, cuts: Cuts | None = None) -> tuple[DrillDown, ...]: ...


def without_ways(cuts: Cuts | None = None) -> tuple[DrillDown, ...]:
    """None, whatever the cuts are."""
    return ()


@dataclass(frozen=True, slots=True)
class AddedTo:
    """Where an output of a plan counts in another plan: ``weight`` times it is added to the output at a ``place``.
    Where that one is a mean, it is added to the sum of values, and ``rows`` times it to the number of rows."""

    place: int
    weight: Fraction = Fraction(1)
    rows: int = 0


@dataclass(frozen=True, slots=True)
class PlanApart:
    """A plan whose outputs those of another one are made of: ``uses`` says of each where it is added. ``filtered`` is
    the plan of the same numbers over the rows of the other one, with a FILTER."""

    plan: Plan
    uses: tuple[tuple[AddedTo, ...], ...]
    filtered: Callable[[], Plan] = field(repr=False, compare=False)

    @property
    def places(self) -> tuple[int, ...]:
        """The outputs that are made of it."""
        return tuple(dict.fromkeys(use.place for some in self.uses for use in some))


class PlansApart(Protocol):
    """Plans that the outputs of another one are made of, each of the rows that one FILTER leaves."""

    def __call__(self) -> tuple[PlanApart, ...]: ...


def without_conditions() -> tuple[PlanApart, ...]:
    """None."""
    return ()


class MeasuredQuestion(ABC):
    """What a plan measures, as a question that others over the same rows can be measured with."""

    @property
    @abstractmethod
    def rows(self) -> str:
        """A name that two questions share only when they are about the same rows of the same people."""

    @property
    @abstractmethod
    def is_clipped(self) -> bool:
        """Whether people may have several rows. Then each plan clips them by its own keys, but for those of
        :meth:`with_others`: these clip a person by one factor, whatever their keys."""

    @abstractmethod
    def with_others(self, asked: Sequence[MeasuredQuestion]) -> tuple[Plan, tuple[tuple[int, ...], ...]] | None:
        """The plan by its own keys of all that is ``asked`` over these rows, and the place of each question's outputs
        among its outputs. None where they are no vector of sums and means, or where this is refused."""


Points = Mapping[str, Sequence[int]]
"""Released numbers that the SQL of a step reads, by their names in it: one for each group."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What is measured after other statistics of the plan were released, at numbers that follow from these.

    ``sql`` answers the keys and the statistics of its ``blocks``, with names in the place of these numbers. ``at`` is
    the SQL with the numbers of each group, given its keys. Nothing else of it follows from them: the blocks have one
    sensitivity whatever they are.
    """

    sql: str
    blocks: tuple[Block, ...]
    at: Callable[[Sequence[tuple[Scalar | None, ...]], Points], str] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Plan:
    """One release, planned. No I/O made it and no private row was seen: it depends on SQL text and policy alone.

    ``sql`` answers one row per group: the keys, then every statistic, then the selection weight, if any; it is
    generated from our own tree for ``dialect``. ``selection`` is None when the key set is public, and then every group
    of the key set is in the answer. ``cells`` bounds the number of groups of a public key set (1 without GROUP BY),
    ``hidden`` of which are of undeclared values and shown to no reader.
    ``notes`` tell an analyst what was bounded. ``orders`` are pairs (smaller, larger) of places in ``parts``: in every
    group, the smaller is not above the larger, whatever the data. ``exhaustive``: the groups are public and, by proof,
    every row of people is in one of them, so that they add up to the totals of all rows. ``alone``: it has no parts
    that other measurements of the same rows could be made to agree with. ``choices`` are read by SQL of their own;
    where there is no key and nothing else to measure, ``sql`` is empty. ``clips``: people with more than the bounds
    allow are clipped. ``groups`` is SQL that lists a public key set, under the names of the keys, and reads no row of
    people; "" where there is none. With ``top``, the sensitivities are those of any so many groups. ``sums`` is a name
    that measurements of the same rows share only where people are clipped alike in both, so that totals are sums of
    their parts. ``tables`` are those that it reads. ``partials`` are what ``sql`` begins with, where it may be had from
    a scan for several plans. ``inhabited`` is for an engine that has the public ``groups`` already. ``drill_downs``
    are the ways to have it from releases over more rows, found when they are asked for. Where its outputs have
    different FILTERs, ``by_conditions`` are the plans of those that share one. ``period`` is the one whose rows it
    reads alone, as a part of a series, and ``until`` are the instants before which all its rows are; ``times`` are the
    same where they are proved of this very SQL, for what is charged by them. ``blocks``
    are those of ``sql``, then those of the ``steps``, which are read one after another, each at numbers that follow
    from what was released of those before. ``bounded_by`` is the table whose ``max_rows`` says how many rows of a
    person count; "" where nothing is cut, or something else says so. ``averaged`` are the declared columns, with their
    tables, whose means are among the outputs; ``of_columns`` has the names of outputs that are of one declared column,
    with its table and name. ``counted`` are the tables whose rows of each person are numbers that outputs are made of.
    ``clipped`` are the declared columns whose values outputs are made of, with their tables,
    and which numbers bend where values are clipped, if it is known how. ``question`` is what it measures, where others
    over the same rows can be measured with it.
    """

    sql: str
    dialect: str
    keys: tuple[KeyColumn, ...]
    blocks: tuple[Block, ...]
    outputs: tuple[Output, ...]
    selection: Selection | None
    cells: int | None
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    orders: tuple[tuple[int, int], ...] = ()
    exhaustive: bool = False
    alone: bool = False
    choices: tuple[Choice, ...] = ()
    groups: str = ""
    clips: bool = False
    top: Top | None = None
    sums: str = field(default="", repr=False)
    partials: AtRest[PartialSums] | None = field(default=None, repr=False, compare=False)
    inhabited: Inhabited | None = field(default=None, repr=False, compare=False)
    tables: tuple[str, ...] = field(default=(), repr=False, compare=False)
    drill_downs: WaysOver = field(default=without_ways, repr=False, compare=False)
    by_conditions: PlansApart = field(default=without_conditions, repr=False, compare=False)
    period: SeriesPeriod | None = field(default=None, repr=False, compare=False)
    until: tuple[RowsBetween, ...] = field(default=(), repr=False, compare=False)
    times: tuple[RowsBetween, ...] = field(default=(), repr=False, compare=False)
    steps: tuple[PlanStep, ...] = ()
    bounded_by: str = field(default="", repr=False, compare=False)
    averaged: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)
    counted: tuple[str, ...] = field(default=(), repr=False, compare=False)
    of_columns: tuple[tuple[str, str, str], ...] = field(default=(), repr=False, compare=False)
    clipped: tuple[tuple[str, str, Bend | None], ...] = field(default=(), repr=False, compare=False)
    question: MeasuredQuestion | None = field(default=None, repr=False, compare=False)
    hidden: int = field(default=0, repr=False, compare=False)
    _identity: str | None = field(init=False, default=None, repr=False, compare=False)

    @property
    def identity(self) -> str:
        """A name that two plans share only when they measure the same integers in the same way: releases are stored by
        it, so what it is made of is listed (:mod:`rewriter.canonical_form`). Found when it is first asked for."""
        known = self._identity
        if known is None:
            known = identity_of(self)
            object.__setattr__(self, "_identity", known)
        return known

    @property
    def shown_cells(self) -> int | None:
        """The most groups of a public key set that a reader sees."""
        return None if self.cells is None else self.cells - self.hidden

    def __hash__(self) -> int:
        """Of its identity, which equal plans share."""
        return hash(self.identity)

    @property
    def reads(self) -> tuple[RowsBetween, ...]:
        """The tables that it reads, with the ends of their times as far as they are known."""
        known = {one.table: one for one in self.until}
        if (period := self.period) is not None:
            known[period.table] = RowsBetween(period.table, period.end, period.zone, period.begin)
        return tuple(known.get(table, RowsBetween(table, None)) for table in self.tables)

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        return tuple(statistic for block in self.blocks for statistic in block.statistics)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the integers that ``sql`` answers, in order."""
        names = tuple(statistic.name for statistic in self.statistics)
        return names if self.selection is None or self.selection.name in names else (*names, self.selection.name)

    def limits_of(self, output: Output) -> tuple[float, float]:
        """The least and the most that an output can be, whatever the data; of a quantile, the ends that it is picked
        between. Times are days."""
        if not (picks := output.estimator.picks):
            return output.estimator.possible
        choice = next(one for one in self.choices if one.name == picks[0].choice)
        if choice.candidates or len(picks) > 1:
            return -math.inf, math.inf
        return float(choice.low * choice.granularity), float(choice.high * choice.granularity)

    @property
    def first_read(self) -> Plan:
        """What is read before the steps."""
        later = sum(len(step.blocks) for step in self.steps)
        return replace(self, blocks=self.blocks[: len(self.blocks) - later], outputs=(), steps=()) if later else self

    def at_step(self, step: PlanStep, keys: Sequence[tuple[Scalar | None, ...]], points: Points) -> Plan:
        """What is read of a step, at released numbers of each group."""
        return replace(self.first_read, sql=step.at(keys, points), blocks=step.blocks, parts=(), orders=(), choices=())

    @property
    def cut_at(self) -> int | None:
        """How many public groups are listed at most, where there may come to be more."""
        return self.cells if self.cells is not None and self.groups.endswith(f" LIMIT {self.cells}") else None

    @property
    def in_blocks(self) -> bool:
        """Whether people are put into blocks by a secret."""
        return any(BLOCK_KEY in sql for sql in (self.sql, *(choice.sql for choice in self.choices)))

    def with_block_key(self, secret: str) -> Plan:
        """The plan as it is read once: people are in blocks by this secret of letters and digits alone."""
        if not (secret.isascii() and secret.isalnum()):
            raise ValueError("a secret of blocks has letters and digits alone")
        whole = self.sql.replace(BLOCK_KEY, secret)
        choices = (replace(choice, sql=choice.sql.replace(BLOCK_KEY, secret)) for choice in self.choices)
        return replace(self, sql=whole, choices=tuple(choices), inhabited=None, partials=None)

    @property
    def selecting(self) -> Block | None:
        """The block whose one statistic is the weight that groups are selected by."""
        name = None if self.selection is None else self.selection.name
        return next((block for block in self.blocks if any(one.name == name for one in block.statistics)), None)


@dataclass(frozen=True, slots=True)
class Sorts:
    """The ``output`` by which the groups with the ``most`` of it are shown, or with the least, as it was asked."""

    output: str
    text: str
    most: bool


class WholeRelease(Protocol):
    """The plan of a release of all cells, or of blocks of them by some keys (:class:`DrillDown`); None where it is
    refused."""

    def __call__(self, merged: Mapping[str, Sequence[int]] | None = None) -> Plan | None: ...


def _no_whole(merged: Mapping[str, Sequence[int]] | None = None) -> Plan | None:
    return None


@dataclass(frozen=True, slots=True)
class DrillDown:
    """A release as a sum of cells of releases over more rows: those of the cells that are listed.

    ``statistics`` are the families of its statistics over these rows, by name. ``cells`` lists the combinations of
    its keys, the first so ``many``, and of the columns of the conditions that the other release has not, on which
    these conditions hold. No row satisfies them that has other values of these columns. The keys of the list have the
    families that they have over these rows. ``coarse`` are the places of those that are only computed of the others,
    and are no keys of the other release. ``whole`` is the plan of the release of all cells, where that is known to
    measure what its parts do; or of unions of its cells, where an interval of numbers is a key: by the family of that
    key, the block of each interval, in their order, and of NULL, last. ``joined``: it is of the release as
    :meth:`MeasuredQuestion.with_others` plans it alone; ``narrows``: and its conditions leave some rows of a person
    out, which count against the person's bound all the same. ``cuts`` divide the columns of which intervals are among
    these keys, by the families of the columns. ``intervals`` has the number of intervals of each such key, by its
    family. ``opened`` are the places of coarse keys of which rows may have undeclared values; those rows are in other
    cells. A cell in which one is NULL is in no group where its column is never NULL.
    """

    statistics: Mapping[str, str]
    many: int
    cells: Plan
    whole: WholeRelease = field(default=_no_whole, repr=False, compare=False)
    coarse: frozenset[int] = frozenset()
    joined: bool = False
    narrows: bool = False
    cuts: Cuts = field(default_factory=dict)
    intervals: Mapping[str, int] = field(default_factory=dict)
    opened: frozenset[int] = frozenset()

    @property
    def keys(self) -> tuple[str, ...]:
        """The families of the keys of the other release."""
        return tuple(key.family for at, key in enumerate(self.cells.keys) if at not in self.coarse)

    def cell(self, listed: Sequence[Scalar | None]) -> tuple[Scalar | None, ...]:
        """The cell of the other release, of one that is listed."""
        return tuple(value for at, value in enumerate(listed) if at not in self.coarse)


@dataclass(frozen=True, slots=True)
class RowsBetween:
    """All rows of a ``table`` that a release depends on are before ``end``, and none before ``begin``, by the clocks of
    a ``zone``, or by those that the table has where there is none. An end is None where nothing says so."""

    table: str
    end: datetime.datetime | None
    zone: str | None = None
    begin: datetime.datetime | None = None


@dataclass(frozen=True, slots=True, order=True)
class SeriesPeriod:
    """The times of a ``table`` from ``begin`` up to ``end``, by the clocks of a ``zone``; by those that the table has
    where there is none."""

    begin: datetime.datetime
    end: datetime.datetime
    table: str
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A grouping, measured period by period: people are clipped within each period, and each is a release of its own.

    ``periods`` are all that the groups are in, each of the ``unit``. ``whole`` has a plan for each norm in which people
    may be clipped: all groups, with the sensitivities of one period. It names and finishes what is measured and is not
    to be run; ``of`` is the plan of one period in such a norm, by place. ``adds_up``: no key holds the period, so every
    period has all groups, and a group's integers are the sums of its periods'. ``cut`` are the periods of which
    conditions leave a part.
    """

    unit: str
    periods: tuple[SeriesPeriod, ...]
    whole: tuple[Plan, ...]
    of: Callable[[int, SeriesPeriod], Plan] = field(repr=False, compare=False)
    adds_up: bool = False
    cut: frozenset[SeriesPeriod] = frozenset()

    def plans(self, place: int) -> tuple[Plan, ...]:
        """The plans of all periods in a norm, which have most of their texts in common."""
        with remembering():
            return tuple(self.of(place, period) for period in self.periods)


@dataclass(frozen=True, slots=True)
class Options:
    """The plans by which one grouping of a release can be measured: ``by_norm`` has one for each norm in which people
    may be clipped, and ``picks`` those that first pick the groups to show, and then measure only these. ``sorts`` says
    by what all groups are sorted where an answer shows only some, and picking these is worse for certain. ``series`` is
    the way period by period, where there is one."""

    by_norm: tuple[Plan, ...]
    picks: tuple[Plan, ...] = ()
    sorts: Sorts | None = None
    series: Series | None = None

    @property
    def first(self) -> Plan:
        """Any of them, for what they have in common."""
        return self.by_norm[0]

    @property
    def all(self) -> tuple[Plan, ...]:
        return (*self.by_norm, *self.picks)
