"""PostgreSQL's meaning in DuckDB's words, where sqlglot passes a form through that means something else there.

Each rule is one function from a node to its replacement. Nothing here decides what may run:
:mod:`rewriter.outer.checks` did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from rewriter.declared import UTC, Kind, Type, zone_at
from rewriter.dialects import Fact
from rewriter.outer.numbers import STANDS_FOR_NUMERIC, printed, rounded, to_integer
from rewriter.outer.sum_types import sum_types

LONGEST = 10_000
"""Characters of a text that is put together from texts put together: doubled sixty times, it would fill any memory."""

_WHOLE: Fact[bool] = Fact("whole")
_INTEGERS = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_WIDE = exp.DataType.build("decimal(38, 0)")
_Schema = Mapping[str, Mapping[str, Type]]


def spelled(tree: exp.Query, schema: _Schema) -> exp.Query:
    """A copy that DuckDB understands as PostgreSQL understands ``tree``."""
    copy: exp.Query = tree.copy()
    nodes = list(copy.walk())
    for node in nodes:
        if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
            node.set("this", node.name.lower())
    types = sum_types(copy, schema) if any(isinstance(node, exp.Sum) for node in nodes) else {}
    for node in reversed(nodes):
        if (parts := _PARTS.get(type(node))) is not None:
            parts(node, schema)
        if isinstance(node, exp.Sum):
            _widen(node, types.get(id(node)))
        elif (rule := _RULES.get(type(node))) is not None:
            new = rule(node)
            if new is not node:
                node.replace(new)
        elif _is_whole_text(node) and _grows(node, schema):
            _wrap(node, exp.Left(this=exp.Null(), expression=exp.Literal.number(LONGEST)))
    return copy


def _wrap(node: exp.Expr, wrapper: exp.Expr) -> None:
    """Put ``node`` itself, not a copy of it, under ``wrapper``: rules for its other parts may be still to come."""
    node.replace(wrapper)
    wrapper.set("this", node)


# Numbers


def _divide(node: exp.Expr) -> exp.Expr:
    """A plain ``/``: the database truncates integers by its own setting, knowing their types."""
    return exp.Div(
        this=_exact_part(node.this), expression=_exact_part(node.args["expression"]), typed=False, safe=False
    )


def _exact_part(operand: exp.Expr) -> exp.Expr:
    """EXTRACT is NUMERIC in PostgreSQL and an integer in DuckDB, which shows when it is divided."""
    bare = operand
    while isinstance(bare, exp.Paren | exp.Neg | exp.Add | exp.Sub | exp.Mul):
        bare = bare.this
    if isinstance(bare, exp.Extract):
        return _double(operand)
    return operand


def _double(operand: exp.Expr) -> exp.Expr:
    """What is NUMERIC in PostgreSQL."""
    cast = exp.Cast(this=operand, to=exp.DataType.build("double"))
    return STANDS_FOR_NUMERIC.on(cast, True)


def _whole_divide(node: exp.Expr) -> exp.Expr:
    """DIV(a, b), also of decimals."""
    left, right = exp.Paren(this=node.this), exp.Paren(this=node.args["expression"])
    whole = exp.Trunc(this=exp.Div(this=left, expression=right, typed=False, safe=False))
    return _WHOLE.on(whole, True)


def _cast(node: exp.Expr) -> exp.Expr:
    """NUMERIC without digits holds any number in PostgreSQL, and three decimals in DuckDB."""
    to = node.args["to"]
    if to.this in _INTEGERS:
        to_integer(node)
    if to.this is not exp.DType.DECIMAL or to.expressions:
        return node
    return exp.Cast(this=node.this, to=_WIDE.copy()) if _WHOLE.is_on(node.this) else _double(node.this)


def _widen(node: exp.Expr, type_: Type | None) -> None:
    """PostgreSQL's SUM of integers is BIGINT, of BIGINT it is NUMERIC; DuckDB's is always HUGEINT."""
    if type_ is None or type_.kind is not Kind.INTEGER:
        return
    whole = _whole_call(node)
    to = exp.DataType.build("bigint") if type_.bits <= 32 else _WIDE.copy()
    _wrap(whole, exp.Cast(this=exp.Null(), to=to))


def _correlation(node: exp.Expr, schema: _Schema) -> None:
    """NULL where there is no variance; DuckDB says NaN."""
    nothing = exp.Cast(this=exp.Literal.string("nan"), to=exp.DataType.build("double"))
    _wrap(_whole_call(node), exp.Nullif(this=exp.Null(), expression=nothing))


def _whole_call(node: exp.Expr) -> exp.Expr:
    """An aggregate with its FILTER and OVER."""
    while isinstance(node.parent, exp.Filter | exp.Window) and node.parent.this is node:
        node = node.parent
    return node


# Texts


def _print_pipe(node: exp.Expr, schema: _Schema) -> None:
    for side in ("this", "expression"):
        node.set(side, printed(node.args[side], schema))


def _print_concat(node: exp.Expr, schema: _Schema) -> None:
    node.set("expressions", [printed(one, schema, short=True) for one in node.expressions])


def _print_cast(node: exp.Expr, schema: _Schema) -> None:
    if node.args["to"].this in (exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.BPCHAR):
        node.set("this", printed(node.this, schema))


def _regexp(node: exp.Expr) -> exp.Expr:
    """In PostgreSQL the dot matches a line's end too."""
    flags = exp.Literal.string("is" if isinstance(node, exp.RegexpILike) else "s")
    return exp.RegexpLike(this=node.this, expression=node.args["expression"], flag=flags)


def _regexp_replace(node: exp.Expr, schema: _Schema) -> None:
    flags = node.args.get("modifiers")
    if flags is None or (isinstance(flags, exp.Literal) and not set(flags.name) - set("gi")):
        node.set("modifiers", exp.Literal.string((flags.name if flags is not None else "") + "s"))


def _like(node: exp.Expr) -> exp.Expr:
    """PostgreSQL's LIKE has the backslash for its escape, DuckDB's has none."""
    pattern = node.args["expression"]
    if isinstance(node.parent, exp.Escape) or (isinstance(pattern, exp.Literal) and "\\" not in pattern.name):
        return node
    _wrap(node, exp.Escape(this=exp.Null(), expression=exp.Literal.string("\\")))
    return node


def _is_whole_text(node: exp.Expr) -> bool:
    """Whether a text is put together here, and not a part of a longer sum of texts. Every replacement counts."""
    if type(node) in _MULTIPLYING:
        return True
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return type(node) in _ADDING and type(parent) not in _ADDING


def _grows(node: exp.Expr, schema: _Schema) -> bool:
    """Whether it is put together from more than literals and columns of tables."""
    return any(
        type(part) in _MULTIPLYING
        or isinstance(part, exp.Subquery)
        or (type(part) is exp.Column and not _is_stored(part, schema))
        for part in node.walk()
        if part is not node
    )


def _is_stored(column: exp.Column, schema: _Schema) -> bool:
    """Whether a column surely is one of a table, and not of a subquery or another select item."""
    select = column.parent_select
    from_ = select.args.get("from_") if select is not None else None
    if select is None or from_ is None:
        return False
    items = [from_.this, *(join.this for join in select.args.get("joins") or ())]
    if column.table:
        items = [item for item in items if item.alias_or_name == column.table]
    stored = [schema.get(item.name) if isinstance(item, exp.Table) else None for item in items]
    return None not in stored and any(column.name in columns for columns in stored if columns is not None)


# Times


def _place(node: exp.Expr) -> exp.Expr:
    """A zone by its full name: PostgreSQL's abbreviations stand for fixed distances from UTC."""
    node.set("zone", exp.Literal.string(zone_at(node.args["zone"].name) or UTC))
    return node


# Aggregates and rows


def _within(node: exp.Expr) -> exp.Expr:
    """MODE() WITHIN GROUP (ORDER BY x) is MODE(x ORDER BY x); PERCENTILE_CONT computes in doubles."""
    ordered = node.args["expression"].expressions[0]
    if isinstance(node.this, exp.Mode):
        # Of several values that are as common, the first in this order.
        return exp.Mode(this=exp.Order(this=ordered.this.copy(), expressions=[ordered]))
    if isinstance(node.this, exp.PercentileCont):
        ordered.set("this", exp.Cast(this=ordered.this.copy(), to=exp.DataType.build("double")))
    return node


def _every(node: exp.Expr) -> exp.Expr:
    return exp.LogicalAnd(this=node.expressions[0]) if node.name.upper() == "EVERY" else node


def _fetch(node: exp.Expr) -> exp.Expr:
    return exp.Limit(expression=node.args.get("count") or exp.Literal.number(1))


_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Div: _divide,
    exp.IntDiv: _whole_divide,
    exp.Cast: _cast,
    exp.Like: _like,
    exp.ILike: _like,
    exp.WithinGroup: _within,
    exp.Anonymous: _every,
    exp.Fetch: _fetch,
    exp.RegexpLike: _regexp,
    exp.RegexpILike: _regexp,
    exp.Round: rounded,
    exp.AtTimeZone: _place,
}

_PARTS: Mapping[type[exp.Expr], Callable[[exp.Expr, _Schema], None]] = {
    exp.DPipe: _print_pipe,
    exp.Concat: _print_concat,
    exp.ConcatWs: _print_concat,
    exp.Cast: _print_cast,
    exp.RegexpReplace: _regexp_replace,
    exp.Corr: _correlation,
    exp.RegrSlope: _correlation,
}
"""What is changed about a node that stays."""

_ADDING = frozenset({exp.DPipe, exp.Concat, exp.ConcatWs})
_MULTIPLYING = frozenset({exp.Replace, exp.RegexpReplace})
