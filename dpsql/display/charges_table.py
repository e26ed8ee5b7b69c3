"""The owner's proofs of the ledger: whether it is sound, and all of it in a form that other programs read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence

from dpsql.accounting import PrivacyLoss
from dpsql.ledger import EVERYBODY, Charge, Limits, decimal
from dpsql.price_text import loss
from dpsql.releases import up


def faults(charges: Sequence[Charge], limits: Limits) -> Iterator[str]:
    """Faults of charges that were read one by one. Opening the ledger has already compared its totals with their sums.

    Losses are never negative, so that the sum of all charges is the largest there ever was.
    """
    if len({charge.id for charge in charges}) < len(charges):
        yield "two charges have one id"
    sums: dict[str, PrivacyLoss] = {EVERYBODY: PrivacyLoss()}
    for charge in charges:
        for name in (EVERYBODY, charge.analyst):
            sums[name] = sums.get(name, PrivacyLoss()) + charge.loss
    for name, limit in limits.items():
        if not limit.fits(sums.get(name, PrivacyLoss()), PrivacyLoss()):
            whose = "all that is spent" if name == EVERYBODY else f"what {name} has spent"
            yield f"{whose} is above what the policy declares by now"


def summary(place: str, identity: str, charges: Sequence[Charge], spent: PrivacyLoss, limits: Limits) -> str:
    """What was found sound, in three lines. ``charges`` are the newest first."""
    when = f", {charges[-1].time:%Y-%m-%d %H:%M} to {charges[0].time:%Y-%m-%d %H:%M} UTC" if charges else ""
    limit = limits[EVERYBODY]
    return (
        f"{place}, identity {identity}\n"
        f"{len(charges)} charges{when}: no id twice, none missing, totals are their sums\n"
        f"Spent: ε = {up(limit.epsilon_of(spent))} ({loss(spent)}), within ε = {float(limit.epsilon):g}, "
        f"δ = {float(limit.delta):g}"
    )


FIELDS = ("number", "id", "time", "analyst", "epsilon", "rho", "delta", "tables", "statement")


def as_json_lines(charges: Sequence[Charge]) -> str:
    """One object per charge, the oldest first; losses are texts with all their digits."""
    return "".join(f"{json.dumps(dict(zip(FIELDS, row, strict=True)), ensure_ascii=False)}\n" for row in _rows(charges))


def charges_as_csv(charges: Sequence[Charge]) -> str:
    """The same as a table; tables are divided by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([*row[:7], " ".join(row[7]), row[8]] for row in _rows(charges))
    return out.getvalue()


def _rows(charges: Sequence[Charge]) -> Iterator[tuple[int, str, str, str, str, str, str, tuple[str, ...], str]]:
    for number, one in enumerate(reversed(charges), start=1):
        parts = decimal(one.loss.epsilon), decimal(one.loss.rho), decimal(one.loss.delta)
        yield number, one.id, one.time.isoformat(), one.analyst, *parts, one.tables, one.statement
