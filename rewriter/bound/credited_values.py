"""COUNT(DISTINCT x) where many people can have one value: it counts the values that people are credited with.

Guarantee: the counts of all groups together move by at most ``most`` in L1, and by at most ``√(most · within)`` in L2,
as one person comes or goes, whatever the rows hold.

Why: each person keeps some of the (group, value) pairs of their own rows: at most ``within`` values in a group and
``most`` pairs in all. Which ones are kept depends on that person's rows alone, so nobody else's pairs change when a
person comes or goes. A group's count is the size of the union of the values kept there, and a union grows by no more
than the values that are added to it (Knop, Steinke 2023, person-level distinct counts; their matching would credit each
value to the owner who needs it most, which no plain aggregation finds: passing values on to owners with fewer of them
moves as many values as a person *has*, not as many as are kept).

Why kept by a hash of person and pair: were the first in order kept, everybody would keep the same values, and the union
would be small. Why a total order, by the values too after the hash: rows must not matter in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.columns import aliased
from rewriter.declared import BIGINT, ContributionBound, Sensitivity, Type, least
from rewriter.dialects import Dialect, named_table, number
from rewriter.measure import Credit, Workload
from rewriter.plan import Block, Statistic
from rewriter.relations import unbounded_rows
from rewriter.release import Query, key_name


@dataclass(frozen=True, slots=True)
class Kept:
    """The most pairs that a person keeps: ``within`` one group and ``most`` in all groups.

    >>> Kept(within=2, most=6).sensitivity
    Sensitivity(l1=6, l2_squared=12)
    """

    within: int
    most: int

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity(l1=self.most, l2_squared=self.most * self.within)


def kept(each: int | None, contribution: ContributionBound, *, one_group: bool) -> Kept | None:
    """The number of values that the bounds leave to a person; None without a bound. A row has one value, so rows bound
    values.

    >>> kept(None, ContributionBound(rows=40, groups=12, rows_per_group=2), one_group=False)
    Kept(within=2, most=24)
    >>> kept(3, ContributionBound(rows=40), one_group=True)
    Kept(within=3, most=3)
    """
    within = least([each, contribution.rows_per_group, contribution.rows])
    groups = 1 if one_group else contribution.groups
    most = least([contribution.l1, None if groups is None or within is None else groups * within])
    if most is None:
        return None
    return Kept(most if within is None else min(within, most), most)


@dataclass(frozen=True, slots=True)
class Credited:
    """A count of distinct values, by group: column ``name`` of ``counts``, which has the keys of ``types`` too."""

    name: str
    counts: exp.Select
    types: tuple[Type, ...]
    block: Block


def credited(
    query: Query,
    rows: exp.Select,
    work: Workload,
    contribution: ContributionBound,
    dialect: Dialect,
    *,
    one_group: bool,
) -> list[Credited]:
    """The counts of distinct values in a workload. Raises Unbounded where nothing bounds a person's rows."""
    found = []
    keys, types = list(map(key_name, range(len(query.keys)))), tuple(key.value.type for key in query.keys)
    for vector in work.vectors:
        if vector.credit is None:
            continue
        most, (cell,) = kept(vector.credit.each, contribution, one_group=one_group), vector.cells
        if most is None:
            raise unbounded_rows(contribution, query, otherwise="; COUNT(DISTINCT key) may do")
        counts = counted(rows.copy(), keys, vector.credit, most, cell.name, dialect, cheap=_is_cheap(query.rows))
        statistic = Statistic(cell.name, cell.granularity, most.within, cell.text)
        block = Block((statistic,), most.sensitivity, weight=vector.weight, rises=True)
        found.append(Credited(cell.name, counts, types, block))
    return found


def _is_cheap(rows: exp.Select) -> bool:
    """Whether rows of people are those of one table, which is read again as fast as it is set aside."""
    unfit = any(rows.args.get(part) for part in ("joins", "group", "with_", "distinct"))
    return not unfit and isinstance(rows.args["from_"].this, exp.Table) and rows.find(exp.Subquery) is None


def counted(
    rows: exp.Select,
    keys: Sequence[str],
    credit: Credit,
    most: Kept,
    name: str,
    dialect: Dialect,
    *,
    cheap: bool = True,
) -> exp.Select:
    """The number of kept values of each group, as column ``name``. ``rows`` has columns u, ``keys`` and the values.

    Whoever has no more rows than values may be kept keeps them all: only the others' values are ranked. ``cheap``: the
    rows are read three times, rather than set aside.
    """
    columns = [*keys, *credit.values]
    source: exp.Expr = aliased(rows, "r") if cheap else exp.alias_(named_table("people"), "r", table=True)
    people = exp.Select().from_(source, copy=False)
    if credit.test is not None:
        people.set("where", exp.Where(this=_column(credit.test)))
    union = exp.Union(
        this=_selecting(people, columns, dialect.none_among(exp.column("u", "r"), "many")),
        expression=_kept_of(people, keys, columns, most, dialect),
        distinct=False,
    )
    values = exp.Select(expressions=[_column(one) for one in columns], distinct=exp.Distinct())
    values.from_(aliased(union, "d"), copy=False)
    total = exp.alias_(exp.Count(this=exp.Star()), name)
    select = exp.Select(expressions=[*(_column(key) for key in keys), total]).from_(aliased(values, "d"), copy=False)
    if keys:
        select.set("group", exp.Group(expressions=[_column(key) for key in keys]))
    ctes = [] if cheap else [dialect.cte("people", rows, shared=True)]
    ctes.append(dialect.cte("many", _many(people, keys, most, dialect), shared=True))
    select.set("with_", exp.With(expressions=ctes))
    return select


def _many(people: exp.Select, keys: Sequence[str], most: Kept, dialect: Dialect) -> exp.Select:
    """The units with more rows than values may be kept, in all or in a group."""
    number_of = exp.Count(this=exp.Star())
    if not keys or most.within == most.most:
        many = _selecting(people, ["u"])
        beyond: exp.Expr = exp.GT(this=number_of, expression=number(most.most))
    else:
        groups = _selecting(people, ["u"])
        groups.append("expressions", exp.alias_(number_of, "n"))
        groups.set("group", exp.Group(expressions=[_column(one) for one in ("u", *keys)]))
        many = exp.Select(expressions=[_column("u")]).from_(aliased(groups, "g"), copy=False)
        beyond = exp.or_(
            exp.GT(this=dialect.sum(_column("n"), BIGINT), expression=number(most.most)),
            exp.GT(this=exp.Max(this=_column("n")), expression=number(most.within)),
            copy=False,
        )
    many.set("group", exp.Group(expressions=[_column("u")]))
    many.set("having", exp.Having(this=beyond))
    return many


def _kept_of(
    people: exp.Select, keys: Sequence[str], columns: Sequence[str], most: Kept, dialect: Dialect
) -> exp.Select:
    """The values that are kept of units with many rows."""
    many = exp.Select(expressions=[_column("u")]).from_(named_table("many"), copy=False)
    is_many = exp.In(this=exp.column("u", "r"), query=exp.Subquery(this=many))
    pairs = _selecting(people, ["u", *columns], is_many)
    pairs.set("distinct", exp.Distinct())
    spread = exp.alias_(dialect.spread([_column(one) for one in ("u", *columns)]), "h")
    source = exp.Select(expressions=[exp.Star(), spread]).from_(aliased(pairs, "d"), copy=False)
    tests: list[exp.Expr] = []
    order = ["h", *columns]
    if keys and most.within < most.most:
        place = exp.alias_(_place(["u", *keys], order), "p")
        source = exp.Select(expressions=[exp.Star(), place]).from_(aliased(source, "d"), copy=False)
        tests.append(exp.LTE(this=_column("p"), expression=number(most.within)))
        order = ["p", *order]
    place = exp.alias_(_place(["u"], order), "q")
    source = exp.Select(expressions=[exp.Star(), place]).from_(aliased(source, "d"), copy=False)
    tests.append(exp.LTE(this=_column("q"), expression=number(most.most)))
    return _selecting(exp.Select().from_(aliased(source, "d"), copy=False), columns, *tests)


def _selecting(source: exp.Select, columns: Sequence[str], *tests: exp.Expr) -> exp.Select:
    """The columns of a source, under its condition and these."""
    select: exp.Select = source.copy()
    select.set("expressions", [_column(one) for one in columns])
    where = select.args.get("where")
    conditions = [*([] if where is None else [where.this]), *tests]
    if conditions:
        select.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    return select


def _place(partition: Sequence[str], order: Sequence[str]) -> exp.Expr:
    ordered = exp.Order(expressions=[exp.Ordered(this=_column(one), nulls_first=False) for one in order])
    return exp.Window(
        this=exp.RowNumber(), partition_by=[_column(one) for one in partition], order=ordered, over="OVER"
    )


def _column(name: str) -> exp.Expr:
    return exp.column(name)


def credit_notes(work: Workload, blocks: Sequence[Block]) -> tuple[str, ...]:
    """Notices of the values that people are credited with. The blocks are those of the workload's vectors, in order."""
    notes = []
    for vector, block in zip(work.vectors, blocks, strict=False):
        if vector.credit is None:
            continue
        (statistic,), most = block.statistics, block.sensitivity.l1
        where = "" if most == statistic.bound else f" in a group, and {most} in all"
        notes.append(f"{statistic.text} credits each person with at most {statistic.bound} values{where}")
    return tuple(notes)


# What is known of values without looking at them
