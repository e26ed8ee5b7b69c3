"""Names in two and three parts, as BI tools write them, made plain: ``"clinic"."public"."patient"."sex"``.

Guarantee: a part is left out only where PostgreSQL would find the same table without it. What is left is refused later.
"""

from __future__ import annotations

from collections.abc import Container

from sqlglot import exp

from rewriter.dialects import call, plain_text
from rewriter.expressions import name_of
from rewriter.statement.and_branches import from_items
from rewriter.statement.function_names import SPELT_AS_ANOTHER, function_name
from rewriter.statement.identifiers import folded
from rewriter.statement.ranked_row import MADE_NAMES, ranks_in_words

SCHEMAS = frozenset({"public", "main"})
"""The schemas that the tables of a policy stand in, unless it says others."""
OWN = "dpsql"
"""The schema of what dpsql tells of itself."""


def plain_names(tree: exp.Query, schemas: Container[str] = SCHEMAS) -> exp.Query:
    """``tree`` with tables named without their database, whatever its name, and columns by table and column at most.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one('SELECT "c"."public"."t"."x", public.u.y FROM "c"."public"."t"', read="postgres")
    >>> plain_names(tree).sql("postgres")
    'SELECT "t"."x", public.u.y FROM "public"."t"'
    """
    if not any(_is_long(node, schemas) for node in tree.find_all(exp.Table, exp.Column)):
        return tree
    copy: exp.Query = tree.copy()
    for node in list(copy.find_all(exp.Column)):
        if _is_long(node, schemas):
            node.set("catalog", None)
            node.set("db", None)
    for table in list(copy.find_all(exp.Table)):
        if _is_long(table, schemas):
            table.set("catalog", None)
    return copy


def _is_long(node: exp.Expr, schemas: Container[str]) -> bool:
    """Whether parts of a name can be left out."""
    catalog, schema = node.args.get("catalog"), node.args.get("db")
    if isinstance(node, exp.Table):
        return catalog is not None and schema is not None
    return schema is not None and _in_schema(schema, schemas) and _names_table(node, schema, schemas)


def _names_table(column: exp.Expr, schema: exp.Expr, schemas: Container[str]) -> bool:
    """Whether the nearest table of that name around a column is in FROM by its own name, without an alias."""
    wanted = column.args["table"]
    select = column.find_ancestor(exp.Select)
    while select is not None:
        found = [item for item in from_items(select) if folded(wanted) == _name_of(item)]
        if found:
            return all(
                isinstance(item, exp.Table) and not item.alias and _stands_in(item, schema, schemas) for item in found
            )
        select = select.find_ancestor(exp.Select)
    return False


def _stands_in(item: exp.Table, wanted: exp.Expr, schemas: Container[str]) -> bool:
    schema = item.args.get("db")
    if schema is None:
        return folded(wanted) != OWN
    named = {folded(schema), folded(wanted)}
    return len(named) == 1 or named <= SCHEMAS


def _name_of(item: exp.Expr) -> str:
    alias = item.args.get("alias")
    return folded(alias.this) if alias is not None and alias.this is not None else folded(item.this)


def _in_schema(schema: exp.Expr, schemas: Container[str]) -> bool:
    return folded(schema).lower() in schemas or folded(schema) == OWN


def written(node: exp.Expr) -> str:
    """How an expression was written, for messages and plans: our generator, without our aliases."""
    root = exp.Paren(this=node.copy())
    for part in list(root.walk(prune=lambda inner: name_of(inner) is not None)):
        if (name := name_of(part)) is not None:
            part.replace(exp.Var(this=name))
    copy: exp.Expr = root.this
    copy.pop()
    for column in copy.find_all(exp.Column):
        column.set("table", None)
        if isinstance(column.this, exp.Identifier) and column.name == column.name.lower():
            column.this.set("quoted", False)
    for node in list(copy.find_all(*SPELT_AS_ANOTHER)):
        spelt = call(function_name(type(node)).upper(), node.this)
        copy = node.replace(spelt) if node is copy else copy
        node.replace(spelt)
    return plain_text(ranks_in_words(copy), "postgres")


def query_written(tree: exp.Query) -> str:
    """How a query was written, for messages: all of it in parentheses, or only its items where its rows are
    not those of a table that the analyst named."""
    source = tree.args.get("from_") if isinstance(tree, exp.Select) else None
    made = source is not None and isinstance(source.this, exp.Subquery) and source.this.alias in MADE_NAMES
    items = [one.unalias() for one in tree.expressions]
    if made or (len(items) == 1 and isinstance(ranks_in_words(items[0].copy()), exp.Var)):
        return ", ".join(map(written, items))
    return f"({' '.join(ranks_in_words(tree.copy()).sql('postgres').split())})"
