"""Atoms: the combinations of conditions that rows can satisfy, numbered in SQL, one number a row.

A row falls into one leaf of a tree of CASE, whatever the conditions are and whatever was believed of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from rewriter.dialects import number, when
from rewriter.expressions import Value
from rewriter.measure.conditions import Signature


def numbered(tests: Sequence[Value | None], numbers: Mapping[Signature, int | None]) -> exp.Expr:
    """The number of a row's combination of conditions, for the combinations that there are; None is NULL.

    >>> from rewriter.declared.types import BOOLEAN
    >>> tests = [Value.condition(exp.column(name), nullable=False, constant=False) for name in "pq"]
    >>> numbered(tests, {0b11: 0, 0b01: 1, 0b10: 2, 0b00: None}).sql()
    'CASE WHEN p THEN CASE WHEN q THEN 0 ELSE 1 END WHEN q THEN 2 END'
    >>> numbered(tests, {0b11: None, 0b00: None}).sql()
    'CAST(NULL AS INT)'
    """
    # By itself NULL is a text to PostgreSQL, which is compared with no number.
    if all(one is None for one in numbers.values()):
        return exp.cast(exp.Null(), exp.DType.INT)
    return _tree(tests, numbers)


def _tree(tests: Sequence[Value | None], numbers: Mapping[Signature, int | None]) -> exp.Expr:
    left = sorted(numbers, reverse=True)
    if len(left) == 1:
        only = numbers[left[0]]
        return exp.Null() if only is None else number(only)
    # The condition that comes nearest to halving what is left; the smaller half first, so that the tree is not deep.
    place = min(range(len(tests)), key=lambda place: abs(2 * sum(_has(atom, place) for atom in left) - len(left)))
    test = tests[place]
    if test is None:
        raise AssertionError("no row is outside")
    inside = {atom: numbers[atom] for atom in left if _has(atom, place)}
    outside = {atom: numbers[atom] for atom in left if not _has(atom, place)}
    if len(inside) <= len(outside):
        return _case(test.sql.copy(), _tree(tests, inside), _tree(tests, outside))
    return _case(_is_not(test), _tree(tests, outside), _tree(tests, inside))


def telling(atom: Signature, others: Sequence[Signature], places: Sequence[int]) -> list[int]:
    """Conditions, few, by which an atom differs from all other combinations; those that hold first.

    >>> telling(0b110, [0b100, 0b111, 0b000], [0, 1, 2])
    [1, 0]
    """
    chosen: list[int] = []
    while others:
        left = [place for place in places if place not in chosen]
        best = max(left, key=lambda place: (sum(_has(other ^ atom, place) for other in others), _has(atom, place)))
        others = [other for other in others if not _has(other ^ atom, best)]
        chosen.append(best)
    return sorted(chosen, key=lambda place: (not _has(atom, place), place))


def _has(atom: Signature, place: int) -> bool:
    return bool(atom >> place & 1)


def _is_not(test: Value) -> exp.Expr:
    """Outside is also where the condition is NULL, as in FILTER."""
    known = exp.Coalesce(this=test.sql.copy(), expressions=[exp.false()]) if test.nullable else test.sql.copy()
    return exp.Not(this=exp.Paren(this=known))


def _case(test: exp.Expr, then: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    """CASE; another one in its ELSE is continued."""
    if not isinstance(otherwise, exp.Case):
        return when(test, then, None if isinstance(otherwise, exp.Null) else otherwise)
    rest = otherwise.args["ifs"]
    return exp.Case(ifs=[exp.If(this=test, true=then), *rest], default=otherwise.args.get("default"))
