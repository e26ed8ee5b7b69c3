"""Subjects of conditions, and the regions that their literals cut the space of all rows into.

A literal cuts a number's or a time's values into what is below, equal and above; one value of each region, its *probe*,
stands for all of them. Sets of regions are integers, a bit for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, prod

from sqlglot import exp

from rewriter.columns.source import BEHIND, Variable
from rewriter.declared import Kind, measure
from rewriter.expressions import LIMITS, LITERAL
from rewriter.statement import unparenthesised

MOST_REGIONS = 1 << 15
"""Combinations of the subjects' points and gaps that are looked at."""

Probe = Fraction | str | bool | None
"""One value of a subject that stands for all values that compare in the same way; None is NULL."""

Masks = tuple[int, int]
"""Where a condition is true and where it is false, as sets of regions; elsewhere it is NULL."""

_EXACT_DOUBLE = 1 << 53


@dataclass(slots=True)
class Subject:
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


class Space:
    """All combinations of the regions of all subjects, numbered: sets of them are integers, a bit for each."""

    def __init__(self) -> None:
        self.subjects: dict[str, Subject] = {}
        self.everything = 0
        self._strides: dict[str, int] = {}
        self._probes: dict[str, list[Probe]] = {}

    def subject(self, node: exp.Expr) -> tuple[str, Subject]:
        """The subject that an expression is, and its name."""
        node = bare(node)
        key = _key(node)
        if key not in self.subjects:
            self.subjects[key] = Subject(_step(node))
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

    def where(self, key: str, test: Callable[[Probe], bool | None]) -> Masks:
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


def _key(node: exp.Expr) -> str:
    """Equal expressions have equal texts; of the columns of one table, of one spelling."""
    return node.sql()


def probe_of(node: exp.Expr) -> tuple[bool, Probe]:
    """Whether a node is a literal, and its value: times in days, as an exact number."""
    while isinstance(node, exp.Paren) and not LITERAL.is_on(node):
        node = node.this
    if isinstance(node, exp.Null):
        return True, None
    if (constant := LITERAL.of(node)) is None:
        return False, None
    scalar = constant.scalar
    if scalar is None or isinstance(scalar, bool | str):
        return True, scalar
    return True, measure(scalar)


def bare(node: exp.Expr) -> exp.Expr:
    """A subject without parentheses and without the conversions that keep every value of its type as it is."""
    while type(node) is exp.Paren or (type(node) is exp.Cast and _is_exact(node.this, node.to)):
        node = node.this
    return node


def _is_exact(node: exp.Expr, to: exp.DataType) -> bool:
    node = unparenthesised(node)
    behind = BEHIND.of(node)
    kind = behind.column.type if isinstance(behind, Variable) else None
    limits = LIMITS.of(node) or (kind.limits if kind is not None and kind.kind is Kind.INTEGER else None)
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
    """The number of which every value of a subject is a multiple, by its type."""
    behind = BEHIND.of(node)
    if not isinstance(behind, Variable):
        return Fraction(1) if LIMITS.is_on(node) else Fraction(0)
    kind = behind.column.type
    if kind.kind is Kind.DECIMAL:
        return Fraction(1, 10**kind.scale)
    return Fraction(1) if kind.kind in (Kind.INTEGER, Kind.DATE) else Fraction(0)
