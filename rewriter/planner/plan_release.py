"""The last stage of the rewriter: one release, planned.

Why SQL without the public groups stands beside it, for an engine that has listed them before: an engine takes longer to
plan and to make a small key set than to read the rows. The set is the last table of the plan's own SQL but for the
SELECT that fills empty groups in, so the text is cut there: what is measured, and how people are bounded, is the same
text to the letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial

from sqlglot import exp

from rewriter.aggregates import AVG
from rewriter.at_rest import AtRest
from rewriter.bound import bound, check_expanded, credit_notes, people_and_rows, quantiles, with_prefixes
from rewriter.columns import BEHIND, Computed, nodes_behind, tables_read, variable_behind
from rewriter.declared import ContributionBound, Norm
from rewriter.dialects import Dialect, named_table, number
from rewriter.keys import KeySet, PublicKeys, groups_of_one, key_set, plain_columns, public_keys, steps_along
from rewriter.measure import Workload, workload
from rewriter.once import once
from rewriter.plan import (
    Bend,
    Cuts,
    DrillDown,
    Figure,
    Inhabited,
    KeyColumn,
    MeasuredQuestion,
    Plan,
    PlanApart,
    without_conditions,
    without_ways,
)
from rewriter.planner.alike import alike, said
from rewriter.planner.answers_changed import answers_changed
from rewriter.planner.drill_downs import (
    by_conditions,
    drill_downs,
    has_conditions,
    may_be_drilled,
    renamed,
    without_filter,
)
from rewriter.planner.joint_rows import check_joined, joined, may_be_joined, rows_alone
from rewriter.planner.later_steps import check_steps, steps_of, with_steps, without_steps
from rewriter.planner.lineage import with_families
from rewriter.refused import Refused
from rewriter.regression import RegressionField, RegressionPart
from rewriter.relations import of_people
from rewriter.release import Aggregate, KeptGroups, Key, Query, aggregate_name, key_name


def inhabited(tree: exp.Expr, sql: str, public: exp.Expr, dialect: Dialect) -> Inhabited | None:
    """What ``sql``, the text of ``tree``, answers for groups that somebody is in, listed or not; None where more
    than one table is filled in."""
    with_ = tree.args.get("with_")
    names = [] if with_ is None else [cte.alias for cte in with_.expressions]
    groups = dialect.sql(public)
    before, cut, after = sql.partition(f", keys AS ({groups}) SELECT ")
    if names[-2:] != ["released", "keys"] or not cut or ") SELECT " in after:
        return None
    columns: list[exp.Expr] = []
    for item in tree.expressions:
        if isinstance(item, exp.Column):
            columns.append(exp.column(item.name))
        else:
            filled = exp.Coalesce(this=exp.column(item.alias), expressions=[number(0)])
            columns.append(exp.alias_(filled, item.alias))
    found = exp.Select(expressions=columns).from_(named_table("released"), copy=False)
    tables = frozenset((table.db, table.name) for table in public.find_all(exp.Table) if table.db)
    return Inhabited(f"{before} {dialect.sql(found)}", sql, tables)


def of_total(plan: Plan, aggregates: Sequence[int]) -> Plan:
    """The plan of a total, with no more measured than what these aggregates are made of.

    Where that is everything it is the same plan, and its release serves everybody who asks for the total.
    """
    # What decides in a row is the noise of that row, and not the total's.
    outputs = tuple(replace(plan.outputs[place], decides="") for place in sorted(aggregates))
    needed = {name for output in outputs for name in output.estimator.statistics}
    blocks = tuple(block for block in plan.blocks if needed & {one.name for one in block.statistics})
    if blocks == plan.blocks:
        return replace(plan, outputs=outputs, choices=())
    names = [statistic.name for block in blocks for statistic in block.statistics]
    kept = [place for place, part in enumerate(plan.parts) if set(part.estimator.statistics) <= set(names)]
    at = {place: number for number, place in enumerate(kept)}
    return replace(
        plan,
        sql=f"SELECT {', '.join(names)} FROM ({plan.sql}) AS part",
        blocks=blocks,
        outputs=tuple(replace(one, parts=tuple(at[place] for place in one.parts)) for one in outputs),
        parts=tuple(plan.parts[place] for place in kept),
        orders=tuple((at[low], at[high]) for low, high in plan.orders if low in at and high in at),
        exhaustive=False,
        alone=True,  # it has not all parts that other measurements of the same rows have
        choices=(),
    )


_MOST_REPEATED = 2
"""Joins without a key that are told of."""


def plan(
    query: Query, norm: Norm, dialect: Dialect, *, ranked_by: int | None = None, declared: KeySet | None = None
) -> Plan:
    """Plan one grouping of a release, with every unit's vectors clipped in ``norm``. Deterministic; sees no data.

    The aggregate that the groups are ``ranked_by``, where rows are bounded within each group alone, has statistics of
    its own; and so has the number of rows where it selects the groups, which are then told by what is shown of them.
    ``declared`` are its groups, where they are known already.

    Raises :class:`rewriter.refused.Refused` where nothing bounds what one person can add.
    """
    if declared is None:
        declared = declared_groups(query, dialect)
    public = declared.public
    constant = all(key.value.constant for key in query.keys)
    cells = 1 if not query.keys else None if public is None else public.cells
    groups = groups_of_one(query.keys, query.filters, cells)
    contribution = query.bound.by(plain_columns(query.keys)).within(groups, constant=constant)
    contribution = rows_alone(query.bound, constant=constant) if query.joined else contribution
    unique = query.bound.unique
    alone = frozenset() if ranked_by is None else frozenset({ranked_by})
    if query.keys and public is None and unique and not query.summed_with_total:
        alone |= frozenset(place for place, one in enumerate(query.aggregates) if _counts_people(one))
    summed = tuple(place for place, aggregate in enumerate(query.aggregates) if not aggregate.kind.picks)
    work = _named(
        workload(
            [query.aggregates[place] for place in summed],
            query.filters,
            norm,
            one_row=unique,
            dialect=dialect,
            rows=1 if unique else query.bound.l1 or 1,
            apart=query.cumulative is not None and public is not None,
            alone=frozenset(number for number, place in enumerate(summed) if place in alone),
            asked_by=tuple(query.asked_by[place] for place in summed) if query.asked_by else (),
        ),
        summed,
    )
    if work.steps:
        check_steps(query, cells)
    if query.cumulative is not None and public is not None:
        along = [query.keys[place] for place in query.cumulative.order]
        series = public_keys(along, query.filters, dialect)
        steps = steps_along(along, public.cells if series is None else min(public.cells, series.cells))
        # Of keys without an order, no more than a group of NULL is left out.
        ended = bool(query.presences) and any(one.ordered for one in _columns(query.keys, public))
        work = with_prefixes(work, query.cumulative, steps, contribution, norm, ended=ended)
    one_group = constant or cells == 1
    if work.steps:
        of_people(query.bound, "a regression by steps")
    for picking in (one for one in query.aggregates if one.kind.picks):
        of_people(query.bound, picking.text)
    picked = quantiles(query, norm, contribution, cells, dialect, one_group=one_group)
    later = steps_of(query, work, norm, contribution, public, dialect, one_group=one_group)
    work = without_steps(work)
    shortened = alike(query, work.vectors, norm)
    if query.joined:
        check_joined(query, shortened, constant=constant)
    work = work if shortened is None else replace(work, vectors=shortened)
    # Where groupings are clipped alike, rows of no group count too: one public group is not all that a person has.
    one_group = constant if shortened is not None else one_group
    bounded = bound(query, work, norm, contribution, public, dialect, one_group=one_group, alike=shortened is not None)
    in_one = None
    if query.joined and constant and contribution.rows is not None and not contribution.unique:
        in_one = people_and_rows(work, bounded, contribution.rows, norm)
    if in_one is not None:
        work, bounded = in_one.work, in_one.bounded
    tree = dialect.spelt(bounded.tree)
    check_expanded(tree)
    finer = {**bounded.refinement, **later.refinement}
    refined = [replace(output, estimator=output.estimator.finer(finer)) for output in work.outputs]
    if in_one is not None:
        refined = [replace(one, estimator=in_one.read(one.estimator)) for one in refined]
    outputs = {output.name: output for output in (*refined, *picked.outputs)}
    is_empty = not query.keys and not work.vectors
    what = "rows" if ranked_by is None else "rows in a group"
    sql = "" if is_empty else dialect.sql(bounded.tree)
    parts = tuple(
        replace(part, estimator=part.estimator.finer(bounded.refinement), additive=part.additive or constant)
        for part in work.parts
    )
    if in_one is not None:
        parts = tuple(replace(part, estimator=part.estimator.made_of(in_one.read_off)) for part in parts)
    listed = "" if public is None else dialect.sql(public.sql)
    weighs = bool(work.vectors) or picked.weighs_rows
    by_rows = any(not vector.distinct for vector in work.vectors)
    spread = () if constant else _spread_notes(query, contribution)
    once = not by_rows and not picked.weighs_rows and one_group and contribution.shared is None
    moved = answers_changed(query, cells)
    planned = Plan(
        sql=sql,
        dialect=dialect.name,
        keys=_columns(query.keys, public),
        blocks=tuple(moved.block(one) for one in bounded.blocks),
        outputs=tuple(outputs[aggregate_name(place)] for place in range(len(query.aggregates))),
        selection=moved.selection(bounded.selection),
        cells=cells,
        hidden=0 if public is None else public.hidden,
        notes=(
            *(_contribution_notes(contribution, what, spread) if weighs and not once else ()),
            *credit_notes(work, bounded.blocks),
            # Over blocks, the splitter says what is clipped: distances from a middle are measured.
            *(() if query.blocks else work.notes),
            *picked.notes,
            *(declared.notes if public is None else public.notes),
        ),
        parts=parts,
        orders=work.orders,
        exhaustive=not query.keys or (public is not None and public.exhaustive),
        choices=tuple(moved.choice(one) for one in picked.choices),
        groups=listed,
        clips=(work.clips if once else _clips(contribution, work)) or bool(picked.choices),
        bounded_by=contribution.table if by_rows or picked.weighs_rows else "",
        averaged=_averaged(query),
        counted=_counted(query),
        of_columns=_of_columns(query),
        clipped=_clipped(query),
        inhabited=None if public is None or in_one is not None else inhabited(tree, sql, public.sql, dialect),
        tables=tuple(sorted(tables_read(query.rows) | (frozenset() if public is None else tables_read(public.sql)))),
        until=query.until,
        times=query.until if query.until_of is query.rows else (),
    )
    planned = _with_few_for_presence(planned, query)
    partials = None if bounded.partials is None else AtRest.of(replace(bounded.partials, sql=sql))
    shortening = None if shortened is None else said(query, shortened, norm, contribution)
    if query.blocks:
        return replace(planned, partials=partials)

    def named(measured: Workload, over: Query) -> Plan:
        """With the families that the statistics have, or would have over other rows and keys."""
        return with_families(planned, over, measured, dialect, one_group=one_group, alike=shortening)

    if later.steps:
        return with_steps(named(work, query), later)

    def planned_like(other: Query) -> Plan:
        return plan(other, norm, dialect)

    # What is remembered with the plan holds neither the query nor the workload in use.
    kept = _kept(query)
    measured = AtRest.of(work) if may_be_drilled(query) else None

    def ways(cuts: Cuts | None = None) -> tuple[DrillDown, ...]:
        if measured is None:
            return ()
        asked = kept.in_use
        own = tuple(drill_downs(asked, partial(named, measured.in_use), dialect, planned_like, cuts))
        if (narrower := without_filter(asked)) is None:
            return own
        other = plan(narrower, norm, dialect)
        return (*renamed(other.drill_downs(cuts), other, planned), *own)

    def apart() -> tuple[PlanApart, ...]:
        found = by_conditions(replace(kept.in_use, presences=(), ranked=None, cumulative=None))
        return tuple(
            PlanApart(planned_like(one.rows_left), one.uses, cache(partial(planned_like, one.filtered)))
            for one in found
        )

    whole = not query.keys or (public is not None and query.only is None and ranked_by is None)
    question = _Question(kept, norm, dialect, unique) if whole and (unique or may_be_joined(query)) else None
    found = replace(
        named(work, query),
        drill_downs=without_ways if measured is None else ways,
        by_conditions=apart if whole and has_conditions(query) else without_conditions,
        partials=partials,
        question=question,
    )
    return found if query.only is None else of_total(found, query.only)


@once
def _kept(query: Query) -> AtRest[Query]:
    """The query as it is kept: once for all norms that it is planned in."""
    return AtRest.of(query)


@dataclass(frozen=True, eq=False)
class _Question(MeasuredQuestion):
    """A question about rows, of which each is in one group. Whatever is measured with it, a person moves the numbers by
    no more than one row does, where each has one, and else by no more than as many rows as a person may have
    (:mod:`rewriter.planner.joint_rows`). Each block has the sensitivity of the whole vector that it is, planned with
    all aggregates in it, and blocks share a price."""

    kept: AtRest[Query]
    norm: Norm
    dialect: Dialect
    unique: bool

    @property
    def query(self) -> Query:
        return self.kept.in_use

    @property
    def is_clipped(self) -> bool:
        return not self.unique

    @cached_property
    def rows(self) -> str:
        query, spelt = self.query, self.dialect.spelt
        rows, unit = (self.dialect.sql(spelt(tree)) for tree in (query.rows, query.unit))
        return "\n".join((self.dialect.name, rows, unit, str(query.ends), str(query.until), str(query.blocks)))

    def with_others(self, asked: Sequence[MeasuredQuestion]) -> tuple[Plan, tuple[tuple[int, ...], ...]] | None:
        own, rows = self.query, self.rows
        known: dict[tuple[object, ...], int] = {}
        asked_by: list[int] = []
        aggregates: list[Aggregate] = []
        places: list[tuple[int, ...]] = []
        for other in asked:
            if not isinstance(other, _Question) or other.rows != rows or (query := other.query).bound != own.bound:
                return None
            place_of = []
            for place, one in enumerate(query.aggregates):
                # Where each person has one row, people are counted as rows.
                people = _counts_people(one) and not one.within and not self.is_clipped
                one = replace(one, argument=None, distinct=False) if people else one
                if (call := self._call(one, (id(other), place))) not in known:
                    known[call] = len(aggregates)
                    aggregates.append(one)
                    asked_by.append(0)
                asked_by[known[call]] += 1
                place_of.append(known[call])
            places.append(tuple(place_of))
        asked_for = replace(own, aggregates=tuple(aggregates), asked_by=tuple(asked_by))
        whole = joined(replace(asked_for, presences=(), ranked=None, cumulative=None))
        try:
            return plan(whole, self.norm, self.dialect), tuple(places)
        except Refused:
            return None

    def _call(self, one: Aggregate, itself: tuple[int, int]) -> tuple[object, ...]:
        """All that an aggregate measures, whatever its words; of one that is not plain, which one it is."""
        values = (one.argument, one.condition, one.second, *one.row)
        texts = ("" if value is None else self.dialect.sql(self.dialect.spelt(value.sql)) for value in values)
        inner = None if one.within is None else self._call(one.within, itself)
        return (one.kind.word, one.distinct, one.fraction, one.fine, *texts, inner, None if one.is_plain else itself)


def declared_groups(query: Query, dialect: Dialect) -> KeySet:
    """The groups of a grouping, where it has keys."""
    return key_set(query.keys, query.filters, dialect) if query.keys else KeySet(None)


def _counts_people(aggregate: Aggregate) -> bool:
    """Whether it is the number of rows, where every person has one."""
    aggregate = aggregate.within or aggregate
    unit = aggregate.argument is not None and aggregate.argument.unit and not aggregate.argument.nullable
    rows = aggregate.argument is None and not aggregate.row
    return aggregate.kind.counts and aggregate.condition is None and (unit or (rows and not aggregate.distinct))


def _with_few_for_presence(plan: Plan, query: Query) -> Plan:
    """The plan, with a tenth of its price for a number of rows that nobody asked for, where a reader is told by it
    alone which ends and which NULL to leave out: what was asked for is worth more."""
    if not query.bought or any(one.kept is not KeptGroups.SHOWN for one in query.presences):
        return plan
    counted = aggregate_name(query.counted)
    asked = {name for one in plan.outputs if one.name != counted for name in one.estimator.statistics}
    told = [not asked & {one.name for one in block.statistics} for block in plan.blocks]
    rest = sum((block.weight for block, alone in zip(plan.blocks, told, strict=True) if not alone), Fraction(0))
    rest += sum(choice.size for choice in plan.choices)
    if not rest or told.count(True) != 1:
        return plan
    blocks = [
        replace(block, weight=rest / 9) if alone else block for block, alone in zip(plan.blocks, told, strict=True)
    ]
    return replace(plan, blocks=tuple(blocks))


def _averaged(query: Query) -> tuple[tuple[str, str], ...]:
    """The declared columns whose own means are asked for, with their tables."""
    arguments = (one.argument for one in query.aggregates if one.kind is AVG and not one.distinct)
    behind = (variable_behind(one.sql) for one in arguments if one is not None)
    return tuple(dict.fromkeys((one.table.name, one.name) for one in behind if one is not None))


def _counted(query: Query) -> tuple[str, ...]:
    """The tables whose rows of each person are numbers that outputs are made of."""
    measured = (one for one in query.aggregates if not one.kind.counts)
    values = (value for one in measured for value in (one.argument, one.second, *one.row) if value is not None)
    behind = (BEHIND.of(node) for value in values for node in nodes_behind(value.sql))
    return tuple(dict.fromkeys(one.counts for one in behind if isinstance(one, Computed) and one.counts))


def _of_columns(query: Query) -> tuple[tuple[str, str, str], ...]:
    """The outputs that are of the values of one declared column each, with its table and its name; no counts."""
    alone = (pair for pair in enumerate(query.aggregates) if not pair[1].kind.counts and pair[1].second is None)
    behind = ((place, variable_behind(one.argument.sql)) for place, one in alone if one.argument is not None)
    return tuple((aggregate_name(place), one.table.name, one.name) for place, one in behind if one is not None)


_BENDS = {
    Figure.SLOPE: (Bend.EXPLAINED, Bend.EXPLAINING),
    Figure.CORRELATION: (Bend.CORRELATED, Bend.CORRELATED),
    Figure.DETERMINATION: (Bend.DETERMINED, Bend.DETERMINED),
    **dict.fromkeys((Figure.COVARIANCE_POP, Figure.COVARIANCE_SAMP, Figure.PRODUCTS), (Bend.COVARYING, Bend.COVARYING)),
}
"""What the first argument of a figure bends, and what the second one does."""


def _clipped(query: Query) -> tuple[tuple[str, str, Bend | None], ...]:
    """The declared columns that outputs are made of the values of; and what they bend where they are clipped."""
    found: list[tuple[str, str, Bend | None]] = []
    for aggregate in query.aggregates:
        if aggregate.kind.counts:
            continue
        first, second = _bends(aggregate)
        values = [(aggregate.argument, first), *((one, second) for one in (aggregate.second, *aggregate.row))]
        behind = ((variable_behind(value.sql), bend) for value, bend in values if value is not None)
        found += [(one.table.name, one.name, bend) for one, bend in behind if one is not None]
    return tuple(dict.fromkeys(found))


def _bends(aggregate: Aggregate) -> tuple[Bend | None, Bend | None]:
    """What the explained number of an aggregate bends, and what its others do."""
    part = aggregate.regression
    if part is None:
        return _BENDS.get(aggregate.kind.figure, (None, None)) if aggregate.kind.figure else (None, None)
    is_slope = (
        isinstance(part, RegressionPart)
        and part.field is RegressionField.COEFFICIENT
        and part.intercept is not None
        and part.place != part.intercept
        and not part.logistic
    )
    if not is_slope:
        return None, None
    return Bend.EXPLAINED, Bend.EXPLAINING if len(aggregate.row) == 1 else None


def _columns(keys: Sequence[Key], public: PublicKeys | None) -> tuple[KeyColumn, ...]:
    """The keys, with the facts about their listed values."""
    columns = (
        KeyColumn(key_name(number), key.value.type, key.text, celled=key.declared is not None)
        for number, key in enumerate(keys)
    )
    if public is None:
        return tuple(columns)
    known = zip(
        columns, public.closed, public.listed, public.lists_null, public.may_lack(keys), public.sorts, strict=True
    )
    return tuple(
        replace(one, closed=closed, listed=listed, lists_null=null, may_lack=lack, sorts=sorts)
        for one, closed, listed, null, lack, sorts in known
    )


def _named(work: Workload, places: Sequence[int]) -> Workload:
    """The outputs of some of the aggregates, with the names of their places among all of them."""
    outputs = (replace(output, name=aggregate_name(place)) for place, output in zip(places, work.outputs, strict=True))
    return replace(work, outputs=tuple(outputs))


def _clips(contribution: ContributionBound, work: Workload) -> bool:
    """Whether rows or values may be cut."""
    return work.clips or contribution.shared is not None or (not contribution.unique and bool(work.vectors))


def _spread_notes(query: Query, bound: ContributionBound) -> tuple[str, ...]:
    """What else than the number of rows lets a person count with less, where keys vary within a person."""
    declared = query.bound
    found: list[str] = []
    if not declared.table or declared.rows is None:
        return ()
    by_key = declared.differ_by(plain_columns(query.keys))
    if declared.rows_per_group is not None and declared.rows_per_group < declared.rows and not by_key:
        rows = f"{declared.rows_per_group} {'row' if declared.rows_per_group == 1 else 'rows'}"
        name = f"max_rows_per_group of {declared.table}"
        found.append(f"who has more than {rows} in a group may count with less ({name})")
    if declared.groups is not None and declared.groups == bound.groups and declared.groups < declared.rows:
        groups = f"{declared.groups} {'group' if declared.groups == 1 else 'groups'}"
        found.append(f"who is in more than {groups} may count with less (max_groups of {declared.table})")
    return tuple(found)


def _contribution_notes(bound: ContributionBound, what: str, spread: tuple[str, ...]) -> tuple[str, ...]:
    if bound.shared is not None:
        return (str(bound.shared),)
    if bound.unique or bound.rows is None:
        return ()
    most = sorted(bound.repeated, key=lambda one: -one.rows)[:_MOST_REPEATED]
    if bound.beyond is None:
        named = f" (max_rows of {bound.table})" if bound.table else ""
        said = "row" if (bound.rows, what) == (1, "rows") else what
        counted = f"each person counts with at most {bound.rows} {said}{named}"
    else:
        counted = f"each person counts with at most {bound.rows:,} {what}, of the many more that its joins could make"
    return (counted, *spread, *map(str, most))
