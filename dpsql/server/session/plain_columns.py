"""Which columns of an answer are columns of a table, as they are: they keep the type that the database calls them by.

Nothing but names of types rests on it: a value is the same text as ``text`` and as ``character varying(16)``, and the
same document as ``json`` and as ``jsonb``, which a call or a cast of the text says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from dpsql.reply import AnswerColumn
from dpsql.server.wire import Field, WireType, bounded_text, field, wire_type
from rewriter.declared import JSONB, Catalog, Column, Kind, Type
from rewriter.front_door import folded

Outputs = tuple[tuple[str, Column | None], ...]
"""The columns of a relation by their folded names; None stands for what is computed."""


_JSONB = frozenset({"JSONB_BUILD_OBJECT", "JSONB_BUILD_ARRAY", "TO_JSONB", "JSONB_AGG", "JSONB_OBJECT_AGG"})
"""Functions of PostgreSQL whose result is a ``jsonb``."""


def plain_columns(tree: exp.Query, catalog: Catalog) -> tuple[Column | None, ...]:
    """The column behind each column of a query's answer; none at all where they cannot be told.

    >>> from rewriter.declared import TEXT, Table
    >>> from rewriter.statement.parser import parse
    >>> shops = Table("shops", {"town": Column("town", TEXT, engine_type="character varying(9)")}, public=True)
    >>> query = parse("SELECT UPPER(b.town), b.* FROM (SELECT * FROM shops) AS b").tree
    >>> [column and column.engine_type for column in plain_columns(query, Catalog({"shops": shops}, None))]
    [None, 'character varying(9)']
    """
    return tuple(column for _, column in _outputs(tree, catalog, {}) or ())


def _outputs(query: exp.Expr, catalog: Catalog, named: Mapping[str, Outputs | None]) -> Outputs | None:
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    if not isinstance(query, exp.Select):
        return None
    known = dict(named)
    for cte in query.ctes:
        known[cte.alias.lower()] = None if cte.alias_column_names else _outputs(cte.this, catalog, known)
    start = query.args.get("from_")
    items = [start.this, *(join.this for join in query.args.get("joins") or ())] if start is not None else []
    sources = {item.alias_or_name.lower(): _of_source(item, catalog, known) for item in items}
    found = [_of_projection(projection, sources) for projection in query.expressions]
    return None if None in found else tuple(one for several in found for one in several or ())


def _of_source(item: exp.Expr, catalog: Catalog, named: Mapping[str, Outputs | None]) -> Outputs | None:
    if item.alias_column_names:
        return None
    if isinstance(item, exp.Subquery):
        return _outputs(item, catalog, named)
    if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
        return None
    schema = item.args.get("db")
    if schema is None and item.name.lower() in named:
        return named[item.name.lower()]
    table = catalog.find(item.name, bool(item.this.quoted), "" if schema is None else folded(schema))
    return None if table is None else tuple((name.lower(), column) for name, column in table.columns.items())


def _of_projection(projection: exp.Expr, sources: Mapping[str, Outputs | None]) -> Outputs | None:
    """One column, or all that a star stands for; None where that is not known."""
    column = projection.unalias()
    if column.is_star:
        qualifier = column.table.lower() if isinstance(column, exp.Column) else ""
        chosen = [sources.get(qualifier)] if qualifier else list(sources.values())
        return None if None in chosen else tuple(one for several in chosen for one in several or ())
    found = list(_meant(column, sources)) if isinstance(column, exp.Column) else [_computed(column)]
    return ((projection.alias_or_name.lower(), found[0] if len(found) == 1 else None),)


def _computed(node: exp.Expr) -> Column | None:
    """A column for what is a ``jsonb`` by its text."""
    while isinstance(node, exp.Paren | exp.Filter | exp.Window | exp.Coalesce):
        node = node.this
    cast = isinstance(node, exp.Cast) and node.to.this is exp.DType.JSONB
    called = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
    named = called.upper() in _JSONB or isinstance(node, exp.JSONBObjectAgg)
    return Column("", JSONB) if cast or named else None


def _meant(column: exp.Column, sources: Mapping[str, Outputs | None]) -> Iterator[Column | None]:
    """What a name may mean: of a relation whose columns are not known, anything."""
    for alias, outputs in sources.items():
        if column.table.lower() in ("", alias):
            yield from (own for name, own in outputs if name == column.name.lower()) if outputs is not None else (None,)


def answer_fields(columns: Sequence[AnswerColumn], plain: Sequence[Column | None] = ()) -> tuple[Field, ...]:
    """The columns of an answer; ``plain`` are those of tables, where the answer has no other ones beside them."""
    sources = plain if len(plain) == len(columns) else (None,) * len(columns)
    return tuple(
        field(column.name, _as_declared(column.type, source)) for column, source in zip(columns, sources, strict=True)
    )


def _as_declared(type_: Type, source: Column | None) -> WireType:
    """A column of texts or documents is told as its table has it."""
    if source is not None and type_.document and source.type.document:
        return wire_type(source.type)
    texts = source is not None and type_.kind is source.type.kind is Kind.TEXT
    return (texts and source and bounded_text(source.engine_type)) or wire_type(type_)
