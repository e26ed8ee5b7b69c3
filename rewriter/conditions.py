"""Which combinations of conditions a row can satisfy, by the logic of their comparisons alone.

Each condition is read as three-valued logic over *subjects*: expressions that are compared with literals. The literals
cut a subject's values into points and the gaps between them, and one value of each stands for all of it. A text has
only points and "any other text", since its order is the engine's; a boolean has its two values; every subject may be
NULL. What is not understood is a subject of its own, with any truth value.

What this may be wrong about: it may find combinations that no row has, and they cost accuracy. It must not miss one
that a row has: the row would be counted nowhere. No sensitivity rests on it (:mod:`rewriter.workload`), and it never
looks at declared ranges or values, which rows may break; only at types and at what the database guarantees.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import floor, prod
from typing import Any

from sqlglot import exp

from rewriter.block import conjuncts
from rewriter.functions_values import LIMITS, LITERAL
from rewriter.interval import measure
from rewriter.source import VARIABLE, Variable
from rewriter.types import Kind
from rewriter.value import Value

MOST_REGIONS = 1 << 15
"""Combinations of the subjects' points and gaps that are looked at."""

MOST_SIGNATURES = 128

Signature = int
"""A set of conditions: bit i says that condition i is true. What is NULL is not true."""

Probe = Fraction | str | bool | None
"""One value of a subject that stands for all values that compare in the same way; None is NULL."""

_Masks = tuple[int, int]
"""Where a condition is true and where it is false, as sets of regions; elsewhere it is NULL."""

_EXACT_DOUBLE = 1 << 53


def signatures(conditions: Sequence[Value | None], filters: Sequence[Value] = ()) -> tuple[Signature, ...] | None:
    """Every combination of ``conditions`` that a row can satisfy on which all ``filters`` are true, in falling order.

    Other combinations may be among them. None stands for TRUE as a condition, and as the answer for "too many".

    >>> from rewriter.functions_values import literal
    >>> from rewriter.dialects import DUCKDB
    >>> from rewriter.types import BOOLEAN, INTEGER
    >>> def below(n: int) -> Value:
    ...     return Value(exp.LT(this=exp.column("x"), expression=literal(n, INTEGER, DUCKDB).sql), BOOLEAN)
    >>> [f"{found:03b}" for found in signatures([below(1), below(2), None])]
    ['111', '110', '100']
    """
    space = _Space()
    tests = [_always if value is None else space.read(value.sql) for value in conditions]
    known = frozenset(space.subjects)
    held = [space.read(part) for value in filters for part in conjuncts(value.sql) if _subjects(part) <= known]
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


# -- subjects ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Subject:
    """An expression that is compared, and with what. Its values are multiples of ``step``, where that is not 0."""

    step: Fraction = Fraction(0)
    numbers: set[Fraction] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    boolean: bool = False

    def probes(self) -> list[Probe]:
        """One value of each region, NULL the last."""
        if self.boolean:
            return [True, False, None]
        if self.texts:
            return [*sorted(self.texts), max(self.texts) + "?", None]
        return [*self._numbers(), None]

    def _numbers(self) -> Iterator[Fraction]:
        cuts = sorted(self.numbers)
        if not cuts:
            yield Fraction(0)
            return
        yield self._on_lattice(cuts[0]) - 1
        for place, cut in enumerate(cuts):
            if not self.step or cut % self.step == 0:
                yield cut
            above = cuts[place + 1] if place + 1 < len(cuts) else cut + 2
            between = self._on_lattice(cut) + self.step if self.step else (cut + above) / 2
            if between < above:
                yield between

    def _on_lattice(self, cut: Fraction) -> Fraction:
        return floor(cut / self.step) * self.step if self.step else cut


_Test = Callable[["_Space"], _Masks]


class _Space:
    """All combinations of the regions of all subjects, numbered: sets of them are integers, a bit for each."""

    def __init__(self) -> None:
        self.subjects: dict[str, _Subject] = {}
        self.everything = 0
        self._strides: dict[str, int] = {}
        self._probes: dict[str, list[Probe]] = {}

    def subject(self, node: exp.Expr) -> tuple[str, _Subject]:
        node = _bare(node)
        key = _key(node)
        if key not in self.subjects:
            self.subjects[key] = _Subject(_step(node))
        return key, self.subjects[key]

    def lay_out(self) -> bool:
        """Number the regions; False where they are too many."""
        self._probes = {key: subject.probes() for key, subject in self.subjects.items()}
        count = prod(len(probes) for probes in self._probes.values())
        if count > MOST_REGIONS:
            return False
        self.everything = (1 << count) - 1
        for key, probes in self._probes.items():
            count //= len(probes)
            self._strides[key] = count
        return True

    def where(self, key: str, test: Callable[[Probe], bool | None]) -> _Masks:
        """Where a test of one subject is true, and where it is false."""
        probes, stride = self._probes[key], self._strides[key]
        ones = (1 << stride) - 1
        true = false = 0
        for place, probe in enumerate(probes):
            answer = test(probe)
            if answer is not None:
                true, false = (
                    (true | ones << place * stride, false) if answer else (true, false | ones << place * stride)
                )
        copies = self.everything // ((1 << stride * len(probes)) - 1)
        return true * copies, false * copies

    # Conditions as tests, read before the regions are known: their literals are what makes the regions.

    def read(self, node: exp.Expr) -> _Test:
        while isinstance(node, exp.Paren):
            node = node.this
        rule = _coalesce if type(node) is exp.Coalesce else _RULES.get(type(node))
        found = rule(self, node) if rule is not None else None
        return self._boolean(node) if found is None else found

    def _boolean(self, node: exp.Expr) -> _Test:
        """A boolean column, or what is not understood: any truth value."""
        key, subject = self.subject(node)
        subject.boolean = True
        return lambda space: space.where(key, lambda probe: None if probe is None else bool(probe))

    def compared(
        self,
        node: exp.Expr,
        literals: Sequence[exp.Expr],
        test: Callable[[Probe, list[Probe]], bool | None],
        *,
        equal: bool,
    ) -> _Test | None:
        """A test of a subject against literals; None where they are none, or are texts and not tested for equality."""
        against: list[Probe] = []
        for literal in literals:
            known, scalar = _literal(literal)
            if not known or isinstance(scalar, bool) or (isinstance(scalar, str) and not equal):
                return None
            against.append(scalar)
        if all(scalar is None for scalar in against) or _literal(node)[0]:
            return None
        key, subject = self.subject(node)
        for scalar in against:
            if isinstance(scalar, str):
                subject.texts.add(scalar)
            elif scalar is not None:
                subject.numbers.add(Fraction(scalar))
        return lambda space: space.where(key, lambda probe: test(probe, against))


def _subjects(node: exp.Expr) -> frozenset[str]:
    space = _Space()
    space.read(node)
    return frozenset(space.subjects)


def _key(node: exp.Expr) -> str:
    """Equal expressions have equal texts; of the columns of one table, of one spelling."""
    return node.sql()


def _literal(node: exp.Expr) -> tuple[bool, Probe]:
    """Whether a node is a literal, and its value: times in days, as an exact number."""
    while isinstance(node, exp.Paren) and LITERAL not in node.meta:
        node = node.this
    if isinstance(node, exp.Null):
        return True, None
    if LITERAL not in node.meta:
        return False, None
    scalar = node.meta[LITERAL][0]
    if scalar is None or isinstance(scalar, bool | str):
        return True, scalar
    if isinstance(scalar, int | float | Decimal | datetime.date):
        return True, measure(scalar)
    return False, None


def _bare(node: exp.Expr) -> exp.Expr:
    """A subject without parentheses and without the conversions that keep every value of its type as it is."""
    while type(node) is exp.Paren or (type(node) is exp.Cast and _is_exact(node.this, node.to)):
        node = node.this
    return node


def _is_exact(node: exp.Expr, to: exp.DataType) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    variable = node.meta.get(VARIABLE)
    kind = variable.column.type if isinstance(variable, Variable) else None
    limits = node.meta.get(LIMITS) or (kind.limits if kind is not None and kind.kind is Kind.INTEGER else None)
    if to.this == exp.DType.DOUBLE:
        return limits is not None and max(-limits[0], limits[1]) <= _EXACT_DOUBLE
    if to.this in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
        return kind is not None and kind.kind is Kind.DATE
    if to.this in (exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128):
        return limits is not None
    if to.this == exp.DType.DECIMAL:
        scale = int(to.expressions[1].name) if len(to.expressions) == 2 else -1
        return limits is not None or (kind is not None and kind.kind is Kind.DECIMAL and scale >= kind.scale)
    return False


def _step(node: exp.Expr) -> Fraction:
    """What every value of a subject is a multiple of, by its type."""
    variable = node.meta.get(VARIABLE)
    if not isinstance(variable, Variable):
        return Fraction(1) if LIMITS in node.meta else Fraction(0)
    kind = variable.column.type
    if kind.kind is Kind.DECIMAL:
        return Fraction(1, 10**kind.scale)
    return Fraction(1) if kind.kind in (Kind.INTEGER, Kind.DATE) else Fraction(0)


# -- conditions ----------------------------------------------------------------------------------------------------


def _always(space: _Space) -> _Masks:
    return space.everything, 0


def _constant(space: _Space, node: exp.Expr) -> _Test:
    return (lambda space: (space.everything, 0)) if node.this else (lambda space: (0, space.everything))


def _null(space: _Space, node: exp.Expr) -> _Test:
    return lambda space: (0, 0)


def _not(space: _Space, node: exp.Expr) -> _Test:
    inner = space.read(node.this)
    return lambda space: inner(space)[::-1]


def _connected(space: _Space, node: exp.Expr) -> _Test:
    """AND or OR of a chain, however long."""
    kind, parts = type(node), []
    while type(node) is kind:
        parts.append(space.read(node.args["expression"]))
        node = node.this
        while isinstance(node, exp.Paren):
            node = node.this
    parts.append(space.read(node))
    true_of, false_of = (operator.and_, operator.or_) if kind is exp.And else (operator.or_, operator.and_)

    def test(space: _Space) -> _Masks:
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
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE}


def _comparison(space: _Space, node: exp.Expr) -> _Test | None:
    kind, left, right = type(node), node.this, node.args["expression"]
    if _literal(left)[0]:
        kind, left, right = _MIRRORED.get(kind, kind), right, left
    is_boolean = isinstance(_literal(right)[1], bool)
    if is_boolean and kind in (exp.EQ, exp.NEQ):
        inner = space.read(left)
        return inner if _literal(right)[1] is (kind is exp.EQ) else lambda space: inner(space)[::-1]
    safe = kind in (exp.NullSafeEQ, exp.NullSafeNEQ)
    compare = _COMPARE[kind]

    def test(probe: Probe, against: list[Probe]) -> bool | None:
        return compare(probe, against[0]) if safe or probe is not None else None

    return space.compared(left, [right], test, equal=kind not in _MIRRORED)


def _between(space: _Space, node: exp.Expr) -> _Test | None:
    if node.args.get("symmetric"):
        return None

    def test(probe: Probe, against: list[Probe]) -> bool | None:
        low, high = against
        if probe is None:
            return None
        if (low is not None and probe < low) or (high is not None and probe > high):  # type: ignore[operator]
            return False
        return None if low is None or high is None else True

    return space.compared(node.this, [node.args["low"], node.args["high"]], test, equal=False)


def _in(space: _Space, node: exp.Expr) -> _Test | None:
    if node.args.get("query") is not None or not node.expressions:
        return None

    def test(probe: Probe, against: list[Probe]) -> bool | None:
        if probe is None:
            return None
        return True if probe in against else None if None in against else False

    return space.compared(node.this, node.expressions, test, equal=True)


def _is(space: _Space, node: exp.Expr) -> _Test | None:
    """IS NULL of a value or a condition, IS TRUE and IS FALSE of a condition."""
    inner, against = node.this, node.args["expression"]
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(against, exp.Boolean):
        wanted = 0 if against.this else 1
        condition = space.read(inner)

        def is_so(space: _Space) -> _Masks:
            found = condition(space)[wanted]
            return found, space.everything ^ found

        return is_so
    if not isinstance(against, exp.Null):
        return None
    if type(inner) in _RULES:
        tested = space.read(inner)

        def is_null(space: _Space) -> _Masks:
            known = tested(space)[0] | tested(space)[1]
            return space.everything ^ known, known

        return is_null
    key, _ = space.subject(inner)
    return lambda space: space.where(key, lambda probe: probe is None)


def _coalesce(space: _Space, node: exp.Expr) -> _Test:
    """The first condition that is not NULL."""
    parts = [space.read(part) for part in (node.this, *node.expressions)]

    def test(space: _Space) -> _Masks:
        true = false = 0
        for part in parts:
            known = true | false
            one, other = part(space)
            true, false = true | (one & ~known), false | (other & ~known)
        return true, false

    return test


_RULES: dict[type[exp.Expr], Callable[[_Space, exp.Expr], _Test | None]] = {
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
