"""Whole rows of a subquery as documents: ``JSON_AGG(t)`` and ``ROW_TO_JSON(t)`` name its columns, one by one.

    SELECT JSON_AGG(t) FROM (SELECT region, COUNT(*) AS n FROM patient GROUP BY region) AS t
    SELECT JSON_AGG(JSON_BUILD_OBJECT('region', t.region, 'n', t.n)) FROM (SELECT region, COUNT(*) AS n …) AS t

Guarantee: ``t`` is the only item of FROM, a subquery or a WITH query whose columns have names of their own in the text,
none of which is ``t``: a column of that name would be meant. Rows of people become values of people, and are refused.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.expressions import in_place_of
from rewriter.statement.identifiers import alias_columns, folded
from rewriter.statement.output_names import output_name
from rewriter.statement.spell_json import listed_argument

_WORDS = frozenset({"ROW_TO_JSON", "TO_JSON", "TO_JSONB"})


def named_rows(tree: exp.Query) -> exp.Query:
    """``tree`` with such rows as documents.

    >>> import sqlglot
    >>> sql = "WITH t AS (SELECT 1 AS a, 2 AS b) SELECT ROW_TO_JSON(x) FROM t AS x"
    >>> print(named_rows(sqlglot.parse_one(sql, read="postgres")).sql().partition(") ")[2])
    SELECT JSON_BUILD_OBJECT('a', x."a", 'b', x."b") AS row_to_json FROM t AS x
    """
    if not any(_argument(node) is not None for node in tree.walk()):
        return tree
    copy: exp.Query = tree.copy()
    for node in list(copy.walk()):
        row = _argument(node)
        select = node.find_ancestor(exp.Select)
        columns = None if row is None or not isinstance(select, exp.Select) else _columns(select, row)
        if row is None or columns is None:
            continue
        parts: list[exp.Expr] = []
        for name in columns:
            column = exp.Column(this=exp.to_identifier(name, quoted=True), table=row.this.copy())
            parts += [exp.Literal.string(name), in_place_of(column, row)]
        document = exp.Anonymous(this="JSON_BUILD_OBJECT", expressions=parts)
        if listed_argument(node) is not None:
            row.replace(document)
        else:
            is_item = node.parent is select and node.arg_key == "expressions"
            node.replace(exp.alias_(document, node.name.lower()) if is_item else document)
    return copy


def _argument(node: exp.Expr) -> exp.Column | None:
    """The bare name that a document is made of."""
    found = listed_argument(node)
    if isinstance(node, exp.Anonymous) and node.name.upper() in _WORDS and len(node.expressions) == 1:
        found = node.expressions[0]
    if isinstance(found, exp.Order):
        found = found.this
    if not isinstance(found, exp.Column) or not isinstance(found.this, exp.Identifier) or found.args.get("table"):
        return None
    return found


def _columns(select: exp.Select, row: exp.Column) -> list[str] | None:
    """The names of the columns of the row of FROM that a name means; None where it means something else."""
    from_ = select.args.get("from_")
    item = None if from_ is None or select.args.get("joins") or select.args.get("laterals") else from_.this
    if not isinstance(item, exp.Subquery | exp.Table) or not isinstance(item.this, exp.Query | exp.Identifier):
        return None
    alias = item.args.get("alias")
    called = alias.this if alias is not None else item.this
    if not isinstance(called, exp.Identifier) or folded(called) != folded(row.this):
        return None
    if isinstance(item, exp.Subquery):
        names = _output(item.this)
    else:
        cte = None if item.args.get("db") else _cte(item)
        names = None if cte is None else _named(_output(cte.this), alias_columns(cte.args.get("alias")))
    names = _named(names, alias_columns(alias))
    ambiguous = names is None or folded(row.this) in names or len(set(names)) < len(names)
    return None if ambiguous else names


def _named(names: list[str] | None, given: list[str]) -> list[str] | None:
    return None if names is None or len(given) > len(names) else [*given, *names[len(given) :]]


def _output(query: exp.Expr) -> list[str] | None:
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    items = query.expressions if isinstance(query, exp.Select) else []
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
