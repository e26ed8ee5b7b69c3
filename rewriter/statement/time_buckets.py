"""Bins of minutes and seconds as BI tools write them, made plain: one DATE_BIN in the place of a sum.

``DATE_TRUNC('hour', x) + INTERVAL '15 minutes' * FLOOR(EXTRACT(MINUTE FROM x) / 15)`` is the beginning of a quarter of
an hour: the same as bins of 15 minutes that begin at midnight. The sum is kept beside it for zones whose clocks are not
whole hours from UTC.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.statement.and_branches import unparenthesised
from rewriter.statement.output_names import output_name

_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400}
_LARGER = {"SECOND": "MINUTE", "MINUTE": "HOUR", "HOUR": "DAY"}


def plain_buckets(tree: exp.Query) -> exp.Query:
    """``tree`` with such sums as DATE_BIN; select items keep their names.

    >>> import sqlglot
    >>> text = "SELECT DATE_TRUNC('hour', t) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM t) / 5) AS b FROM v"
    >>> node = plain_buckets(sqlglot.parse_one(text, read="postgres")).expressions[0].this
    >>> node.this.sql("postgres"), node.expression.sql()
    ("INTERVAL '300 SECONDS'", 't')
    """
    return _with(tree, _bucket)


def _with(tree: exp.Query, rewritten: Callable[[exp.Expr], exp.Expr | None]) -> exp.Query:
    """The tree with sums rewritten, where they are; select items have the names that they had."""
    found = [(node, new) for node in tree.find_all(exp.Add) if (new := rewritten(node)) is not None]
    if not found:
        return tree
    places = {id(node): new for node, new in found}
    copy: exp.Query = tree.copy()
    pairs = list(zip(list(tree.walk()), list(copy.walk()), strict=True))
    for old, twin in pairs:
        if (new := places.get(id(old))) is None:
            continue
        is_item = isinstance(twin.parent, exp.Select) and twin.arg_key == "expressions"
        name = exp.to_identifier(output_name(old), quoted=True)
        twin.replace(exp.alias_(new.copy(), name, copy=False) if is_item else new.copy())
    return copy


def _bucket(node: exp.Expr) -> exp.Expr | None:
    for start, steps in ((node.this, node.args["expression"]), (node.args["expression"], node.this)):
        if (found := _bin(unparenthesised(start), unparenthesised(steps), node)) is not None:
            return found
    return None


def _bin(start: exp.Expr, steps: exp.Expr, node: exp.Expr) -> exp.Expr | None:
    if not isinstance(start, exp.TimestampTrunc) or start.args.get("zone") or not isinstance(steps, exp.Mul):
        return None
    for length, number in ((steps.this, steps.expression), (steps.expression, steps.this)):
        found = _floor_of_field(unparenthesised(number))
        if found is None or (seconds := _seconds(unparenthesised(length))) is None:
            continue
        field, moment, count = found
        larger = _LARGER.get(field)
        whole = larger is not None and seconds == count * _SECONDS[field] and _SECONDS[larger] % seconds == 0
        if whole and start.text("unit").upper() == larger and unparenthesised(start.this) == unparenthesised(moment):
            stride = exp.Interval(this=exp.Literal.string(str(seconds)), unit=exp.Var(this="SECONDS"))
            return exp.DateBin(this=stride, expression=moment.copy(), zone=node.copy())
    return None


def _floor_of_field(node: exp.Expr) -> tuple[str, exp.Expr, int] | None:
    """The field, the time and n of ``FLOOR(EXTRACT(field FROM time) / n)``."""
    if not isinstance(node, exp.Floor):
        return None
    quotient = unparenthesised(node.this)
    if not isinstance(quotient, exp.Div):
        return None
    field, divisor = unparenthesised(quotient.this), unparenthesised(quotient.expression)
    if not isinstance(field, exp.Extract) or not isinstance(divisor, exp.Literal) or not divisor.name.isdecimal():
        return None
    return field.name.upper(), field.expression, int(divisor.name)


def _seconds(node: exp.Expr) -> int | None:
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return None
    unit = node.text("unit").upper().removesuffix("S")
    return int(node.this.name) * _SECONDS[unit] if node.this.name.isdecimal() and unit in _SECONDS else None
