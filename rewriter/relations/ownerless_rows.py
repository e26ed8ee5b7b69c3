"""Which rows of people a SELECT leaves out since they are nobody's: what SQL counts and an answer does not.

A row has a person where its key is there and, if no foreign key of the database says that it refers to somebody, where
it does. What is said here follows from the text, the declared way to the person and the database's constraints.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.columns import Source
from rewriter.declared import Catalog
from rewriter.relations.from_where import BlockScope, SelectRows
from rewriter.statement import unparenthesised


def rows_of_nobody(block: SelectRows, catalog: Catalog) -> Iterator[str]:
    """What to say of the rows that a SELECT's owner leaves out; nothing where its own conditions do the same, or where
    it joins the table of the people."""
    if catalog.unit is None or not block.owned:
        return
    people = [one for one in block.scope.sources if one.private and not one.optional]
    if len(people) > 1 and any(one.table is not None and catalog.is_entity(one.table) for one in people):
        return
    yield from (found for source in people if (found := _of(source, block, catalog)) is not None)


def matches_people_alone(node: exp.In | exp.Exists, scope: BlockScope, catalog: Catalog) -> bool:
    """Whether a row of nobody in a subquery changes nothing in SQL either: the rows outside are the people, and what
    is asked is whether one has a matching row. Behind NOT IN, or as a value, a key that is NULL makes IN NULL.
    """
    people = (one for one in scope.sources if one.private and not one.optional and one.table is not None)
    if not any(catalog.is_entity(one.table) for one in people if one.table is not None):
        return False
    around = node.parent
    while isinstance(around, exp.Connector | exp.Paren):
        around = around.parent
    return isinstance(node, exp.Exists) or isinstance(around, exp.Where)


def _of(source: Source, block: SelectRows, catalog: Catalog) -> str | None:
    table = source.table
    if table is None or catalog.unit is None or source.unit is None:
        return None
    hop = table.path[0] if table.path else None
    name = catalog.unit[1] if hop is None else hop.column
    lacks = table.columns[name].nullable and not any(_says_so(one.sql, source.alias, name) for one in block.filters)
    dangles = hop is not None and not hop.enforced
    if not lacks and not dangles:
        return None
    why = ["is NULL"] if lacks else []
    if hop is not None and dangles:
        why.append(f"refers to no row of {hop.parent}")
    return f"rows of {table.name} whose {name} {' or '.join(why)} belong to nobody and are not counted"


def _says_so(test: exp.Expr, alias: str, name: str) -> bool:
    """Whether a condition is that a column is there."""
    test = unparenthesised(test)
    if not isinstance(test, exp.Not) or not isinstance(inner := test.this.unnest(), exp.Is):
        return False
    column = inner.this.unnest()
    there = isinstance(inner.expression, exp.Null) and isinstance(column, exp.Column)
    return there and (column.table, column.name) == (alias, name)
