"""How a number, an error bar, a privacy loss and a table look.

Numbers are written to the precision that their error bars give them: more digits would be noise. No value is
ever cut short, and a text from a database cannot move the cursor of a terminal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from rich import box
from rich.table import Table
from rich.text import Text

from dpsql.accountant import alone
from dpsql.loss import PrivacyLoss
from dpsql.reply import Budget
from rewriter.types import Scalar

Cell = Scalar | None


def places(margin: float) -> int:
    """Decimal places that show a margin to two digits.

    >>> places(0.314), places(24.0), places(6120.0)
    (2, 0, 0)
    """
    return max(0, 1 - math.floor(math.log10(margin)))


def cell(value: Cell, margin: float | None = None) -> str:
    """A value as a person reads it; a measured number is rounded to its margin, with thousands set apart.

    >>> cell(76.234172, 0.314), cell(2414202, 61234.0), cell(2024), cell(None), cell(0.30000000000000004)
    ('76.23', '2,414,202', '2024', 'NULL', '0.3')
    >>> cell(chr(27) + "[2J")
    '\\\\x1b[2J'
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return _number(value, margin)
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in value)
    return str(value)


def _number(value: float | Decimal, margin: float | None) -> str:
    if not math.isfinite(value):
        return str(value)
    if margin is None or not math.isfinite(margin):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, int) or margin <= 0:
        return f"{value:,}"
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    step = Decimal(1).scaleb(-places(margin))
    return f"{exact.quantize(step, rounding=ROUND_HALF_EVEN):,}"


def bar(margin: float, whole: bool = False) -> str:
    """A margin to two digits, never understated; for a whole number, to a whole number.

    >>> bar(0.3141), bar(6120.4), bar(12.2, whole=True), bar(0.0)
    ('0.32', '6,200', '13', '0')
    """
    if margin <= 0 or not math.isfinite(margin):
        return f"{margin:g}"
    digits = 1 - math.floor(math.log10(margin))
    step = Decimal(1).scaleb(-(min(digits, 0) if whole else digits))
    rounded = Decimal(repr(margin)).quantize(step, rounding=ROUND_CEILING)
    return f"{rounded:,f}"


def column(values: Sequence[Cell], margins: Sequence[float | None]) -> list[str]:
    """The cells of one column, values and error bars each in line.

    >>> column([2133, 12], [24.0, 6.5])
    ['2,133 ± 24', '   12 ±  7']
    """
    texts = [cell(value, margin) for value, margin in zip(values, margins, strict=True)]
    bars = [
        "" if margin is None or value is None else bar(margin, isinstance(value, int))
        for value, margin in zip(values, margins, strict=True)
    ]
    if not any(bars):
        return texts
    wide, high = max(map(len, texts)), max(map(len, bars))
    return [
        f"{text:>{wide}} ± {margin:>{high}}" if margin else f"{text:>{wide}}   {'':>{high}}"
        for text, margin in zip(texts, bars, strict=True)
    ]


def grid(headers: Sequence[str], columns: Sequence[Sequence[str]], right: Sequence[bool]) -> Table:
    """A plain table of texts; long cells are folded, never cut."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for header, flush in zip(headers, right, strict=True):
        table.add_column(Text(header), justify="right" if flush else "left", overflow="fold")
    for row in zip(*columns, strict=True):
        table.add_row(*(Text(text) for text in row))
    return table


def left_over(epsilon: float, statements: int) -> str:
    """What is left, rounded down.

    >>> left_over(9.87654, 40)
    'ε = 9.876, or 40 statements at the default price'
    """
    return f"ε = {down(epsilon)}, or {statements} statement{'' if statements == 1 else 's'} at the default price"


def down(epsilon: float) -> str:
    """Budget that is left, to three places, never overstated.

    >>> down(9.87654), down(0.0)
    ('9.876', '0.000')
    """
    return f"{math.floor(epsilon * 1000) / 1000:.3f}"


def up(epsilon: float) -> str:
    """Budget that is spent, to three places, never understated.

    >>> up(0.12301)
    '0.124'
    """
    return f"{math.ceil(epsilon * 1000) / 1000:.3f}"


def by_itself(price: PrivacyLoss, delta: Fraction) -> str:
    """What a price promises if it is the only one ever paid, in the words in which other systems state theirs.

    >>> by_itself(PrivacyLoss(rho=Fraction(1, 200)), Fraction(1, 10**6))
    'By itself this statement is (0.430, 1e-06)-differentially private.'
    >>> by_itself(PrivacyLoss(epsilon=Fraction(1)), Fraction(0))
    'By itself this statement is (1.000, 0)-differentially private.'
    """
    if price.rho and price.delta >= delta:
        return "By itself this statement promises nothing: the selection of groups takes all of δ."
    epsilon, whole = alone(price, delta)
    return f"By itself this statement is ({up(float(epsilon))}, {float(whole):g})-differentially private."


def of_budget(price: PrivacyLoss, limit: PrivacyLoss, *, own: bool) -> str:
    """The part of a declared budget that a price takes, rounded up: of that kind of loss of which it takes most.

    >>> of_budget(PrivacyLoss(rho=Fraction(1, 200)), PrivacyLoss(rho=Fraction(3, 2), delta=Fraction(1)), own=False)
    '0.34 % of the total budget'
    >>> of_budget(PrivacyLoss(epsilon=Fraction(1, 3)), PrivacyLoss(epsilon=Fraction(1)), own=True)
    "34 % of this analyst's budget"
    """
    kinds = ((price.epsilon, limit.epsilon), (price.rho, limit.rho), (price.delta, limit.delta))
    whose = "this analyst's" if own else "the total"
    part = max((float(paid / whole) for paid, whole in kinds if paid and whole), default=0.0)
    return f"{_percent(part)} of {whose} budget"


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
    return [f"{verb}: {loss(price, epsilon)}, {part}.", by_itself(price, budget.delta)]


def loss(price: PrivacyLoss, epsilon: Fraction = Fraction(0)) -> str:
    """A privacy loss in its own terms, after the ε of the statement where that is another number.

    >>> loss(PrivacyLoss(rho=Fraction(1, 200), delta=Fraction(1, 10**9)), Fraction(1, 10))
    'ε = 0.1 (ρ = 0.005, δ = 1e-09)'
    """
    parts = [
        f"{letter} = {float(part):.6g}"
        for letter, part in (("ε", price.epsilon), ("ρ", price.rho), ("δ", price.delta))
        if part
    ]
    told = ", ".join(parts) or "nothing"
    return f"ε = {float(epsilon):.6g} ({told})" if epsilon and price.rho else told
