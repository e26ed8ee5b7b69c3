"""The outer SELECT made total: where PostgreSQL would stop with an error, one value is NULL.

What an outer SELECT computes with was paid for, and follows from noise: whether ``CAST(COUNT(*) AS SMALLINT)`` fits is
known when the answer is there. So an operation that has no result for some row (an overflow, a cast, the logarithm of a
negative number, a second row of a scalar subquery) is NULL there, and all other values stay what they are.

Every operation is put into DuckDB's ``TRY``, which takes neither aggregates nor windows nor subqueries: these become
the parameter of a lambda around it. Types and the matching of GROUP BY with the select list are unchanged.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewriter.dialects import call, when
from rewriter.outer.allow_list import CONSTRUCTS
from rewriter.outer.construct import Trait

_PLAIN = (
    exp.AggFunc, exp.Connector, exp.Not, exp.Paren, exp.Alias, exp.Dot, exp.Exists, exp.Any, exp.All,
    exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Order, exp.PropertyEQ, exp.Array,
    exp.Interval, exp.Is, exp.Boolean, exp.Query, exp.Tuple, exp.Literal, exp.Null, exp.Column, exp.Star, exp.Distinct,
    exp.TryCast, exp.Lambda, exp.Bracket,
)  # fmt: skip
"""What never fails itself, or is no operation on values."""

_OPERATIONS = (exp.Func, exp.Binary, exp.Unary, exp.Between, exp.In)
_OUTSIDE = (exp.AggFunc, exp.Window, exp.Query, exp.Filter, exp.WithinGroup)
_OF_CALLS = (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
_ROWS = (exp.From, exp.Join, exp.CTE, exp.Exists, exp.Any, exp.All, exp.SetOperation, exp.Subquery, exp.With)
_OWN_AGGREGATES = frozenset({"JSON_GROUP_OBJECT"})
"""Aggregates of DuckDB that are only functions to the parser."""
_PARAMETER = "dpsql_tried"
_VALUE = "dpsql_value"


def total_sql(sql: str, *, in_doubles: bool = False) -> str | None:
    """A SELECT of :func:`rewriter.outer.checks.outer_sql`, total; None for what is none.

    ``in_doubles``: SUM and AVG add up doubles, whose sums have no limit, and so are of that type.

    >>> total_sql("SELECT a0 * 2 FROM r")
    'SELECT TRY(a0 * 2) FROM r'
    >>> total_sql("SELECT COUNT(*) * 2 FROM r")
    'SELECT LIST_TRANSFORM([ROW(COUNT(*))], LAMBDA dpsql_tried : TRY(dpsql_tried[1] * 2))[1] FROM r'
    """
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Query):
        return None
    for node in reversed(list(tree.walk())):
        _make_total(node, in_doubles=in_doubles)
    return tree.sql("duckdb", comments=False)


def _make_total(node: exp.Expr, *, in_doubles: bool) -> None:
    if isinstance(node, exp.Limit | exp.Offset):
        _raise_to(node, "expression", 0)
    elif isinstance(node, exp.WindowSpec):
        for side in ("start", "end"):
            if isinstance(node.args.get(side), exp.Expr):
                _raise_to(node, side, 0)
    elif CONSTRUCTS.has(node, Trait.FROM_ONE):
        _raise_to(node, "this", 1)
    elif isinstance(node, exp.Subquery) and _is_value(node):
        _first_of_one(node)
    elif in_doubles and CONSTRUCTS.has(node, Trait.SUM | Trait.MEAN):
        node.set("this", _in_doubles(node.this))
    elif may_fail(node):
        _try(node)


def may_fail(node: exp.Expr) -> bool:
    """Whether a node is an operation that has no result for some values."""
    if not isinstance(node, _OPERATIONS) or isinstance(node, _PLAIN):
        return False
    if CONSTRUCTS.has(node, Trait.ROWS) or _is_own_aggregate(node):
        return False
    if isinstance(node.parent, _OF_CALLS) and node.arg_key == "this":
        return False  # A window function is computed with its window.
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return False
    if isinstance(node.parent, exp.Escape) and node.arg_key == "this":
        return False
    return not (isinstance(node, exp.In) and node.args.get("query") is not None)


def _try(node: exp.Expr) -> None:
    """Put the node into TRY, and beside it what may not be inside."""
    outside = [part for part in node.iter_expressions() if any(map(_is_outside, part.walk()))]
    if outside and isinstance(node, exp.Case):
        return  # Its branches are total.
    tried = call("TRY", exp.Null())
    if not outside:
        node.replace(tried)
        tried.set("expressions", [node])
        return
    given: list[exp.Expr] = []
    for part in outside:
        place = exp.Bracket(this=exp.column(_PARAMETER), expressions=[exp.Literal.number(len(given) + 1)], offset=1)
        part.replace(place)
        given.append(part)
    function = exp.Lambda(this=tried, expressions=[exp.to_identifier(_PARAMETER)])
    transformed = call("LIST_TRANSFORM", exp.Array(expressions=[call("ROW", *given)]), function)
    whole = exp.Bracket(this=transformed, expressions=[exp.Literal.number(1)], offset=1)
    node.replace(whole)
    tried.set("expressions", [node])


def _is_outside(node: exp.Expr) -> bool:
    """Whether TRY takes no such node."""
    return isinstance(node, _OUTSIDE) or CONSTRUCTS.has(node, Trait.ROWS) or _is_own_aggregate(node)


def _is_own_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in _OWN_AGGREGATES


def _raise_to(node: exp.Expr, part: str, least: int) -> None:
    value = node.args.get(part)
    if isinstance(value, exp.Expr) and not isinstance(value, exp.Literal):
        known = call("GREATEST", value, exp.Literal.number(least))
        node.set(part, when(value.copy().is_(exp.Null()), exp.Null(), known))


def _is_value(node: exp.Subquery) -> bool:
    """Whether a subquery stands for one value, and not for rows."""
    if isinstance(node.parent, exp.In):
        return node.arg_key != "query"
    return not isinstance(node.parent, _ROWS)


def _first_of_one(node: exp.Subquery) -> None:
    """The value of a subquery of one row, and NULL where there are more."""
    rows = exp.Subquery(
        this=node.this, alias=exp.TableAlias(this=exp.to_identifier("dpsql_rows"), columns=[exp.to_identifier(_VALUE)])
    )
    few = exp.LTE(this=call("COUNT", exp.Star()), expression=exp.Literal.number(1))
    value = exp.Case(ifs=[exp.If(this=few, true=call("ANY_VALUE", exp.column(_VALUE)))])
    node.set("this", exp.Select(expressions=[value]).from_(rows, copy=False))


def _in_doubles(operand: exp.Expr) -> exp.Expr:
    distinct = isinstance(operand, exp.Distinct)
    values = operand.expressions if distinct else [operand]
    cast = [exp.TryCast(this=value, to=exp.DataType.build("double")) for value in values]
    return exp.Distinct(expressions=cast) if distinct else cast[0]
