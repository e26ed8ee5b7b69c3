"""Which combinations of conditions a row can satisfy, by the logic of their comparisons alone.

Each condition is read as three-valued logic over *subjects*: expressions that are compared with literals. The literals
cut a subject's values into points and the gaps between them, and one value of each stands for all of it. A text has
only points and "any other text", since its order is the engine's; a boolean has its two values; every subject may be
NULL. What is not understood is a subject of its own, with any truth value.

What this may be wrong about: it may find combinations that no row has, and they cost accuracy. It must not miss one
that a row has: the row would be counted nowhere. No sensitivity rests on it
(:mod:`rewriter.measure.overlapping_counts`), and it never looks at declared ranges or values, which rows may break;
only at types and at what the database guarantees.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from rewriter.columns import Masks, Probe, Space, probe_of
from rewriter.dialects import MIRRORED
from rewriter.expressions import Value
from rewriter.statement import conjuncts, unparenthesised

MOST_SIGNATURES = 128

Signature = int
"""A set of conditions: bit i says that condition i is true. What is NULL is not true."""


def signatures(conditions: Sequence[Value | None], filters: Sequence[Value] = ()) -> tuple[Signature, ...] | None:
    """Every combination of ``conditions`` that a row can satisfy on which all ``filters`` are true, in falling order.

    Other combinations may be among them. None stands for TRUE as a condition, and as the answer for "too many".

    >>> from rewriter.expressions.build import literal
    >>> from rewriter.dialects import DUCKDB
    >>> from rewriter.declared.types import BOOLEAN, INTEGER
    >>> def below(n: int) -> Value:
    ...     return Value.unknown(exp.LT(this=exp.column("x"), expression=literal(n, INTEGER, DUCKDB).sql), BOOLEAN)
    >>> [f"{found:03b}" for found in signatures([below(1), below(2), None])]
    ['111', '110', '100']
    """
    space = Space()
    tests = [_always if value is None else _read(space, value.sql) for value in conditions]
    known = frozenset(space.subjects)
    held = [_read(space, part) for value in filters for part in conjuncts(value.sql) if _subjects(part) <= known]
    if not space.lay_out():
        return None
    universe = space.everything
    for test in held:
        universe &= test(space)[0]
    masks = [test(space) for test in tests]
    for (true, false), value in zip(masks, conditions, strict=True):
        if value is not None and not value.nullable:
            universe &= true | false
    return _combinations([true for true, _ in masks], universe)


def _combinations(masks: Sequence[int], universe: int) -> tuple[Signature, ...] | None:
    """The signatures of the regions of ``universe``: it is split by one condition after the other."""
    classes = [(0, universe)] if universe else []
    for place, mask in enumerate(masks):
        split = []
        for signature, regions in classes:
            split += [(signature | 1 << place, regions & mask), (signature, regions & ~mask)]
        classes = [(signature, regions) for signature, regions in split if regions]
        if len(classes) > MOST_SIGNATURES:
            return None
    return tuple(sorted((signature for signature, _ in classes), reverse=True))


# Conditions as tests, read before the regions are known: their literals are what makes the regions.

_Test = Callable[[Space], Masks]


def _read(space: Space, node: exp.Expr) -> _Test:
    node = unparenthesised(node)
    rule = _coalesce if type(node) is exp.Coalesce else _RULES.get(type(node))
    found = rule(space, node) if rule is not None else None
    return _boolean(space, node) if found is None else found


def _boolean(space: Space, node: exp.Expr) -> _Test:
    """A boolean column, or what is not understood: any truth value."""
    key, subject = space.subject(node)
    subject.boolean = True
    return lambda space: space.where(key, lambda probe: None if probe is None else bool(probe))


def _compared(
    space: Space,
    node: exp.Expr,
    literals: Sequence[exp.Expr],
    test: Callable[[Probe, list[Probe]], bool | None],
    *,
    equal: bool,
) -> _Test | None:
    """A test of a subject against literals; None where they are none, or are texts and not tested for equality."""
    against: list[Probe] = []
    for literal in literals:
        known, scalar = probe_of(literal)
        if not known or isinstance(scalar, bool) or (isinstance(scalar, str) and not equal):
            return None
        against.append(scalar)
    if all(scalar is None for scalar in against) or probe_of(node)[0]:
        return None
    key, subject = space.subject(node)
    for scalar in against:
        if isinstance(scalar, str):
            subject.texts.add(scalar)
        elif scalar is not None:
            subject.numbers.add(Fraction(scalar))
    return lambda space: space.where(key, lambda probe: test(probe, against))


def _subjects(node: exp.Expr) -> frozenset[str]:
    space = Space()
    _read(space, node)
    return frozenset(space.subjects)


def _always(space: Space) -> Masks:
    return space.everything, 0


def _constant(space: Space, node: exp.Expr) -> _Test:
    return (lambda space: (space.everything, 0)) if node.this else (lambda space: (0, space.everything))


def _null(space: Space, node: exp.Expr) -> _Test:
    return lambda space: (0, 0)


def _not(space: Space, node: exp.Expr) -> _Test:
    inner = _read(space, node.this)
    return lambda space: inner(space)[::-1]


def _connected(space: Space, node: exp.Expr) -> _Test:
    """AND or OR of a chain, however long."""
    kind, parts = type(node), []
    while type(node) is kind:
        parts.append(_read(space, node.args["expression"]))
        node = unparenthesised(node.this)
    parts.append(_read(space, node))
    true_of, false_of = (operator.and_, operator.or_) if kind is exp.And else (operator.or_, operator.and_)

    def test(space: Space) -> Masks:
        true, false = parts[0](space)
        for part in parts[1:]:
            one, other = part(space)
            true, false = true_of(true, one), false_of(false, other)
        return true, false

    return test


_COMPARE: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.NullSafeEQ: operator.eq,
    exp.NullSafeNEQ: operator.ne,
}


def _comparison(space: Space, node: exp.Expr) -> _Test | None:
    kind, left, right = type(node), node.this, node.args["expression"]
    if probe_of(left)[0]:
        kind, left, right = MIRRORED.get(kind, kind), right, left
    is_boolean = isinstance(probe_of(right)[1], bool)
    if is_boolean and kind in (exp.EQ, exp.NEQ):
        inner = _read(space, left)
        return inner if probe_of(right)[1] is (kind is exp.EQ) else lambda space: inner(space)[::-1]
    safe = kind in (exp.NullSafeEQ, exp.NullSafeNEQ)
    compare = _COMPARE[kind]

    def test(probe: Probe, against: list[Probe]) -> bool | None:
        return compare(probe, against[0]) if safe or probe is not None else None

    return _compared(space, left, [right], test, equal=kind not in MIRRORED)


def _between(space: Space, node: exp.Expr) -> _Test | None:
    if node.args.get("symmetric"):
        return None

    def test(probe: Probe, against: list[Probe]) -> bool | None:
        low, high = against
        if probe is None:
            return None
        if (low is not None and probe < low) or (high is not None and probe > high):  # type: ignore[operator]
            return False
        return None if low is None or high is None else True

    return _compared(space, node.this, [node.args["low"], node.args["high"]], test, equal=False)


def _in(space: Space, node: exp.Expr) -> _Test | None:
    if node.args.get("query") is not None or not node.expressions:
        return None

    def test(probe: Probe, against: list[Probe]) -> bool | None:
        if probe is None:
            return None
        return True if probe in against else None if None in against else False

    return _compared(space, node.this, node.expressions, test, equal=True)


def _is(space: Space, node: exp.Expr) -> _Test | None:
    """IS NULL of a value or a condition, IS TRUE and IS FALSE of a condition."""
    inner, against = node.this, node.args["expression"]
    inner = unparenthesised(inner)
    if isinstance(against, exp.Boolean):
        wanted = 0 if against.this else 1
        condition = _read(space, inner)

        def is_so(space: Space) -> Masks:
            found = condition(space)[wanted]
            return found, space.everything ^ found

        return is_so
    if not isinstance(against, exp.Null):
        return None
    if type(inner) in _RULES:
        tested = _read(space, inner)

        def is_null(space: Space) -> Masks:
            known = tested(space)[0] | tested(space)[1]
            return space.everything ^ known, known

        return is_null
    key, _ = space.subject(inner)
    return lambda space: space.where(key, lambda probe: probe is None)


def _coalesce(space: Space, node: exp.Expr) -> _Test:
    """The first condition that is not NULL."""
    parts = [_read(space, part) for part in (node.this, *node.expressions)]

    def test(space: Space) -> Masks:
        true = false = 0
        for part in parts:
            known = true | false
            one, other = part(space)
            true, false = true | (one & ~known), false | (other & ~known)
        return true, false

    return test


_RULES: dict[type[exp.Expr], Callable[[Space, exp.Expr], _Test | None]] = {
    exp.Boolean: _constant,
    exp.Null: _null,
    exp.Not: _not,
    exp.And: _connected,
    exp.Or: _connected,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    **dict.fromkeys(_COMPARE, _comparison),
}
"""How the nodes that are conditions wherever they stand are read. COALESCE is one where a condition is expected."""
