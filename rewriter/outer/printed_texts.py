"""Texts of an outer SELECT as PostgreSQL puts them together: how numbers and truths are printed; none is endless."""

from __future__ import annotations

from sqlglot import exp

from rewriter.declared import Kind, Type
from rewriter.dialects import call
from rewriter.outer.construct import Columns, Spelling, Trait
from rewriter.outer.numbers import is_double, is_whole, put_under
from rewriter.refused import Refused
from rewriter.statement import from_items, unparenthesised

LONGEST = 10_000
"""Characters of a text that is put together from texts put together: doubled sixty times, it would fill any memory."""

_MOST_DIGITS = 30
_TEXTS = frozenset({exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.BPCHAR})


def pipe(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """``a || b``, each as it is printed."""
    for side in ("this", "expression"):
        node.set(side, _printed(node.args[side], spelling))
    return limited(node, spelling)


def concatenated(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """CONCAT and CONCAT_WS, to which a boolean is t or f."""
    node.set("expressions", [_printed(one, spelling, short=True) for one in node.expressions])
    return limited(node, spelling)


def cast_text(node: exp.Expr, spelling: Spelling) -> None:
    """The operand of a cast to text, as it is printed."""
    if node.args["to"].this in _TEXTS:
        node.set("this", _with_mons(_printed(node.this, spelling)))


def check_list(node: exp.Expr) -> None:
    """Refuse a list that is cast to a text: PostgreSQL has other brackets and quotes than DuckDB."""
    outer = node.parent
    while isinstance(outer, exp.Paren | exp.Filter):
        outer = outer.parent
    if isinstance(outer, exp.Cast) and outer.to.this in _TEXTS:
        raise Refused("an array is not cast to a text", hint="select the array itself, or ARRAY_TO_STRING(x, ',')")


def _with_mons(node: exp.Expr) -> exp.Expr:
    """An age, whose months are called mons."""
    bare = unparenthesised(node)
    if not (isinstance(bare, exp.Anonymous) and bare.name.upper() == "AGE"):
        return node
    return call("REPLACE", _as_text(node), exp.Literal.string("month"), exp.Literal.string("mon"))


def limited(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """A text that is put together here, cut where it could be long."""
    if _is_whole_text(node, spelling) and _grows(node, spelling):
        put_under(node, call("LEFT", exp.Null(), exp.Literal.number(LONGEST)))
    return node


def decimals(node: exp.Expr) -> int | None:
    """How many decimals ROUND(x, 2) and TRUNC(x, 2) are printed with."""
    written = node.args.get("decimals")
    if written is None or isinstance(written, exp.Neg):
        return 0
    if isinstance(written, exp.Literal) and written.is_int and int(written.name) <= _MOST_DIGITS:
        return int(written.name)
    return None


def no_decimals(node: exp.Expr) -> int:
    """A whole number is printed without any."""
    return 0


def _printed(node: exp.Expr, spelling: Spelling, *, short: bool = False) -> exp.Expr:
    """An operand of a text, as PostgreSQL prints it. ``short``: a boolean is t or f, as CONCAT has it."""
    bare = unparenthesised(node)
    digits = 0 if is_whole(bare) else spelling.constructs.of(bare).decimals(bare)
    type_ = _type_of(bare, spelling.columns)
    if digits is not None:
        to = exp.DataType.build(f"decimal(38, {digits})")
        return exp.TryCast(this=node, to=to)
    if short and (_is_truth(bare, spelling) or (type_ is not None and type_.kind is Kind.BOOLEAN)):
        return call("LEFT", _as_text(node), exp.Literal.number(1))
    if is_double(bare, spelling.constructs) or (type_ is not None and type_.kind is Kind.DOUBLE):
        return call("REGEXP_REPLACE", _as_text(node), exp.Literal.string(r"\.0$"), exp.Literal.string(""))
    return node


def _is_truth(node: exp.Expr, spelling: Spelling) -> bool:
    syntax = exp.Predicate | exp.Connector | exp.Not | exp.Boolean
    return isinstance(node, syntax) or spelling.constructs.has(node, Trait.TRUTH)


def _type_of(node: exp.Expr, columns: Columns) -> Type | None:
    """The type of a column of a release, which is named by its table."""
    return columns.get(node.table, {}).get(node.name) if isinstance(node, exp.Column) else None


def _as_text(node: exp.Expr) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType.build("text"))


def _is_whole_text(node: exp.Expr, spelling: Spelling) -> bool:
    """Whether a text is put together here, and not a part of a longer sum of texts. Every replacement counts."""
    if spelling.constructs.has(node, Trait.REPLACES_TEXT):
        return True
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return parent is None or not spelling.constructs.has(parent, Trait.JOINS_TEXTS)


def _grows(node: exp.Expr, spelling: Spelling) -> bool:
    """Whether it is put together from more than literals and columns of tables."""
    return any(
        spelling.constructs.has(part, Trait.REPLACES_TEXT)
        or isinstance(part, exp.Subquery)
        or (type(part) is exp.Column and not _is_stored(part, spelling.columns))
        for part in node.walk()
        if part is not node
    )


def _is_stored(column: exp.Column, columns: Columns) -> bool:
    """Whether a column surely is one of a table, and not of a subquery or another select item."""
    select = column.parent_select
    items = [] if select is None else from_items(select)
    if column.table:
        items = [item for item in items if item.alias_or_name == column.table]
    stored = [columns.get(item.name) if isinstance(item, exp.Table) else None for item in items]
    return None not in stored and any(column.name in table for table in stored if table is not None)
