"""Bounds that the owner did not declare, and bounds that were learned for them: names and numbers, never a row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

LACKS = "lacks"
"""The ``meta`` key of a column of per-person aggregates or of a union: what its range follows from undeclared."""


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """``max_rows`` of a table of people, or, where a column is named, the range of that column.

    >>> str(Missing("visit")), str(Missing("visit", "cost"))
    ('max_rows of visit', 'the range of visit.cost')
    """

    table: str
    column: str = ""

    def __str__(self) -> str:
        return f"the range of {self.table}.{self.column}" if self.column else f"max_rows of {self.table}"

    def __deepcopy__(self, memo: object) -> Missing:
        """Copies of a node share its facts."""
        return self


@dataclass(frozen=True, slots=True)
class Learned:
    """What stands for a missing bound: at most ``high`` rows, or values between ``low`` and ``high``.

    It was released, so that it is as public as what the owner declares; it says where people are clipped, and never
    which groups there are.
    """

    missing: Missing
    low: Fraction
    high: Fraction
