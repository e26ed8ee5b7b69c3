"""Subqueries over public tables that are joined with rows of people: the engine runs them beside these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from rewriter.aggregates import check_select, take_apart
from rewriter.columns import Source
from rewriter.declared import Catalog
from rewriter.dialects import Dialect
from rewriter.expressions import Value
from rewriter.per_person import of_units, output_names
from rewriter.refused import Refused
from rewriter.relations import BlockScope, Relation, SelectRows, build_block, renamed, union_all
from rewriter.split.named_queries import Names, Outer, Resolved
from rewriter.split.set_operations import once_each
from rewriter.split.written_rows import written_rows
from rewriter.statement import from_items, is_grouped, only, output_name, unaliased


@dataclass(frozen=True, slots=True)
class PublicRows:
    """How parts of a public subquery are read: ``query`` resolves a subquery, ``block`` the FROM and WHERE of a SELECT,
    ``projection`` a SELECT without aggregates, ``projection_of`` one of our own making over one source; ``released`` is
    what an aggregate over people released."""

    query: Callable[[exp.Expr, Names], Resolved]
    block: Callable[[exp.Select, Names, Mapping[int, Resolved]], SelectRows]
    projection: Callable[[exp.Select, Names, Mapping[int, Resolved]], Relation]
    projection_of: Callable[[exp.Select, Source, Names], Relation]
    released: Callable[[Outer], Relation]
    alias: Callable[[], str]
    catalog: Catalog
    dialect: Dialect

    def relation(self, outer: Outer) -> Relation:
        """A subquery over public tables, checked like rows of people because the engine runs it beside them; one over
        people is what it released before."""
        node = outer.source
        if isinstance(node, exp.Subquery):
            node = node.this
        if outer.releases:
            return renamed(self.released(outer), list(outer.columns))
        if isinstance(node, exp.SetOperation):
            return self._of_both(node, outer.names)
        if (written := _written(node)) is not None:
            rows = written_rows(written, self.alias(), self.dialect)
            items = node.expressions if isinstance(node, exp.Select) else []
            one = [output_name(item) for item in items if not isinstance(item, exp.Star)]
            return renamed(rows, one or list(outer.columns))
        if not isinstance(node, exp.Select) or not node.args.get("from_"):
            raise Refused(
                "this public subquery cannot be joined with rows of people",
                hint="select from public tables in it, with joins, DISTINCT, GROUP BY or UNION",
            )
        sources = {
            id(item): self.query(item.this, outer.names) for item in from_items(node) if isinstance(item, exp.Subquery)
        }
        if not is_grouped(node):
            return self.projection(node, outer.names, sources)
        check_select(node)
        if node.args.get("limit") or node.args.get("offset"):
            raise Refused("LIMIT of public groups is not answered beside people", hint="write HAVING, or the values")
        return self._groups(node, self.block(node, outer.names, sources))

    def _groups(self, select: exp.Select, block: SelectRows) -> Relation:
        """Groups of public rows, exact: nobody's rows are among them."""
        outputs = output_names(select, block.scope)
        grouped = take_apart(select, block.scope, self.dialect, "rows", outputs)
        if grouped.sets:
            raise Refused("grouping sets of public rows are not joined with people", hint="use one GROUP BY")
        source = of_units(grouped, block, self.alias(), self.catalog, self.dialect)
        grouped.outer.set("distinct", None)
        return self.projection_of(grouped.outer, source, {})

    def _of_both(self, node: exp.SetOperation, names: Names) -> Relation:
        """UNION ALL and UNION of public rows."""
        only(node, frozenset({"this", "expression", "distinct"}), type(node).__name__.upper())
        if not isinstance(node, exp.Union):
            raise Refused("only UNION of public rows is joined with people", hint="use IN or NOT IN")
        sides = [self.query(side, names) for side in (node.this, node.expression)]
        left, right = (side if isinstance(side, Relation) else self.relation(side) for side in sides)
        both = union_all(left, right, self.alias(), self.dialect)
        if not node.args.get("distinct"):
            return both
        select, rows = once_each(both)
        source = rows.source("rows", self.alias(), [])
        block = build_block(select, lambda _: source, no_subqueries, self.catalog, self.dialect)
        return self._groups(select, block)


def _written(node: exp.Expr) -> exp.Values | None:
    """The rows of VALUES, or of SELECT * from them, or of their only column by another name."""
    if isinstance(node, exp.Values):
        return node
    if not isinstance(node, exp.Select) or any(value for name, value in node.args.items() if name not in _BARE):
        return None
    items = from_items(node)
    if len(items) != 1 or not isinstance(items[0], exp.Values) or len(node.expressions) != 1:
        return None
    item, rows = unaliased(node.expressions[0]), items[0].expressions
    narrow = all(not isinstance(row, exp.Tuple) or len(row.expressions) == 1 for row in rows)
    one = narrow and isinstance(item, exp.Column)
    return items[0] if one or isinstance(item, exp.Star) else None


_BARE = ("expressions", "from_", "kind")


def no_subqueries(node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope) -> Value:
    raise AssertionError("a SELECT of our own making has no subqueries")
