"""Quantiles in all their spellings, made one: ``PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)``, one fraction each.

``QUANTILE_CONT(x, q)`` and ``QUANTILE_DISC(x, q)`` are DuckDB's; several fractions at once are several quantiles,
which are read together and have the order of their fractions: an array, ``float8[]`` on the wire. ``(…)[1]`` is the
first of its quantiles.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.refused import Refused

MOST_FRACTIONS = 100

_FORMS: dict[str, type[exp.Expr]] = {
    "quantile_cont": exp.PercentileCont,
    "quantile_disc": exp.PercentileDisc,
    "quantile": exp.PercentileDisc,
}


def plain_quantiles(tree: exp.Query) -> exp.Query:
    """``tree`` with one spelling of quantiles; columns keep the names that they had.

    >>> import sqlglot
    >>> sql = "SELECT QUANTILE_DISC(x, 0.5), (PERCENTILE_CONT(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY y))[2] FROM t"
    >>> for item in plain_quantiles(sqlglot.parse_one(sql, read="postgres")).expressions:
    ...     print(item.sql("postgres"))
    PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x) AS quantile_disc
    PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY y) AS percentile_cont
    """
    if not any(_spelt(node) for node in tree.find_all(exp.Anonymous, exp.Quantile, exp.WithinGroup)):
        return tree
    copy: exp.Query = tree.copy()
    for node in list(copy.find_all(exp.Anonymous, exp.Quantile, exp.WithinGroup)):
        name = _spelt(node)
        if not name:
            continue
        whole = node.parent if isinstance(node.parent, exp.Filter) and node.parent.this is node else node
        quantiles = _apart(_within_group(node, name), whole)
        plain = (
            exp.Array(expressions=quantiles)
            if len(quantiles) > 1 or _listed(_fraction(node)) is not None
            else quantiles[0]
        )
        subscript = _subscript(whole)
        if subscript is not None:
            whole, place = subscript
            plain = quantiles[place - 1] if 0 < place <= len(quantiles) else exp.Null()
        is_item = isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions"
        whole.replace(exp.alias_(plain, name) if is_item else plain)
    return copy


def _spelt(node: exp.Expr) -> str:
    """The function's name, where it has to be written in another way."""
    if isinstance(node, exp.WithinGroup):
        inside = node.this
        if isinstance(inside, exp.PercentileCont | exp.PercentileDisc) and _listed(inside.this) is not None:
            return "percentile_cont" if isinstance(inside, exp.PercentileCont) else "percentile_disc"
        return ""
    name = "quantile" if isinstance(node, exp.Quantile) else node.name.lower()
    return name if name in _FORMS else ""


def _within_group(node: exp.Expr, name: str) -> exp.WithinGroup:
    if isinstance(node, exp.WithinGroup):
        return node
    arguments = [node.this, node.args["quantile"]] if isinstance(node, exp.Quantile) else node.expressions
    if len(arguments) != 2 or isinstance(arguments[1], exp.Order):
        raise Refused(
            f"{name.upper()} takes a column and a fraction", hint=f"write {name.upper()}(x, 0.5)", sqlstate="42883"
        )
    ordered = exp.Ordered(this=arguments[0].copy(), nulls_first=False)
    return exp.WithinGroup(this=_FORMS[name](this=arguments[1].copy()), expression=exp.Order(expressions=[ordered]))


def _fraction(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.WithinGroup):
        return node.this.this  # type: ignore[no-any-return]
    return node.args["quantile"] if isinstance(node, exp.Quantile) else node.expressions[1]  # type: ignore[no-any-return]


def _apart(one: exp.WithinGroup, whole: exp.Expr) -> list[exp.Expr]:
    """The quantile of each fraction, each under the filter that ``whole`` is."""
    fractions = _listed(one.this.this)
    if fractions is None:
        return [_filtered(one.copy(), whole)]
    if not 0 < len(fractions) <= MOST_FRACTIONS:
        raise Refused(f"a list of fractions has 1 to {MOST_FRACTIONS}", hint="write ARRAY[0.25, 0.5, 0.75]")
    quantiles = []
    for fraction in fractions:
        single = one.copy()
        single.this.set("this", fraction.copy())
        quantiles.append(_filtered(single, whole))
    return quantiles


def listed_items(node: exp.Expr) -> list[exp.Expr] | None:
    """The items of an array that is written out; None where a node is written in any other way.

    >>> import sqlglot
    >>> sql = "SELECT PERCENTILE_CONT(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY y) FROM t"
    >>> (array,) = plain_quantiles(sqlglot.parse_one(sql, read="postgres")).expressions
    >>> [item.sql("postgres") for item in listed_items(array.this)]
    ['PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY y)', 'PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY y)']
    """
    return list(node.expressions) if isinstance(node, exp.Array) else None


def _subscript(whole: exp.Expr) -> tuple[exp.Expr, int] | None:
    """``(whole)[n]`` around it, and n."""
    node = whole
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    around = node.parent
    if not isinstance(around, exp.Bracket) or around.this is not node or len(around.expressions) != 1:
        return None
    index = around.expressions[0]
    return (around, int(index.name)) if isinstance(index, exp.Literal) and index.is_int else None


def _filtered(quantile: exp.Expr, whole: exp.Expr) -> exp.Expr:
    if not isinstance(whole, exp.Filter):
        return quantile
    return exp.Filter(this=quantile, expression=whole.expression.copy())


def _listed(node: exp.Expr) -> list[exp.Expr] | None:
    """The fractions of ``ARRAY[0.25, 0.5]``, ``[0.25, 0.5]`` or ``'{0.25,0.5}'::float8[]``."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Array):
        return list(node.expressions)
    if isinstance(node, exp.Cast) and node.to.this is exp.DType.ARRAY:
        if isinstance(node.this, exp.Array):
            return list(node.this.expressions)
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            parts = node.this.name.strip().removeprefix("{").removesuffix("}").split(",")
            return [exp.Literal.number(part.strip()) for part in parts]
    return None
