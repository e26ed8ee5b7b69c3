"""Which values of a randomized column somebody surely has, out of all that the owner lists (heavy hitters).

Guarantee: post-processing. A row of a value is shown where its debiased count is above a multiple of its own 95 % error
bar. That multiple follows from the number of values alone, such that in 99 of 100 answers no value is shown that nobody
has, however many are listed (Bonferroni: each is shown wrongly once in 100 · values times). Beside other keys each of
their groups has a row for each value, so the multiple grows with the number of groups that were released, empty ones
too: by ln(groups) of a Laplace law, and under Gaussian noise from z to √(z² + 2 ln(groups)), as a normal tail is its
density times Mills' ratio, which falls.

Tails. The error of a count that nobody is in is the sum of the reports' randomness, which is about normal for more than
some hundred people, and of noise. Under Gaussian noise the multiple is that of a normal law. Else it is that of a
Laplace law alone: of all sums of normal and Laplace variables, its far quantiles are the largest multiples of its
97.5 % point.

What RAPPOR's authors do with regressions over bits, and Bonferroni's correction over the dictionary (Erlingsson, Pihur,
Korolova 2014, section 4), is done here with the counts that the inverse of the whole law gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.dialects import double, named_table
from rewriter.release import margin_name

ALPHA = Fraction(1, 100)
"""How often any value of an answer is shown that nobody has."""
BAR = Fraction(1, 20)
"""How often an error bar does not hold."""
EVERY_GROUP = "dpsql_every_group"
"""A release of which all groups are counted, also those that nobody may be in: which these are is told by its noise."""


@dataclass(frozen=True, slots=True)
class SurelyPresent:
    """``gaussian``: all noise is."""

    gaussian: bool

    def times(self, values: int, alpha: Fraction = ALPHA) -> float:
        """How many error bars a count is above 0 by chance once in ``values`` / α times, for one of so many values.

        >>> round(SurelyPresent(gaussian=True).times(50), 2), round(SurelyPresent(gaussian=False).times(50), 2)
        (1.81, 2.61)
        """
        return self._point(float(alpha) / values) / self._point(float(BAR) / 2)

    def together(self, values: int) -> float:
        """How many times as wide error bars of so many values are, all of which hold in 95 of 100 answers.

        >>> SurelyPresent(gaussian=True).together(1)
        1.0
        """
        return self.times(2 * values, BAR)

    def _point(self, beyond: float) -> float:
        """What a standard error is beyond with this probability."""
        if not self.gaussian:
            return math.log(1 / (2 * beyond))
        low, high = 0.0, 40.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 > beyond else (low, middle)
        return high

    def condition(self, table: str, count: str, values: int, others: bool = False) -> exp.Expr:
        """Of a row of one of so many values, with its count; ``others``: in each group of other keys.

        >>> print(SurelyPresent(gaussian=False).condition("r", "a0", 8).sql())
        r.a0 > r.a0_margin * 2e0
        """
        bar = exp.column(margin_name(count), table)
        times = self._in_groups(table, values) if others else double(self.times(values))
        return exp.GT(this=exp.column(count, table), expression=exp.Mul(this=bar, expression=times))

    def _in_groups(self, table: str, values: int) -> exp.Expr:
        """``times`` of so many values in each released group."""
        every = exp.alias_(named_table(table), EVERY_GROUP, table=True)
        groups = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(every, copy=False)
        # Of no group there is no logarithm, and no row either.
        number = exp.Greatest(this=exp.cast(exp.Subquery(this=groups), "double"), expressions=[double(1)])
        logarithm = exp.Ln(this=number)
        unit, times = self._point(float(BAR) / 2), self.times(values)
        if not self.gaussian:
            return exp.Paren(
                this=exp.Add(this=double(times), expression=exp.Mul(this=logarithm, expression=double(1 / unit)))
            )
        more = exp.Mul(this=logarithm, expression=double(2 / unit**2))
        return exp.Sqrt(this=exp.Add(this=double(times**2), expression=more))

    def note(self, column: str, values: int, others: bool = False) -> str:
        where = " in a group of the other keys" if others else ""
        return (
            f"values of {column} are left out unless somebody surely has them: in 99 of 100 answers all that are shown"
            f" are there. All error bars of the {values} values hold together{where} in 95 of 100 answers where each"
            f" is {self.together(values):.3g} times as wide"
        )
