"""A double with its reach: how small and how large it can be, whatever a row holds."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from rewriter.declared import Scalar

Magnitude = tuple[int, int]
"""A double is 0, or from 2**least to 2**most in size, whatever a row holds."""
ANY: Magnitude = (-1074, 1024)


@dataclass(frozen=True, slots=True)
class Double:
    """An expression of doubles, and its reach. Of a ``literal``, ``scalar`` is what it stands for."""

    sql: exp.Expr
    magnitude: Magnitude
    literal: bool = False
    scalar: Scalar | None = None

    @property
    def least(self) -> int:
        return self.magnitude[0]

    @property
    def most(self) -> int:
        return self.magnitude[1]


def reaching(magnitude: Magnitude) -> Magnitude:
    """The reach of a double, which ends where doubles do."""
    return max(magnitude[0], -1074), min(magnitude[1], 1024)
