"""Counts, or sums of one value, over the same rows by different conditions: measured together, as one vector.

Why no sensitivity rests on the logic of conditions: each row has one number of an atom
(:mod:`rewriter.measure.atoms`), so it moves the cells by one column of the strategy, and by no more were a combination
of conditions overlooked. What is measured without atoms is taken to overlap fully.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rewriter.declared import Norm
from rewriter.expressions import Value
from rewriter.measure.atoms import numbered, telling
from rewriter.measure.conditions import Signature, signatures
from rewriter.measure.vectors import Addend, Builder, Cell, Vector
from rewriter.plan import Linear
from rewriter.strategies import STEPS, WORTH, Row, Strategy, Weights, choose, total, weight

_MOST_STEPS = 1 << 44
"""What a unit may move a cell by for a weighted strategy to be taken: well inside of what can be added up exactly."""


@dataclass(frozen=True, slots=True)
class OverlappingCounts:
    """What the members of a family share.

    ``summed`` is the row column that is added up, in steps of ``granularity`` and ``most`` of them at most; None counts
    rows. ``word`` and ``what`` name the members and one member's rows in messages. ``most_rows`` is that of
    the vectors.
    """

    word: str
    what: str
    unit: Fraction
    integer: bool
    minimum: int | None
    summed: str | None = None
    most: int = 1
    granularity: Fraction = Fraction(1)
    most_rows: Fraction | None = None

    def linear(self, terms: Sequence[tuple[str, Fraction]], minimum: int | None) -> Linear:
        return Linear(tuple((name, weight) for name, weight in terms if weight), self.integer, minimum)


@dataclass(frozen=True, slots=True)
class Member:
    """One output: the rows that satisfy ``test`` (None: all), as the analyst wrote it."""

    test: Value | None
    text: str


Measured = tuple[Linear, tuple[int, ...]]
"""An output's estimator and its parts."""


def measure(
    family: OverlappingCounts, members: Sequence[Member], builder: Builder, norm: Norm, minimum: int | None
) -> list[Measured]:
    """Measure the members by the strategy with the smallest predicted variance; ``minimum`` is the outputs'."""
    distinct: dict[str, Member] = {}
    for member in members:
        distinct.setdefault(_spelt(member, builder), member)
    found = _Measurement(family, tuple(distinct.values()), builder, minimum).made(norm)
    place = {key: number for number, key in enumerate(distinct)}
    return [found[place[_spelt(member, builder)]] for member in members]


def _spelt(member: Member, builder: Builder) -> str:
    return builder.spelt(None if member.test is None else member.test.sql)


@dataclass(frozen=True, slots=True)
class _Measurement:
    """A family in the making. Its members have distinct tests."""

    family: OverlappingCounts
    members: tuple[Member, ...]
    builder: Builder
    minimum: int | None

    def made(self, norm: Norm) -> list[Measured]:
        if len(self.members) == 1:
            return self._apart(norm)
        known = signatures([member.test for member in self.members], self.builder.filters)
        atoms = [signature for signature in known or () if signature]
        if known is None or not atoms:
            return self._apart(norm)
        atoms.sort(key=lambda atom: [atom >> place & 1 for place in range(len(self.members))], reverse=True)
        rows = [tuple(atom >> place & 1 for atom in atoms) for place in range(len(self.members))]
        workload = tuple(dict.fromkeys(row for row in rows if any(row)))
        fine = self.family.most * self.builder.rows * 2 * STEPS <= _MOST_STEPS
        choice = choose(workload, norm, fine=fine, apart=self.builder.apart)
        if len(workload) == len(rows) and self._is_plain(choice.strategy, workload):
            return self._apart(norm, atoms)
        share = weight(choice.variance, norm)
        return self._by_atoms(choice.strategy, workload, rows, atoms, known, share)

    def _is_plain(self, strategy: Strategy, workload: tuple[Row, ...]) -> bool:
        """Whether it is as good without atoms."""
        if strategy.name == "direct":
            return strategy.l1 == len(workload)
        return strategy.name == "total" and any(member.test is None for member in self.members)

    # Without atoms

    def _apart(self, norm: Norm, atoms: Sequence[Signature] | None = None) -> list[Measured]:
        """Cells over conditions: the members', or their total T and 2·member - T. One row can move all of them."""
        size = len(self.members)
        everything = next((place for place, member in enumerate(self.members) if member.test is None), None)
        by_total = total(_overlapping(size, everything))
        price = float(size ** (3 if norm is Norm.L1 else 2))
        if by_total.price(norm) < WORTH * price:
            share = weight(by_total.price(norm), norm)
            return self._by_total(by_total.outputs, everything, atoms, share)
        names = [self.builder.cell() for _ in self.members]
        cells = [
            self._cell(name, self._said(member.text), (self._addend(1, member),), 1)
            for name, member in zip(names, self.members, strict=True)
        ]
        self._add(cells, size, size, weight(price, norm), signed=self.family.minimum is None, rows=self._rows())
        one = Fraction(1)
        return self._as_parts([[(name, one)] for name in names], atoms)

    def _by_total(
        self, outputs: Weights, everything: int | None, atoms: Sequence[Signature] | None, share: Fraction
    ) -> list[Measured]:
        whole = Member(None, "") if everything is None else self.members[everything]
        others = [member for member in self.members if member is not whole]
        names = [self.builder.cell() for _ in range(1 + len(others))]
        cells = [self._cell(names[0], self._said(whole.text), (self._addend(1, whole),), 1)]
        for name, member in zip(names[1:], others, strict=True):
            addends = (self._addend(2, member), self._addend(-1, whole))
            cells.append(self._cell(name, f"2 · {member.text} - {whole.text or self.family.what}", addends, 1))
        self._add(cells, len(cells), len(cells), share, signed=True, rows=self._rows())
        self._note("as their total and how far each is from it")
        return self._as_parts([list(zip(names, row, strict=True)) for row in outputs], atoms)

    def _addend(self, weight: int, member: Member) -> Addend:
        return Addend(weight, self.family.summed, test=self.builder.condition(member.test))

    # With atoms

    def _by_atoms(
        self,
        strategy: Strategy,
        workload: tuple[Row, ...],
        rows: Sequence[Row],
        atoms: Sequence[Signature],
        known: Sequence[Signature],
        share: Fraction,
    ) -> list[Measured]:
        numbers: dict[Signature, int | None] = {0: None} if 0 in known else {}
        numbers |= {atom: place for place, atom in enumerate(atoms)}
        column = self.builder.column("g", numbered([member.test for member in self.members], numbers))
        texts = [self._text(atom, known) for atom in atoms]
        names = [self.builder.cell() for _ in strategy.cells]
        cells = []
        for place, (name, row) in enumerate(zip(names, strategy.cells, strict=True)):
            addends = tuple(
                Addend(weight, self.family.summed, test=column, atom=atom) for atom, weight in enumerate(row) if weight
            )
            text = texts[place] if strategy.name == "atoms" else f"{strategy.name} {self.family.what} {place + 1}"
            cells.append(self._cell(name, text, addends, strategy.scale))
        signed = strategy.signed or self.family.minimum is None
        counted = self._rows(Addend(1, counted=column))
        self._add(cells, strategy.l1, strategy.l2_squared, share, signed=signed, rows=counted)
        self._explain(strategy, len(rows), len(atoms))
        estimated = {
            row: list(zip(names, weights, strict=True)) for row, weights in zip(workload, strategy.outputs, strict=True)
        }
        if strategy.atoms is None:
            return self._as_parts([estimated.get(row, []) for row in rows], atoms)
        parts = [
            self.builder.part(
                self._linear(list(zip(names, weights, strict=True)), self.family.minimum), self.family.unit
            )
            for weights in strategy.atoms
        ]
        return [
            (
                self._linear(estimated.get(row, []), self.minimum),
                tuple(part for part, inside in zip(parts, row, strict=True) if inside),
            )
            for row in rows
        ]

    def _text(self, atom: Signature, known: Sequence[Signature]) -> str:
        asked = [place for place, member in enumerate(self.members) if member.test is not None]
        places = telling(atom, [other for other in known if other != atom], asked)
        parts = [
            self.members[place].text if atom >> place & 1 else f"not {self.members[place].text}" for place in places
        ]
        return f"{self.family.what} with {' and '.join(parts)}" if parts else self.family.what

    # Both

    def _said(self, text: str) -> str:
        return text or self.family.what

    def _cell(self, name: str, text: str, addends: tuple[Addend, ...], scale: int) -> Cell:
        return Cell(name, text, self.family.granularity / scale, addends)

    def _add(
        self,
        cells: Sequence[Cell],
        l1: int,
        l2_squared: int,
        share: Fraction,
        *,
        signed: bool,
        rows: Addend | None,
    ) -> None:
        most = self.family.most
        vector = Vector(tuple(cells), l1 * most, l2_squared * most * most, signed=signed, weight=share, rows=rows)
        self.builder.vectors.append(replace(vector, most_rows=self.family.most_rows))

    def _rows(self, any_of_them: Addend | None = None) -> Addend | None:
        """The addend that counts the rows behind the members of a family of counts; None where it is not known."""
        if self.family.summed is not None:
            return None
        if any(member.test is None for member in self.members):
            return Addend(1)
        (first, *others) = self.members
        return any_of_them if others else Addend(1, test=self.builder.condition(first.test))

    def _linear(self, terms: Sequence[tuple[str, Fraction]], minimum: int | None) -> Linear:
        return self.family.linear([(name, weight * self.family.granularity) for name, weight in terms], minimum)

    def _as_parts(
        self, estimated: Sequence[Sequence[tuple[str, Fraction]]], atoms: Sequence[Signature] | None
    ) -> list[Measured]:
        """Each output is its own part, and nested ones are ordered."""
        places = [
            self.builder.part(self._linear(terms, self.family.minimum), self.family.unit) if terms else None
            for terms in estimated
        ]
        if self.family.minimum is not None:
            for one, smaller in enumerate(places):
                for other, larger in enumerate(places):
                    if (
                        smaller is not None
                        and larger is not None
                        and smaller != larger
                        and self._is_within(one, other, atoms)
                    ):
                        self.builder.orders.append((smaller, larger))
        return [
            (self._linear(terms, self.minimum), () if place is None else (place,))
            for terms, place in zip(estimated, places, strict=True)
        ]

    def _is_within(self, one: int, other: int, atoms: Sequence[Signature] | None) -> bool:
        if self.members[other].test is None:
            return True
        return atoms is not None and all(atom >> other & 1 for atom in atoms if atom >> one & 1)

    def _explain(self, strategy: Strategy, outputs: int, atoms: int) -> None:
        if strategy.name == "atoms" and strategy.outputs != strategy.atoms:
            self._note(f"as {atoms} parts that share no rows, added up")
        elif strategy.name == "total":
            self._note("their total and how far each is from it")
        elif strategy.scale > 1:
            self._note("by sums in which some rows weigh more than others")

    def _note(self, how: str) -> None:
        what = f"{len(self.members)} {self.family.word} are measured together, which takes less noise"
        self.builder.notes.append(f"{what}: {how}")


def _overlapping(size: int, everything: int | None) -> tuple[Row, ...]:
    """A workload of outputs that can be true in any combination: each has an atom of its own beside the common one."""
    rows = [tuple(int(place in (own, size)) for place in range(size + 1)) for own in range(size)]
    if everything is not None:
        rows[everything] = (1,) * (size + 1)
    return tuple(rows)
