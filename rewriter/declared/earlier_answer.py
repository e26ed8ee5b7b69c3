"""What an earlier query of a statement released: a small table of constants for the queries that are planned later."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.declared.interval import Interval
from rewriter.declared.types import Scalar, Type


@dataclass(frozen=True, slots=True)
class AnsweredColumn:
    """A column of a released answer; ``noisy``: its values were measured, and are no keys. ``range`` is where they lie
    whatever the data, dates in days; None where nothing says so."""

    name: str
    type: Type
    noisy: bool
    range: Interval | None = None


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """The rows of a query that was asked before, as everybody may see them.

    Guarantee: whatever the ``rows`` are, a statement that reads them has the same columns and releases: they are values
    of which nothing but the type and the range is known, so that it can be planned, and refused, before anything was
    paid for. ``groups`` is how many its release declares, None where none are: people who are joined with several rows
    are clipped by that.

    >>> from rewriter.declared import DOUBLE
    >>> EarlierAnswer((AnsweredColumn("a", DOUBLE, True),), (), 1).unknown.rows
    ((None,),)
    """

    columns: tuple[AnsweredColumn, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    groups: int | None

    @property
    def unknown(self) -> EarlierAnswer:
        """The same as long as nothing is released: one row of which nothing is known."""
        return EarlierAnswer(self.columns, ((None,) * len(self.columns),), self.groups)
