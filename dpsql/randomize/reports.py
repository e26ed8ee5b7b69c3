"""Reports of people's values, drawn exactly: no coin is a float, and no source has a seed.

A coin of probability a/b is a uniform integer below b that is below a. So a report has the very law that
:mod:`rewriter.declared.randomization` inverts.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
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
    for value in values:
        yield None if value is None else report(law, places[value], draws)


def report(law: Randomization, place: int, draws: Coins) -> Scalar:
    """One report of the value at a place."""
    if isinstance(law, Response):
        return law.values[_response(law, place, draws)]
    if isinstance(law, Rappor):
        return _rappor(law, place, draws)
    raise TypeError(f"not a law of reports: {law}")


def _response(law: Response, place: int, draws: Coins) -> int:
    """The true value, or with the rest of the probability each other one alike."""
    if coin(law.keep, draws):
        return place
    other = draws.below(len(law.values) - 1)
    return other if other < place else other + 1


def _rappor(law: Rappor, place: int, draws: Coins) -> str:
    """A cohort, the value's bits in it, a coin for each bit that replaces it with f, and a coin that reports it."""
    cohort = draws.below(law.cohorts)
    bloom = law.bloom(cohort, place)
    found = []
    for bit in range(law.bits):
        truth = bit in bloom
        kept = coin(Fraction(1, 2), draws) if coin(law.f, draws) else truth
        found.append(coin(law.q if kept else law.p, draws))
    return law.spelt(cohort, found)
