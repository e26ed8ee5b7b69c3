"""What an owner sees of the ledger: how the budget burns down, who spent it, on what and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import Accountant, PrivacyLoss
from dpsql.console.charts import burn_down
from dpsql.ledger import Charge, Ledger, Order, Standing
from dpsql.policy import Policy
from dpsql.price_text import loss, part_left, percent, renewal
from dpsql.releases import up

LATEST = 100
MOST_CHARGES = 1_000_000


@dataclass(frozen=True, slots=True)
class SpentBy:
    """A part of the charges: its name, how many they are, and which part of the budget, in words and in per cent."""

    name: str
    charges: int
    used: str
    part: int
    limit: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class OwnBudget:
    """A declared total, of all time or of a window."""

    declared: str
    used: str
    left: str
    statements: int
    part_left: int
    renews: str


@dataclass(frozen=True, slots=True)
class AnalystControl:
    """An analyst as an owner may pause or limit them. ``share``: the ε of it, nothing where there is none."""

    name: str
    paused: bool
    share: str
    ordered: bool
    """Whether the share is an owner's order and not the policy's."""


@dataclass(frozen=True, slots=True)
class OwnerFigures:
    budgets: tuple[OwnBudget, ...]
    accounting: str
    charges: int
    burning: str
    analysts: tuple[SpentBy, ...]
    tables: tuple[SpentBy, ...]
    days: tuple[SpentBy, ...]
    controls: tuple[AnalystControl, ...]
    latest: tuple[tuple[str, str, str, str, str], ...]
    """When, who, at which price, of which tables, and the statement."""


def owner_figures(policy: Policy, ledger: Ledger) -> OwnerFigures:
    """Parts are parts of the budget of all time where one is declared, else of that of this window."""
    written = sorted(ledger.charges(limit=MOST_CHARGES), key=lambda charge: charge.time)
    charges = [charge for charge in written if charge.loss or Order.of(charge.statement) is None]
    totals = ledger.standings()
    whole = totals[-1]
    recent = [charge for charge in charges if whole.counts(charge)]
    return OwnerFigures(
        budgets=tuple(_budget(policy, one) for one in totals),
        accounting=policy.budget.accounting,
        charges=len(charges),
        burning=burn_down(_burning(recent, whole.accountant)),
        analysts=tuple(_analysts(policy, ledger, recent, whole.accountant)),
        tables=_by(recent, lambda charge: charge.tables, whole.accountant),
        days=_by(recent, lambda charge: (f"{charge.time:%Y-%m-%d}",), whole.accountant)[::-1][:60],
        controls=tuple(_controls(policy, ledger, written)),
        latest=tuple(
            (
                f"{charge.time:%Y-%m-%d %H:%M}",
                charge.analyst,
                f"{percent(_part(charge.loss, whole.accountant))} ({loss(charge.loss)})",
                ", ".join(charge.tables),
                charge.statement,
            )
            for charge in written[::-1][:LATEST]
        ),
    )


def _budget(policy: Policy, one: Standing) -> OwnBudget:
    limit = one.accountant
    used = one.spent.part_of(limit.limit)
    when = f"for {limit.each}" if limit.each else "for ever"
    each = limit.price(policy.statement.epsilon, Fraction(0))
    return OwnBudget(
        declared=f"ε = {float(limit.epsilon):g}, δ = {float(limit.delta):g} {when}",
        used=f"{percent(float(used))} (ε = {up(limit.epsilon_of(one.spent))})",
        left=part_left(used),
        statements=limit.statements_left(one.spent, each),
        part_left=max(0, 100 - round(100 * float(used))),
        renews="" if one.renews is None else renewal(limit.per, one.renews),
    )


def _burning(charges: Sequence[Charge], whole: Accountant) -> list[tuple[float, str, float]]:
    """Which part was spent after each charge, of at most 400 places."""
    found, so_far = [], PrivacyLoss()
    every = max(1, len(charges) // 400)
    for at, charge in enumerate(charges):
        so_far += charge.loss
        if at % every == 0 or at == len(charges) - 1:
            found.append((charge.time.timestamp(), f"{charge.time:%Y-%m-%d %H:%M}", _part(so_far, whole)))
    return found


def _analysts(policy: Policy, ledger: Ledger, charges: Sequence[Charge], whole: Accountant) -> Iterable[SpentBy]:
    for name in analysts_of(policy, charges):
        own = [charge for charge in charges if charge.analyst == name]
        shares = ledger.standings(name)
        for one in shares:
            limit, used = one.accountant, one.spent.part_of(one.accountant.limit)
            of = f"ε = {float(limit.epsilon):g}" + (f" for {limit.each}" if limit.each else "")
            yield SpentBy(name, len(own), percent(float(used)), _hundred(float(used)), of, part_left(used))
        if not shares:
            used = _sum(own).part_of(whole.limit)
            yield SpentBy(name, len(own), percent(float(used)), _hundred(float(used)), "the total", "the total's")


def analysts_of(policy: Policy, charges: Iterable[Charge]) -> list[str]:
    """Whom a policy names, and who has paid for anything."""
    return sorted({*(policy.analysts or {}), *(charge.analyst for charge in charges)})


def _controls(policy: Policy, ledger: Ledger, charges: Iterable[Charge]) -> Iterable[AnalystControl]:
    orders = ledger.orders()
    for name in analysts_of(policy, charges):
        share = orders.limits.get(name, ())
        written = f"{float(share[0].epsilon):g}" if share else ""
        yield AnalystControl(name, name in orders.paused, written, name in orders.shares)


def _by(charges: Sequence[Charge], names: Callable[[Charge], Iterable[str]], whole: Accountant) -> tuple[SpentBy, ...]:
    groups: dict[str, list[Charge]] = {}
    for charge in charges:
        for name in names(charge):
            groups.setdefault(name, []).append(charge)
    return tuple(
        SpentBy(name, len(own), percent(used), _hundred(used))
        for name, own in sorted(groups.items())
        for used in (_part(_sum(own), whole),)
    )


def _part(spent: PrivacyLoss, whole: Accountant) -> float:
    return float(spent.part_of(whole.limit))


def _hundred(part: float) -> int:
    return min(100, round(100 * part))


def _sum(charges: Iterable[Charge]) -> PrivacyLoss:
    return sum((charge.loss for charge in charges), start=PrivacyLoss())
