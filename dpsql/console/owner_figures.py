"""What an owner sees of the ledger: how the budget burns down, who spent it, on what and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import ACCOUNTINGS, Accountant, Accounting, PrivacyLoss
from dpsql.console.charts import burn_down
from dpsql.ledger import Charge
from dpsql.policy import Policy
from dpsql.price_text import loss
from dpsql.releases import down, up

LATEST = 100


@dataclass(frozen=True, slots=True)
class SpentBy:
    """A part of the charges: its name, how many they are, ε alone, and that as a part of the budget in per cent."""

    name: str
    charges: int
    spent: str
    part: int
    limit: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class OwnerFigures:
    epsilon: str
    delta: str
    accounting: str
    spent: str
    left: str
    part: int
    statements_left: int
    charges: int
    burning: str
    analysts: tuple[SpentBy, ...]
    tables: tuple[SpentBy, ...]
    days: tuple[SpentBy, ...]
    latest: tuple[tuple[str, str, str, str, str], ...]
    """When, who, at which price, of which tables, and the statement."""


def owner_figures(policy: Policy, charges: Sequence[Charge]) -> OwnerFigures:
    """ε is what charges amount to at the declared δ, so that parts add up to more than the whole."""
    accounting = ACCOUNTINGS[policy.budget.accounting]
    total = Accountant(accounting, policy.budget.epsilon, policy.budget.delta)
    ordered = sorted(charges, key=lambda charge: charge.time)
    spent = _sum(ordered)
    gone, whole = total.epsilon_of(spent), float(total.epsilon)
    return OwnerFigures(
        epsilon=f"{whole:g}",
        delta=f"{float(total.delta):g}",
        accounting=policy.budget.accounting,
        spent=up(gone),
        left=down(max(0.0, whole - gone)),
        part=_part(gone, whole),
        statements_left=total.statements_left(spent, total.price(policy.statement.epsilon, Fraction(0))),
        charges=len(ordered),
        burning=burn_down(whole, _burning(ordered, total)),
        analysts=tuple(_analysts(policy, ordered)),
        tables=_by(ordered, lambda charge: charge.tables, total),
        days=_by(ordered, lambda charge: (f"{charge.time:%Y-%m-%d}",), total)[::-1][:60],
        latest=tuple(
            (
                f"{charge.time:%Y-%m-%d %H:%M}",
                charge.analyst,
                _price(charge.loss, accounting),
                ", ".join(charge.tables),
                charge.statement,
            )
            for charge in ordered[::-1][:LATEST]
        ),
    )


def _price(paid: PrivacyLoss, accounting: Accounting) -> str:
    epsilon = accounting.statement_epsilon(paid)
    return f"ε = {float(epsilon):.6g}" if epsilon else loss(paid)


def _burning(charges: Sequence[Charge], total: Accountant) -> list[tuple[float, str, float]]:
    """What was spent after each charge, of at most 400 places."""
    found, so_far = [], PrivacyLoss()
    every = max(1, len(charges) // 400)
    for at, charge in enumerate(charges):
        so_far += charge.loss
        if at % every == 0 or at == len(charges) - 1:
            found.append((charge.time.timestamp(), f"{charge.time:%Y-%m-%d %H:%M}", total.epsilon_of(so_far)))
    return found


def _analysts(policy: Policy, charges: Sequence[Charge]) -> Iterable[SpentBy]:
    declared = dict(policy.analysts or {})
    for name in sorted({*declared, *(charge.analyst for charge in charges)}):
        share = declared[name].budget if name in declared else None
        epsilon = policy.budget.epsilon if share is None else share.epsilon
        limit = Accountant(ACCOUNTINGS[policy.budget.accounting], epsilon, policy.budget.delta)
        own = [charge for charge in charges if charge.analyst == name]
        gone, whole = limit.epsilon_of(_sum(own)), float(epsilon)
        shown = (f"{whole:g}", down(max(0.0, whole - gone))) if share else ("the total", "the total's")
        yield SpentBy(name, len(own), up(gone), _part(gone, whole), *shown)


def _by(charges: Sequence[Charge], names: Callable[[Charge], Iterable[str]], limit: Accountant) -> tuple[SpentBy, ...]:
    groups: dict[str, list[Charge]] = {}
    for charge in charges:
        for name in names(charge):
            groups.setdefault(name, []).append(charge)
    whole = float(limit.epsilon)
    return tuple(
        SpentBy(name, len(own), up(gone), _part(gone, whole))
        for name, own in sorted(groups.items())
        for gone in (limit.epsilon_of(_sum(own)),)
    )


def _part(gone: float, whole: float) -> int:
    return min(100, round(100 * gone / whole))


def _sum(charges: Iterable[Charge]) -> PrivacyLoss:
    return sum((charge.loss for charge in charges), start=PrivacyLoss())
