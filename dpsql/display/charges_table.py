"""The owner's proofs of the ledger: whether it is sound, and all of it in a form that other programs read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.ledger import EVERYBODY, Charge, Limits, decimal, spent_by_time
from dpsql.price_text import loss
from dpsql.releases import up


def faults(charges: Sequence[Charge], limits: Limits) -> Iterator[str]:
    """Faults of charges that were read one by one. Opening the ledger has already compared its totals with their sums.

    Losses are never negative, so that the sum of all charges is the largest there ever was.
    """
    if len({charge.id for charge in charges}) < len(charges):
        yield "two charges have one id"
    for name, filters in limits.items():
        whose = "all that is spent" if name == EVERYBODY else f"what {name} has spent"
        for limit in filters:
            for began, spent in _windows(charges, name, limit).items():
                if not limit.fits(spent, PrivacyLoss()):
                    where = "of the rows of" if limit.of_rows else "in"
                    when = "" if limit.per is None else f" {where} the {limit.per} from {limit.per.shown(began)}"
                    yield f"{whose}{when} is above what the policy declares by now"


_EVER = datetime.min.replace(tzinfo=UTC)


def _windows(charges: Sequence[Charge], name: str, limit: Accountant) -> dict[datetime, PrivacyLoss]:
    """What everybody, or one analyst, has spent in each window; of blocks, from each time at which that changes."""
    own = [charge for charge in charges if name in (EVERYBODY, charge.analyst)]
    if limit.of_rows:
        return {span.begin: spent for span, spent in spent_by_time((one.span, one.loss) for one in own) if spent}
    sums: dict[datetime, PrivacyLoss] = {}
    for charge in own:
        began = _EVER if limit.per is None else limit.per.begin(charge.time)
        sums[began] = sums.get(began, PrivacyLoss()) + charge.loss
    return sums


def summary(place: str, identity: str, charges: Sequence[Charge], spent: PrivacyLoss, limits: Limits) -> str:
    """What was found sound, in three lines. ``charges`` are the newest first."""
    when = f", {charges[-1].time:%Y-%m-%d %H:%M} to {charges[0].time:%Y-%m-%d %H:%M} UTC" if charges else ""
    lines = [
        f"{place}, identity {identity}",
        f"{len(charges)} charges{when}: no id twice, none missing, totals are their sums",
    ]
    for limit in limits[EVERYBODY]:
        within = f"within ε = {float(limit.epsilon):g}, δ = {float(limit.delta):g}"
        if limit.per is None:
            lines.append(f"Spent: ε = {up(limit.epsilon_of(spent))} ({loss(spent)}), {within}")
        else:
            windows = _windows(charges, EVERYBODY, limit).values()
            most = max((limit.epsilon_of(one) for one in windows), default=0.0)
            each = f"of the rows of each {limit.per}" if limit.of_rows else f"in each {limit.per} of {len(windows)}"
            lines.append(f"Spent: at most ε = {up(most)} {each}, {within}")
    return "\n".join(lines)


FIELDS = ("number", "id", "time", "analyst", "epsilon", "rho", "delta", "tables", "statement", "curve", "rows")


def as_json_lines(charges: Sequence[Charge]) -> str:
    """One object per charge, the oldest first; losses are texts with all their digits, and curves lists of them."""
    return "".join(f"{json.dumps(dict(zip(FIELDS, row, strict=True)), ensure_ascii=False)}\n" for row in _rows(charges))


def charges_as_csv(charges: Sequence[Charge]) -> str:
    """The same as a table; tables, and the divergences of a curve, are divided by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([*row[:7], " ".join(row[7]), row[8], " ".join(row[9]), row[10]] for row in _rows(charges))
    return out.getvalue()


_Texts = tuple[str, ...]
_Row = tuple[int, str, str, str, str, str, str, _Texts, str, _Texts, str]


def _rows(charges: Sequence[Charge]) -> Iterator[_Row]:
    for number, one in enumerate(reversed(charges), start=1):
        epsilon, rho, delta, *curve = map(decimal, one.loss.parts)
        parts = epsilon, rho, delta
        told = one.tables, one.statement, tuple(curve), str(one.span)
        yield number, one.id, one.time.isoformat(), one.analyst, *parts, *told
