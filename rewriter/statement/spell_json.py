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
JSON_NODES: tuple[type[exp.Expr], ...] = (exp.JSONArrayAgg, exp.Filter, exp.Window, exp.JSONExtract)


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
    if isinstance(node, exp.JSONExtract):
        return _item_of_list(node)
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


def _item_of_list(node: exp.JSONExtract) -> exp.Expr | None:
    """``JSON_AGG(x) -> 0`` as the first item of the list, where each item is a document: NULL would be one, too.

    >>> import sqlglot
    >>> tree = sqlglot.parse_one("SELECT JSON_AGG(JSON_BUILD_OBJECT('a', x)) -> 0", read="postgres")
    >>> plain_json(tree.expressions[0]).sql("postgres")
    "TO_JSON((ARRAY_AGG(JSON_BUILD_OBJECT('a', x)))[1])"
    """
    steps = node.expression.expressions if isinstance(node.expression, exp.JSONPath) else []
    place = steps[1].this if len(steps) == 2 and isinstance(steps[1], exp.JSONPathSubscript) else None
    argument = listed_argument(node.this) or _listed_before(node.this)
    item = argument.this if isinstance(argument, exp.Order) else argument
    if argument is None or not isinstance(place, int) or place < 0 or not _is_document(item):
        return None
    listed = exp.Paren(this=exp.ArrayAgg(this=argument.copy()))
    item = exp.Bracket(this=listed, expressions=[exp.Literal.number(place + 1)], offset=1)
    return in_place_of(exp.Anonymous(this="TO_JSON", expressions=[item]), node)


def _listed_before(node: exp.Expr) -> exp.Expr | None:
    """What JSON_AGG lists, once it is spelt as :func:`plain_json` does."""
    array = node.expressions[0] if isinstance(node, exp.Anonymous) and node.name.upper() == "TO_JSON" else None
    return array.this if isinstance(array, exp.ArrayAgg) else None


def _is_document(item: object) -> bool:
    return isinstance(item, exp.Anonymous) and item.name.upper() == "JSON_BUILD_OBJECT"


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
