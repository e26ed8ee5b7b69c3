"""Prices, errors and what is left of a budget, in words."""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction

from dpsql.accounting import ACCOUNTINGS, ORDERS, Accounting, PrivacyLoss
from dpsql.calendar_unit import CalendarUnit
from dpsql.releases import bar, up
from dpsql.reply import Answer, Budget
from rewriter.declared import Kind


def left_over(budget: Budget) -> str:
    """The rest of a budget, rounded down, and when it is whole again.

    >>> from dpsql.accounting import PURE, Accountant
    >>> of = Accountant(PURE, Fraction(10), Fraction(0))
    >>> left_over(Budget(of.epsilon, of.delta, 0.12, 9.88, 40, "pure", of.limit, used=Fraction(12, 1000)))
    '98.8 % of the total budget, or 40 statements at the default price'
    """
    statements = budget.statements_left
    told = f"{statements} statement{'' if statements == 1 else 's'} at the default price"
    left = f"{part_left(budget.used)} of {budget_name(budget)}, or {told}"
    return f"{left}; it renews on {renewal(budget.per, budget.renews)}" if budget.renews is not None else left


def part_left(used: Fraction | float) -> str:
    """What is left of a whole, rounded down.

    >>> part_left(Fraction(1, 48)), part_left(Fraction(2))
    ('97.9 %', '0 %')
    """
    left = max(Fraction(0), 1 - Fraction(used).limit_denominator(10**12))
    return f"{math.floor(left * 1000) / 10:g} %"


def renewal(per: CalendarUnit | None, when: datetime) -> str:
    return per.shown(when) if per is not None else f"{when:%Y-%m-%d %H:%M} UTC"


def budget_name(budget: Budget) -> str:
    """Whose budget it is, and of which window."""
    whose = "this analyst's" if budget.own else "the total"
    if budget.rows is not None:
        begin, end = budget.rows
        return f"{whose} budget of the rows from {begin:%Y-%m-%d} to {end:%Y-%m-%d}"
    return f"{whose} budget" if budget.per is None else f"{whose} budget of this {budget.per}"


def loss(price: PrivacyLoss) -> str:
    """A privacy loss in its own terms.

    >>> loss(PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**9)))
    'ρ = 0.005, δ = 1e-09'
    >>> loss(ACCOUNTINGS["rdp"].price_of_pure(Fraction(1), Fraction(2)))
    'Rényi divergence 0.735 at order 2 and 0.979 at order 16'
    """
    noise = {"ε": price.epsilon, "ρ": price.rho or line_of(price)}
    parts = [f"{letter} = {float(part):.6g}" for letter, part in noise.items() if part]
    if price.curve and not noise["ρ"]:
        known = dict(zip(ORDERS, price.curve, strict=True))
        divergences = " and ".join(f"{float(known[Fraction(order)]):.3g} at order {order}" for order in _TOLD)
        parts.append(f"Rényi divergence {divergences}")
    if price.delta:
        parts.append(f"δ = {float(price.delta):.6g}")
    return ", ".join(parts) or "nothing"


_TOLD = (2, 16)
"""Orders whose divergences are told where a curve is no line: the others are in the ledger."""


def line_of(price: PrivacyLoss) -> Fraction:
    """The ρ of a curve that is a line, as that of Gaussian noise is; 0 of any other."""
    rhos = {part / order for part, order in zip(price.curve, ORDERS, strict=False)}
    return rhos.pop() if len(rhos) == 1 else Fraction(0)


def price_line(answer: Answer) -> str:
    """The cost of the statement, and the rest of the budget."""
    left = answer.remaining
    paid = price_lines(answer.price, answer.epsilon, left, "Paid") or ["Free."]
    return "\n".join([*paid, f"Left: {left_over(left)}."])


def errors_line(answer: Answer) -> str:
    """The error of each measured column, the smallest and the largest of its rows; ``?`` where one is not known.

    >>> from rewriter.declared import BIGINT, DOUBLE
    >>> from dpsql.reply import AnswerColumn
    >>> columns = AnswerColumn("n", BIGINT), AnswerColumn("avg", DOUBLE)
    >>> errors_line(Answer(columns, ((10, 2.5), (20, 3.5)), ((11.0, 0.217), (11.0, 0.31))))
    '95 %: n ± 11, avg ± 0.22 to 0.31'
    >>> errors_line(Answer(columns, ((10, 2.5), (20, 3.5)), ((math.inf, 0.2), (math.inf, math.inf))))
    '95 %: n ± ?, avg ± 0.20 to ?'
    """
    found = []
    margins = list(answer.margins)
    for at, column in enumerate(answer.columns):
        known = [width for row in margins if (width := row[at]) is not None]
        known += [width for row in answer.items.get(at, ()) for width in row if not math.isnan(width)]
        if known:
            whole = column.type.kind is Kind.INTEGER
            least, most = bar(min(known), whole), bar(max(known), whole)
            found.append(f"{column.name} ± {least if least == most else f'{least} to {most}'}")
    return f"95 %: {', '.join(found)}" if found else ""


def by_itself(price: PrivacyLoss, accounting: Accounting, delta: Fraction) -> str:
    """The guarantee of a price if it is the only one ever paid, in the words of other systems.

    >>> from dpsql.accounting import PURE, ZCDP
    >>> by_itself(PrivacyLoss(rho=Fraction(1, 200)), ZCDP, Fraction(1, 10**6))
    'By itself this statement is (0.430, 1e-06)-differentially private.'
    >>> by_itself(PrivacyLoss(epsilon=Fraction(1)), PURE, Fraction(0))
    'By itself this statement is (1.000, 0)-differentially private.'
    """
    if (promise := accounting.alone(price, delta)) is None:
        return "By itself this statement promises nothing: the selection of groups takes all of δ."
    epsilon, whole = promise
    return f"By itself this statement is ({up(float(epsilon))}, {float(whole):g})-differentially private."


def percent(part: float) -> str:
    """What is spent, or paid, of a whole: to a tenth of a per cent and to two digits at least, rounded up. With
    :func:`part_left`, which is rounded down, it makes a hundred.

    >>> percent(0.0208), percent(0.1231), percent(0.00123), percent(0.9999), percent(1.2)
    ('2.1 %', '12.4 %', '0.13 %', '100 %', '120 %')
    """
    if not part:
        return "0 %"
    digits = max(1, 1 - math.floor(math.log10(100 * part)))
    return f"{math.ceil(round(100 * part * 10**digits, 6)) / 10**digits:g} %"


def price_lines(price: PrivacyLoss, epsilon: Fraction, budget: Budget, verb: str) -> list[str]:
    """What a statement costs: as a part of the budget, as the ε that an analyst sets, and what it promises alone.

    >>> from dpsql.accounting import PURE, Accountant
    >>> of = Accountant(PURE, Fraction(10), Fraction(0))
    >>> budget = Budget(of.epsilon, of.delta, 0.12, 9.88, 40, "pure", of.limit, own=True)
    >>> price_lines(PrivacyLoss(epsilon=Fraction(1)), Fraction(1), budget, "Paid")[0]
    "Paid: 10 % of this analyst's budget (ε = 1)."
    """
    if not price:
        return []
    whole = budget_name(budget)
    if budget.rows is not None:
        whole = f"{whole.partition(' of ')[0]} of each {budget.per} whose rows it is about"
    part = f"{percent(float(price.part_of(budget.limit)))} of {whole}"
    alone = by_itself(price, ACCOUNTINGS[budget.accounting], budget.delta)
    return [f"{verb}: {part} (ε = {float(epsilon):.6g}).", alone]
