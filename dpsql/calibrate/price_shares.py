"""How a statement's price is divided among the releases of a family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dpsql.accounting import Accounting, PrivacyLoss
from rewriter.front_door import Family
from rewriter.plan import Plan
from rewriter.release import aggregate_name

_UNKNOWN_CELLS = 100
"""What a selected key set counts for where a price is divided: its groups are known only when it was paid."""

MARGINAL = Fraction(1, 10)
"""The part of the price of a family's numbers of rows for each marginal that is measured beside it, and ``_MARGINALS``
for all of them."""

_MARGINALS = Fraction(3, 10)

_NUMBER = Fraction(1, 3)
"""The part for a number of groups, where variances go with the square of ε; a tenth where they go with ρ."""

_PRECISION = 1 << 10

_TOKEN = _PRECISION >> 8


def shares(
    price: PrivacyLoss, families: Sequence[Family], plans: Sequence[Plan], accounting: Accounting
) -> tuple[PrivacyLoss, ...]:
    """Each measurement's share of the price; they add up to it exactly, what is measured twice being paid once.

    Families share equally; of what a family pays for its numbers of rows, a tenth is the share of each marginal beside
    it, and no more than three tenths that of all of them; a number of groups may have a third. Within one, the weights
    minimise the sum of all cells' variances: ρ goes with √cells, ε with the cube root of cells, before least squares
    makes the answer better still. Under pure ε, where the noise of many shares grows with their square, all but a token
    goes to the finest groups if adding them up is more accurate.

    >>> from dpsql.accounting import ZCDP
    >>> plans = [Plan(str(n), "duckdb", (), (), (), None, n) for n in (1, 100)]
    >>> halves = shares(PrivacyLoss(rho=Fraction(11)), [Family((0, 1), ((), (0,)))], plans, ZCDP)
    >>> [int(share.rho) for share in halves]
    [1, 10]
    """
    result = [PrivacyLoss()] * len(plans)
    parts = _parts(families, plans, accounting)
    for family, part in zip(families, parts, strict=True):
        own = price * part
        weights = {plans[place].identity: _weight(plans[place].cells, accounting) for place in family.measurements}
        if accounting.prefers_finest and (finest := _finest(family, plans)) is not None:
            weights = {identity: _PRECISION if identity == finest else _TOKEN for identity in weights}
        total = sum(weights.values())
        for place in family.measurements:
            result[place] = own * Fraction(weights[plans[place].identity], total)
    return tuple(result)


def marginals_above(accounting: Accounting) -> int:
    """How many groups the other keys have where a marginal has the noise of the sums over them; of more, less.

    A sum of n groups has n times their variance, a marginal ten times where variances go with ρ, and a hundred times
    where they go with the square of ε.

    >>> from dpsql.accounting import PURE, ZCDP
    >>> marginals_above(ZCDP), marginals_above(PURE)
    (10, 100)
    """
    times = 1 / MARGINAL
    return int(times if accounting.concentrated else times**2)


def _parts(families: Sequence[Family], plans: Sequence[Plan], accounting: Accounting) -> list[Fraction]:
    """The part of the price of each family; they add up to 1."""
    asked = sum(family.beside is None for family in families)
    beside = Counter(family.beside for family in families if family.beside is not None)
    found = [Fraction(1, asked) if family.beside is None else Fraction(0) for family in families]
    for number, family in enumerate(families):
        if family.beside is not None:
            part = min(MARGINAL, _MARGINALS / beside[family.beside])
            if not family.keys[0] and not accounting.concentrated:
                part = _NUMBER
            found[number] = part * _of_rows(plans[families[family.beside].measurements[0]], family.counted) / asked
            found[family.beside] -= found[number]
    return found


def _of_rows(plan: Plan, counted: int) -> Fraction:
    """The part of a plan's price that pays for the numbers of rows, its output at a place."""
    rows = next(one.estimator for one in plan.outputs if one.name == aggregate_name(counted))
    names = set(rows.statistics)
    own = sum(block.weight for block in plan.blocks if names & {one.name for one in block.statistics})
    return Fraction(own, sum(block.weight for block in plan.blocks) + sum(one.size for one in plan.choices))


def _finest(family: Family, plans: Sequence[Plan]) -> str | None:
    """The measurement that all others are sums of, where measuring it alone is clearly better than sharing.

    With a share ε of the whole, n cells have 2n/ε² of variance; a set of c cells that is added up from n has n cells'
    noise in all. Least squares gains something on what is shared: that is what the margin leaves room for.
    """
    cells = {plans[place].identity: plans[place].cells or 0 for place in family.measurements}
    place, keys = max(zip(family.measurements, family.keys, strict=True), key=lambda member: len(member[1]))
    others = zip(family.measurements, family.keys, strict=True)
    sums = plans[place].sums
    if not all(plans[one].exhaustive and plans[one].sums == sums and set(some) <= set(keys) for one, some in others):
        return None
    if any(plans[other].choices for other in family.measurements):
        return None  # Quantiles of groups say little of those of all rows.
    alone = len(cells) * cells[plans[place].identity]
    return plans[place].identity if alone < 0.8 * sum(count ** (1 / 3) for count in cells.values()) ** 3 else None


def _weight(cells: int | None, accounting: Accounting) -> int:
    known = max(1, _UNKNOWN_CELLS if cells is None else cells)
    return max(1, round(known**accounting.cells_power * _PRECISION)) if known > 1 else _PRECISION
