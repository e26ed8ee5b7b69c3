"""What came of a query of the battery, and the tables that a person reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from dpsql.accounting.loss import PrivacyLoss

from .written import Written


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answered query, or why it was refused.

    ``groups`` are those that were listed, and those that there are without LIMIT and HAVING; ``error`` is the median of
    |answer - truth| / |truth| over the cells listed that have a truth other than 0, ``errors`` that of each column;
    times are medians in milliseconds.
    """

    query: Written
    refused: str = ""
    price: PrivacyLoss = field(default_factory=PrivacyLoss)
    groups: tuple[int, int] = (0, 0)
    error: float = math.nan
    errors: Mapping[str, float] | None = None
    raw: float = math.nan
    whole: float = math.nan

    def as_json(self) -> dict[str, object]:
        found: dict[str, object] = {"query": self.query.name, "unit": self.query.unit, "adapted": self.query.adapted}
        if self.refused:
            return found | {"refused": self.refused, "better": self.query.better}
        return found | {
            "rho": float(self.price.rho),
            "delta": float(self.price.delta),
            "groups": list(self.groups),
            "error": self.error,
            "errors": dict(self.errors or {}),
            "raw_ms": self.raw,
            "whole_ms": self.whole,
        }


def show(scale: float, outcomes: Sequence[Outcome], forms: Sequence[Outcome], console: Console) -> None:
    answered = [outcome for outcome in outcomes if not outcome.refused]
    refused = [outcome for outcome in (*outcomes, *forms) if outcome.refused]
    table = Table(
        title=f"TPC-H at scale {scale:g}: {len(answered)} of {len(outcomes)} queries are answered; errors at ε = 1",
        title_justify="left",
    )
    for heading in ("", "query", "people", "price"):
        table.add_column(heading)
    for heading in ("groups", "median error", "DuckDB ms", "dpsql ms", "ratio"):
        table.add_column(heading, justify="right")
    for outcome in outcomes:
        query = outcome.query
        if outcome.refused:
            table.add_row(query.name, query.title, query.unit, "refused")
        else:
            times = (f"{outcome.raw:.0f}", f"{outcome.whole:.0f}", f"{outcome.whole / outcome.raw:.1f}×")
            shown, there = outcome.groups
            row = (_price(outcome.price), f"{shown} of {there}" if query.keys else "", _error(outcome.error), *times)
            table.add_row(query.name, query.title, query.unit, *row)
    console.print(table)
    reasons = Table(title="Refused, and what could answer it", title_justify="left", show_lines=True)
    for heading in ("", "query", "reason", "a better rewriter"):
        reasons.add_column(heading)
    for outcome in refused:
        reasons.add_row(outcome.query.name, outcome.query.title, outcome.refused, outcome.query.better)
    console.print(reasons)


def _price(price: PrivacyLoss) -> str:
    """
    >>> from fractions import Fraction
    >>> _price(PrivacyLoss(rho=Fraction(1, 2), delta=Fraction(1, 10**9)))
    'ρ = 0.5, δ = 1e-09'
    """
    return f"ρ = {float(price.rho):.3g}" + (f", δ = {float(price.delta):.2g}" if price.delta else "")


def _error(error: float) -> str:
    """
    >>> _error(0.0123), _error(0.00012), _error(2.5)
    ('1.2 %', '0.012 %', '250 %')
    """
    return f"{float(f'{100 * error:.2g}'):g} %"
