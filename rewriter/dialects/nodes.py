"""Nodes of our own SQL: calls, literals, parentheses and copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sqlglot import exp

from rewriter.refused import NOT_ANSWERED, TOO_COMPLEX, Refused

MOST_COPIED = 400

_N = TypeVar("_N", bound=exp.Expr)

MIRRORED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
"""What a comparison by order is with its sides exchanged."""

_ATOMS = (exp.Column, exp.Literal, exp.Anonymous, exp.Cast, exp.Paren, exp.Case, exp.Coalesce, exp.Boolean, exp.Null)


def refuse(message: str, hint: str, sqlstate: str = NOT_ANSWERED) -> Refused:
    return Refused(message, hint=hint, sqlstate=sqlstate)


def wrap(node: exp.Expr) -> exp.Expr:
    """The node as an operand: in parentheses where its operator could bind wrongly."""
    return node if isinstance(node, _ATOMS) else exp.Paren(this=node)


def duplicate(node: exp.Expr) -> exp.Expr:
    """A second copy for a guard. Refuses large ones: nested guards would double the query at each level."""
    return _copy(node, [MOST_COPIED])


def _copy(node: _N, left: list[int]) -> _N:
    left[0] -= 1
    if left[0] < 0:
        raise refuse("the expression is too complex", "compute a part of it in a subquery", TOO_COMPLEX)
    parts: dict[str, object] = {}
    for name, part in node.args.items():
        if isinstance(part, exp.Expr):
            part = _copy(part, left)
        elif isinstance(part, list):
            part = [_copy(item, left) if isinstance(item, exp.Expr) else item for item in part]
        parts[name] = part
    return type(node)(**parts)


def binary(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """An operator over operands; a left operand of the same class needs no parentheses."""
    return kind(this=left if type(left) is kind else wrap(left), expression=wrap(right))


def when(condition: exp.Expr, result: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=result)], default=otherwise)


def named_table(name: str) -> exp.Table:
    """A table by a name of ours: sqlglot would read a text as SQL.

    >>> named_table("partial").sql()
    'partial'
    """
    return exp.Table(this=exp.to_identifier(name))


GREATEST_DOUBLE = "1.7976931348623157e308"


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def number(value: int | str) -> exp.Expr:
    """A literal that parses back to itself; a negative one is in parentheses."""
    text = str(value)
    if text.startswith("-"):
        return exp.Paren(this=exp.Neg(this=exp.Literal.number(text[1:])))
    return exp.Literal.number(text)


def text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def double(value: float) -> exp.Expr:
    """A finite double as a literal that no engine takes for a decimal."""
    spelt = repr(value)
    if spelt.endswith(".0"):
        spelt = spelt[:-2]
    return number(spelt if "e" in spelt else spelt + "e0")
