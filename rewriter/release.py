"""A release as a question: which rows, grouped by what, which aggregates. Also the split of a statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from fractions import Fraction

from sqlglot import exp

from rewriter.declared import ContributionBound, Scalar, Type
from rewriter.dialects import Dialect
from rewriter.expressions import Value
from rewriter.plan import Figure, RowsBetween
from rewriter.refused import Refused
from rewriter.regression import ComponentPart, RegressionPart

RESERVED = "dpsql_"
"""Names that begin so are ours: no statement may give one."""


@dataclass(frozen=True, slots=True)
class Key:
    """A grouping expression; ``text`` is how it was written. ``column``: it is a column that people randomized.
    ``declared`` is the key as it was asked, where this one has one more value for all that are not declared
    (:mod:`rewriter.planner.undeclared_cells`)."""

    value: Value
    text: str
    column: exp.Column | None = None
    declared: Key | None = None


class MeasuredBy(Enum):
    """How an aggregate over people is measured; some are only answered of one person's rows."""

    NOTHING = "nothing"
    COUNT = "a count"
    SUM = "a sum"
    MEAN = "a mean"
    MOMENTS = "moments"
    REGRESSION = "a regression"
    REPORTS = "what people reported"
    PICK = "a pick"


@dataclass(frozen=True, slots=True)
class AggregateKind(ABC):
    """What is known of an aggregate wherever one is met: its ``word`` and the ``node`` that calls it, how it is
    measured, of moments by which ``figure``, whether it is answered over windows of one person's rows, and what
    ``note`` says wherever it is answered over people. Of one number it is that number where it is ``same_of_one``, and
    repeated rows change nothing where it is ``repeatable``.

    :mod:`rewriter.aggregates` has an object for each of SQL's aggregate functions.
    """

    word: str
    node: type[exp.Expr]
    measured_by: MeasuredBy = MeasuredBy.NOTHING
    figure: Figure | None = None
    in_windows: bool = False
    note: str = ""
    same_of_one: bool = False
    repeatable: bool = False

    @property
    def counts(self) -> bool:
        return self.measured_by is MeasuredBy.COUNT

    @property
    def sums(self) -> bool:
        return self.measured_by is MeasuredBy.SUM

    @property
    def averages(self) -> bool:
        return self.measured_by is MeasuredBy.MEAN

    @property
    def picks(self) -> bool:
        return self.measured_by is MeasuredBy.PICK

    @property
    def regresses(self) -> bool:
        return self.measured_by is MeasuredBy.REGRESSION

    @property
    def own_value(self) -> bool:
        """Whether, of one person's rows, it is one of the values that its argument has on them, or NULL."""
        return False

    @property
    def adds_up(self) -> bool:
        """Whether that of all rows is the sum of those of their groups."""
        return self.counts or self.sums

    @abstractmethod
    def output_type(self, aggregate: Aggregate) -> Type:
        """The type of what is answered over people."""

    def of_one_person(self, aggregate: Aggregate, bound: ContributionBound, dialect: Dialect) -> Value:
        """The aggregate over the rows of one person and group, exact, as a total value: people are added up later. Its
        ``sql`` stands beside a GROUP BY."""
        raise Refused(
            f"{aggregate.text} of one person's rows is not answered", hint="MIN, MAX, AVG, SUM and MEDIAN are"
        )


@dataclass(frozen=True, slots=True)
class Wording:
    """How an aggregate is written: the whole call with its FILTER as ``text``, and its ``arguments`` one by one.

    >>> Wording("CORR(y, x)", ("y", "x")).inner
    'y, x'
    """

    text: str
    arguments: tuple[str, ...]

    @property
    def inner(self) -> str:
        """What stands between the parentheses of the call."""
        return ", ".join(self.arguments)


@dataclass(frozen=True, slots=True)
class OverBlocks:
    """An expression over the people of a block, answered in each of so many ``blocks``: the ``node`` as it was written.
    Answers are clipped into [``low``, ``high``], where these are given, and their mean or ``median`` is asked for."""

    node: exp.Expr
    blocks: int
    low: Fraction | None
    high: Fraction | None
    median: bool


@dataclass(frozen=True, slots=True)
class ReportedPart:
    """One argument and one further condition of a debiased aggregate. ``members`` are aggregates by reported values.

    Their sum by ``weights`` has the wanted mean; by ``spread``, that of the variance of a person's weight, which is
    from ``least`` to ``most``; by ``everyone``, that of all who reported. ``constant`` is the value of every row, where
    the argument is one. ``uniform`` is as of :class:`rewriter.debiased.DebiasedPart`.
    """

    members: tuple[Aggregate, ...]
    weights: tuple[Fraction, ...]
    spread: tuple[Fraction, ...]
    everyone: tuple[Fraction, ...]
    least: Fraction
    most: Fraction
    constant: Fraction | None = None
    uniform: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Debiasing:
    """How an aggregate over true values is a weighted sum of aggregates over reports. ``words`` say how people
    randomized; ``divides``: it is a mean. ``once``: each person counts once."""

    parts: tuple[ReportedPart, ...]
    words: str
    divides: bool = False
    once: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over people, checked: ``argument`` is None for COUNT(*).

    ``distinct`` marks COUNT(DISTINCT argument), and a pick among distinct values. ``condition`` is its FILTER,
    ``fraction`` that of a percentile, counted from the least value also where the order is ``descending``; beyond 0 and
    1 a number of rows (:func:`rewriter.plan.aim_of`), or of values.
    ``within`` is the same over people, where CASE can be a condition: SUM(x) FILTER (WHERE p) for SUM(CASE WHEN p THEN
    x ELSE 0 END). ``second`` is the x of CORR(y, x), y being the ``argument``. ``row`` are the values of a row that is
    counted once, NULLs in it too: COUNT(DISTINCT (a, b)). ``decides`` is the BOOL_OR or BOOL_AND that turns where this
    count exceeds its margin. ``terms``: what it is a weighted sum of, or, where it is a mean, a quotient of two such
    sums. A sum of several aggregates is measured as one (:mod:`rewriter.split.combinations`), and ``notes`` say how
    their values are clipped. Of a mode, ``candidates`` are the values of a ``type`` that it is picked
    from, and ``argument`` is the place of a row's value among them. Of a ``regression``, ``row`` are the regressors,
    and ``argument`` is what they explain; of a component, the last number. ``over_blocks`` is what is asked of blocks
    of people. ``debiasing``: it is a sum of aggregates over what people reported. ``fine``: a figure of a block is
    computed of it, and sums of doubles keep more digits.
    """

    kind: AggregateKind
    argument: Value | None
    condition: Value | None
    distinct: bool
    wording: Wording
    within: Aggregate | None = None
    second: Value | None = None
    fraction: Fraction | None = None
    descending: bool = False
    candidates: tuple[Scalar, ...] = ()
    type: Type | None = None
    row: tuple[Value, ...] = ()
    decides: str = ""
    terms: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()
    regression: RegressionPart | ComponentPart | None = None
    over_blocks: OverBlocks | None = None
    debiasing: Debiasing | None = None
    fine: bool = False

    @property
    def text(self) -> str:
        """The call as it is written."""
        return self.wording.text

    @property
    def value(self) -> Value:
        """The argument of what has one."""
        if self.argument is None:
            raise AssertionError(f"{self.kind.word} has an argument")
        return self.argument

    @property
    def combines(self) -> bool:
        """Whether it is a sum of several aggregates."""
        return bool(self.terms) and self.kind.sums

    @property
    def is_plain(self) -> bool:
        """Whether its kind, values and condition say all that it measures."""
        itself = self.regression is None and self.debiasing is None and self.over_blocks is None
        return itself and not self.combines

    @property
    def is_logistic(self) -> bool:
        """Whether it is a number of a logistic regression."""
        return isinstance(self.regression, RegressionPart) and self.regression.logistic

    @property
    def output_type(self) -> Type:
        return self.kind.output_type(self)

    def of_one_person(self, bound: ContributionBound, dialect: Dialect) -> Value:
        return self.kind.of_one_person(self, bound, dialect)

    def filtered(self, call: exp.Expr, dialect: Dialect) -> exp.Expr:
        """A call over the rows that the condition holds on."""
        return call if self.condition is None else dialect.filtered(call, self.condition.sql.copy())


@dataclass(frozen=True, slots=True)
class Term:
    """An aggregate in a sum of several: ``weight`` times it; of a mean, in the sum of values, and ``rows`` times it in
    the number of rows."""

    aggregate: Aggregate
    weight: Fraction
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a window that moves: so many before a row, the row, and so many after it."""

    before: int
    after: int

    @property
    def width(self) -> int:
        return self.before + 1 + self.after


@dataclass(frozen=True, slots=True)
class Along:
    """Sums over the rows of a ``frame``, or from the first row on, in the order of the keys at the places ``order``.

    From the last one on where ``descending``. ``mean``: divided by the number of rows.
    """

    order: tuple[int, ...]
    descending: bool
    frame: Frame | None = None
    mean: bool = False


@dataclass(frozen=True, slots=True)
class RunningSum:
    """A window of the outer SELECT is the sum of the output ``name`` over all groups that it names, and of nothing
    less."""

    release: int
    name: str
    window: Along


RunningSums = tuple[tuple[exp.Window, RunningSum], ...]
"""The windows of an outer SELECT that are running sums of a release: nodes of that SELECT, not of a copy."""


@dataclass(frozen=True, slots=True)
class Cumulative:
    """The running sums that are made of a release: of ``aggregates``, by place, along the keys at the places ``order``.

    They begin at the last group where ``descending``, and anew for every combination of the other keys; with a
    ``frame``, they are sums over the rows of a window that moves. It says what is wanted and nothing else: the release
    has all groups, and whoever adds them up differently is answered as well. ``alone``: nothing but such sums is shown
    of these aggregates.
    """

    order: tuple[int, ...]
    descending: bool
    aggregates: tuple[int, ...]
    frame: Frame | None = None
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """An answer shows ``count`` groups and no others: those with the most of an aggregate, or with the least of it."""

    aggregate: int
    count: int
    descending: bool


class KeptGroups(StrEnum):
    """Which declared groups of a release are kept."""

    SHOWN = "shown"
    """All but the ends of ordered keys that neighbouring groups show to be empty: for a reader."""
    PRESENT = "present"
    """Those with rows, where that is clear of all of them, else those that are shown: for a SELECT above."""
    COUNTED = "counted"
    """Those between the ends, of which an estimate says how many have rows: for COUNT and AVG over all groups."""
    CERTAIN = "certain"
    """Those whose own number of rows shows that somebody is in them: only where a session asks for that."""


@dataclass(frozen=True, slots=True)
class Presence:
    """The groups of a release that the outer SELECT reads: those that share their keys at ``places`` with a group that
    is ``kept``.

    >>> Presence((0, 2), KeptGroups.SHOWN).column
    'dpsql_shown_0_2'
    """

    places: tuple[int, ...]
    kept: KeptGroups

    @property
    def column(self) -> str:
        """The column of the release's table that says so of each row."""
        return "_".join([RESERVED + self.kept, *map(str, self.places)])


@dataclass(frozen=True, slots=True)
class Query:
    """One release: the innermost SELECT that aggregates over people. The only thing that touches private data.

    ``rows`` is our own SELECT without a select list; every row of it is owned by ``unit``. Where the last condition of
    its WHERE is that the unit is among ``everybody``, that may as well be asked of units instead of rows. ``filters``
    are the conditions already in ``rows``, for narrowing public key sets. ``sets`` are grouping sets, as places of
    keys; none where the keys are all one set. ``others`` are the aggregates, by place, of the row of other groups,
    selected and not shown (:mod:`rewriter.split.other_groups`); none where there is no such row. ``only`` are the
    aggregates for which a total is measured, if not for all. ``summed_with_total``: the groups shown are subtracted
    from a total, so that none is selected by the number that is shown of it. ``presences`` say which of its groups are
    read, by the aggregate at the place ``counted``; it is ``bought`` where the statement does not ask for it
    (:mod:`rewriter.split.presence`). ``together``: groupings of the same rows are shown beside it, and people are
    clipped alike in all of them (:mod:`rewriter.planner.alike`). ``blocks`` is above 0 where the units are that many
    blocks of people, of which one has other answers in at most ``changed`` groups where one person
    comes or goes, in any of them where that is None (:mod:`rewriter.split.blocks_of_people`). ``ends`` are those of
    ranges that follow the clock, ``until`` the instants before which its rows are
    (:mod:`rewriter.planner.closed_windows`), as is found of the rows ``until_of``. ``asked_by``: how many statements of
    a workload ask for each aggregate; none where it is no workload. ``joined``: it is one grouping of several that a
    workload measures as one vector (:mod:`rewriter.planner.joint_rows`).
    """

    rows: exp.Select
    unit: exp.Expr
    bound: ContributionBound
    filters: tuple[Value, ...]
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    sets: tuple[tuple[int, ...], ...] = ()
    cumulative: Cumulative | None = None
    ranked: Ranked | None = None
    others: tuple[int, ...] = ()
    summed_with_total: bool = False
    only: tuple[int, ...] | None = None
    presences: tuple[Presence, ...] = ()
    counted: int = 0
    bought: bool = False
    together: bool = False
    everybody: exp.Expr | None = None
    ends: tuple[tuple[str, str, Scalar], ...] = ()
    blocks: int = 0
    changed: int | None = 1
    until: tuple[RowsBetween, ...] = ()
    until_of: exp.Select | None = None
    asked_by: tuple[int, ...] = ()
    joined: bool = False

    @property
    def trees(self) -> Iterator[exp.Expr]:
        """All of its SQL over the rows of people."""
        yield self.rows
        for key in self.keys:
            yield key.value.sql
        for one in self.aggregates:
            yield from (part.sql for part in (one.argument, one.condition, one.second, *one.row) if part is not None)

    @property
    def groupings(self) -> tuple[Query, ...]:
        """One query for each grouping set, over the same rows; or the groups, and the total that others are left of."""
        if not (self.others or self.sets):
            return (self,)
        # A person has one group in every grouping whose keys are constant, and is clipped alike there anyway.
        one = replace(self, together=self.together or not self.is_constant)
        if self.others:
            groups = replace(one, others=(), summed_with_total=True)
            return groups, replace(groups, keys=(), only=self.others)
        return tuple(replace(one, keys=tuple(self.keys[place] for place in places), sets=()) for places in self.sets)

    @property
    def is_constant(self) -> bool:
        """Whether no key varies within a person."""
        return all(key.value.constant for key in self.keys)


@dataclass(frozen=True, slots=True)
class Split:
    """A statement, split: releases, and the outer SELECT over their tables ``dpsql_release_0``, ``dpsql_release_1``, …

    A release's table has columns ``k0``, ``k1``, … for its keys and ``a0``, ``a1``, … for its aggregates. With grouping
    sets, and with a row of other groups, it also has ``g0``, ``g1``, …: 1 in a row that adds up over the key. There the
    key is NULL (or a text that no group has). ``outer`` still has the analyst's nodes and is checked by
    :mod:`rewriter.outer.checks` before it runs. ``tables`` are the public tables and virtual relations that ``outer``
    reads, ``running`` its windows that are running sums of a release. ``notes`` tell an analyst which parts were
    answered from the policy alone, ``answers`` are the texts of earlier queries whose answers it reads.
    """

    releases: tuple[Query, ...]
    outer: exp.Query
    tables: frozenset[str]
    running: RunningSums
    notes: tuple[str, ...] = ()
    answers: frozenset[str] = frozenset()

    @property
    def groupings(self) -> tuple[Query, ...]:
        """Every grouping of every release, in order: what is planned, paid and measured, one by one."""
        return tuple(grouping for query in self.releases for grouping in query.groupings)


@dataclass(frozen=True, slots=True, order=True)
class ReleaseColumn:
    """A column of a release's table: the aggregate or the key at a place, whether the row adds up over that key, or the
    ``margin`` of the aggregate.

    >>> ReleaseColumn.of("a12"), ReleaseColumn.of("g0").is_aggregate, ReleaseColumn.of("dpsql_row_0")
    (ReleaseColumn(place=12, letter='a', margin=False), False, None)
    >>> ReleaseColumn.of("a0_margin").at(3).name
    'a3_margin'
    """

    place: int
    letter: str
    margin: bool = False

    @property
    def name(self) -> str:
        own = f"{self.letter}{self.place}"
        return margin_name(own) if self.margin else own

    @property
    def is_aggregate(self) -> bool:
        return self.letter == "a" and not self.margin

    def at(self, place: int) -> ReleaseColumn:
        """The column of the same kind at another place."""
        return replace(self, place=place)

    @classmethod
    def of(cls, name: str) -> ReleaseColumn | None:
        """The column that a name means; None for any other column."""
        own = name.removesuffix(_MARGIN)
        letter, digits = own[:1], own[1:]
        return cls(int(digits), letter, own != name) if letter in ("a", "k", "g") and digits.isdecimal() else None


_MARGIN = "_margin"


def margin_name(column: str) -> str:
    """The column with the margins of a released column, for what compares a number with its noise."""
    return f"{column}{_MARGIN}"


def added_name(column: str) -> str:
    """The column from which sums over neighbouring groups are made: never moved to 0, so that such sums are unbiased.

    >>> added_name("a0")
    'a0_added'
    """
    return f"{column}_added"


COUNTED_GROUPS = f"{RESERVED}groups"
"""The column of a release that says, in every row, how many groups have rows."""


def group_mean_name(column: str) -> str:
    """The column that has, in every row, the mean of a released column over the groups that have rows."""
    return f"{RESERVED}mean_{column}"


def is_over_groups(column: str) -> bool:
    """Whether a column is one of these two."""
    return column == COUNTED_GROUPS or column.startswith(group_mean_name(""))


@dataclass(frozen=True, slots=True)
class OverGroups:
    """The column of an answer, at a place, that is a number of groups or a mean over groups, by the released ``table``
    and its ``column``; rounded to so many ``digits``, if at all."""

    at: int
    table: str
    column: str
    digits: int | None = None


def end_name(column: str, *, up: bool) -> str:
    """The column with an end of the interval of such a column."""
    return f"{column}_{'high' if up else 'low'}"


def key_name(place: int) -> str:
    """The column of the key at a place."""
    return ReleaseColumn(place, "k").name


def mark_name(place: int) -> str:
    """The column that says of each row whether it adds up over the key at a place."""
    return ReleaseColumn(place, "g").name


def aggregate_name(place: int) -> str:
    """The column of the aggregate at a place."""
    return ReleaseColumn(place, "a").name


def renumber(column: exp.Column, places: Mapping[int, int]) -> None:
    """Name the column of an aggregate, or of its margins, by the new one of its ``places``; leave any other."""
    named = ReleaseColumn.of(column.name)
    if named is not None and named.letter == "a" and named.place in places:
        column.set("this", exp.to_identifier(named.at(places[named.place]).name))


def is_released(name: str) -> bool:
    """Whether a column without a table may be one of a release: its keys, aggregates, and all that we add."""
    return ReleaseColumn.of(name) is not None or name.startswith(RESERVED)


def release_name(number: int) -> str:
    return f"{RESERVED}release_{number}"
