"""Bounds that the owner did not declare, and bounds that were learned for them: names and numbers, never a row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """``max_rows`` of a table of people, or, where a column is named, the range of that column, or its ``max_total``.

    >>> str(Missing("visit")), str(Missing("visit", "cost")), str(Missing("visit", "cost", total=True))
    ('max_rows of visit', 'the range of visit.cost', 'max_total of visit.cost')
    """

    table: str
    column: str = ""
    total: bool = False

    def __post_init__(self) -> None:
        if self.total and not self.column:
            raise ValueError("a total is that of a column")

    def __str__(self) -> str:
        if self.total:
            return f"max_total of {self.table}.{self.column}"
        return f"the range of {self.table}.{self.column}" if self.column else f"max_rows of {self.table}"


@dataclass(frozen=True, slots=True)
class Learned:
    """What stands for a missing bound: at most ``high`` rows, values between ``low`` and ``high``, or
    values of one person that add up to ``high``.

    It was released, so that it is as public as what the owner declares; it says where people are clipped, and never
    which groups there are.
    """

    missing: Missing
    low: Fraction
    high: Fraction
