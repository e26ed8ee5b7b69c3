"""JSON in plainer words: one type for released rows, JSON_AGG(x) as TO_JSON(ARRAY_AGG(x)), and arrows within calls."""

from __future__ import annotations

from sqlglot import exp

from rewriter.expressions import in_place_of

_ONE_TYPE = {
    "JSONB_BUILD_OBJECT": "JSON_BUILD_OBJECT",
    "JSONB_BUILD_ARRAY": "JSON_BUILD_ARRAY",
    "TO_JSONB": "TO_JSON",
    "ROW_TO_JSON": "TO_JSON",
}
JSON_WORDS = frozenset({*_ONE_TYPE, "JSON_AGG", "JSONB_AGG"})
"""Functions that the parser has no class for."""
JSON_NODES: tuple[type[exp.Expr], ...] = (exp.JSONArrayAgg, exp.Filter, exp.Window)


def arrows_of_calls(tree: exp.Expr) -> None:
    """Have ``F(x -> 'a')`` read a part of a document, where the parser has taken it for a function of ``x``.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT JSONB_ARRAY_LENGTH(x -> 'a' -> 0)", read="postgres")
    >>> arrows_of_calls(tree)
    >>> tree.expressions[0].expressions[0].expression.expressions[-1], tree.find(exp.Column).name
    (JSONPathSubscript(this=0), 'x')
    """
    for node in list(tree.find_all(exp.Lambda)):
        first = node.this
        while isinstance(first, exp.JSONExtract | exp.JSONExtractScalar):
            first = first.this
        if len(node.expressions) != 1 or not isinstance(first, exp.Literal):
            continue
        step = exp.JSONPathKey(this=first.name) if first.is_string else exp.JSONPathSubscript(this=int(first.name))
        path = exp.JSONPath(expressions=[exp.JSONPathRoot(), step])
        part = exp.JSONExtract(this=exp.Column(this=node.expressions[0].copy()), expression=path)
        whole = part if first is node.this else node.this
        first.replace(part)
        node.replace(whole)


def plain_json(node: exp.Expr) -> exp.Expr | None:
    """The same with the functions that are answered; None where it stays.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT JSON_AGG(x ORDER BY y) FILTER (WHERE x > 0)", read="postgres")
    >>> plain_json(tree.expressions[0]).sql("postgres")
    'TO_JSON(ARRAY_AGG(x ORDER BY y) FILTER(WHERE x > 0))'
    """
    if isinstance(node, exp.Anonymous) and (word := _ONE_TYPE.get(node.name.upper())) is not None:
        return exp.Anonymous(this=word, expressions=[one.copy() for one in node.expressions])
    if isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
        return None
    call = node
    while isinstance(call, exp.Filter | exp.Window):
        call = call.this
    return _listed_as_json(node, call)


def listed_argument(node: exp.Expr) -> exp.Expr | None:
    """What JSON_AGG lists; None of any other call."""
    if isinstance(node, exp.JSONArrayAgg):
        return node.this if isinstance(node.this, exp.Expr) else None
    is_named = isinstance(node, exp.Anonymous) and node.name.upper() in ("JSONB_AGG", "JSON_AGG")
    return node.expressions[0] if is_named and len(node.expressions) == 1 else None


def _listed_as_json(whole: exp.Expr, call: exp.Expr) -> exp.Expr | None:
    argument = listed_argument(call)
    if argument is None:
        return None
    listed = in_place_of(exp.ArrayAgg(this=argument.copy()), call)
    if whole is call:
        return exp.Anonymous(this="TO_JSON", expressions=[listed])
    copy = whole.copy()
    inner = copy
    while isinstance(inner.this, exp.Filter | exp.Window):
        inner = inner.this
    inner.set("this", listed)
    return exp.Anonymous(this="TO_JSON", expressions=[copy])
