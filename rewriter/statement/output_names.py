"""What an item without an alias is called: as PostgreSQL calls it (``FigureColname`` in its parser)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.expressions import OF_TIMESTAMP, word_of
from rewriter.statement.and_branches import unparenthesised
from rewriter.statement.function_names import function_name
from rewriter.statement.identifiers import folded, unaliased

NAMELESS = "?column?"

_TYPES: Mapping[str, str] = {
    "bigint": "int8",
    "boolean": "bool",
    "decimal": "numeric",
    "double precision": "float8",
    "int": "int4",
    "real": "float4",
    "smallint": "int2",
}
_TRIMS: Mapping[str, str] = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def output_name(node: exp.Expr) -> str:
    """The name that PostgreSQL gives to a select item.

    >>> import sqlglot
    >>> items = "a.b, count(*), x::int, 1::int, 1 + 1, t.c AS D, case when p then 1 else c end, rtrim('a')"
    >>> [output_name(item) for item in sqlglot.parse_one(f"SELECT {items}", read="postgres")]
    ['b', 'count', 'x', 'int4', '?column?', 'd', 'c', 'rtrim']
    """
    if isinstance(node, exp.Alias):
        alias = node.args["alias"]
        return folded(alias)
    if isinstance(node, exp.Column):
        return folded(node)
    if isinstance(node, exp.Paren | exp.Filter | exp.Window | exp.WithinGroup | exp.Bracket | exp.Collate):
        return output_name(node.this)
    if isinstance(node, exp.Cast):
        return _of_cast(node)
    if isinstance(node, exp.Case):
        return _of_case(node)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
        return output_name(node.this.expressions[0])
    if isinstance(node, exp.Dot):
        field = node.expression
        return folded(field) if isinstance(field, exp.Identifier) else output_name(field)
    return _of_function(node)


def _of_cast(node: exp.Cast) -> str:
    if word_of(node) == "div":
        return "div"
    type_ = node.to.sql("postgres").lower().split("(")[0]
    inner = node.this
    while isinstance(inner, exp.Paren) or type(inner) is exp.Cast:
        inner = inner.this
    name = output_name(inner)
    weak = name == NAMELESS or (isinstance(inner, exp.Case) and name == "case")
    return _TYPES.get(type_, type_) if weak else name


def _of_case(node: exp.Case) -> str:
    """The name of a CASE: that of its ELSE if this is a column or a function, otherwise "case"."""
    default = node.args.get("default")
    while isinstance(default, exp.Paren):
        default = default.this
    if default is None or isinstance(default, exp.Cast | exp.Case | exp.Interval):
        return "case"
    name = output_name(default)
    return "case" if name == NAMELESS else name


def _of_function(node: exp.Expr) -> str:
    if (word := word_of(node)) is not None:
        return word
    if OF_TIMESTAMP.is_on(node):
        return "date_part"
    if isinstance(node, exp.Trim):
        return _TRIMS.get(str(node.args.get("position") or "").upper(), "btrim")
    if isinstance(node, exp.Pad):
        return "lpad" if node.args.get("is_left") else "rpad"
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    # Some aggregates are binary operators for the parser, as CORR(y, x) is.
    is_operator = isinstance(node, exp.Connector | exp.Binary | exp.Unary) and not isinstance(node, exp.AggFunc)
    if isinstance(node, exp.Func) and not is_operator:
        return function_name(type(node))
    if isinstance(node, exp.Interval):
        return "interval"
    return NAMELESS


def grouped_item(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """The select item that GROUP BY means by a position, or the expression itself. Its names have been resolved.

    >>> import sqlglot
    >>> select = sqlglot.parse_one("SELECT a + 1 AS b, COUNT(*) FROM t GROUP BY 1")
    >>> grouped_item(select.args["group"].expressions[0], select).sql()
    'a + 1'
    """
    items: list[exp.Expr] = select.expressions
    key = unparenthesised(key)
    if isinstance(key, exp.Literal) and key.is_int and 1 <= int(key.name) <= len(items):
        return unaliased(items[int(key.name) - 1])
    return key
