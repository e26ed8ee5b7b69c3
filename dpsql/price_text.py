"""Prices, errors and what is left of a budget, in words."""

from __future__ import annotations

import math
from fractions import Fraction

from dpsql.accounting import ACCOUNTINGS, Accounting, PrivacyLoss
from dpsql.releases import bar, down, up
from dpsql.reply import Answer, Budget
from rewriter.declared import Kind


def left_over(epsilon: float, statements: int) -> str:
    """The rest of a budget, rounded down.

    >>> left_over(9.87654, 40)
    'ε = 9.876, or 40 statements at the default price'
    """
    return f"ε = {down(epsilon)}, or {statements} statement{'' if statements == 1 else 's'} at the default price"


def loss(price: PrivacyLoss, epsilon: Fraction = Fraction(0)) -> str:
    """A privacy loss in its own terms, after the ε of the statement where that is none of them.

    >>> loss(PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**9)), Fraction(1, 10))
    'ε = 0.1 (ρ = 0.005, δ = 1e-09)'
    """
    parts = [f"{letter} = {float(part):.6g}" for letter, part in zip("ερδ", price.parts, strict=True) if part]
    told = ", ".join(parts) or "nothing"
    return f"ε = {float(epsilon):.6g} ({told})" if epsilon and not price.epsilon else told


def price_line(answer: Answer) -> str:
    """The cost of the statement, and the rest of the budget."""
    left = answer.remaining
    paid = price_lines(answer.price, answer.epsilon, left, "Paid") or ["Free."]
    return "\n".join([*paid, f"Left: {left_over(left.left_epsilon, left.statements_left)}."])


_MOST_COLUMNS = 8


def errors_line(answer: Answer) -> str:
    """The error of each measured column, the smallest and the largest of its rows; nothing where none is known.

    >>> from rewriter.declared import BIGINT, DOUBLE
    >>> from dpsql.reply import AnswerColumn
    >>> columns = AnswerColumn("n", BIGINT), AnswerColumn("avg", DOUBLE)
    >>> errors_line(Answer(columns, ((10, 2.5), (20, 3.5)), ((11.0, 0.217), (11.0, 0.31))))
    '95 %: n ± 11, avg ± 0.22 to 0.31'
    """
    found = []
    margins = list(answer.margins)
    for at, column in enumerate(answer.columns):
        known = [width for row in margins if (width := row[at]) is not None and math.isfinite(width)]
        if known:
            whole = column.type.kind is Kind.INTEGER
            least, most = bar(min(known), whole), bar(max(known), whole)
            found.append(f"{column.name} ± {least if least == most else f'{least} to {most}'}")
    more = f" and {len(found) - _MOST_COLUMNS} more" if len(found) > _MOST_COLUMNS else ""
    return f"95 %: {', '.join(found[:_MOST_COLUMNS])}{more}" if found else ""


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


def of_budget(price: PrivacyLoss, limit: PrivacyLoss, *, own: bool) -> str:
    """The part of a declared budget that a price takes, rounded up: of that kind of loss of which it takes most.

    >>> of_budget(PrivacyLoss(rho=Fraction(1, 200)), PrivacyLoss(rho=Fraction(3, 2), delta=Fraction(1)), own=False)
    '0.34 % of the total budget'
    >>> of_budget(PrivacyLoss(epsilon=Fraction(1, 3)), PrivacyLoss(epsilon=Fraction(1)), own=True)
    "34 % of this analyst's budget"
    """
    whose = "this analyst's" if own else "the total"
    return f"{_percent(float(price.part_of(limit)))} of {whose} budget"


def _percent(part: float) -> str:
    """To two digits, rounded up.

    >>> _percent(0.0208), _percent(0.1), _percent(0.9999), _percent(1.2)
    ('2.1 %', '10 %', '100 %', '120 %')
    """
    if not part:
        return "0 %"
    digits = max(0, 1 - math.floor(math.log10(100 * part)))
    return f"{math.ceil(round(100 * part * 10**digits, 6)) / 10**digits:g} %"


def price_lines(price: PrivacyLoss, epsilon: Fraction, budget: Budget, verb: str) -> list[str]:
    """What a statement costs: in its own terms, as a part of the budget, and what it promises alone."""
    if not price:
        return []
    part = of_budget(price, budget.limit, own=budget.own)
    alone = by_itself(price, ACCOUNTINGS[budget.accounting], budget.delta)
    return [f"{verb}: {loss(price, epsilon)}, {part}.", alone]
