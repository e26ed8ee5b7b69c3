"""How many of the ten largest of 1,000 groups are found at ε = 0.1: picked first, and by noising all groups.

The setting: 20,000 people, each of whom is in up to all 1,000 groups, with one row in each; group i is chosen with a
probability ∝ (i + 1)^-0.7, so that the tenth has about 3,800 people and each larger one a few hundred more. Nothing
but what is declared bounds how many groups a person is in: noise on all groups has to hide 1,000 of them in L1, √1,000
in L2, while a pick has to hide one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import PURE, ZCDP, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.calibration import Calibration, calibrate
from dpsql.calibrate.sort_or_pick import ranked
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.perturb import perturb
from dpsql.releases.tables import ExactTable
from rewriter.declared.sensitivity import Sensitivity
from rewriter.declared.types import BIGINT
from rewriter.plan import Block, KeyColumn, Linear, Output, Plan, Statistic, Top

GROUPS, PEOPLE, SHOWN = 1_000, 20_000, 10
_PRICES = {
    ZCDP: PrivacyLoss(rho=Fraction(1, 200)),
    PURE: PrivacyLoss(epsilon=Fraction(1, 10)),
}


@dataclass(frozen=True, slots=True)
class Recall:
    """The part of the true largest groups that an answer has, on average."""

    accounting: Accounting
    picked: float
    sorted: float
    chosen: str
    """Which of the two dpsql answers by: "picked" or "sorted"."""


def recall(accounting: Accounting, trials: int = 50) -> Recall:
    """Both ways at the same price, on the same groups, by the code that answers statements."""
    exact = _groups()
    largest = set(sorted(range(GROUPS), key=lambda place: -exact.statistics["n"][place])[:SHOWN])
    picked, every = (calibrate(_plan(top=top), accounting, _PRICES[accounting]) for top in (True, False))
    chosen = "picked" if ranked([every], [picked]).plan.top is not None else "sorted"
    return Recall(accounting, _found(exact, picked, largest, trials), _found(exact, every, largest, trials), chosen)


def _groups() -> ExactTable:
    draw = random.Random(7)
    chances = [0.95 * (place + 1) ** -0.7 for place in range(GROUPS)]
    counts = tuple(round(draw.gauss(PEOPLE * p, (PEOPLE * p * (1 - p)) ** 0.5)) for p in chances)
    return ExactTable(tuple((place,) for place in range(GROUPS)), {"n": counts})


def _plan(*, top: bool) -> Plan:
    """As the rewriter plans COUNT(*) over a table with max_rows: 1000 and max_rows_per_group: 1."""
    groups = SHOWN if top else GROUPS
    block = Block((Statistic("n", Fraction(1), 1, "COUNT(*)"),), Sensitivity(l1=groups, l2_squared=groups))
    output = Output("a0", BIGINT, Linear((("n", Fraction(1)),), integer=True, minimum=0), "COUNT(*)")
    first = Top("n", "a0", SHOWN, descending=True, reach=1, text="COUNT(*)") if top else None
    return Plan("SELECT …", "duckdb", (KeyColumn("k0", BIGINT, "g"),), (block,), (output,), None, GROUPS, top=first)


def _found(exact: ExactTable, calibration: Calibration, largest: set[int], trials: int) -> float:
    sampler, hits = ExactSampler(), 0
    for _ in range(trials):
        noisy = perturb(exact, calibration, sampler)
        numbers = dict(zip(noisy.keys, noisy.statistics["n"], strict=True))
        shown = sorted(noisy.keys, key=lambda key: -numbers[key])[:SHOWN]
        hits += sum(key[0] in largest for key in shown)
    return hits / (trials * SHOWN)


if __name__ == "__main__":
    for accounting in _PRICES:
        print(recall(accounting))
