"""A query, prepared: everything about it that follows from text and policy, so that it can be remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp

from dpsql.accounting import Accounting
from dpsql.inference.estimates import running_outputs
from dpsql.prepare.question import Question
from dpsql.prepare.row_choice import chooses
from dpsql.prepare.system_tables import VIRTUAL_COLUMNS
from dpsql.releases import Family, Shape, families, shapes
from dpsql.sandbox import Sandbox
from rewriter.declared import BIGINT, BOOLEAN, DOUBLE, INTEGER, UTC, Catalog, Learned, Missing, Norm, Type
from rewriter.dialects import Dialect
from rewriter.outer import (
    OTHER,
    PUBLIC,
    Either,
    Measured,
    Other,
    Running,
    Traced,
    check_outer,
    is_moderate,
    outer_sql,
    replicated_sql,
    row_column,
    slots_of,
    trace,
)
from rewriter.plan import Chosen, Output, Plan
from rewriter.planner import greatest, plan, plan_top
from rewriter.refused import Unbounded
from rewriter.release import Program, Query
from rewriter.split import Empty, split

_MOST_TRIED = 8

Schema = Mapping[str, Mapping[str, Type]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query's plans and its outer SELECT.

    ``plans`` has, for each grouping of each release, one plan for each norm that the accounting can hide, and then
    those that pick the groups that are shown (``Plan.top``); ``shapes`` says how tables are made of them, ``families``
    which belong together. ``outer_sql`` answers the
    ``columns`` first and then the numbers of the released rows behind each row, which are of the tables ``origins``;
    ``measured`` says how each column follows from those, ``question`` is what replicates are asked for the others.
    ``shown_sql`` is the outer SELECT without them. ``virtual`` are the relations of the schema ``dpsql`` that it reads.
    ``notes`` say what is answered from the policy alone. ``zone`` is the session's time zone.
    ``chosen``: rows are shown or not by what is measured of them.

    Where the query lacks bounds that the owner left to be learned, they are ``missing``: what is here is then planned
    with the loosest ones, and is not to be run; ``with_bounds`` plans with those that were learned.
    """

    sql: str
    plans: tuple[tuple[Plan, ...], ...]
    shapes: tuple[Shape, ...]
    families: tuple[Family, ...]
    outer_sql: str
    shown_sql: str
    columns: tuple[tuple[str, Type], ...]
    measured: tuple[Measured, ...]
    origins: tuple[frozenset[str], ...]
    question: Question
    virtual: tuple[str, ...]
    private_tables: tuple[str, ...]
    notes: tuple[str, ...] = ()
    zone: str = UTC
    chosen: bool = False
    missing: tuple[Missing, ...] = ()
    with_bounds: Callable[[tuple[Learned, ...]], Prepared] | None = field(default=None, repr=False, compare=False)

    @property
    def selects(self) -> bool:
        """Whether a release selects its groups under δ."""
        return any(plans[0].selection is not None for plans in self.plans)


def prepare(
    tree: exp.Query,
    sql: str,
    catalog: Catalog,
    accounting: Accounting,
    sandbox: Sandbox,
    dialect: Dialect,
    database: str | None = None,
    *,
    others: bool = False,
    empty: Empty = Empty.AUTO,
) -> Prepared:
    """Split, plan and check a query, for an engine of ``dialect``. Reads no data, costs nothing.

    ``database`` is the name that a session gave to the database, as in ``clinic.public.patient``; None allows any.
    ``others``: what is selected and not shown is added up in a row of its own. ``empty`` says what becomes of public
    groups that nobody may be in.
    Raises :class:`rewriter.refused.Refused`.
    """
    program = split(tree, catalog, dialect, database, with_others=others, norms=accounting.norms, empty=empty)
    plans = tuple(tuple(plan(grouping, norm, dialect) for norm in accounting.norms) for grouping in program.groupings)
    related = families(program.releases)
    plans = _with_picks(plans, related, program, accounting.norms, dialect)
    plans = _with_one_total(plans, related, program)
    shaped = shapes(program.releases, plans, [_is_summed(program.outer)] * len(program.releases))
    tables = _tables(program, shaped, plans, catalog)
    check_outer(program.outer, tables)
    shown = outer_sql(program.outer, tables)
    released = {name: list(tables[name].items()) for name in tables if name.startswith("dpsql_")}
    columns = sandbox.describe(shown, released)
    traced = trace(program.outer, {shape.name: _outputs(shape, plans) for shape in shaped}, tables)
    if traced is None or len(traced.columns) != len(columns):
        traced = Traced(program.outer, tuple(OTHER if shaped else PUBLIC for _ in columns))
    traced = replace(traced, columns=tuple(_independent(one, traced, shaped, plans) for one in traced.columns))
    full = outer_sql(traced.tree, tables) if traced.slots else shown
    names = [shape.name for shape in shaped]
    return Prepared(
        sql=sql,
        plans=plans,
        shapes=shaped,
        families=related,
        outer_sql=full,
        shown_sql=shown,
        columns=columns,
        measured=traced.columns,
        origins=traced.origins,
        question=_question(full, traced, [kind for _, kind in columns], tables, names, dialect.zone),
        virtual=tuple(sorted(name for name in program.tables if name in VIRTUAL_COLUMNS)),
        private_tables=_private_tables(program.releases, catalog),
        notes=(
            *program.notes,
            *_free_notes(plans),
            *_joint_notes(related, plans),
            *_chosen_notes(plans, program.outer),
        ),
        zone=dialect.zone,
        chosen=chooses(shown, frozenset(output.name for shape in shaped for output in _outputs(shape, plans))),
    )


def _with_picks(
    plans: tuple[tuple[Plan, ...], ...],
    related: Sequence[Family],
    program: Program,
    norms: Sequence[Norm],
    dialect: Dialect,
) -> tuple[tuple[Plan, ...], ...]:
    """The plans, and beside them those that pick the groups first, where no other measurement is to agree with them."""
    alone = {family.measurements[0] for family in related if len(family.measurements) == 1}
    found = list(plans)
    for place, query in enumerate(program.groupings):
        if query.ranked is not None and place in alone:
            picked = (plan_top(query, norm, dialect) for norm in norms)
            # Of numbers that may be below 0, the largest may be those of groups that nobody is in.
            fit = (one for one in picked if one is not None and (not query.presences or _only_grows(one)))
            found[place] = (*plans[place], *fit)
    return tuple(found)


def _only_grows(plan: Plan) -> bool:
    """Whether the number that groups are picked by is not below 0, whatever the data."""
    return plan.top is not None and any(
        plan.top.reach == one.bound for one in plan.statistics if one.name == plan.top.name
    )


def _with_one_total(
    plans: tuple[tuple[Plan, ...], ...], related: Sequence[Family], program: Program
) -> tuple[tuple[Plan, ...], ...]:
    """The plans, where the total beside selected groups is one that the statement shows as well, if it shows one: what
    is left of it then agrees with what is shown."""
    found, queries = list(plans), program.groupings
    for family in related:
        totals = [place for place, keys in zip(family.measurements, family.keys, strict=True) if not keys]
        shown = [place for place in totals if queries[place].only is None]
        for place in totals:
            if (
                shown
                and queries[place].only is not None
                and len(plans[place][0].blocks) == len(plans[shown[0]][0].blocks)
            ):
                pairs = zip(plans[shown[0]], plans[place], strict=True)
                found[place] = tuple(replace(one, outputs=own.outputs, choices=()) for one, own in pairs)
    return tuple(found)


def draft(prepare_over: Callable[[Catalog], Prepared], catalog: Catalog, lacking: Unbounded) -> Prepared:
    """The query whose planning was ``lacking`` bounds, planned with the loosest ones, and which ones it needs.

    That all else about it is answered is known now, so that no bound is paid for in vain. Raises
    :class:`rewriter.refused.Refused` where bounds are not all that it lacks.
    """

    def over(missing: frozenset[Missing]) -> Prepared:
        return prepare_over(catalog.with_learned(greatest(one, catalog) for one in sorted(missing)))

    needed: frozenset[Missing] = frozenset()
    certain: frozenset[Missing] = frozenset()
    found: Prepared | None = None
    while found is None:
        if lacking.missing <= needed:
            raise lacking
        needed, certain = needed | lacking.missing, certain | lacking.certain
        try:
            found = over(needed)
        except Unbounded as more:
            lacking = more
    for one in sorted(needed - certain)[:_MOST_TRIED]:
        # Some were only read beside those that matter, as a condition is.
        try:
            found, needed = over(needed - {one}), needed - {one}
        except Unbounded:
            continue
    again = lru_cache(maxsize=8)(lambda learned: prepare_over(catalog.with_learned(learned)))
    return replace(found, missing=tuple(sorted(needed)), with_bounds=again)


def _free_notes(plans: tuple[tuple[Plan, ...], ...]) -> tuple[str, ...]:
    """What to say of groups that cost nothing, because they follow from the policy."""
    free = any(options[0].keys and not options[0].blocks and options[0].selection is None for options in plans)
    return ("the groups are those that the policy declares, whether or not anybody is in them",) if free else ()


def _independent(
    column: Measured, traced: Traced, shaped: tuple[Shape, ...], plans: tuple[tuple[Plan, ...], ...]
) -> Measured:
    """The column, where its error follows from its rows alone: groups that running sums are measured of depend on each
    other, and only a plan that measures a running sum says how far off it is. Numbers of hundreds of digits are tried.
    """
    if not is_moderate(column.form):
        return OTHER
    released = {shape.name: [plan for place in shape.measurements for plan in plans[place]] for shape in shaped}
    if isinstance(column.form, Either):
        branches = tuple(_independent(branch, traced, shaped, plans) for branch in column.form.branches)
        known = not any(isinstance(branch.form, Other) for branch in branches)
        return replace(column, form=Either(branches)) if known else replace(OTHER, nonnegative=column.nonnegative)
    slots = slots_of(column.form)
    behind = [plan for slot in slots for name in traced.origins[slot] for plan in released[name]]
    if isinstance(column.form, Running):
        name = column.form.term[1]
        known = all(name in running_outputs(plan, column.form.window) for plan in behind)
        return column if known else OTHER
    together = len(slots) > 1 and any(block.prefix is not None for plan in behind for block in plan.blocks)
    return OTHER if together else column


def _chosen_notes(plans: tuple[tuple[Plan, ...], ...], outer: exp.Query) -> tuple[str, ...]:
    """What to say of numbers that are computed over groups of which only some are shown."""
    chosen = any(options[0].selection is not None for options in plans)
    if not chosen or outer.find(exp.AggFunc, exp.Window, exp.Join) is None:
        return ()
    return ("totals, averages, ranks and neighbours of groups are those of the groups that are shown",)


def _agrees(plan: Plan) -> bool:
    """Whether measurements of other groupings can agree with it: there are some, of all groups. Picks do not."""
    return plan.exhaustive and bool(plan.blocks)


def _joint_notes(related: Sequence[Family], plans: tuple[tuple[Plan, ...], ...]) -> tuple[str, ...]:
    """What to say of measurements that are made to agree: their errors are below what each of them has alone."""
    for family in related:
        together = {plans[place][0].identity for place in family.measurements if _agrees(plans[place][0])}
        if len(together) > 1:
            return (f"{len(together)} measurements of the same rows are made to agree, which makes each more accurate",)
    return ()


def _question(
    full: str, traced: Traced, kinds: Sequence[Type], tables: Schema, released: Sequence[str], zone: str
) -> Question:
    """What replicates are asked: columns that nothing exact is known of, in rows known by all that is not measured."""
    slots = range(len(traced.columns), len(traced.columns) + traced.slots)
    wanted = tuple(
        at
        for at, (column, kind) in enumerate(zip(traced.columns, kinds, strict=True))
        if isinstance(column.form, Other) and kind.numeric
    )
    keys = [at for at, column in enumerate(traced.columns) if not column.noisy]
    never = frozenset(at for at in wanted if traced.columns[at].nonnegative)
    if not wanted:
        return Question(full, "", (), ())
    once = replicated_sql(traced.tree, tables, released, slots.stop)
    return Question(full, once, (*keys, *slots), wanted, never, zone)


def margin_name(column: str) -> str:
    """The column with the margins of a released column, for what compares a number with its noise."""
    return f"{column}_margin"


def _has_margin(output: Output) -> bool:
    """A quantile is off by a known number of rows, not by a known distance."""
    return not isinstance(output.estimator, Chosen)


def grouping_name(key: str) -> str:
    """The column that says whether a row adds up over the key ``k0``, ``k1``, …: ``g0``, ``g1``, …"""
    return f"g{key[1:]}"


def _is_summed(outer: exp.Query) -> bool:
    """Whether anything is added up above the releases."""
    return outer.find(exp.AggFunc) is not None


def _outputs(shape: Shape, plans: tuple[tuple[Plan, ...], ...]) -> tuple[Output, ...]:
    return plans[shape.measurements[0]][0].outputs


def _tables(
    program: Program, shaped: tuple[Shape, ...], plans: tuple[tuple[Plan, ...], ...], catalog: Catalog
) -> Schema:
    """The tables that the outer SELECT may name, with the types of their columns."""
    tables: dict[str, dict[str, Type]] = {}
    for shape in shaped:
        outputs = _outputs(shape, plans)
        columns = {key.name: key.type for key in shape.keys}
        columns |= {grouping_name(key.name): INTEGER for key in shape.keys if shape.marked}
        columns |= {output.name: output.type for output in outputs}
        columns |= {margin_name(output.name): DOUBLE for output in outputs if _has_margin(output)}
        columns |= {presence.column: BOOLEAN for presence in shape.presences}
        columns |= {row_column(0): BIGINT}
        tables[shape.name] = columns
    for name in program.tables:
        if name in VIRTUAL_COLUMNS:
            tables[name] = dict(VIRTUAL_COLUMNS[name])
        else:
            tables[name] = {column.name: column.type for column in catalog.tables[name].columns.values()}
    return tables


def _private_tables(releases: tuple[Query, ...], catalog: Catalog) -> tuple[str, ...]:
    names = {table.name for query in releases for table in query.rows.find_all(exp.Table)}
    return tuple(sorted(name for name in names if name in catalog.tables and not catalog.tables[name].public))
