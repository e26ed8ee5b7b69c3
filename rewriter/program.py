"""The rewriter, in one call: a statement becomes releases of measured statistics, and a SELECT over their tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo

from sqlglot import exp

from rewriter.columns import tables_read
from rewriter.declared import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    VIRTUAL_COLUMNS,
    Catalog,
    Learned,
    Missing,
    Norm,
    Type,
)
from rewriter.dialects import Dialect
from rewriter.expressions import moved_in
from rewriter.once import Remember, afresh, remembering
from rewriter.outer import OuterSelect, outer_select, row_column
from rewriter.plan import Options, Plan, Series, Sorts
from rewriter.planner import (
    Family,
    Shape,
    families,
    greatest,
    in_touched_spans,
    marginals,
    only_sorts,
    plan,
    plan_top,
    series_of,
    shapes,
    with_times,
    with_undeclared_cells,
    without_series,
)
from rewriter.refused import NUMBER_OUT_OF_RANGE, Refused, Unbounded
from rewriter.release import (
    COUNTED_GROUPS,
    KeptGroups,
    Key,
    Query,
    Ranked,
    Split,
    added_name,
    aggregate_name,
    group_mean_name,
    margin_name,
    mark_name,
)
from rewriter.split import Empty, over_groups, split
from rewriter.statement import Shown, at_instant, without_ends

_MOST_TRIED = 8


@dataclass(frozen=True, slots=True)
class Program:
    """A statement, rewritten. All of it follows from text and policy.

    ``options`` has the plans of each grouping of each release; ``shapes`` says how tables are made of them,
    ``families`` which of them measure the same rows. The last options are ``marginals``, so many, that nobody asked for
    (:mod:`rewriter.planner.key_marginals`). ``outer`` is the SELECT over these tables, ``virtual`` are the
    relations of the schema ``dpsql`` that it reads. ``notes`` say what is answered from the policy alone.

    Where the statement lacks bounds that the owner left to be learned, they are ``missing``: it is then planned with
    the loosest ones and is not to be run; ``with_bounds`` plans it with those that were learned. What reads the clock
    is planned for one ``instant``. ``shown`` says of each column whether it shows its value or an end of its interval;
    it is empty where all show values. ``answers`` are the texts of the queries whose released answers it reads.
    """

    options: tuple[Options, ...]
    shapes: tuple[Shape, ...]
    families: tuple[Family, ...]
    outer: OuterSelect
    virtual: tuple[str, ...]
    private_tables: tuple[str, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    with_bounds: Callable[[tuple[Learned, ...]], Program] | None = field(default=None, repr=False, compare=False)
    instant: datetime.datetime | None = None
    shown: tuple[Shown, ...] = ()
    answers: frozenset[str] = frozenset()
    marginals: int = 0

    @property
    def asked(self) -> tuple[Options, ...]:
        """The options of what the statement asks for, without marginals."""
        return self.options[: len(self.options) - self.marginals]

    @property
    def plans(self) -> tuple[Plan, ...]:
        """One plan of each grouping. What differs between its options are norms and sensitivities."""
        return tuple(one.first for one in self.options)

    @property
    def selects(self) -> bool:
        """Whether a release selects its groups under δ."""
        return any(plan.selection is not None for plan in self.plans)


def rewrite(
    tree: exp.Query,
    catalog: Catalog,
    dialect: Dialect,
    *,
    norms: Sequence[Norm] = tuple(Norm),
    others: bool = False,
    empty: Empty = Empty.AUTO,
    learns: bool = False,
    instant: datetime.datetime | None = None,
    remember: Remember[Plan] = afresh,
    above: int | None = None,
) -> Program:
    """The program of a query, for an engine of ``dialect``. Deterministic: reads no data, draws nothing.

    It is asked at an ``instant``, for what reads the clock; without one, that is refused.
    ``norms`` are the norms in which people may be clipped. ``others``: groups that are selected and not shown are added
    up in a row of their own. ``empty`` says whether public groups are shown that nobody may be in. ``learns``: bounds
    that the catalog leaves open are ``missing`` in the program, and no reason to refuse. Plans of periods are asked of
    a memory of the caller's, by keys that say all that they follow from. Marginals are measured too where the keys
    beside an ordered one have more than ``above`` groups; without a number, nowhere. Raises
    :class:`rewriter.refused.Refused`.
    """

    tree, ends = without_ends(tree)
    timed = None if instant is None else at_instant(tree, instant, dialect.zone, dialect.clock_zone)

    def over(known: Catalog) -> Program:
        plain = tree if timed is None else timed
        with remembering():
            found = _program(plain, known, dialect, norms, others=others, empty=empty, remember=remember, above=above)
        found = replace(found, shown=ends) if ends else found
        if timed is None or instant is None:
            return found
        return replace(found, instant=instant, notes=(*found.notes, _time_note(instant, dialect.clock_zone)))

    try:
        return over(catalog)
    except Unbounded as lacking:
        if not learns:
            raise
        return _draft(over, catalog, lacking)
    except OverflowError:
        # A plan is made of text and policy alone: a bound that no double holds is one of theirs.
        hint = "declare narrower ranges, or divide by a power of 10"
        raise Refused("numbers of this statement are too large", hint=hint, sqlstate=NUMBER_OUT_OF_RANGE) from None


def _time_note(instant: datetime.datetime, clock_zone: str) -> str:
    """What the clock said; where its date is told by another zone than the session's, that as well."""
    said = f"the time of this statement is {instant}"
    if not clock_zone:
        return said
    there = instant.astimezone(ZoneInfo(clock_zone))
    return f"{said}, and its date and time of day are {there:%Y-%m-%d %H:%M} {clock_zone}"


def _draft(over: Callable[[Catalog], Program], catalog: Catalog, lacking: Unbounded) -> Program:
    """The program whose planning was ``lacking`` bounds, planned with the loosest ones, and which ones it needs.

    That all else about it is answered is known now, so that no bound is paid for in vain. Raises
    :class:`rewriter.refused.Refused` where bounds are not all that it lacks.
    """

    def loosest(missing: frozenset[Missing]) -> Program:
        return over(catalog.with_learned(greatest(one, catalog) for one in sorted(missing)))

    needed: frozenset[Missing] = frozenset()
    certain: frozenset[Missing] = frozenset()
    found: Program | None = None
    while found is None:
        if lacking.missing <= needed:
            raise lacking
        needed, certain = needed | lacking.missing, certain | lacking.certain
        try:
            found = loosest(needed)
        except Unbounded as more:
            lacking = more
    for one in sorted(needed - certain)[:_MOST_TRIED]:
        # Some were only read beside those that matter, as a condition is.
        try:
            found, needed = loosest(needed - {one}), needed - {one}
        except Unbounded:
            continue
    return replace(
        found,
        missing=tuple(sorted(needed)),
        with_bounds=lambda learned: over(catalog.with_learned(learned)),
    )


def _program(
    tree: exp.Query,
    catalog: Catalog,
    dialect: Dialect,
    norms: Sequence[Norm],
    *,
    others: bool,
    empty: Empty,
    remember: Remember[Plan],
    above: int | None,
) -> Program:
    parted = split(tree, catalog, dialect, with_others=others, norms=norms, empty=empty)
    parted = replace(parted, releases=tuple(_with_ends(one, catalog) for one in parted.releases))
    of_all_spans = parted.groupings
    parted = replace(parted, releases=tuple(map(in_touched_spans, parted.releases)))
    parted = replace(parted, releases=with_undeclared_cells(parted.releases, norms, dialect))
    options = tuple(Options(tuple(plan(one, norm, dialect) for norm in norms)) for one in parted.groupings)
    related = families(parted.releases)
    options = _with_picks(options, related, parted, norms, dialect)
    options = _with_one_total(options, related, parted)
    options = _with_series(options, related, of_all_spans, catalog, norms, dialect, remember)
    beside = None if above is None else marginals(parted.groupings, options, related, norms, dialect, above)
    bought = () if beside is None else beside.options
    options = _without_partials((*options, *bought))
    read = () if beside is None else beside.read
    numbers = {} if beside is None else beside.numbers
    shaped = shapes(parted.releases, options, summed=_is_summed(parted.outer), marginals=read, numbers=numbers)
    outer = outer_select(
        parted.outer,
        parted.running,
        _tables(parted, shaped, options, catalog),
        {shape.name: options[shape.measurements[0]].first.outputs for shape in shaped},
        {shape.name: [one for place in shape.measurements for one in options[place].all] for shape in shaped},
        dialect.zone,
        tuple(over_groups(parted.outer)),
    )
    return Program(
        options,
        shaped,
        related if beside is None else (*related, *beside.families),
        outer,
        virtual=tuple(sorted(name for name in parted.tables if name in VIRTUAL_COLUMNS)),
        private_tables=_private_tables(parted.releases, catalog),
        notes=(
            *parted.notes,
            *_grain_notes(parted.releases),
            *_free_notes(options),
            *_joint_notes(related, options),
            *_undeclared_notes(parted.releases, options),
            *_chosen_notes(options, parted.outer),
            *outer.notes,
            *_null_notes(related, of_all_spans, catalog),
        ),
        answers=parted.answers,
        marginals=len(bought),
    )


def _with_ends(query: Query, catalog: Catalog) -> Query:
    """The release with the ends of those ranges of its tables that follow the clock, and those of its rows."""
    return with_times(replace(query, ends=catalog.ends_of(tables_read(query.rows))), catalog)


def _with_picks(
    options: tuple[Options, ...], related: Sequence[Family], parted: Split, norms: Sequence[Norm], dialect: Dialect
) -> tuple[Options, ...]:
    """The options, with those that pick the groups first where no other measurement is to agree with them."""
    alone = {family.measurements[0] for family in related if len(family.measurements) == 1}
    found = list(options)
    for place, query in enumerate(parted.groupings):
        if query.ranked is None or place not in alone:
            continue
        if only_sorts(query, norms, options[place].by_norm):
            found[place] = replace(options[place], sorts=_sorts(query, query.ranked))
        else:
            picked = (plan_top(query, norm, dialect) for norm in norms)
            # Of numbers that may be below 0, the largest may be those of groups that nobody is in.
            fit = (one for one in picked if one is not None and (not query.presences or _only_grows(one)))
            found[place] = replace(options[place], picks=tuple(fit))
    return tuple(found)


def _sorts(query: Query, ranked: Ranked) -> Sorts:
    """How all groups are sorted, to find those that are shown."""
    return Sorts(aggregate_name(ranked.aggregate), query.aggregates[ranked.aggregate].text, ranked.descending)


def _with_series(
    options: tuple[Options, ...],
    related: Sequence[Family],
    asked: Sequence[Query],
    catalog: Catalog,
    norms: Sequence[Norm],
    dialect: Dialect,
    remember: Remember[Plan],
) -> tuple[Options, ...]:
    """The options, with the way period by period. Where measurements are to agree, that is the way of all whose keys
    hold the period, and of no others: a total may be another one tomorrow, and no cell of a period that is kept."""
    found = list(options)
    for family in related:
        ways: dict[int, Series] = {}
        for place in family.measurements:
            if asked[place].bound.spans and not options[place].first.steps:
                way = series_of(asked[place], norms, catalog, dialect, remember)
                if way is not None and not (way.adds_up and len(family.measurements) > 1):
                    ways[place] = way
        if len({(one.unit, one.periods) for one in ways.values()}) == 1:
            for place, way in ways.items():
                found[place] = replace(options[place], series=way)
    return tuple(found)


def _null_notes(related: Sequence[Family], asked: Sequence[Query], catalog: Catalog) -> Iterator[str]:
    """Times that may be NULL, where no other measurement is to agree with one that would be of periods."""
    for family in related:
        if len(family.measurements) == 1:
            yield from without_series(asked[family.measurements[0]], catalog)


def _only_grows(planned: Plan) -> bool:
    """Whether the number that groups are picked by is not below 0, whatever the data."""
    top = planned.top
    return top is not None and any(top.reach == one.bound for one in planned.statistics if one.name == top.name)


def _without_partials(options: tuple[Options, ...]) -> tuple[Options, ...]:
    """A grouping that is read alone shares no scan: the tree of its partial sums is most of what a statement that is
    remembered would hold."""
    if len(options) != 1 or options[0].series is not None:
        return options
    [one] = options
    by_norm, picks = (tuple(replace(planned, partials=None) for planned in some) for some in (one.by_norm, one.picks))
    return (replace(one, by_norm=by_norm, picks=picks),)


def _with_one_total(options: tuple[Options, ...], related: Sequence[Family], parted: Split) -> tuple[Options, ...]:
    """The options, where the total beside selected groups is one that the statement shows as well, if it shows one: the
    row of other groups then agrees with the shown numbers."""
    found, queries = list(options), parted.groupings
    for family in related:
        totals = [place for place, keys in zip(family.measurements, family.keys, strict=True) if not keys]
        shown = [place for place in totals if queries[place].only is None]
        for place in totals:
            if (
                shown
                and queries[place].only is not None
                and len(options[place].first.blocks) == len(options[shown[0]].first.blocks)
            ):
                pairs = zip(options[shown[0]].by_norm, options[place].by_norm, strict=True)
                found[place] = Options(tuple(replace(one, outputs=own.outputs, choices=()) for one, own in pairs))
    return tuple(found)


def _is_summed(outer: exp.Query) -> bool:
    """Whether anything is added up above the releases: a window that picks or counts rows reads them one by one."""
    return any(not isinstance(node, _OF_ONE_ROW) for node in outer.find_all(exp.AggFunc))


_OF_ONE_ROW = (
    exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue,
    exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile,
)  # fmt: skip


def _tables(
    parted: Split, shaped: Sequence[Shape], options: Sequence[Options], catalog: Catalog
) -> dict[str, dict[str, Type]]:
    """The tables that the outer SELECT may name, with the types of their columns."""
    tables: dict[str, dict[str, Type]] = {}
    for shape in shaped:
        outputs = options[shape.measurements[0]].first.outputs
        columns = {key.name: key.type for key in shape.keys}
        if shape.marked:
            columns |= {mark_name(place): INTEGER for place in range(len(shape.keys))}
        columns |= {output.name: output.type for output in outputs}
        measured = (output for output in outputs if output.estimator.has_margin)
        columns |= {margin_name(output.name): DOUBLE for output in measured}
        columns |= {added_name(output.name): output.type for output in outputs if output.name in shape.added}
        columns |= {presence.column: BOOLEAN for presence in shape.presences}
        if any(presence.kept is KeptGroups.COUNTED for presence in shape.presences):
            columns |= {COUNTED_GROUPS: BIGINT, **{group_mean_name(output.name): DOUBLE for output in outputs}}
        columns |= {row_column(0): BIGINT}
        tables[shape.name] = columns
    public = {table.name: table for table in catalog.standing_in.tables.values()}
    for name in parted.tables:
        if name in VIRTUAL_COLUMNS:
            tables[name] = dict(VIRTUAL_COLUMNS[name])
        else:
            tables[name] = {column.name: column.type for column in public[name].columns.values()}
    return tables


def _private_tables(releases: Sequence[Query], catalog: Catalog) -> tuple[str, ...]:
    names = set().union(*(tables_read(query.rows) for query in releases))
    return tuple(sorted(name for name in names if name in catalog.tables and not catalog.tables[name].public))


def _grain_notes(releases: Sequence[Query]) -> tuple[str, ...]:
    """The notice that instants were moved to the grain of the column that they are compared with."""
    moved = moved_in(*(tree for query in releases for tree in query.trees))
    return (f"{', '.join(moved)}: the policy declares so coarse a grain",) if moved else ()


def _undeclared_notes(releases: Sequence[Query], options: Sequence[Options]) -> Iterator[str]:
    """Says of grouping sets that are too many to be listed which rows they have and their coarser ones lack."""
    plans = iter(options)
    for query in releases:
        known = [(grouping.keys, next(plans).first) for grouping in query.groupings]
        chosen = [keys for keys, own in known if own.selection is not None] if query.sets else []
        listed = [keys for keys, own in known if keys and own.selection is None and not own.exhaustive]
        for keys in chosen:
            coarser = [_named(one) for one in listed if all(key in keys for key in one)]
            if coarser:
                others = " or of ".join(coarser)
                which = f"groups of {_named(keys)} may also have values that are not declared"
                yield f"{which}, whose rows are in no group of {others}"


def _named(keys: Sequence[Key]) -> str:
    return ", ".join(key.text for key in keys)


def _free_notes(options: Sequence[Options]) -> tuple[str, ...]:
    """The notice about groups that cost nothing, because they follow from the policy."""
    plans = [one.first for one in options]
    free = any(one.keys and not one.blocks and one.selection is None for one in plans)
    return ("the groups are those that the policy declares, whether or not anybody is in them",) if free else ()


def _chosen_notes(options: Sequence[Options], outer: exp.Query) -> tuple[str, ...]:
    """The notice that numbers computed over groups cover only the shown groups, where a statement does not show all."""
    chosen = any(one.first.selection is not None for one in options)
    if not chosen or outer.find(exp.AggFunc, exp.Window, exp.Join) is None:
        return ()
    return ("totals, averages, ranks and neighbours of groups are those of the groups that are shown",)


def _joint_notes(related: Sequence[Family], options: Sequence[Options]) -> tuple[str, ...]:
    """The notice that measurements are made to agree: their errors are smaller than each would have alone."""
    for family in related:
        if any(options[place].series is not None for place in family.measurements):
            continue  # It may be measured period by period, where a total does not agree.
        alike: dict[str, set[str]] = {}
        for one in (options[place].first for place in family.measurements):
            if one.exhaustive and one.blocks:
                alike.setdefault(one.sums, set()).add(one.identity)
        most = max(map(len, alike.values()), default=0)
        if most > 1:
            return (f"{most} measurements of the same rows are made to agree, which makes each more accurate",)
    return ()
