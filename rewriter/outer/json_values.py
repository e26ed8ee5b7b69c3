"""Values of an outer SELECT within JSON, as PostgreSQL prints them: a time with the letter T and a whole offset.

``JSON_BUILD_OBJECT('at', DATE_TRUNC('month', day))`` says ``2024-01-01T00:00:00``, where DuckDB would say ``2024-01-01
00:00:00``. The type of a value is known when DuckDB binds it: what may be a time asks for its type there.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.dialects import call, when
from rewriter.outer.construct import Spelling, Trait

COPIES = 3
"""How often a value stands in its spelling, at most."""

_TIMES = frozenset({exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPNTZ, exp.DType.ARRAY})
_NO_TIME = (exp.Literal, exp.Boolean, exp.Null, exp.Predicate, exp.Connector, exp.Not, exp.Mul, exp.Div)
_JSON = frozenset(
    {"TO_JSON", "JSON_OBJECT", "JSON_ARRAY", "JSON_GROUP_OBJECT", "JSON_BUILD_OBJECT", "JSON_BUILD_ARRAY"}
)


def json_value(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """A value of a document."""
    if not _may_be_time(node, spelling):
        return node
    document = exp.cast(_with_letter(exp.cast(call("TO_JSON", node.copy()), "text"), '"'), "json")
    return when(_is_time(node), document, call("TO_JSON", node.copy()))


def json_key(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """A name in a document."""
    text = exp.cast(node.copy(), "text")
    if not _may_be_time(node, spelling):
        return text
    return when(_is_time(node), _with_letter(text, "$"), text.copy())


def _is_time(node: exp.Expr) -> exp.Expr:
    return exp.Like(this=call("TYPEOF", node.copy()), expression=exp.Literal.string("TIMESTAMP%"))


def _with_letter(text: exp.Expr, end: str) -> exp.Expr:
    """A text of times alone, with T for each blank, and with minutes in an offset, which stands before the ``end``."""
    every = exp.Literal.string("g")
    lettered = call("REPLACE", text, exp.Literal.string(" "), exp.Literal.string("T"))
    after = "" if end == "$" else end
    offset, whole = exp.Literal.string(rf"([+-]\d\d){end}"), exp.Literal.string(rf"\1:00{after}")
    return call("REGEXP_REPLACE", lettered, offset, whole, every)


def _may_be_time(node: exp.Expr, spelling: Spelling) -> bool:
    """Whether a value may be a time, or a list of times."""
    transparent = isinstance(node, exp.Paren | exp.Order | exp.Filter | exp.Window)
    if transparent or spelling.constructs.has(node, Trait.LIST):
        return _may_be_time(node.this, spelling)
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        values = [one.args["true"] for one in node.args["ifs"]] + ([default] if default is not None else [])
        return any(_may_be_time(value, spelling) for value in values)
    if isinstance(node, exp.Column):
        known = spelling.columns.get(node.table, {}).get(node.name)
        return known is None or known.clocked
    if isinstance(node, exp.Cast):
        return node.to.this in _TIMES
    if isinstance(node, exp.Anonymous):
        return node.name.upper() not in _JSON
    return not isinstance(node, _NO_TIME) and not spelling.constructs.has(node, Trait.SUM | Trait.MEAN)
