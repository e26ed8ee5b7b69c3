"""A query tree to a :class:`Split`: where the private part ends and post-processing begins.

A *release* is the innermost SELECT that aggregates over people. What stands above it computes with released numbers
and may be any SQL; what stands below it are rows of people, each owned by one unit. A subquery is therefore one of two
things: a :class:`Relation` (rows) or an :class:`Outer` (an answer, or something public). Nothing is both, and what
would need to be both is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from rewriter.aggregates import (
    Grouped,
    as_counts,
    check_measured,
    check_select,
    parenthesised,
    plain_every,
    take_apart,
    with_counted_maxima,
    with_declared_extremes,
)
from rewriter.columns import Source, base_table
from rewriter.declared import Catalog, Norm, Table
from rewriter.dialects import Dialect
from rewriter.expressions import Value
from rewriter.per_person import has_windows, of_units, output_names, selected, windowed
from rewriter.planner import together
from rewriter.refused import NOT_ALLOWED, UNKNOWN_TABLE, LimitedRows, Refused, compared_with_aggregate, limited_rows
from rewriter.relations import BlockScope, Relation, SelectRows, Subqueries, build_block, kept_of, renamed, union_all
from rewriter.release import RESERVED, Query, Split, release_name
from rewriter.split.blocks_of_people import BlockRelease, Making, apart_from_blocks
from rewriter.split.combinations import with_combinations
from rewriter.split.counted_groups import counted_groups, persons_of
from rewriter.split.cumulative_windows import with_running_sums
from rewriter.split.largest_groups import with_rankings
from rewriter.split.made_rows import made_rows
from rewriter.split.merged_releases import Site, merged, release_of
from rewriter.split.named_queries import NamedQueries, Names, Outer, Resolved, renamed_table
from rewriter.split.one_row_queries import flattened, single
from rewriter.split.other_groups import others
from rewriter.split.own_names import with_own_names
from rewriter.split.own_values_joined import with_own_values
from rewriter.split.presence import Empty, with_presence
from rewriter.split.previews import PREVIEWED, columns_alone, unlimited
from rewriter.split.ranked_quantiles import plain_ranks
from rewriter.split.series_rows import plain_series
from rewriter.split.spines import with_people_aggregated
from rewriter.split.top_groups_as_having import conditions_as_having, joins_as_having
from rewriter.statement import (
    from_items,
    is_grouped,
    only,
    output_name,
    plain_blocks,
    plain_buckets,
    plain_conditions,
    plain_constants,
    plain_functions,
    plain_names,
    plain_quantiles,
    plain_regressions,
    star_of,
)

_BOTH = f"{RESERVED}both"
"""The name under which SELECT DISTINCT reads the rows of a UNION."""
_ROWS_HINT = "ask for aggregates over people: COUNT(*), SUM(x), AVG(x), with GROUP BY for groups"


def split(
    tree: exp.Query,
    catalog: Catalog,
    dialect: Dialect,
    database: str | None = None,
    *,
    with_others: bool = False,
    norms: Sequence[Norm] = tuple(Norm),
    empty: Empty = Empty.AUTO,
) -> Split:
    """The releases of a query and the outer SELECT over them. Raises :class:`Refused`; looks at no data.

    ``database`` is the name that a table's catalog may have, as in ``clinic.public.patient``; None lets any name pass.
    ``norms`` are the norms in which people may be clipped: the choice of statistics depends on them. ``with_others``:
    releases have a row of other groups, selected and not shown, where there can be one. ``empty`` says whether public
    groups are read that nobody may be in.
    """
    catalog = catalog.reading({identifier.name.lower() for identifier in tree.find_all(exp.Identifier)})
    splitter = _Splitter(catalog, dialect, with_others)
    timed = plain_buckets(plain_series(tree, dialect))
    worded = plain_conditions(
        plain_functions(plain_regressions(plain_quantiles(plain_names(plain_blocks(timed), database))))
    )
    plain = plain_every(plain_constants(worded))
    plain, notes = plain_ranks(with_own_names(plain, catalog))
    splitter.notes |= dict.fromkeys(notes)
    try:
        resolved = splitter.query(counted_groups(plain, persons_of(catalog)), {})
    except LimitedRows:
        rows = _without_limits(plain, catalog, dialect) if catalog.previews else None
        if rows is None:
            raise
        return Split((), columns_alone(rows), frozenset(), (), (PREVIEWED,))
    if isinstance(resolved, Relation):
        raise Refused("this query returns rows of people", hint=_ROWS_HINT, sqlstate=NOT_ALLOWED)
    tree = _without_unread(resolved.tree)
    one = merged(splitter.releases, splitter.sites, {table.name for table in tree.find_all(exp.Table)})
    outer = flattened(one.renamed(tree), single(one.releases))
    releases, running = with_running_sums(with_combinations(one.releases, outer, norms, dialect), outer)
    releases, outer = with_presence(with_rankings(releases, outer), outer, dialect, empty)
    return Split(together(releases), outer, frozenset(splitter.tables), running, tuple(splitter.notes))


def _named_person(grouped: Grouped) -> str | None:
    """The MIN or MAX by which a group says whose it is: of the key of the person, over all rows of a group.

    ``SELECT MAX(patient_id), … GROUP BY sample_id`` speaks of groups of one person each. They are grouped by the person
    as well, which adds nothing where that is so, and keeps people apart where it is not. Only what is known of a person
    is read of such groups, by a LEFT JOIN of them: how many there are would hang on the statement's word.
    """
    for one in grouped.aggregates:
        named = one.kind.same_of_one and one.argument is not None and one.argument.unit and not one.distinct
        if grouped.keys and named and one.condition is None and not one.value.nullable:
            return one.text
    return None


def _once_each(rows: Relation) -> tuple[exp.Select, Relation]:
    """SELECT DISTINCT of all columns of a relation, and the relation under the names that it reads."""
    places = [f"c{place}" for place, _ in enumerate(rows.columns)]
    columns: list[exp.Expr] = [
        exp.alias_(exp.column(place), exp.to_identifier(column, quoted=True))
        for place, (column, _) in zip(places, rows.columns, strict=True)
    ]
    select = exp.Select(expressions=columns, distinct=exp.Distinct()).from_(exp.to_table(_BOTH), copy=False)
    return select, renamed(rows, places)


def _no_subqueries(node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope) -> Value:
    raise AssertionError("a SELECT of our own making has no subqueries")


def _is_cut(node: exp.SetOperation) -> bool:
    """Whether a set operation has parts of its own that its rows depend on."""
    return any(node.args.get(part) for part in ("with_", "order", "limit", "offset"))


def _without_unread(tree: exp.Query) -> exp.Query:
    """The outer SELECT without WITH queries over releases that nothing reads: they are not bought. Changes ``tree``."""
    pruned = True
    while pruned:
        pruned = False
        read = Counter(table.name.lower() for table in tree.find_all(exp.Table))
        for cte in list(tree.find_all(exp.CTE)):
            released = any(table.name.startswith(RESERVED) for table in cte.find_all(exp.Table))
            if released and not read[cte.alias.lower()] and (with_ := cte.parent) is not None:
                cte.pop()
                pruned = True
                if not with_.expressions:
                    with_.pop()
    return tree


def _without_limits(tree: exp.Query, catalog: Catalog, dialect: Dialect) -> Relation | None:
    """The rows of people that a query selects a few of; None where it selects something else."""
    resolved = _Splitter(catalog, dialect, with_others=False).query(unlimited(tree), {})
    return resolved if isinstance(resolved, Relation) else None


class _Splitter:
    def __init__(self, catalog: Catalog, dialect: Dialect, with_others: bool) -> None:
        self._catalog = catalog
        self._dialect = dialect
        self._with_others = with_others
        self._names = NamedQueries(catalog)
        self._aliases = 0
        self.releases: list[Query] = []
        self.sites: list[Site] = []
        self.tables: set[str] = set()
        self.notes: dict[str, None] = {}

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
            return self._set_operation(node, names, ctes)
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
        if with_.args.get("recursive"):
            raise Refused("WITH RECURSIVE is not answered", hint="write the levels out")
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
            known[known_as] = resolved
        return known, kept

    def _set_operation(
        self, node: exp.SetOperation, names: Names, ctes: list[exp.Expr], *, repeats: bool = False
    ) -> Resolved:
        """``repeats``: it does not matter whether rows are repeated, since they are made distinct above."""
        only(
            node,
            frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"}),
            type(node).__name__.upper(),
        )
        word = type(node).__name__.upper()
        distinct = bool(node.args.get("distinct"))
        if isinstance(node.this, exp.Union) and word == "UNION" and (distinct or repeats) and not _is_cut(node.this):
            left = self._set_operation(node.this, names, [], repeats=True)
        else:
            left = self.query(node.this, names)
        right = self.query(node.expression, names)
        if isinstance(left, Outer) and isinstance(right, Outer):
            tree = type(node)(
                this=parenthesised(left.tree),
                expression=parenthesised(right.tree),
                distinct=node.args.get("distinct"),
            )
            for part in ("order", "limit", "offset"):
                if (value := node.args.get(part)) is not None:
                    tree.set(part, value.copy())
            if ctes:
                tree.set("with_", exp.With(expressions=ctes))
            return Outer(tree, left.releases or right.releases, node, names)
        if isinstance(left, Relation) and isinstance(right, Relation):
            if node.args.get("limit") or node.args.get("offset"):
                raise limited_rows()
            if word == "UNION":
                both = union_all(left, right, self._alias(), self._dialect)
                return self._distinct(both) if distinct and not repeats else both
            if not distinct:
                raise Refused(f"{word} ALL is not answered over people", hint=f"use {word} without ALL")
            return kept_of(type(node), left, right, self._alias(), self._dialect)
        raise Refused(f"{word} mixes rows of people with aggregates", hint="aggregate both sides")

    def _distinct(self, rows: Relation) -> Resolved:
        """The rows of a relation once each: UNION is SELECT DISTINCT over UNION ALL."""
        select, named = _once_each(rows)
        return self._select(select, {_BOTH: named}, [])

    # SELECT

    def _select(self, select: exp.Select, names: Names, ctes: list[exp.Expr]) -> Resolved:
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
        held = [self._holds_people(item, names, sources) for item in items]
        if is_grouped(select) and (len(held) > 1 and False in held) and len(self.releases) == before:
            aggregated = with_people_aggregated(select, held, partial(self._columns, names=names, sources=sources))
            if aggregated is not None:
                return self._select(aggregated, names, ctes)
        answers = {number for number, source in sources.items() if isinstance(source, Outer) and source.releases}
        if answers or len(self.releases) > before:
            moved = joins_as_having(
                select, {n: (s.source, s.tree) for n, s in sources.items() if isinstance(s, Outer)}, answers
            )
            if moved is None:
                moved = with_own_values(
                    select,
                    {n: (s.source, self._tables_in(s.names)) for n, s in sources.items() if isinstance(s, Outer)},
                    answers,
                    self._tables_in(names),
                )
            if moved is not None:
                del self.releases[before:]
                self.notes = told
                return self._select(moved, names, ctes)
            raise Refused(
                "rows of people are joined with an aggregate over people",
                hint="aggregate the rows first, then join the aggregated subqueries",
            )
        return self._private(select, names, ctes, sources)

    def _tables_in(self, names: Names) -> Callable[[exp.Expr], Table | None]:
        """What items of FROM mean where these names are in reach."""

        def table_of(item: exp.Expr) -> Table | None:
            found = self._names.named(item, names) if isinstance(item, exp.Table) else None
            return found if isinstance(found, Table) else None

        return table_of

    def _holds_people(self, item: exp.Expr, names: Names, sources: Mapping[int, Resolved]) -> bool:
        if id(item) in sources:
            return isinstance(sources[id(item)], Relation)
        table = self._names.named(item, names) if isinstance(item, exp.Table) else None
        return isinstance(table, Relation) or (isinstance(table, Table) and not table.public)

    def _columns(self, item: exp.Expr, names: Names, sources: Mapping[int, Resolved]) -> frozenset[str] | None:
        """The folded names of an item's columns, where they are known."""
        source = sources.get(id(item))
        if isinstance(source, Relation):
            return frozenset(name.lower() for name, _ in source.columns)
        if source is not None:
            return frozenset(name.lower() for name in source.tree.named_selects)
        return self._names.columns(item, names)

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
        self._subqueries(tree, names)
        for index, expression in enumerate(select.expressions):
            if not isinstance(expression, exp.Alias) and not star_of(expression)[0]:
                name = exp.to_identifier(output_name(expression), quoted=True)
                current = tree.expressions[index]
                current.replace(exp.Alias(this=current.copy(), alias=name))
        return Outer(tree, len(self.releases) > before, select, names)

    def _rename_table(self, item: exp.Table, copy: exp.Expr, names: Names) -> None:
        table = self._names.named(item, names)
        if not isinstance(table, Relation | Outer):
            ours = renamed_table(item, table)
            self.tables.add(ours.name)
            copy.replace(ours)

    def _subqueries(self, tree: exp.Expr, names: Names) -> None:
        """Resolve the subqueries in the expressions of an outer SELECT, in place. What a condition looks groups up in
        has no row of others: the ten largest groups are ten groups."""
        around, self._with_others = self._with_others, False
        done = {id(item.this) for item in from_items(tree) if isinstance(item, exp.Subquery)}
        with_ = tree.args.get("with_")
        done |= {id(cte.this) for cte in with_.expressions} if with_ is not None else set()
        stack: list[exp.Expr] = list(tree.iter_expressions())
        while stack:
            node = stack.pop()
            if id(node) in done:
                continue
            if isinstance(node, exp.Select | exp.SetOperation):
                resolved = self.query(node, names)
                if isinstance(resolved, Relation):
                    raise Refused("a subquery returns rows of people", hint=_ROWS_HINT, sqlstate=NOT_ALLOWED)
                node.replace(resolved.tree)
            else:
                stack.extend(node.iter_expressions())
        self._with_others = around

    # The private side

    def _block(self, select: exp.Select, names: Names, sources: Mapping[int, Resolved]) -> SelectRows:
        def resolve(item: exp.Expr) -> Source:
            return self._source(item, names, sources)

        def membership(node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope) -> Value:
            return self._membership(node, scope, names)

        return build_block(select, resolve, membership, self._catalog, self._dialect)

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
        elif isinstance(item, exp.Subquery):
            name = item.alias or "subquery"
            found = sources[id(item)]
        else:
            raise Refused("this is not a table or a subquery", hint="name a table in FROM", sqlstate=UNKNOWN_TABLE)
        relation = found if isinstance(found, Relation) else self._public_relation(found)
        return relation.source(name, self._alias(), columns)

    def _public_relation(self, outer: Outer) -> Relation:
        """A subquery over public tables, checked like rows of people because the engine runs it beside them."""
        node = outer.source
        if isinstance(node, exp.Subquery):
            node = node.this
        if outer.releases:
            raise compared_with_aggregate()
        if isinstance(node, exp.SetOperation):
            return self._public_rows_of_both(node, outer.names)
        if not isinstance(node, exp.Select) or not node.args.get("from_"):
            raise Refused(
                "this public subquery cannot be joined with rows of people",
                hint="select from public tables in it, with joins, DISTINCT, GROUP BY or UNION",
            )
        sources = {
            id(item): self.query(item.this, outer.names) for item in from_items(node) if isinstance(item, exp.Subquery)
        }
        if not is_grouped(node):
            return self._projection(node, outer.names, sources)
        check_select(node)
        if node.args.get("limit") or node.args.get("offset"):
            raise Refused("LIMIT of public groups is not answered beside people", hint="write HAVING, or the values")
        return self._public_groups(node, self._block(node, outer.names, sources))

    def _public_groups(self, select: exp.Select, block: SelectRows) -> Relation:
        """Groups of public rows, exact: nobody's rows are among them."""
        outputs = output_names(select, block.scope)
        grouped = take_apart(select, block.scope, self._dialect, "rows", outputs)
        if grouped.sets:
            raise Refused("grouping sets of public rows are not joined with people", hint="use one GROUP BY")
        source = of_units(grouped, block, self._alias(), self._catalog, self._dialect)
        grouped.outer.set("distinct", None)
        return self._projection_of(grouped.outer, source, {})

    def _public_rows_of_both(self, node: exp.SetOperation, names: Names) -> Relation:
        """UNION ALL and UNION of public rows."""
        only(node, frozenset({"this", "expression", "distinct"}), type(node).__name__.upper())
        if not isinstance(node, exp.Union):
            raise Refused("only UNION of public rows is joined with people", hint="use IN or NOT IN")
        sides = [self.query(side, names) for side in (node.this, node.expression)]
        left, right = (side if isinstance(side, Relation) else self._public_relation(side) for side in sides)
        both = union_all(left, right, self._alias(), self._dialect)
        if not node.args.get("distinct"):
            return both
        select, rows = _once_each(both)
        source = rows.source("rows", self._alias(), [])
        block = build_block(select, lambda _: source, _no_subqueries, self._catalog, self._dialect)
        return self._public_groups(select, block)

    def _private(
        self, select: exp.Select, names: Names, ctes: list[exp.Expr], sources: Mapping[int, Resolved]
    ) -> Resolved:
        check_select(select)
        if not is_grouped(select):
            return self._projection(select, names, sources)
        if select.args.get("qualify"):
            raise Refused("QUALIFY beside GROUP BY is not answered", hint="put the aggregates into a subquery in FROM")
        moved = conditions_as_having(select, lambda query: self._is_answer(query, names))
        if moved is not select:
            before, now = from_items(select), from_items(moved)
            if before != now:
                return self._select(moved, names, ctes)
            sources = {id(n): sources[id(o)] for o, n in zip(before, now, strict=True) if id(o) in sources}
        select = moved
        block = self._block(select, names, sources)
        outputs = output_names(select, block.scope)
        table = release_name(len(self.releases))
        grouped = take_apart(select, block.scope, self._dialect, table, outputs)
        person = None if any(key.value.identifies for key in grouped.keys) else _named_person(grouped)
        if person is not None:
            self.notes[f"rows of several people are several groups, since {person} says whose a group is"] = None
        if person is not None or any(key.value.identifies for key in grouped.keys):
            if grouped.sets:
                raise Refused("grouping sets of one person's rows are not answered", hint="GROUP BY the person alone")
            source = of_units(grouped, block, self._alias(), self._catalog, self._dialect, said=person or "")
            return self._projection_of(grouped.outer, source, {})
        if block.said:
            raise Refused(
                f"groups of which {block.said} says whose they are may be several people's, and are counted here",
                hint="GROUP BY the person as well, so that rows of several people are several groups",
            )
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
            if self._with_others:
                found = others(query, select, self._dialect)
                self.notes |= dict.fromkeys(found.notes)
                query = replace(query, others=found.aggregates)
            if query.others:
                marked = take_apart(select, block.scope, self._dialect, table, outputs, marked=True)
                grouped = self._measured(marked, block)
            self.releases.append(query)
            again = partial(self._again, names=names, items=from_items(select), sources=sources)
            self.sites.append(Site(select, block, query, again))
            self._over_blocks(of_blocks)
        outer = grouped.outer
        if ctes:
            outer.set("with_", exp.With(expressions=ctes))
        self._subqueries(outer, names)
        return Outer(outer, True, select, names)

    def _over_blocks(self, found: Sequence[BlockRelease]) -> None:
        for one in found:
            self.releases.append(one.query)
            self.notes |= dict.fromkeys(one.notes)

    def _making(self) -> Making:
        def block(select: exp.Select, source: Source) -> SelectRows:
            return build_block(select, lambda _: source, _no_subqueries, self._catalog, self._dialect)

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
        grouped = as_counts(with_counted_maxima(grouped, block.scope, self._dialect), block.scope, self._dialect)
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

    def _is_answer(self, query: exp.Expr, names: Names) -> bool:
        """Whether a subquery is an aggregate over people; it leaves no trace."""
        before, aliases, tables, notes = len(self.releases), self._aliases, set(self.tables), dict(self.notes)
        try:
            found = self.query(query, names)
            return isinstance(found, Outer) and (found.releases or len(self.releases) > before)
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
            if len(self.releases) > before:
                raise compared_with_aggregate()
            return found if isinstance(found, Relation) else self._public_relation(found)

        subqueries = Subqueries(relation, partial(self._names.columns, names=names), self._catalog, self._dialect)
        if isinstance(node, exp.Subquery):
            return subqueries.scalar(node)
        return subqueries.exists(node, scope) if isinstance(node, exp.Exists) else subqueries.member(node, scope)
