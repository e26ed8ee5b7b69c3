"""Subqueries over public tables that are joined with rows of people: the engine runs them beside these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from rewriter.aggregates import check_select, take_apart
from rewriter.columns import Source, aliased, literal_of
from rewriter.declared import Catalog, ContributionBound, Interval, Kind, Scalar, Type
from rewriter.dialects import Dialect
from rewriter.expressions import Value, Values, common_type, compile_expression, widen
from rewriter.per_person import of_units, output_names
from rewriter.refused import TOO_COMPLEX, Refused
from rewriter.relations import BlockScope, Relation, SelectRows, build_block, renamed, union_all
from rewriter.split.named_queries import Names, Outer, Resolved
from rewriter.split.set_operations import once_each
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
            id(item): self.query(item.this if isinstance(item, exp.Subquery) else item, outer.names)
            for item in from_items(node)
            if isinstance(item, exp.Subquery | exp.Values)
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


MOST_WRITTEN = 5_000
"""Values of all rows together."""


def written_rows(values: exp.Values, alias: str, dialect: Dialect) -> Relation:
    """The rows as public ones, of which the values are known, and so by which columns they differ.

    A row of a person meets as many of them as the statement's text says: nobody's data are among them.
    """
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise Refused("the rows of VALUES have different lengths", hint="write as many in each", sqlstate="42601")
    if len(rows) * width > MOST_WRITTEN:
        raise Refused("VALUES has too many rows", hint=f"write {MOST_WRITTEN:,} values at most", sqlstate=TOO_COMPLEX)
    columns = [_column([row[place] for row in rows], dialect) for place in range(width)]
    names = _names(values, width)
    listed = [
        exp.Tuple(expressions=[literal_of(one, None, dialect) for one in row])
        for row in zip(*(c for _, c in columns), strict=True)
    ]
    own = exp.TableAlias(this=exp.to_identifier("v"), columns=[exp.to_identifier(f"c{n}") for n in range(width)])
    typed = [exp.alias_(dialect.cast(exp.column(f"c{n}", "v"), type_), f"c{n}") for n, (type_, _) in enumerate(columns)]
    table = exp.Select(expressions=typed).from_(exp.Values(expressions=listed, alias=own), copy=False)
    found = tuple(
        (name, _value(exp.column(f"c{n}", alias), *column))
        for n, (name, column) in enumerate(zip(names, columns, strict=True))
    )
    unique = tuple(
        frozenset({n}) for n, (_, given) in enumerate(columns) if None not in given and len({*given}) == len(given)
    )
    return Relation(
        found, exp.Select().from_(aliased(table, alias), copy=False), None, ContributionBound(len(rows)), unique=unique
    )


def _column(items: list[exp.Expr], dialect: Dialect) -> tuple[Type, list[Scalar | None]]:
    """The type that a column's literals have together, and their values."""
    nowhere = BlockScope((), _no_subquery)
    compiled = [compile_expression(item, nowhere, dialect) for item in items]
    type_ = common_type(compiled)
    found: list[Scalar | None] = []
    for value in compiled:
        literal = widen(value, type_, dialect).literal if value.literal is not None else None
        if literal is None:
            raise Refused(
                "VALUES beside people has literals alone", hint="write (VALUES ('a', 1), ('b', 2)) AS v(x, n)"
            )
        found.append(literal.scalar)
    return type_, found


def _value(column: exp.Expr, type_: Type, given: list[Scalar | None]) -> Value:
    interval: Interval | None = None
    if type_.numeric or type_.temporal:
        points = [Interval.of(one, one) for one in given if one is not None]
        for point in points:
            interval = point if interval is None else interval.hull(point)
    known = Values(tuple(dict.fromkeys(given))) if type_.kind is not Kind.DOUBLE else None
    unknown = Value.unknown(column, type_)
    return Value(
        column, type_, interval, nullable=None in given, constant=False, domain=known, size=unknown.size,
    )  # fmt: skip


def _names(values: exp.Values, width: int) -> list[str]:
    alias = values.args.get("alias")
    given = [one.name for one in (alias.args.get("columns") or ())] if alias is not None else []
    if len(given) > width:
        raise Refused(f"VALUES has only {width} columns", hint="name fewer", sqlstate="42P10")
    return [*given, *(f"column{place + 1}" for place in range(len(given), width))]


def _no_subquery(node: exp.In | exp.Exists | exp.Subquery, scope: BlockScope) -> Value:
    raise Refused("VALUES beside people has literals alone", hint="select from the tables instead")
