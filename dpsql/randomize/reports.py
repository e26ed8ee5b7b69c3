"""Reports of people's values, drawn exactly: no coin is a float, and no source has a seed.

A coin of probability a/b is a uniform integer below b that is below a. So a report has the very law that
:mod:`rewriter.declared.randomization` inverts.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from rewriter.declared import Randomization, Rappor, Response, Scalar


class Coins(Protocol):
    """A source of uniform integers."""

    def below(self, bound: int) -> int:
        """An integer from 0 to ``bound`` - 1, each as likely."""
        ...


class Secret:
    """The cryptographic source that people are protected by."""

    def below(self, bound: int) -> int:
        return secrets.randbelow(bound)


def coin(probability: Fraction, draws: Coins) -> bool:
    """True with this probability, exactly."""
    return draws.below(probability.denominator) < probability.numerator


def reports(law: Randomization, values: Sequence[Scalar | None], draws: Coins) -> Iterator[Scalar | None]:
    """One report for each value, in order. Who has no value gives none. Raises KeyError for an undeclared value.

    >>> sure = Response(("yes", "no"), Fraction(20))
    >>> list(reports(sure, ["no", None, "yes"], Secret()))
    ['no', None, 'yes']
    """
    places = {value: place for place, value in enumerate(law.values)}
    drawn = drawing(law, draws)
    for value in values:
        yield None if value is None else drawn(places[value])


def drawing(law: Randomization, draws: Coins) -> Callable[[int], Scalar]:
    """Draws a report of the value at a place."""
    if isinstance(law, Response):
        return _response(law, draws)
    if isinstance(law, Rappor):
        return _rappor(law, draws)
    raise TypeError(f"not a law of reports: {law}")


def _response(law: Response, draws: Coins) -> Callable[[int], Scalar]:
    """The true value, or with the rest of the probability each other one alike."""
    keep, size = law.keep, len(law.values)

    def report(place: int) -> Scalar:
        if coin(keep, draws):
            return law.values[place]
        other = draws.below(size - 1)
        return law.values[other if other < place else other + 1]

    return report


def _rappor(law: Rappor, draws: Coins) -> Callable[[int], Scalar]:
    """A cohort, and for each bit one coin: of replacing it with f, and of reporting it with q or p, together."""
    one, zero = law.one, law.zero

    def report(place: int) -> Scalar:
        cohort = draws.below(law.cohorts)
        bloom = law.bloom(cohort, place)
        return law.spelt(cohort, [coin(one if bit in bloom else zero, draws) for bit in range(law.bits)])

    return report
