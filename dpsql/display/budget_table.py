"""The owner's view of the ledger: what was declared, what is spent, by whom, on which tables, on which days."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.text import Text

from dpsql.accounting import ACCOUNTINGS, Accountant, PrivacyLoss
from dpsql.display.terminal_tables import grid
from dpsql.ledger import Charge
from dpsql.policy import AnalystSection, Policy
from dpsql.price_text import loss
from dpsql.releases import down, up


def accountant(policy: Policy, share: AnalystSection | None = None) -> Accountant:
    """The filter of the declared total, or of one analyst's share of it."""
    budget = policy.budget
    epsilon = budget.epsilon if share is None else share.epsilon
    return Accountant(ACCOUNTINGS[budget.accounting], epsilon, budget.delta)


def budget(policy: Policy, charges: Sequence[Charge]) -> Group:
    """The whole ledger on one screen.

    ε is what charges amount to at the declared δ, so parts add up to the whole under pure accounting alone.
    """
    total = accountant(policy)
    spent = _sum(charges)
    default = total.price(policy.statement.epsilon, Fraction(0))
    gone = total.epsilon_of(spent)
    left = max(0.0, float(total.epsilon) - gone)
    lines = [
        f"Declared: ε = {float(total.epsilon):g}, δ = {float(total.delta):g}, accounting {total.accounting}",
        f"Spent:    ε = {up(gone)} ({loss(spent)}) in {len(charges)} charges",
        f"Left:     ε = {down(left)}, or {total.statements_left(spent, default)} statements at the default price",
    ]
    return Group(
        Text("\n".join(lines)),
        Text(""),
        _analysts(policy, charges),
        Text(""),
        _by("table", charges, lambda charge: charge.tables, total),
        Text(""),
        _by("day", charges, lambda charge: (f"{charge.time:%Y-%m-%d}",), total),
    )


def _analysts(policy: Policy, charges: Sequence[Charge]) -> RenderableType:
    declared = dict(policy.analysts or {})
    names = sorted({*declared, *(charge.analyst for charge in charges)})
    rows = []
    for name in names:
        share = declared[name].budget if name in declared else None
        limit = accountant(policy, share)
        own = [charge for charge in charges if charge.analyst == name]
        spent = limit.epsilon_of(_sum(own))
        left = down(max(0.0, float(limit.epsilon) - spent)) if share else "the total's"
        rows.append((name, str(len(own)), up(spent), f"{float(limit.epsilon):g}" if share else "the total", left))
    columns = [[row[position] for row in rows] for position in range(5)]
    return grid(["analyst", "charges", "spent ε", "share ε", "left ε"], columns, [False, True, True, True, True])


def _by(
    what: str, charges: Sequence[Charge], names: Callable[[Charge], Iterable[str]], limit: Accountant
) -> RenderableType:
    groups: dict[str, list[Charge]] = {}
    for charge in charges:
        for name in names(charge):
            groups.setdefault(name, []).append(charge)
    ordered = sorted(groups)
    columns = [
        ordered,
        [str(len(groups[name])) for name in ordered],
        [up(limit.epsilon_of(_sum(groups[name]))) for name in ordered],
    ]
    return grid([what, "charges", "spent ε"], columns, [False, True, True])


def _sum(charges: Iterable[Charge]) -> PrivacyLoss:
    return sum((charge.loss for charge in charges), start=PrivacyLoss())
