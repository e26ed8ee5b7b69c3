"""Aggregates by what people truly have, put together from the measured aggregates over what they reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rewriter.debiased import Debiased, DebiasedFigure, DebiasedPart, ReportedRows, clusters
from rewriter.declared import Kind
from rewriter.measure.pair_cells import Found
from rewriter.measure.vectors import Builder
from rewriter.plan import Estimator, Linear, Ratio, Terms
from rewriter.release import Aggregate, Debiasing, ReportedPart

ONE = Fraction(1)


def members_of(asked: Sequence[Aggregate]) -> tuple[Aggregate, ...]:
    """The aggregates over reports that are measured beside those that are asked, in order."""
    return tuple(
        member for one in asked if one.debiasing is not None for part in one.debiasing.parts for member in part.members
    )


def debiased_sums(asked: Sequence[Aggregate], found: Mapping[int, Found], builder: Builder) -> dict[int, Found]:
    """The estimators of debiased aggregates, of members that were ``found`` under the numbers after those asked."""
    made: dict[int, Found] = {}
    number = len(asked)
    for place, one in enumerate(asked):
        if one.debiasing is None:
            continue
        parts = []
        for part in one.debiasing.parts:
            parts.append(_part(part, [found[number + at][0] for at in range(len(part.members))]))
            number += len(part.members)
        made[place] = _estimator(one, one.debiasing, parts, builder), ()
        note = f"people randomized this column themselves, and answers are freed of it ({one.debiasing.words})"
        if note not in builder.notes:
            builder.notes.append(note)
    return made


def _estimator(one: Aggregate, how: Debiasing, parts: Sequence[DebiasedPart], builder: Builder) -> Debiased:
    counts = all(part.low == part.high == 1 for part in parts)
    figure = DebiasedFigure.MEAN if how.divides else DebiasedFigure.COUNT if counts else DebiasedFigure.SUM
    least = 0 if all(part.low >= 0 for part in parts) and not how.divides else None
    whole = one.output_type.kind is Kind.INTEGER
    rows = 1 if how.once or builder.one_row else max(builder.rows, 1)
    return Debiased(figure, tuple(parts), rows * max(len(clusters(parts)), 1), how.words, whole, least)


def _part(part: ReportedPart, estimators: Sequence[Estimator]) -> DebiasedPart:
    low, high = _range(part, estimators)
    numbers = zip(part.weights, part.spread, part.everyone, map(_sides, estimators), strict=True)
    reports = tuple(ReportedRows(weight, spread, every, *sides) for weight, spread, every, sides in numbers)
    return DebiasedPart(low, high, reports, part.least, part.most, part.uniform)


def _range(part: ReportedPart, estimators: Sequence[Estimator]) -> tuple[Fraction, Fraction]:
    """The ends of the values; of counted rows each is the constant, or 1."""
    ratios = [one for one in estimators if isinstance(one, Ratio)]
    if ratios:
        return ratios[0].low, ratios[0].high
    constant = ONE if part.constant is None else part.constant
    return constant, constant


def _sides(estimator: Estimator) -> tuple[Terms, Terms]:
    if isinstance(estimator, Ratio):
        return estimator.above, estimator.below
    if isinstance(estimator, Linear):
        return estimator.terms, ()
    raise AssertionError("reports are measured by counts and pairs of sums")
