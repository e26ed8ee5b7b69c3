"""Columns that were randomized before they came: the law of a person's report, and how counts are freed of it.

Each person's true value t, out of k declared ones, became a report with a public law, by the person's own hand. So the
number of people who support a value v (whose report is v, or has the bits of v) is, on average, a known linear map of
the numbers of people who have each value, and its inverse gives these numbers back without bias. Both are functions of
the policy alone; the noise that hides people from analysts comes on top, and nothing here reads data.

*k-ary randomized response* at ε: the report is the true value with probability e^ε / (e^ε + k - 1), and each other
one with 1 / (e^ε + k - 1) (Kairouz, Oh, Viswanath 2016; for two values Warner 1965). *RAPPOR* (Erlingsson, Pihur,
Korolova 2014): a person belongs to a random cohort, by which a value sets ``hashes`` of so many bits. Each bit is kept
with 1 - f and else set by a fair coin; then reported as 1 with q if it is 1, and with p if it is 0.
"""

from __future__ import annotations

import functools
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import log

from rewriter.declared.types import Scalar

_STEPS = 1 << 24
"""The odds of a true report are a multiple of 1/_STEPS: exact to draw by, and never more than e^ε."""

_PLACES = 1 << 44
"""The inverse of RAPPOR's matrix is rounded to multiples of 1/_PLACES: of 10^9 people, to a thousandth of one."""

MOST_EPSILON = 20
"""Above this ε a report is the value itself, but for one in a hundred million."""

LEAST_EPSILON = Fraction(1, 1000)
"""Below this ε a million reports say less than one value does."""

MOST_REPORTED = 100
"""The most values of a randomized column: each is a conditional count of every statement over it."""

MOST_BITS, MOST_HASHES, MOST_COHORTS = 256, 8, 64
"""The most that RAPPOR may have here."""

Numbers = tuple[Fraction, ...]


class Randomization(ABC):
    """The law of a report. ``values`` are what people truly have; each has a *support*: an event of the report."""

    __slots__ = ()

    values: tuple[Scalar, ...]

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """How far one report may tell two values of a person apart, in logarithms of odds."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What was done, in a few words."""

    @property
    def disjoint(self) -> bool:
        """Whether a report supports one value at most."""
        return False

    @abstractmethod
    def estimator(self, wanted: Sequence[Fraction]) -> Numbers:
        """Weights of supports: their weighted numbers have the mean Σ wanted(t) · (number of people with t)."""

    @abstractmethod
    def spread(self, weights: Sequence[Fraction]) -> Numbers:
        """For each true value, the variance of the weight that one person's report has."""

    @abstractmethod
    def patterns(self, value: int) -> tuple[str, ...]:
        """The support of a value as patterns of LIKE, one of which the report has; none where it is the value."""


@dataclass(frozen=True, slots=True)
class Response(Randomization):
    """k-ary randomized response at ``declared`` ε.

    >>> half = Response((True, False), Fraction(0))
    >>> half.keep, Response(("yes", "no"), Fraction("1.1")).epsilon <= 1.1
    (Fraction(1, 2), True)
    """

    values: tuple[Scalar, ...]
    declared: Fraction

    @property
    def odds(self) -> Fraction:
        """How many times as likely the true value is as any other one: e^ε, rounded down."""
        return _odds(self.declared)

    @property
    def keep(self) -> Fraction:
        """The probability of the true value."""
        return self.odds / (self.odds + len(self.values) - 1)

    @property
    def other(self) -> Fraction:
        """The probability of each other value."""
        return 1 / (self.odds + len(self.values) - 1)

    @property
    def epsilon(self) -> float:
        return log(self.odds)

    @property
    def words(self) -> str:
        return f"randomized response of {len(self.values)} values at ε = {float(self.declared):g}"

    @property
    def disjoint(self) -> bool:
        return True

    def estimator(self, wanted: Sequence[Fraction]) -> Numbers:
        """The inverse of q·J + (p - q)·I, applied: (w - q·Σw) / (p - q), since rows and columns of it add up to 1.

        >>> [str(one) for one in Response(("a", "b"), Fraction(0, 1) + Fraction(11, 10)).estimator([1, 1])]
        ['1', '1']
        """
        share = self.other * sum(wanted, Fraction(0))
        return tuple((one - share) / (self.keep - self.other) for one in wanted)

    def spread(self, weights: Sequence[Fraction]) -> Numbers:
        squares = self.mean([one * one for one in weights])
        return tuple(square - mean * mean for square, mean in zip(squares, self.mean(weights), strict=True))

    def mean(self, numbers: Sequence[Fraction]) -> Numbers:
        """The mean of a number of the report, for each true value."""
        share = self.other * sum(numbers, Fraction(0))
        return tuple(share + (self.keep - self.other) * one for one in numbers)

    def patterns(self, value: int) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Rappor(Randomization):
    """One report of RAPPOR over a dictionary of texts. A report is spelt ``cohort:bits``, as ``3:0110…``."""

    values: tuple[Scalar, ...]
    bits: int
    hashes: int
    f: Fraction
    p: Fraction
    q: Fraction
    cohorts: int

    def __post_init__(self) -> None:
        if not (0 <= self.f < 1 and 0 <= self.p < self.q <= 1):
            raise ValueError("RAPPOR needs f from 0 to below 1, and p below q")

    @property
    def one(self) -> Fraction:
        """The probability that a bit is reported as 1 which the value sets."""
        return self.f / 2 * (self.p + self.q) + (1 - self.f) * self.q

    @property
    def zero(self) -> Fraction:
        """The probability that a bit is reported as 1 which the value does not set."""
        return self.f / 2 * (self.p + self.q) + (1 - self.f) * self.p

    @property
    def epsilon(self) -> float:
        """Of one report: two values differ in up to 2 · ``hashes`` bits, half of them set by either.

        >>> dictionary = tuple("abc")
        >>> half, low, high = Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)
        >>> round(Rappor(dictionary, 64, 2, half, low, high, 8).epsilon, 4)
        2.0433
        """
        if self.zero == 0 or self.one == 1:
            return float("inf")
        return self.hashes * log(self.one * (1 - self.zero) / (self.zero * (1 - self.one)))

    @property
    def words(self) -> str:
        return f"RAPPOR of {self.bits} bits in {self.cohorts} cohorts, ε = {self.epsilon:.3g} a report"

    def bloom(self, cohort: int, value: int) -> frozenset[int]:
        """The bits that a value sets in a cohort."""
        return _bloom(self.bits, self.hashes, cohort, str(self.values[value]))

    def spelt(self, cohort: int, bits: Sequence[bool]) -> str:
        """A report as a text."""
        return f"{self._prefix(cohort)}{''.join('01'[bit] for bit in bits)}"

    def _prefix(self, cohort: int) -> str:
        return f"{cohort:0{len(str(self.cohorts - 1))}d}:"

    def patterns(self, value: int) -> tuple[str, ...]:
        """All bits of the value are 1, in whichever cohort."""
        found = []
        for cohort in range(self.cohorts):
            bloom = self.bloom(cohort, value)
            bits = "".join("1" if bit in bloom else "_" for bit in range(self.bits))
            found.append(f"{self._prefix(cohort)}{bits}")
        return tuple(found)

    def estimator(self, wanted: Sequence[Fraction]) -> Numbers:
        """Least squares over the supports of all declared values: their matrix is regular, so that it is solved."""
        rows = _inverse(self)
        return tuple(
            sum((w * row[at] for w, row in zip(wanted, rows, strict=True) if w), Fraction(0)) for at in range(len(rows))
        )

    def spread(self, weights: Sequence[Fraction]) -> Numbers:
        """Exact up to floating point: over cohorts, the covariances of the supports that share bits, and how far a
        cohort's mean is from that of all."""
        numbers = [float(weight) for weight in weights]
        return tuple(Fraction(round(one * _PLACES), _PLACES) for one in _spread(self, tuple(numbers)))

    def supported(self, cohort: int, value: int, truth: int) -> Fraction:
        """The probability that a person of a cohort who has ``truth`` supports ``value``."""
        asked, true = self.bloom(cohort, value), self.bloom(cohort, truth)
        return self.one ** len(asked & true) * self.zero ** len(asked - true)

    def matrix(self) -> list[list[Fraction]]:
        """By support and true value, the probability over cohorts."""
        size = len(self.values)
        return [
            [
                sum((self.supported(c, value, truth) for c in range(self.cohorts)), Fraction(0)) / self.cohorts
                for truth in range(size)
            ]
            for value in range(size)
        ]


@functools.lru_cache(maxsize=256)
def _odds(epsilon: Fraction) -> Fraction:
    exact = Context(prec=60)
    number = exact.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    # The product of 60 digits is off by less than its last ones, which rounding down gives back.
    scaled = exact.multiply(exact.exp(number), Decimal(_STEPS))
    return max(Fraction(1), Fraction(int(scaled.next_minus(exact)) if scaled != _STEPS else _STEPS, _STEPS))


@functools.lru_cache(maxsize=1 << 16)
def _bloom(bits: int, hashes: int, cohort: int, value: str) -> frozenset[int]:
    found = set()
    for number in range(hashes):
        digest = hashlib.sha256(f"dpsql rappor {cohort} {number} {value}".encode()).digest()
        found.add(int.from_bytes(digest[:16], "big") % bits)
    return frozenset(found)


@functools.lru_cache(maxsize=32)
def _inverse(law: Rappor) -> tuple[Numbers, ...]:
    """The inverse of the matrix of supports: by true value and support."""
    size = len(law.values)
    rows = [
        [float(one) for one in row] + [float(at == own) for at in range(size)] for own, row in enumerate(law.matrix())
    ]
    for at in range(size):
        best = max(range(at, size), key=lambda row: abs(rows[row][at]))
        if abs(rows[best][at]) < 1e-9:
            raise ValueError("the declared values set the same bits in every cohort: declare more bits or more cohorts")
        rows[at], rows[best] = rows[best], rows[at]
        pivot = rows[at][at]
        rows[at] = [one / pivot for one in rows[at]]
        for other in range(size):
            if other != at and (factor := rows[other][at]):
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[at], strict=True)]
    return tuple(tuple(Fraction(round(one * _PLACES), _PLACES) for one in row[size:]) for row in rows)


@functools.lru_cache(maxsize=1024)
def _spread(law: Rappor, weights: tuple[float, ...]) -> tuple[float, ...]:
    size = len(weights)
    means = [[0.0] * law.cohorts for _ in range(size)]
    found = [0.0] * size
    for cohort, blooms in enumerate(_blooms(law)):
        one, zero = float(law.one), float(law.zero)
        for truth in range(size):
            means[truth][cohort] = sum(
                weights[value] * one ** len(bloom & blooms[truth]) * zero ** len(bloom - blooms[truth])
                for value, bloom in enumerate(blooms)
            )
        for left, right in _sharing(law, cohort):
            both, twice = blooms[left] | blooms[right], 1.0 if left == right else 2.0
            product = twice * weights[left] * weights[right]
            for truth in range(size):
                true = blooms[truth]
                joint = one ** len(both & true) * zero ** len(both - true)
                apart = 1.0
                for bloom in (blooms[left], blooms[right]):
                    apart *= one ** len(bloom & true) * zero ** len(bloom - true)
                found[truth] += product * (joint - apart)
    for truth, own in enumerate(means):
        middle = sum(own) / law.cohorts
        found[truth] = found[truth] / law.cohorts + sum((mean - middle) ** 2 for mean in own) / law.cohorts
    return tuple(found)


def _blooms(law: Rappor) -> Iterator[list[frozenset[int]]]:
    for cohort in range(law.cohorts):
        yield [law.bloom(cohort, value) for value in range(len(law.values))]


@functools.lru_cache(maxsize=256)
def _sharing(law: Rappor, cohort: int) -> tuple[tuple[int, int], ...]:
    """The pairs of values whose supports share a bit: all others are independent of each other within a cohort."""
    size = len(law.values)
    blooms = [law.bloom(cohort, value) for value in range(size)]
    return tuple((left, right) for left in range(size) for right in range(left, size) if blooms[left] & blooms[right])
