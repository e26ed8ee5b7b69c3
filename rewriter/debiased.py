"""Columns of a release that are freed of what people did to their own values before they came (randomized response)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from rewriter.plan import Estimator, Terms


class DebiasedFigure(StrEnum):
    """What is asked of the rows of people whose true values satisfy a condition."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class ReportedRows:
    """The rows of people whose report supports one value: ``above`` is Σt over them and ``below`` Σ(1 - t).

    Summed over all reports by ``weight``, they have the mean of the same over the rows of people with the wanted true
    values; by ``everyone``, over the rows of all; by ``spread``, over all with the variance c of a person's weight.
    """

    weight: Fraction
    spread: Fraction
    everyone: Fraction
    above: Terms
    below: Terms


@dataclass(frozen=True, slots=True)
class DebiasedPart:
    """The rows of one argument and one further condition, each with a value x from ``low`` to ``high``, where
    t = (x - low) / (high - low). The variance of the weight of a person's report is from ``least`` to ``most``,
    whatever the truth is. ``uniform`` is the probability that a report is drawn evenly from all, whatever the truth is;
    None where one report supports several values.
    """

    low: Fraction
    high: Fraction
    reports: tuple[ReportedRows, ...]
    least: Fraction
    most: Fraction
    uniform: Fraction | None = None

    @property
    def counted(self) -> tuple[Terms, ...] | None:
        """The numbers of rows by report, where a report supports one value and each row has the same one."""
        if self.uniform is None or self.low != self.high:
            return None
        return tuple(one.above for one in self.reports)

    def finer(self, refinement: Mapping[str, int]) -> DebiasedPart:
        def of(terms: Terms) -> Terms:
            return tuple((name, weight / refinement[name]) for name, weight in terms)

        reports = (replace(one, above=of(one.above), below=of(one.below)) for one in self.reports)
        return replace(self, reports=tuple(reports))


def clusters(parts: Sequence[DebiasedPart]) -> tuple[tuple[int, ...], ...]:
    """The places of parts that are of the same rows by the same reports, each in one cluster."""
    found: dict[object, list[int]] = {}
    for place, part in enumerate(parts):
        found.setdefault(place if part.counted is None else part.counted, []).append(place)
    return tuple(map(tuple, found.values()))


@dataclass(frozen=True, slots=True)
class Debiased(Estimator):
    """A count, sum or mean over people by what they truly have, from sums over what they reported.

    With Σt and Σ(1 - t) of the people with the wanted true values, as the reports of each part estimate them, the value
    is Σ (high·Σt + low·Σ(1 - t)) over its parts, or that divided by the number of rows. What the reports' randomness
    adds to its variance: a person's rows have the weight w of the report in common, and its variance is c. So it is
    Σ c·(Σx)² over people, where (Σx)² ≤ rows · Σx² and x² ≤ high²·t + low²·(1 - t), for a square is below its chord. It
    is exact for counts where a person has one row.

    Parts of the same rows by the same reports make one *cluster*, in which variances are those of the whole weight of a
    report: W(r) = Σ value·w(r) over the parts, of which the mean is the value v of who truly has one. With one report
    for each person, Σ W(r)² over people less Σ v² has the mean of the variance, and Σ v² is debiased itself. ``rows``
    are those of a person, times the clusters that the person may be in.
    """

    figure: DebiasedFigure
    parts: tuple[DebiasedPart, ...]
    rows: int
    words: str
    integer: bool = False
    minimum: int | None = None

    @property
    def clusters(self) -> tuple[tuple[int, ...], ...]:
        """The places of parts that are of the same rows by the same reports."""
        return clusters(self.parts)

    @property
    def statistics(self) -> tuple[str, ...]:
        reports = (one for part in self.parts for one in part.reports)
        return tuple(dict.fromkeys(name for one in reports for name, _ in (*one.above, *one.below)))

    @property
    def nonnegative(self) -> bool:
        return self.minimum == 0

    @property
    def possible(self) -> tuple[float, float]:
        if self.figure is DebiasedFigure.MEAN and self.parts:
            return float(min(one.low for one in self.parts)), float(max(one.high for one in self.parts))
        return -float("inf") if self.minimum is None else float(self.minimum), float("inf")

    @property
    def squared(self) -> tuple[Fraction, ...]:
        return tuple(max(one.low**2, one.high**2, Fraction(1)) * max(one.most, Fraction(1)) for one in self.parts)

    def finer(self, refinement: Mapping[str, int]) -> Debiased:
        return replace(self, parts=tuple(part.finer(refinement) for part in self.parts))
