"""Arrays of constants, made plain: what tools send as one parameter is a list of literals, or rows of VALUES.

``x = ANY('{a,b}')`` and ``x IN (SELECT UNNEST('{a,b}'::text[]))`` are ``x IN ('a', 'b')``, and
``JOIN UNNEST('{a,b}'::text[]) AS u (x)`` is a join with ``(VALUES ('a'), ('b')) AS u (x)``.

Guarantee: an array that is not written out whole stays for a refusal.
"""

from __future__ import annotations

import re

from sqlglot import exp

TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR)


def listed(node: exp.EQ | exp.NEQ | exp.In) -> exp.Expr | None:
    """``x = ANY('{a,b}')``, ``x <> ALL(ARRAY[…]::text[])`` and ``x IN (SELECT UNNEST('{a,b}'::text[]))`` as lists; None
    where the array is not written out."""
    if isinstance(node, exp.In):
        array = _unnested(node.args.get("query"))
    else:
        array = _quantified(node.args["expression"], "any" if isinstance(node, exp.EQ) else "all")
        array = _unnested(array) or array
    if array is None or (items := _elements(array)) is None:
        return None
    if not items:
        return exp.Boolean(this=isinstance(node, exp.NEQ))
    found = exp.In(this=node.this.copy(), expressions=items)
    return exp.Paren(this=exp.Not(this=found)) if isinstance(node, exp.NEQ) else found


def written_out(node: exp.Unnest | exp.Explode) -> exp.Expr | None:
    """``UNNEST`` of one array as VALUES in FROM, whose column is called as that of a function is; None where the array
    is empty or not written out, or its rows are numbered."""
    items = _elements(node.expressions[0] if isinstance(node, exp.Unnest) else node.this)
    if not items:
        return None
    rows = [exp.Tuple(expressions=[item]) for item in items]
    alias = node.args.get("alias")
    name = alias.this.copy() if alias is not None and alias.this else exp.to_identifier("unnest")
    columns = [column.copy() for column in alias.args.get("columns") or ()] if alias is not None else []
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=name, columns=columns or [name.copy()]))


def rows_written_out(select: exp.Select) -> exp.Select | None:
    """``SELECT UNNEST(array)`` and nothing else, as ``SELECT * FROM (VALUES …)``."""
    if len(select.expressions) != 1 or any(value for part, value in select.args.items() if part != "expressions"):
        return None
    item = select.expressions[0]
    rows = written_out(item.unalias()) if isinstance(item.unalias(), exp.Explode) else None
    if rows is None:
        return None
    if item.alias:
        rows.args["alias"].set("columns", [item.args["alias"].copy()])
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))


def _unnested(query: exp.Expr | None) -> exp.Expr | None:
    """The array of ``SELECT * FROM (VALUES …)`` of one column, which an array was before; or one that is empty."""
    while isinstance(query, exp.Subquery) and not query.args.get("alias"):
        query = query.this
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    item = query.expressions[0].unalias()
    if isinstance(item, exp.Explode) and _elements(item.this) == [] and not query.args.get("from_"):
        array: exp.Expr = item.this
        return array
    if not isinstance(item, exp.Star):
        return None
    rows = query.args["from_"].this if query.args.get("from_") else None
    if not isinstance(rows, exp.Values) or any(value for part, value in query.args.items() if part not in _BARE):
        return None
    cells = [row.expressions for row in rows.expressions]
    return exp.Array(expressions=[cell for cell, *_ in cells]) if all(len(row) == 1 for row in cells) else None


_BARE = ("expressions", "from_")


def _quantified(node: exp.Expr, word: str) -> exp.Expr | None:
    """The array of ``ANY(array)`` or of ``ALL(array)``, which the parser may take for a function."""
    if type(node) is (exp.Any if word == "any" else exp.All):
        array: exp.Expr = node.this
        return array
    called = isinstance(node, exp.Anonymous) and str(node.this).lower() == word and len(node.expressions) == 1
    return node.expressions[0] if called else None


def _elements(array: exp.Expr) -> list[exp.Expr] | None:
    """The elements of an array of constants, each cast to the type that the array is."""
    kind: exp.DataType | None = None
    while isinstance(array, exp.Paren | exp.Cast):
        if isinstance(array, exp.Cast):
            if array.to.this != exp.DType.ARRAY or len(array.to.expressions) != 1:
                return None
            kind = array.to.expressions[0] if kind is None else kind
        array = array.this
    if isinstance(array, exp.Array):
        items = [item.copy() for item in array.expressions]
    elif isinstance(array, exp.Literal) and array.is_string and (texts := array_texts(array.name)) is not None:
        items = [exp.Null() if text is None else exp.Literal.string(text) for text in texts]
    else:
        return None
    if kind is None or kind.this in TEXTS:
        return items
    return [exp.Cast(this=item, to=kind.copy()) for item in items]


_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^{}",\\\s]|\\.)(?:(?:[^{}",\\]|\\.)*(?:[^{}",\\\s]|\\.))?))\s*')


def array_texts(spelt: str) -> list[str | None] | None:
    """The elements of an array as PostgreSQL writes it, in one dimension; None where it is not one.

    >>> array_texts('{a, "b, c", NULL, "NULL"}'), array_texts("{}"), array_texts("{a,}"), array_texts("{{a}}")
    (['a', 'b, c', None, 'NULL'], [], None, None)
    """
    inner = spelt.strip()
    if not (inner.startswith("{") and inner.endswith("}")) or len(inner) < 2:
        return None
    inner = inner[1:-1]
    found: list[str | None] = []
    position = 0
    while inner.strip():
        element = _ELEMENT.match(inner, position)
        if element is None:
            return None
        quoted, bare = element.groups()
        text = re.sub(r"\\(.)", r"\1", bare if quoted is None else quoted, flags=re.DOTALL)
        found.append(None if quoted is None and bare.upper() == "NULL" else text)
        position = element.end()
        if position == len(inner):
            break
        if inner[position] != ",":
            return None
        position += 1
    return found
