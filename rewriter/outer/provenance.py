"""Provenance: how a number follows from released numbers, where it is simple enough to carry error bars over exactly.

A *slot* stands for one row of a release that an answer's row was made from; a *form* says how a column follows from the
released outputs of the slots. What is no sum and no quotient of sums is :class:`Other`: its error is found by trying.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from rewriter.declared import Kind
from rewriter.plan import Output
from rewriter.release import Along

Term = tuple[int, str]
"""A released output: the slot of its row, and its name."""


@dataclass(frozen=True, slots=True)
class AddedUp:
    """A slot stands for all rows of its released table that agree with its row in the columns ``keys``: an output of it
    is the sum over them, or their ``mean``."""

    keys: tuple[str, ...]
    mean: bool = False


@dataclass(frozen=True, slots=True)
class Affine:
    """``constant + Σ weight · output``; a constant where there are no terms.

    ``slack`` is how far roundings on the way may have moved it.
    """

    terms: tuple[tuple[Term, Fraction], ...] = ()
    constant: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Quotient:
    """``above / below``, of which ``below`` is measured."""

    above: Affine
    below: Affine
    slack: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Mean:
    """``constant + factor · output``, of a released mean or quantile, which is no sum of measurements."""

    term: Term
    factor: Fraction = Fraction(1)
    constant: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Running:
    """``constant + factor · sum``, of the running sum of a released output up to its row, or of its sum or mean over a
    window."""

    term: Term
    window: Along
    factor: Fraction = Fraction(1)
    constant: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Other:
    """A value that depends on released numbers in another way."""


@dataclass(frozen=True, slots=True)
class Public:
    """A value that depends on no released number: a key, a column of a public table, a text."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The text of an array of means."""

    items: tuple[Mean, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several columns, by row: each is made of slots that the rows of the others do not have."""

    branches: tuple[Measured, ...]


Form = Affine | Quotient | Mean | Running | Listed | Either | Other | Public


EXTREME = Fraction(10) ** 100
"""Numbers beyond this, or nearer to 0 than its inverse, have squares that no double holds."""


def is_moderate(form: Form) -> bool:
    """Whether an error bar of the form can be computed in doubles, whatever is released.

    >>> is_moderate(Affine((((0, "n"), Fraction(10) ** 200),)))
    False
    """
    if isinstance(form, Listed):
        return all(is_moderate(item) for item in form.items)
    if isinstance(form, Quotient):
        return is_moderate(form.above) and is_moderate(form.below) and form.slack <= EXTREME
    if isinstance(form, Mean | Running):
        return all(abs(number) <= EXTREME for number in (form.factor, form.constant, form.slack))
    if not isinstance(form, Affine):
        return True
    weights = [abs(weight) for _, weight in form.terms if weight]
    if any(size > EXTREME for size in (*weights, abs(form.constant), form.slack)):
        return False
    return all(weight >= 1 / EXTREME for weight in weights)


@dataclass(frozen=True, slots=True)
class Rounding:
    """The last thing done to a number: to ``digits`` places, to the nearest or toward zero."""

    way: Literal["nearest", "toward zero"]
    digits: int = 0

    @property
    def slack(self) -> Fraction:
        """The most that it moves a number."""
        unit = Fraction(10) ** -self.digits
        return unit / 2 if self.way == "nearest" else unit


@dataclass(frozen=True, slots=True)
class Measured:
    """A column: its form before the last rounding, and whether it is a whole number, which SQL divides otherwise.

    ``nonnegative``: whatever was measured, it is not below 0; nor above ``most``, where that is known. ``guarded``:
    NULL is shown where its form has a number.
    """

    form: Form
    whole: bool = False
    rounding: Rounding | None = None
    nonnegative: bool = False
    guarded: bool = False
    most: Fraction | None = None

    @property
    def noisy(self) -> bool:
        """Whether it depends on released numbers."""
        return isinstance(self.form, Quotient | Mean | Running | Listed | Either | Other) or (
            isinstance(self.form, Affine) and bool(self.form.terms)
        )

    @property
    def constant(self) -> Fraction | None:
        """Its value, where that is written in the query."""
        form = self.loose
        return form.constant if isinstance(form, Affine) and not form.terms and not form.slack else None

    @property
    def loose(self) -> Form:
        """The form of the number as it is after rounding, which others are made of."""
        if self.rounding is None or not isinstance(self.form, Affine | Quotient | Mean | Running):
            return self.form
        return replace(self.form, slack=self.form.slack + self.rounding.slack)


PUBLIC = Measured(Public())
OTHER = Measured(Other())


def literal(text: str) -> Measured:
    """A number that is written out.

    >>> literal("100").whole, literal("1e2").form
    (True, Affine(terms=(), constant=Fraction(100, 1), slack=Fraction(0, 1)))
    """
    try:
        value = Fraction(text)
        return Measured(Affine(constant=value), whole=text.lstrip("-").isdigit(), nonnegative=value >= 0)
    except (ValueError, ZeroDivisionError):
        return PUBLIC


def output(slot: int, column: Output) -> Measured:
    """A released output as it is."""
    term = (slot, column.name)
    form = Mean(term) if column.estimator.as_sum is None else Affine(((term, Fraction(1)),))
    return Measured(form, whole=column.type.kind is Kind.INTEGER, nonnegative=column.estimator.nonnegative)


def running(one: Measured, name: str, window: Along) -> Measured:
    """The running sum of a column, where that is the released output of this name."""
    form = one.form
    if isinstance(form, Affine) and one.rounding is None and len(form.terms) == 1 and not form.constant:
        ((term, weight),) = form.terms
        if term[1] == name and weight == 1:
            return Measured(Running(term, window))
    return unknown(one)


def unknown(*parts: Measured) -> Measured:
    """The provenance of parts that are combined in a way without a rule."""
    found = OTHER if any(part.noisy for part in parts) else PUBLIC
    return replace(found, nonnegative=len(parts) == 1 and parts[0].nonnegative)


def slots_of(form: Form) -> frozenset[int]:
    """The slots whose rows a form is made of."""
    if isinstance(form, Affine):
        return frozenset(slot for (slot, _), _ in form.terms)
    if isinstance(form, Quotient):
        return slots_of(form.above) | slots_of(form.below)
    if isinstance(form, Listed):
        return frozenset(item.term[0] for item in form.items)
    if isinstance(form, Either):
        return frozenset(slot for branch in form.branches for slot in slots_of(branch.form))
    return frozenset({form.term[0]}) if isinstance(form, Mean | Running) else frozenset()


def either(one: Measured, other: Measured) -> Measured:
    """A column whose rows are of the one or of the other, which share no slot."""
    branches = [*_branches(one), *_branches(other)]
    if one == other or not any(branch.noisy for branch in branches):
        return one if one == other else unknown(one, other)
    if not all(isinstance(branch.form, Affine | Quotient | Mean | Public) for branch in branches):
        return replace(OTHER, nonnegative=all(branch.nonnegative for branch in branches))
    return Measured(
        Either(tuple(branches)),
        whole=all(branch.whole for branch in branches),
        nonnegative=all(branch.nonnegative for branch in branches),
        guarded=any(branch.guarded for branch in branches),
    )


def _branches(one: Measured) -> tuple[Measured, ...]:
    return one.form.branches if isinstance(one.form, Either) else (one,)


def scaled(form: Affine, factor: Fraction) -> Affine:
    return Affine(
        tuple((term, weight * factor) for term, weight in form.terms) if factor else (),
        form.constant * factor,
        form.slack * abs(factor),
    )


def plus(one: Affine, other: Affine) -> Affine:
    """Terms with the same name come together, and go where they cancel.

    >>> n = Affine((((0, "a0"), Fraction(1)),))
    >>> plus(n, scaled(n, Fraction(-1))).terms
    ()
    """
    weights = dict(one.terms)
    for term, weight in other.terms:
        weights[term] = weights.get(term, Fraction(0)) + weight
    terms = tuple((term, weight) for term, weight in weights.items() if weight)
    return Affine(terms, one.constant + other.constant, one.slack + other.slack)


def add(one: Measured, other: Measured, sign: int = 1) -> Measured:
    """``one + other``, or ``one - other``."""
    left, right, whole = one.loose, _times(other.loose, Fraction(sign)), one.whole and other.whole
    if isinstance(left, Affine) and isinstance(right, Affine):
        return Measured(plus(left, right), whole)
    for form, constant in ((left, other.constant), (right, one.constant)):
        if constant is not None and isinstance(form, Quotient | Mean | Running):
            return Measured(_shifted(form, constant if form is right else sign * constant), whole)
    return unknown(one, other)


def multiply(one: Measured, other: Measured) -> Measured:
    """A product of which one side is written out."""
    for side, factor in ((one, other.constant), (other, one.constant)):
        if factor is not None and isinstance(side.form, Affine | Quotient | Mean | Running):
            return Measured(_times(side.loose, factor), one.whole and other.whole)
    return unknown(one, other)


def divide(one: Measured, other: Measured) -> Measured:
    """A quotient; of two whole numbers, SQL drops the fraction."""
    whole = one.whole and other.whole
    rounding = Rounding("toward zero") if whole else None
    above, below = one.loose, other.loose
    if divisor := other.constant:
        form = _times(above, 1 / divisor)
        return Measured(form, whole, rounding) if isinstance(form, Affine | Quotient | Mean | Running) else unknown(one)
    # What roundings did below cannot be told from noise.
    if other.noisy and isinstance(above, Affine) and isinstance(below, Affine) and not (above.slack or below.slack):
        return Measured(Quotient(above, below), whole, rounding)
    return unknown(one, other)


def rounded(one: Measured, digits: int) -> Measured:
    """To the nearest with ``digits`` places; a whole number stays itself."""
    if one.whole and digits >= 0:
        return one
    return Measured(one.loose, one.whole or digits == 0, Rounding("nearest", digits)) if one.noisy else one


def shifted_slots(one: Measured, by: int) -> Measured:
    """The same over slots with numbers that are so much higher."""
    return over_slots(one, lambda slot: slot + by)


def over_slots(one: Measured, other: Callable[[int], int]) -> Measured:
    """The same over ``other`` slots in the place of its own."""
    form = one.form
    if isinstance(form, Affine):
        return replace(one, form=_moved(form, other))
    if isinstance(form, Quotient):
        return replace(one, form=replace(form, above=_moved(form.above, other), below=_moved(form.below, other)))
    if isinstance(form, Mean | Running):
        return replace(one, form=replace(form, term=(other(form.term[0]), form.term[1])))
    if isinstance(form, Either):
        return replace(one, form=Either(tuple(over_slots(branch, other) for branch in form.branches)))
    return one


def _moved(form: Affine, other: Callable[[int], int]) -> Affine:
    return replace(form, terms=tuple(((other(slot), name), weight) for (slot, name), weight in form.terms))


def _times(form: Form, factor: Fraction) -> Form:
    if isinstance(form, Affine):
        return scaled(form, factor)
    if isinstance(form, Quotient):
        return Quotient(scaled(form.above, factor), form.below, form.slack * abs(factor))
    if isinstance(form, Mean | Running):
        constant, slack = form.constant * factor, form.slack * abs(factor)
        return replace(form, factor=form.factor * factor, constant=constant, slack=slack)
    return form


def _shifted(form: Quotient | Mean | Running, by: Fraction) -> Form:
    if isinstance(form, Mean | Running):
        return replace(form, constant=form.constant + by)
    return replace(form, above=plus(form.above, scaled(form.below, by)))
