"""A query tree to a :class:`Split`: where the private part ends and post-processing begins.

A *release* is the innermost SELECT that aggregates over people. What stands above it computes with released numbers
and may be any SQL; what stands below it are rows of people, each owned by one unit. A subquery is therefore one of two
things: a :class:`Relation` (rows) or an :class:`Outer` (an answer, or something public). Nothing is both, and what
would need to be both is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from sqlglot import exp

from rewriter.aggregates import (
    OF_SHARED_TEXTS,
    Grouped,
    as_counts,
    check_measured,
    check_select,
    is_of_values,
    plain_every,
    take_apart,
    with_counted_maxima,
    with_declared_extremes,
)
from rewriter.aggregates import (
    canonical as canonical_expression,
)
from rewriter.columns import Source, base_table
from rewriter.declared import Catalog, Kind, Norm, made_up_name
from rewriter.dialects import Dialect, Fact
from rewriter.expressions import IsInterval, Value, position_of
from rewriter.per_person import groups_of_several, has_windows, of_units, output_names, selected, windowed
from rewriter.planner import together
from rewriter.query import AMBIGUOUS, BEFORE_COMMA, UNKNOWN, canonical, is_ranked, reads_outside, values_apart
from rewriter.refused import (
    AMBIGUOUS_COLUMN,
    NOT_ALLOWED,
    UNKNOWN_COLUMN,
    UNKNOWN_TABLE,
    LimitedRows,
    NeedsAnswer,
    Refused,
    Unbounded,
    limited_rows,
)
from rewriter.relations import (
    BlockScope,
    Relation,
    SelectRows,
    Subqueries,
    build_block,
    matches_people_alone,
    renamed,
    rows_of_nobody,
    unlimited_rows,
)
from rewriter.release import RESERVED, Query, Split, release_name
from rewriter.split.any_row import any_row, with_any_row
from rewriter.split.bins import plain_bins, plain_written
from rewriter.split.blocks_of_people import BlockRelease, Making, apart_from_blocks
from rewriter.split.combinations import with_combinations
from rewriter.split.counted_groups import counted_groups, groups_of_list, lists_groups, persons_of
from rewriter.split.counted_sets import check_sets, counted_sets
from rewriter.split.cumulative_windows import add_up_unbiased, with_running_sums
from rewriter.split.described_tables import plain_table_names
from rewriter.split.earlier_answers import EarlierAnswers, by_own_keys, check_equalities
from rewriter.split.interval_aggregates import MOST_LENGTHS, SECONDS_NOTE, with_seconds
from rewriter.split.largest_groups import with_rankings
from rewriter.split.lists_in_from import made_rows, with_lists_inside
from rewriter.split.merged_releases import Site, merged, release_of
from rewriter.split.named_queries import NamedQueries, Names, Outer, Resolved, drop_unread_queries, renamed_table
from rewriter.split.one_row_queries import flattened, single
from rewriter.split.other_groups import others
from rewriter.split.own_values_joined import with_own_values
from rewriter.split.presence import Empty, with_presence
from rewriter.split.previews import MADE_UP, PREVIEWED, columns_alone, in_place, lists_rows, unlimited
from rewriter.split.printed_periods import group_by_periods
from rewriter.split.public_rows import PublicRows, no_subqueries
from rewriter.split.randomized_groups import by_true_values, values_of_keys
from rewriter.split.ranked_quantiles import plain_ranks
from rewriter.split.recursive_rows import plain_recursion
from rewriter.split.series_rows import plain_series
from rewriter.split.set_operations import SetOperations
from rewriter.split.spines import with_people_aggregated
from rewriter.split.surely_present import SurelyPresent
from rewriter.split.symmetric_sums import plain_sums
from rewriter.split.top_groups_as_having import conditions_as_having, joins_as_having
from rewriter.split.unproved_groups import check_groups, named_person
from rewriter.split.values_beside_groups import values_beside_groups
from rewriter.statement import (
    from_items,
    is_aggregate,
    is_grouped,
    no_qualify,
    only,
    output_name,
    plain_buckets,
    plain_conditions,
    plain_constants,
    plain_functions,
    plain_quantiles,
    plain_ranges,
    plain_regressions,
    star_of,
)

_Found = TypeVar("_Found")
_EACH_HINT = (
    "each group is one person: ask over all, as in SELECT AVG(n) FROM (SELECT …, COUNT(*) AS n FROM … GROUP BY …) AS t,"
    " or with GROUP BY n for how many people have so many rows"
)
_ROWS_HINT = "ask for aggregates over people: COUNT(*), SUM(x), AVG(x), with GROUP BY for groups"
_EXISTS_UNTIED = (
    "EXISTS over people is answered where one equality of columns ties it to the public row",
    "write (SELECT COUNT(*) FROM … WHERE …) > 0 in the place of EXISTS (…)",
)
_COMPARED_OTHERWISE = (
    "a subquery for one value compares its rows with the row around it, in a way that is not answered",
    "compare columns of one item of FROM by =, <, <=, >, >= or BETWEEN, with AND between them",
)


def split(
    tree: exp.Query,
    catalog: Catalog,
    dialect: Dialect,
    *,
    with_others: bool = False,
    norms: Sequence[Norm] = tuple(Norm),
    empty: Empty = Empty.AUTO,
) -> Split:
    """The releases of a query and the outer SELECT over them. Raises :class:`Refused`; looks at no data.

    The tree is as it was parsed: equal questions are put in one spelling here (:mod:`rewriter.query`).
    ``norms`` are the norms in which people may be clipped: the choice of statistics depends on them. ``with_others``:
    releases have a row of other groups, selected and not shown, where there can be one. ``empty`` says whether public
    groups are read that nobody may be in.
    """
    tree, told = plain_table_names(plain_recursion(tree, dialect), catalog)
    asked_first, everything = tree, catalog
    tree, bound, plain, notes = _plainest(tree, catalog, dialect)
    catalog = catalog.reading(
        {identifier.name.lower() for one in (asked_first, tree) for identifier in one.find_all(exp.Identifier)}
    )
    surely = SurelyPresent(gaussian=set(norms) == {Norm.L2}) if empty is Empty.HIDE else None

    persons = persons_of(catalog)
    asked = counted_groups(counted_sets(plain, partial(lists_groups, persons=persons)), persons)

    def read(
        query: exp.Query, *, several: bool = False, lengths: int = 0, apart: bool = True
    ) -> tuple[_Splitter, Resolved]:
        splitter = _Splitter(catalog, dialect, with_others, surely, several=several, apart=apart)
        splitter.notes |= dict.fromkeys((*told, *notes))
        again = partial(read, query, several=several, lengths=lengths, apart=False)
        try:
            resolved = splitter.query(query, {})
            # Rows of people are no answer: then the groups are those of everybody's rows.
            return again() if isinstance(resolved, Relation) and splitter.parted else (splitter, resolved)
        except GroupsCounted as refused:
            return _or_else(refused, partial(read, query, several=True, lengths=lengths, apart=apart))
        except LimitedRows:
            if splitter.parted:
                return again()
            raise
        except IsInterval as refused:
            seconds = with_seconds(query, refused) if lengths < MOST_LENGTHS else None
            if seconds is None:
                raise
            found = read(seconds, several=several, lengths=lengths + 1, apart=apart)
            found[0].notes[SECONDS_NOTE] = None
            return found
        except (NeedsAnswer, Unbounded):
            raise
        except Refused as refused:
            if splitter.parted:
                return _or_else(refused, again)
            raise

    try:
        splitter, resolved = read(asked)
    except LimitedRows:
        if (of_any := with_any_row(asked)) is None:
            rows = _without_limits(plain, catalog, dialect) if catalog.previews else None
            if rows is None or not bound:
                raise
            if _aggregates_each(plain):
                raise _rows_of_people(plain) from None
            alone = columns_alone(rows, plain)
            made = _made_up(alone, asked_first, everything, dialect) if everything.made_up else None
            return made or Split((), alone, frozenset(), (), (PREVIEWED,))
        splitter, resolved = read(of_any)
    if isinstance(resolved, Relation):
        raise _rows_of_people(plain)
    if not bound:
        raise _unbound(plain)
    tree = resolved.tree
    drop_unread_queries(tree, lambda cte: any(table.name.startswith(RESERVED) for table in cte.find_all(exp.Table)))
    one = merged(splitter.releases, splitter.sites, {table.name for table in tree.find_all(exp.Table)})
    outer = flattened(one.renamed(tree), single(one.releases))
    check_groups(one.releases, outer, dialect)
    check_sets(one.releases, outer, dialect)
    releases, running = with_running_sums(with_combinations(one.releases, outer, norms, dialect), outer)
    releases, outer = with_presence(with_rankings(releases, outer), outer, running, dialect, empty, catalog.rows)
    add_up_unbiased(running)
    answers = frozenset(splitter.answers.used)
    return Split(together(releases), outer, frozenset(splitter.tables), running, tuple(splitter.notes), answers)


def _unbound(tree: exp.Query) -> Refused:
    """What is wrong with a name of a statement whose names are not bound."""

    def first(mark: Fact[bool]) -> exp.Column | None:
        return next((one for one in tree.find_all(exp.Column) if mark.is_on(one)), None)

    if (beside := first(BEFORE_COMMA)) is not None:
        text = f"ON does not see {beside.sql('postgres')}: JOIN joins before a comma does"
        hint = "write JOIN … ON or CROSS JOIN in the place of the comma"
        return Refused(text, hint=hint, sqlstate=UNKNOWN_TABLE, position=position_of(beside))
    if (several := first(AMBIGUOUS)) is not None:
        text, hint = f"column {several.name!r} is ambiguous", f"write {several.name} with its table's name before it"
        return Refused(text, hint=hint, sqlstate=AMBIGUOUS_COLUMN, position=position_of(several))
    if (lacking := first(UNKNOWN)) is not None:
        text, hint = f"there is no column {lacking.name}", "name a column of FROM"
        return Refused(text, hint=hint, sqlstate=UNKNOWN_COLUMN, position=position_of(lacking))
    return Refused(
        "a name in this statement has no single meaning, or stands in a form that is not answered",
        hint="give each item of FROM an alias, and write columns with it",
    )


def _or_else(refused: Refused, form: Callable[[], _Found]) -> _Found:
    """What another form comes to, or what was said of the first."""
    try:
        return form()
    except Refused:
        raise refused from None


def _aggregates_each(tree: exp.Query) -> bool:
    """Whether a statement asks for aggregates by person: no preview of a table, whose rows would not be missed."""
    if not isinstance(tree, exp.Select) or tree.args.get("group") is None:
        return False
    return any(is_aggregate(node) for item in tree.expressions for node in item.walk())


def _rows_of_people(tree: exp.Query) -> Refused:
    shown = next((item for select in tree.find_all(exp.Select) for item in select.expressions), None)
    position = None if shown is None or shown.is_star else position_of(shown)
    hint = _EACH_HINT if _aggregates_each(tree) else _ROWS_HINT
    return Refused("this query returns rows of people", hint=hint, sqlstate=NOT_ALLOWED, position=position)


def _plainest(
    tree: exp.Query, catalog: Catalog, dialect: Dialect
) -> tuple[exp.Query, bool, exp.Query, tuple[str, ...]]:
    """The canonical tree, whether its names are bound, the same in plain words, and notices.

    A value that is chosen by its rank is one quantile; else ranks are compared with quantiles.
    """
    for ranks in (False, True) if is_ranked(tree) else (False,):
        found, bound, told = canonical(tree.copy(), catalog, ranks=ranks)
        timed = plain_buckets(plain_bins(plain_series(plain_written(plain_sums(found)), dialect), dialect))
        worded = plain_conditions(plain_ranges(plain_functions(plain_regressions(plain_quantiles(timed)))))
        plain, notes = plain_ranks(plain_every(plain_constants(group_by_periods(worded))))
        if notes:
            break
    return found, bound, plain, (*told, *notes)


def _without_limits(tree: exp.Query, catalog: Catalog, dialect: Dialect) -> Relation | None:
    """The rows of people that a query selects a few of; None where it selects something else."""
    resolved = _Splitter(catalog, dialect, with_others=False).query(unlimited(tree), {})
    return resolved if isinstance(resolved, Relation) else None


def _made_up(alone: exp.Select, tree: exp.Query, catalog: Catalog, dialect: Dialect) -> Split | None:
    """The query over made-up rows in the place of people's; None where it reads a table that has none, or shows other
    than rows."""
    if not lists_rows(tree):
        return None
    try:
        parted = split(tree, catalog.standing_in, dialect)
    except Refused:
        return None
    names = {made_up_name(name): told for name, told in catalog.made_up.items()}
    if parted.releases or not names.keys() & parted.tables:
        return None
    told = tuple(f"{MADE_UP}{names[name]}" for name in sorted(names.keys() & parted.tables))
    return Split((), in_place(alone, parted.outer), parted.tables, (), told)


class GroupsCounted(Refused):
    """Groups are counted of which a statement says whose they are."""


class _Splitter:
    """One reading of a query. ``several``: groups of which a statement says whose they are may be several people's.

    ``apart``: groups by a key that is one person's where it is not NULL are made by the person as well, and ``parted``
    says that some were.
    """

    def __init__(
        self,
        catalog: Catalog,
        dialect: Dialect,
        with_others: bool,
        surely: SurelyPresent | None = None,
        *,
        several: bool = False,
        apart: bool = True,
    ) -> None:
        self._catalog = catalog
        self._dialect = dialect
        self._with_others = with_others
        self._surely = surely
        self._several = several
        self._apart = apart
        self.parted = False
        self._names = NamedQueries(catalog)
        self._set_operations = SetOperations(self.query, self._select, self._alias, dialect)
        self.answers = EarlierAnswers(catalog, self._alias, dialect)
        self._public = PublicRows(
            self.query,
            self._block,
            self._projection,
            self._projection_of,
            self.answers.relation,
            self._alias,
            catalog,
            dialect,
        )
        self._aliases = 0
        self.releases: list[Query] = []
        self.sites: list[Site] = []
        self.tables: set[str] = set()
        self.notes: dict[str, None] = {}
        self._of_nobody: set[str] = set()

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    # Queries

    def query(self, node: exp.Expr, names: Names) -> Resolved:
        if isinstance(node, exp.Select):
            names, ctes = self._ctes(node, names)
            return self._select(node, names, ctes)
        if isinstance(node, exp.SetOperation):
            names, ctes = self._ctes(node, names)
            return self._set_operations.of(node, names, ctes)
        if isinstance(node, exp.Subquery):
            only(node, frozenset({"this", "alias"}), "a parenthesised query")
            return self.query(node.this, names)
        if isinstance(node, exp.Values):
            return Outer(node.copy(), False, node, names)  # type: ignore[arg-type]
        raise Refused("this form of query is not answered", hint="send a SELECT")

    def _ctes(self, node: exp.Expr, names: Names) -> tuple[Names, list[exp.Expr]]:
        """The names that WITH adds, and the definitions that stay in the outer query."""
        with_ = node.args.get("with_")
        if with_ is None:
            return names, []
        only(with_, frozenset({"expressions"}), "WITH")
        known = dict(names)
        kept: list[exp.Expr] = []
        for cte in with_.expressions:
            known_as = self._names.defined(cte)
            columns = [identifier.name for identifier in cte.args["alias"].args.get("columns") or ()]
            resolved = self.query(cte.this, known)
            if isinstance(resolved, Relation):
                resolved = renamed(resolved, columns)
            else:
                definition = exp.CTE(this=resolved.tree, alias=cte.args["alias"].copy())
                kept.append(definition)
                resolved = replace(resolved, columns=tuple(columns))
            self.answers.define(resolved, cte, dict(known))
            known[known_as] = resolved
        return known, kept

    # SELECT

    def _select(self, select: exp.Select, names: Names, ctes: list[exp.Expr]) -> Resolved:
        select = with_lists_inside(select, partial(self._names.columns, names=names))
        select = self._names.with_joined_values(select, names)
        items = from_items(select)
        sources: dict[int, Relation | Outer] = {}
        before, told = len(self.releases), dict(self.notes)
        private = False
        laterals: list[exp.Lateral] = []
        for item in items:
            is_named = isinstance(item, exp.Table) and made_rows(item) is None
            table = self._names.named(item, names) if isinstance(item, exp.Table) and is_named else None
            if isinstance(item, exp.Subquery):
                only(item, frozenset({"this", "alias"}), "a subquery in FROM")
                sources[id(item)] = self.query(item.this, names)
            elif isinstance(item, exp.Values) and len(items) > 1:
                listed = exp.Select(expressions=[exp.Star()]).from_(item.copy(), copy=False)
                sources[id(item)] = Outer(listed, False, listed, names)
            elif isinstance(table, Relation | Outer):
                sources[id(item)] = table
            elif isinstance(item, exp.Lateral) and isinstance(item.this, exp.Subquery):
                laterals.append(item)
            elif is_named:
                private = private or (table is not None and not table.public)
        private = private or any(isinstance(source, Relation) for source in sources.values())
        for item in laterals:
            if private or isinstance(found := self.query(item.this, names), Relation):
                raise Refused(
                    "LATERAL over rows of people is not answered",
                    hint="join the subquery: JOIN (SELECT …) AS x ON x.id = p.id",
                )
            sources[id(item)] = found
        if not private:
            return self._outer(select, names, ctes, sources, before)
        held = [self._names.holds_people(item, names, sources) for item in items]
        if is_grouped(select) and (len(held) > 1 and False in held) and len(self.releases) == before:
            aggregated = with_people_aggregated(select, held, self._dialect)
            if aggregated is not None:
                return self._select(aggregated, names, ctes)
        answers = {number for number, source in sources.items() if isinstance(source, Outer) and source.releases}
        if answers or len(self.releases) > before:
            queries = {n: s.source for n, s in sources.items() if isinstance(s, Outer)}
            moved = values_beside_groups(select, queries, answers) or joins_as_having(select, queries, answers)
            if moved is None:
                moved = with_own_values(
                    select,
                    {n: (s.source, self._names.tables_in(s.names)) for n, s in sources.items() if isinstance(s, Outer)},
                    answers,
                    self._names.tables_in(names),
                )
            del self.releases[before:]
            form = None if moved is None else partial(self._select, moved, names, ctes)
            if form is not None and (other := self._tried(form, told)) is not None:
                return other
            # Rows of people beside an aggregate over people: that is released first.
            own = by_own_keys(select, answers)
            sources = {id(n): sources[id(o)] for o, n in zip(items, from_items(own), strict=True) if id(o) in sources}
            select = own
        return self._private(select, names, ctes, sources)

    # The public side

    def _outer(
        self, select: exp.Select, names: Names, ctes: list[exp.Expr], sources: Mapping[int, Resolved], before: int
    ) -> Outer:
        """The same SELECT over our names, its own subqueries resolved."""
        tree: exp.Select = select.copy()
        tree.set("with_", exp.With(expressions=ctes) if ctes else None)
        for item, copy in zip(from_items(select), from_items(tree), strict=True):
            if isinstance(item, exp.Subquery):
                resolved = sources[id(item)]
                if isinstance(resolved, Relation):
                    raise AssertionError("a private source in a public query")
                copy.set("this", resolved.tree)
            elif isinstance(item, exp.Lateral) and isinstance(found := sources.get(id(item)), Outer):
                copy.replace(exp.Subquery(this=found.tree, alias=item.args["alias"].copy()))
            elif (made := made_rows(item)) is not None:
                copy.replace(made)
            elif isinstance(item, exp.Table):
                self._rename_table(item, copy, names)
        released = self._subqueries(tree, names) or len(self.releases) > before
        released = released or any(isinstance(found, Outer) and found.releases for found in sources.values())
        for index, expression in enumerate(select.expressions):
            if not isinstance(expression, exp.Alias) and not star_of(expression)[0]:
                name = exp.to_identifier(output_name(expression), quoted=True)
                current = tree.expressions[index]
                current.replace(exp.Alias(this=current.copy(), alias=name))
        return Outer(tree, released, select, names)

    def _rename_table(self, item: exp.Table, copy: exp.Expr, names: Names) -> None:
        table = self._names.named(item, names)
        if not isinstance(table, Relation | Outer):
            ours = renamed_table(item, table)
            self.tables.add(ours.name)
            copy.replace(ours)

    def _subqueries(self, tree: exp.Expr, names: Names) -> bool:
        """Resolve the subqueries in the expressions of an outer SELECT, in place. What a condition looks groups up in
        has no row of others: the ten largest groups are ten groups. Says whether one of them is over people."""
        around, self._with_others = self._with_others, False
        released = False
        done = {id(item.this) for item in from_items(tree) if isinstance(item, exp.Subquery)}
        with_ = tree.args.get("with_")
        done |= {id(cte.this) for cte in with_.expressions} if with_ is not None else set()
        stack: list[exp.Expr] = list(tree.iter_expressions())
        while stack:
            node = stack.pop()
            if id(node) in done:
                continue
            if isinstance(node, exp.Select | exp.SetOperation):
                asked = node.parent if isinstance(node.parent, exp.Exists) else None
                resolved = self._asked_of_rows(node, names)
                if asked is not None and isinstance(resolved, Relation):
                    known = exp.Subquery(this=any_row(unlimited_rows(node)))
                    asked.replace(exp.Coalesce(this=known, expressions=[exp.false()]))
                    node = known.this
                    resolved = self.query(node, names)
                elif isinstance(resolved, Relation) and (groups := groups_of_list(node)) is not None:
                    resolved = self.query(groups, names)
                if isinstance(resolved, Relation):
                    raise Refused("a subquery returns rows of people", hint=_ROWS_HINT, sqlstate=NOT_ALLOWED)
                released = released or resolved.releases
                node.replace(resolved.tree)
            else:
                stack.extend(node.iter_expressions())
        self._with_others = around
        return released

    def _asked_of_rows(self, node: exp.Expr, names: Names) -> Resolved:
        """A subquery of an expression. An EXISTS that reads the row around it has no other name for what it lacks."""
        is_exists = isinstance(node.parent, exp.Exists)
        try:
            return self.query(unlimited_rows(node) if is_exists else node, names)
        except Refused as refused:
            if refused.sqlstate != UNKNOWN_COLUMN or not (is_exists or reads_outside(node, node)):
                raise
            why, hint = _EXISTS_UNTIED if is_exists else _COMPARED_OTHERWISE
            raise Refused(why, hint=hint, position=refused.position) from None

    # The private side

    def _block(
        self, select: exp.Select, names: Names, sources: Mapping[int, Resolved], *, reports: bool = False
    ) -> SelectRows:
        def resolve(item: exp.Expr) -> Source:
            return self._source(item, names, sources)

        def membership(node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope) -> Value:
            return self._membership(node, scope, names)

        block = build_block(select, resolve, membership, self._catalog, self._dialect, reports=reports)
        if self.answers.used:
            check_equalities(block.rows)
        of_nobody = dict.fromkeys(rows_of_nobody(block, self._catalog))
        self.notes |= of_nobody | dict.fromkeys(block.believed)
        self._of_nobody |= of_nobody.keys()
        return block

    def _source(self, item: exp.Expr, names: Names, sources: Mapping[int, Resolved]) -> Source:
        alias = item.args.get("alias")
        columns = [identifier.name for identifier in alias.args.get("columns") or ()] if alias is not None else []
        if isinstance(item, exp.Table):
            table = self._names.named(item, names)
            name = item.alias or item.name
            if table is None:
                raise Refused("dpsql's own relations are not joined with people", hint="query them alone")
            if not isinstance(table, Relation | Outer):
                source = base_table(table, name, self._alias(), self._catalog, self._dialect)
                if table.repeats_unit is not None and table.columns[table.repeats_unit].nullable:
                    self.notes[f"rows of {table.name} without {table.repeats_unit} are nobody's here"] = None
                if columns:
                    raise Refused("column names after a table's alias are not answered", hint="rename in a subquery")
                return source
            found: Resolved = table
        elif isinstance(item, exp.Subquery | exp.Values) and id(item) in sources:
            name = item.alias or "subquery"
            columns = columns if isinstance(item, exp.Subquery) else []
            found = sources[id(item)]
        else:
            raise Refused("this is not a table or a subquery", hint="name a table in FROM", sqlstate=UNKNOWN_TABLE)
        relation = found if isinstance(found, Relation) else self._public.relation(found)
        return relation.source(name, self._alias(), columns)

    def _private(
        self, select: exp.Select, names: Names, ctes: list[exp.Expr], sources: Mapping[int, Resolved]
    ) -> Resolved:
        check_select(select)
        if not is_grouped(select):
            return self._projection(select, names, sources)
        if select.args.get("qualify"):
            raise no_qualify(select.args["qualify"])
        moved = conditions_as_having(select, lambda query: self._is_answer(query, names))
        if moved is not select:
            before, now = from_items(select), from_items(moved)
            form = partial(self._select, moved, names, ctes)
            if before == now:
                known = {id(n): sources[id(o)] for o, n in zip(before, now, strict=True) if id(o) in sources}
                form = partial(self._private, moved, names, ctes, known)
            if (other := self._tried(form, dict(self.notes))) is not None:
                return other
        block = self._block(select, names, sources, reports=True)
        outputs = output_names(select, block.scope)
        table = release_name(len(self.releases))
        grouped = take_apart(select, block.scope, self._dialect, table, outputs, reported=block.reported)
        own = block.bound.shared is None and self._is_of_one_person(grouped)
        person = None if own else named_person(grouped)
        if person is not None and self._several and not grouped.sets:
            source = groups_of_several(grouped, block, self._alias(), self._catalog, self._dialect)
            if source is not None:
                return self._projection_of(grouped.outer, source, {})
        if person is not None:
            self.notes[f"rows of several people are several groups, since {person} says whose a group is"] = None
        if person is not None or own:
            if grouped.sets:
                raise Refused("grouping sets of one person's rows are not answered", hint="GROUP BY the person alone")
            if block.reported or any(key.column is not None for key in grouped.keys):
                raise Refused(
                    "rows of one person by a column that people randomized themselves are not answered",
                    hint="ask for it of all people: GROUP BY that column, or WHERE, without the person",
                )
            source = of_units(grouped, block, self._alias(), self._catalog, self._dialect, said=person or "")
            return self._projection_of(grouped.outer, source, {})
        if block.said:
            raise GroupsCounted(
                f"groups of which {block.said} says whose they are may be several people's, and are counted here",
                hint="GROUP BY the person as well, so that rows of several people are several groups",
            )
        if (apart := self._of_values(grouped, select, block)) is not None:
            return self._select(apart, names, ctes)
        grouped = self._by_true_values(grouped, block)
        grouped, of_blocks = apart_from_blocks(grouped, block, self._making(), len(self.releases))
        grouped = self._measured(grouped, block)
        for aggregate in grouped.aggregates:
            check_measured(aggregate)
        if not grouped.aggregates and of_blocks:
            self._over_blocks(of_blocks)
        elif grouped.keys or grouped.aggregates or grouped.outer.args.get("from_"):
            if grouped.sets and not grouped.aggregates:
                raise Refused("grouping sets without an aggregate are not answered", hint="add COUNT(*)")
            query = release_of(grouped, block)
            randomized = any(one.debiasing is not None for one in grouped.aggregates)
            if self._with_others and not randomized:
                found = others(query, select, self._dialect)
                self.notes |= dict.fromkeys(found.notes)
                query = replace(query, others=found.aggregates)
            if query.others:
                marked = take_apart(select, block.scope, self._dialect, table, outputs, marked=True)
                grouped = self._measured(marked, block)
            self.releases.append(query)
            again = partial(self._again, names=names, items=from_items(select), sources=sources)
            if not randomized:
                self.sites.append(Site(select, block, query, again))
            self._over_blocks(of_blocks)
        outer = grouped.outer
        if ctes:
            outer.set("with_", exp.With(expressions=ctes))
        self._subqueries(outer, names)
        return Outer(outer, True, select, names)

    def _of_values(self, grouped: Grouped, select: exp.Select, block: SelectRows) -> exp.Select | None:
        """``select`` with its aggregates of different values in subqueries of their own; None where it has none."""
        declared = self._catalog.declared_extremes
        found = {
            call: one
            for call, one in zip(grouped.calls, grouped.aggregates, strict=True)
            if is_of_values(one, declared=declared)
        }
        if not found or block.reported:
            return None
        apart = values_apart(
            select, lambda node: canonical_expression(node, block.scope) in found, self._catalog.keys_of_people
        )
        if apart is None:
            return None
        form, joined = apart
        if joined:
            queries = {id(item): item.this for item in joined}
            placed = values_beside_groups(form, queries, queries.keys())
            if placed is None:
                return None
            form = placed
        if not all(one.distinct for one in found.values()):
            self.notes[OF_SHARED_TEXTS] = None
        return form

    def _is_of_one_person(self, grouped: Grouped) -> bool:
        """Whether each group is one person's, but for one whose key is NULL: of that each person's rows are a group."""
        if any(key.value.identifies for key in grouped.keys):
            return True
        held = next((key for key in grouped.keys if key.value.keys or key.value.ways), None)
        if held is None or grouped.sets or not self._apart:
            return False
        self.parted = True
        self.notes[f"rows in which {held.text} is missing are a group for each person"] = None
        return True

    def _by_true_values(self, grouped: Grouped, block: SelectRows) -> Grouped:
        """Groups and aggregates by what people truly have, where they randomized it themselves."""
        if block.reported and not grouped.calls:
            raise Refused(
                "which groups there are by a column that people randomized themselves is not answered",
                hint="add COUNT(*)",
            )
        told = (one for one in grouped.keys if one.value.randomized is not None and one.value.type.kind != Kind.BOOLEAN)
        self.notes |= {f"rows whose report of {one.text} is of no declared value are in no group": None for one in told}
        if self._surely is not None and (values := values_of_keys(grouped)):
            names = ", ".join(one.text for one in grouped.keys if one.value.randomized is not None)
            others = any(one.value.randomized is None for one in grouped.keys)
            self.notes[self._surely.note(names, values, others)] = None
        return by_true_values(grouped, block.scope, self._dialect, block.reported, self._surely)

    def _over_blocks(self, found: Sequence[BlockRelease]) -> None:
        for one in found:
            self.releases.append(one.query)
            self.notes |= dict.fromkeys(one.notes)

    def _making(self) -> Making:
        def block(select: exp.Select, source: Source) -> SelectRows:
            return build_block(select, lambda _: source, no_subqueries, self._catalog, self._dialect)

        return Making(
            self._alias,
            lambda select, source: self._projection_of(select, source, {}),
            block,
            self._catalog,
            self._dialect,
        )

    def _again(
        self, select: exp.Select, *, names: Names, items: Sequence[exp.Expr], sources: Mapping[int, Resolved]
    ) -> tuple[SelectRows, Query]:
        """Another SELECT over the FROM of one that was read: its rows, under the same names each time, its release."""
        count, aliases, notes = len(self.releases), self._aliases, dict(self.notes)
        moved = {id(n): sources[id(o)] for o, n in zip(items, from_items(select), strict=True) if id(o) in sources}
        try:
            block = self._block(select, names, moved)
            grouped = take_apart(select, block.scope, self._dialect, release_name(0), output_names(select, block.scope))
            return block, release_of(self._measured(grouped, block), block)
        finally:
            del self.releases[count:]
            self._aliases, self.notes = aliases, notes

    def _measured(self, grouped: Grouped, block: SelectRows) -> Grouped:
        """Rewrites aggregates that are not measured as asked: BOOL_OR as two counts, MIN and MAX as declared ends."""
        counted = with_counted_maxima(grouped, block.scope, self._dialect)
        grouped = as_counts(counted, block.scope, self._dialect, one_row=block.bound.rows == 1)
        if self._catalog.declared_extremes:
            grouped, notes = with_declared_extremes(grouped)
            self.notes |= dict.fromkeys(notes)
        return grouped

    def _projection(self, select: exp.Select, names: Names, sources: Mapping[int, Resolved]) -> Relation:
        """Rows in, rows out: a select list without aggregates."""
        check_select(select)
        block = self._block(select, names, sources)
        found = self._windowed(select, block, names) if has_windows(select) else selected(select, block, self._dialect)
        if select.args.get("limit") or select.args.get("offset"):
            raise limited_rows()
        return found

    def _windowed(self, select: exp.Select, block: SelectRows, names: Names) -> Relation:
        """The rows of a SELECT with windows, which are computed in a subquery of it."""
        outputs = output_names(select, block.scope)
        outer, source, notes = windowed(select, block, self._alias(), outputs, self._dialect)
        self.notes |= dict.fromkeys(notes)
        return self._projection_of(outer, source, names)

    def _projection_of(self, select: exp.Select, source: Source, names: Names) -> Relation:
        """A SELECT of our own making over one source."""
        select.set("order", None)
        if select.args.get("distinct"):
            raise Refused("DISTINCT over a person's aggregates is not answered", hint="leave DISTINCT out")

        def membership(node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope) -> Value:
            return self._membership(node, scope, names)

        block = build_block(select, lambda _: source, membership, self._catalog, self._dialect)
        found = self._windowed(select, block, names) if has_windows(select) else selected(select, block, self._dialect)
        if select.args.get("limit") or select.args.get("offset"):
            raise limited_rows()
        return found

    def _tried(self, resolve: Callable[[], Resolved], told: dict[str, None]) -> Resolved | None:
        """Another form of a SELECT; None where it is refused, which leaves no trace."""
        before, aliases, tables = len(self.releases), self._aliases, set(self.tables)
        self.notes = told
        try:
            return resolve()
        except (NeedsAnswer, Unbounded):
            raise
        except Refused:
            del self.releases[before:]
            self._aliases, self.tables, self.notes = aliases, tables, told
            return None

    def _is_answer(self, query: exp.Expr, names: Names) -> bool:
        """Whether a subquery is an aggregate over people; it leaves no trace."""
        before, aliases, tables, notes = len(self.releases), self._aliases, set(self.tables), dict(self.notes)
        try:
            found = self.query(query, names)
            return isinstance(found, Outer) and (found.releases or len(self.releases) > before)
        except NeedsAnswer:
            raise
        except Refused:
            return False
        finally:
            del self.releases[before:]
            self._aliases, self.tables, self.notes = aliases, tables, notes

    # IN and EXISTS

    def _membership(self, node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope, names: Names) -> Value:
        def relation(query: exp.Expr) -> Relation:
            before = len(self.releases)
            found = self.query(query, names)
            del self.releases[before:]
            return found if isinstance(found, Relation) else self._public.relation(found)

        subqueries = Subqueries(relation, self._catalog, self._dialect)
        if isinstance(node, exp.Subquery):
            return subqueries.scalar(node)
        told = dict(self.notes)
        found = subqueries.exists(node, scope) if isinstance(node, exp.Exists) else subqueries.member(node, scope)
        if matches_people_alone(node, scope, self._catalog):
            self.notes = {note: None for note in self.notes if note in told or note not in self._of_nobody}
        return found
