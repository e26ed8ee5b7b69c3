"""Whole rows of a subquery as documents: ``JSON_AGG(t)`` and ``ROW_TO_JSON(t)`` name its columns, one by one.

    SELECT JSON_AGG(t) FROM (SELECT region, COUNT(*) AS n FROM patient GROUP BY region) AS t
    SELECT JSON_AGG(JSON_BUILD_OBJECT('region', t.region, 'n', t.n)) FROM (SELECT region, COUNT(*) AS n …) AS t

``ROW_TO_JSON((SELECT e FROM (SELECT r.a AS a, r.b AS b) AS e))`` is ``JSON_BUILD_OBJECT('a', r.a, 'b', r.b)``, and
``COUNT(t)`` is ``COUNT(*)``, since a row of FROM is not NULL.

Guarantee: ``t`` is the only item of FROM: a table of the policy, or a subquery or a WITH query whose columns have names
of their own in the text or are all columns of a table. None of them is ``t``: a column of that name would be meant.
Rows of people become values of people, and are refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from rewriter.declared import Catalog
from rewriter.expressions import in_place_of
from rewriter.statement.identifiers import alias_columns, folded, is_star, unaliased
from rewriter.statement.output_names import output_name
from rewriter.statement.select_shape import walk
from rewriter.statement.spell_json import listed_argument

_OF_ROWS = (exp.AggFunc, exp.Window, exp.Explode, exp.Unnest, exp.GenerateSeries)
"""Nodes that mean something else over the rows of another FROM."""
_WORDS = frozenset({"ROW_TO_JSON", "TO_JSON", "TO_JSONB"})
_NO_TABLES = Catalog({}, None)


def named_rows(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """``tree`` with such rows as documents.

    >>> import sqlglot
    >>> nothing = Catalog({}, None)
    >>> sql = "WITH t AS (SELECT 1 AS a, 2 AS b) SELECT ROW_TO_JSON(x) FROM t AS x"
    >>> print(named_rows(sqlglot.parse_one(sql, read="postgres"), nothing).sql().partition(") ")[2])
    SELECT JSON_BUILD_OBJECT('a', x."a", 'b', x."b") AS row_to_json FROM t AS x
    """
    if not any(_argument(node) is not None or _made(node) is not None for node in tree.walk()):
        return tree
    copy: exp.Query = tree.copy()
    for node in list(copy.walk()):
        made = _made(node)
        if made is not None:
            document = _document((output_name(item), unaliased(item)) for item in made)
            node.replace(_as_item(node, document))
            continue
        row = _argument(node)
        select = node.find_ancestor(exp.Select)
        columns = None if row is None or not isinstance(select, exp.Select) else _columns(select, row, catalog)
        if row is None or columns is None:
            continue
        if isinstance(node, exp.Count):
            row.replace(exp.Star())
            continue
        document = _document(
            (name, in_place_of(exp.Column(this=exp.to_identifier(name, quoted=True), table=row.this.copy()), row))
            for name in columns
        )
        if listed_argument(node) is not None:
            row.replace(document)
        else:
            node.replace(_as_item(node, document))
    return copy


def _document(columns: Iterable[tuple[str, exp.Expr]]) -> exp.Anonymous:
    parts = [part for name, value in columns for part in (exp.Literal.string(name), value.copy())]
    return exp.Anonymous(this="JSON_BUILD_OBJECT", expressions=parts)


def _as_item(node: exp.Expr, document: exp.Expr) -> exp.Expr:
    """The document with the call's name, where the call is a select item without one."""
    is_item = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    return exp.alias_(document, node.name.lower()) if is_item else document


def _made(node: exp.Expr) -> list[exp.Expr] | None:
    """The columns of the row that a document is made of, where a subquery without FROM makes it."""
    if not isinstance(node, exp.Anonymous) or node.name.upper() not in _WORDS or len(node.expressions) != 1:
        return None
    query = node.expressions[0].this if isinstance(node.expressions[0], exp.Subquery) else None
    item = None if not isinstance(query, exp.Select) or not query.args.get("from_") else query.args["from_"].this
    if not isinstance(query, exp.Select) or not isinstance(item, exp.Subquery) or len(query.expressions) != 1:
        return None
    row, inner = query.expressions[0], item.this
    if {name for name, value in query.args.items() if value} != {"expressions", "from_"}:
        return None
    if not isinstance(inner, exp.Select) or {name for name, value in inner.args.items() if value} != {"expressions"}:
        return None
    is_row = isinstance(row, exp.Column) and not row.args.get("table") and isinstance(row.this, exp.Identifier)
    names = _columns(query, row, _NO_TABLES) if is_row and not alias_columns(item.args.get("alias")) else None
    is_plain = not any(isinstance(part, _OF_ROWS) for item in inner.expressions for part in walk(item))
    return inner.expressions if names is not None and is_plain else None


def _argument(node: exp.Expr) -> exp.Column | None:
    """The bare name that a document is made of, or whose rows are counted."""
    found = node.this if isinstance(node, exp.Count) else listed_argument(node)
    if isinstance(node, exp.Anonymous) and node.name.upper() in _WORDS and len(node.expressions) == 1:
        found = node.expressions[0]
    if isinstance(found, exp.Order):
        found = found.this
    if not isinstance(found, exp.Column) or not isinstance(found.this, exp.Identifier) or found.args.get("table"):
        return None
    return found


def _columns(select: exp.Select, row: exp.Column, catalog: Catalog) -> list[str] | None:
    """The names of the columns of the row of FROM that a name means; None where it means something else."""
    from_ = select.args.get("from_")
    item = None if from_ is None or select.args.get("joins") or select.args.get("laterals") else from_.this
    if not isinstance(item, exp.Subquery | exp.Table) or not isinstance(item.this, exp.Query | exp.Identifier):
        return None
    alias = item.args.get("alias")
    called = alias.this if alias is not None else item.this
    if not isinstance(called, exp.Identifier) or folded(called) != folded(row.this):
        return None
    names = _names_of(item, catalog)
    ambiguous = names is None or folded(row.this) in names or len(set(names)) < len(names)
    return None if ambiguous else names


def _names_of(item: exp.Expr, catalog: Catalog) -> list[str] | None:
    """The names of the columns of an item of FROM, where the text or the policy says them."""
    names: list[str] | None = None
    if isinstance(item, exp.Subquery):
        names = _output(item.this, catalog)
    elif isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
        cte = None if item.args.get("db") else _cte(item)
        table = None if cte is not None else catalog.find(item.name, bool(item.this.args.get("quoted")), item.db)
        names = None if table is None else list(table.columns)
        if cte is not None:
            names = _named(_output(cte.this, catalog), alias_columns(cte.args.get("alias")))
    return _named(names, alias_columns(item.args.get("alias")))


def _named(names: list[str] | None, given: list[str]) -> list[str] | None:
    return None if names is None or len(given) > len(names) else [*given, *names[len(given) :]]


def _output(query: exp.Expr, catalog: Catalog) -> list[str] | None:
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    items = query.expressions if isinstance(query, exp.Select) else []
    if len(items) == 1 and is_star(items[0]) and not query.args.get("joins") and not query.args.get("laterals"):
        from_ = query.args.get("from_")
        return None if from_ is None else _names_of(from_.this, catalog)
    return None if not items or any(item.is_star for item in items) else list(map(output_name, items))


def _cte(table: exp.Table) -> exp.CTE | None:
    """The WITH query that a name in FROM means: of the nearest WITH that has one, defined before it is read."""
    name, node = folded(table.this), table.parent
    inside: exp.Expr = table
    while node is not None:
        with_ = node.args.get("with_")
        ctes: list[exp.CTE] = [] if with_ is None or inside is with_ else with_.expressions
        if isinstance(node, exp.With):
            ctes = node.expressions[: next(place for place, one in enumerate(node.expressions) if one is inside)]
        for cte in reversed(ctes):
            if isinstance(cte, exp.CTE) and folded(cte.args["alias"].this) == name:
                return cte
        inside, node = node, node.parent
    return None
