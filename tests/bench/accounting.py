"""``python -m tests.bench accounting``: how many statements of a mixed day each way of accounting admits.

A day goes round and round: counts and means by declared groups, by groups that are selected under δ, a watch, and a
regression, each at its price. Prices are those of the product's own accountings, and admitted is what their filters
admit, charge by charge; no data is read. ``trained`` charges a thousand steps of Gaussian noise over people of whom a
hundredth is in each by a secret coin (Mironov, Talwar, Zhang 2019): ρ has no word for the coin.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from dpsql.accounting import ACCOUNTINGS, RDP, ZCDP, Accountant, PrivacyLoss
from dpsql.accounting.curves import subsampled
from dpsql.mechanisms import AboveThreshold

DELTA = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True)
class Asked:
    """One kind of statement in a day: its price, whether it selects groups, and whether it is a watch."""

    name: str
    epsilon: Fraction
    selects: bool = False
    watched: bool = False

    def price(self, accountant: Accountant, selection: Fraction) -> PrivacyLoss | None:
        """None where this accounting does not answer it."""
        if self.watched:
            return AboveThreshold.price(accountant.accounting, self.epsilon, one_way=True)
        if self.selects and not accountant.accounting.takes_delta:
            return None
        return accountant.price(self.epsilon, accountant.accounting.delta(selection, selects=self.selects))


def day(epsilon: Fraction, watch: Fraction) -> tuple[Asked, ...]:
    """Ten statements, and a watch."""
    counts = tuple(Asked("count", epsilon) for _ in range(6))
    selected = (Asked("selected", epsilon, selects=True),) * 2
    return (
        *counts,
        *selected,
        Asked("regression", 2 * epsilon),
        Asked("quantile", epsilon),
        Asked("watch", watch, watched=True),
    )


def admitted(accountant: Accountant, asked: tuple[Asked, ...], selection: Fraction) -> tuple[int, int]:
    """How many statements fit until the first is refused, and how many were not answered at all on the way."""
    spent, count, unanswered = PrivacyLoss(), 0, 0
    for one in itertools.cycle(asked):
        price = one.price(accountant, selection)
        if price is None:
            unanswered += 1
        elif accountant.fits(spent, price):
            spent, count = spent + price, count + 1
        else:
            return count, unanswered
    raise AssertionError


DAYS: Mapping[str, tuple[Fraction, Fraction]] = {
    "all at ε = 0.1": (Fraction(1, 10), Fraction(1, 10)),
    "ε = 0.1, watches at 1": (Fraction(1, 10), Fraction(1)),
    "all at ε = 0.5": (Fraction(1, 2), Fraction(1, 2)),
    "ε = 0.02, watches at 0.5": (Fraction(1, 50), Fraction(1, 2)),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench accounting", description=__doc__)
    parser.parse_args()
    table = Table("total", "day", *ACCOUNTINGS)
    for total in (Fraction(1), Fraction(10)):
        for name, (epsilon, watch) in DAYS.items():
            cells = []
            for accounting in ACCOUNTINGS.values():
                accountant = Accountant(accounting, total, DELTA if accounting.takes_delta else Fraction(0))
                count, unanswered = admitted(accountant, day(epsilon, watch), DELTA / 1000)
                cells.append(f"{count:,}" + (f" ({unanswered:,} not answered)" if unanswered else ""))
            table.add_row(f"ε = {float(total):g}", name, *cells)
    console = Console()
    console.print(table)
    rho, steps = Fraction(1, 2), 1000
    trained = PrivacyLoss(curve=subsampled(Fraction(1, 100), rho)) * steps
    for name, price in (
        ("by rdp", RDP.alone(trained, DELTA)),
        ("by zcdp", ZCDP.alone(PrivacyLoss(rho=rho * steps), DELTA)),
    ):
        assert price is not None
        console.print(f"{steps:,} steps of noise 1 over a hundredth of the people, {name}: ε = {float(price[0]):.3g}")
