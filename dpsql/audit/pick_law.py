"""The law of what is picked, before anything is drawn: one person moves no candidate further than is paid for.

Quantiles and modes are picked by the exponential mechanism. Between a database and its neighbour, the exponents of a
group's candidates may spread by no more than what the group's part of the person pays for, weighed in exact fractions
(Dong, Durfee, Rogers 2020: the range of the mechanism); what is paid in all groups together is what is charged.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from fractions import Fraction

from dpsql.audit.neighbour_law import MovedTooFar
from dpsql.mechanisms.quantiles import Commonest, Exponential, Quantile, TooFar, together, unit_weight
from dpsql.releases import Key, Rank
from rewriter.plan import Choice, Plan

RanksByGroup = Mapping[Key, Sequence[Rank]]

PRICES = (Fraction(1, 2), Fraction(4), Fraction(64))
"""The ε at which picks are weighed: the cap of distances and the window depend on it."""


def compare_picks(
    plan: Plan, here: Mapping[str, RanksByGroup], there: Mapping[str, RanksByGroup], keys: Container[Key]
) -> float:
    """Check all that a plan picks from against a neighbour's. Answers the largest share of a price that was used; 0
    where nothing is picked. ``keys`` are the groups of the table. Raises :class:`MovedTooFar`.
    """
    shares = [0.0]
    for choice in plan.choices:
        ours, theirs = (picked_in(plan, side[choice.name], keys) for side in (here, there))
        if moved := weights_moved(choice, ours, theirs):
            raise MovedTooFar(moved)
        share, where = most_moved(choice, ours, theirs)
        if share > 1:
            raise MovedTooFar(f"a pick used {share:.4g} of its price: {where}")
        shares.append(share)
    return max(shares)


def picked_in(plan: Plan, ranks: RanksByGroup, keys: Container[Key]) -> RanksByGroup:
    """The ranks of groups that values are picked in. Of blocks these are the public ``keys`` alone: one block has
    answers in any number of other groups, at which nobody looks. A person's rows are in few groups, whichever."""
    return {key: found for key, found in ranks.items() if key in keys} if plan.in_blocks else ranks


def most_moved(choice: Choice, here: RanksByGroup, there: RanksByGroup) -> tuple[float, str]:
    """The largest share of what is paid for that a person uses, over prices and accountings, of each quantile by
    itself and all of them together; and a word on it.
    """
    worst = 0.0, ""
    for mechanism in mechanisms(choice):
        if choice.candidates:
            share = mode_share(Commonest(choice, mechanism), here, there)
            worst = max(worst, (share, f"the mode {choice.name} at {mechanism}"))
            continue
        for ends in (True, False):
            try:
                mains = [Quantile(choice, fraction, mechanism) for fraction in choice.fractions]
                more = [end for one in mains for end in (one.ends() if ends and not one.is_extreme else ())]
            except TooFar:
                continue
            share = used_share([*mains, *more], together(choice.fractions, ends=ends), here, there)
            worst = max(worst, (share, f"{choice.name} at {mechanism}, {ends=}"))
    return worst


def mechanisms(choice: Choice) -> list[Exponential]:
    """What may pick: at each price, and where ε is counted only where weights have an L1 norm."""
    counted = (True, False) if choice.sensitivity.l1 is not None else (True,)
    return [Exponential(epsilon, concentrated) for concentrated in counted for epsilon in PRICES]


def used_share(
    quantiles: Sequence[Quantile], costs: tuple[Fraction, Fraction], here: RanksByGroup, there: RanksByGroup
) -> float:
    """What a unit uses of ε or ρ in all groups and picks, against what is paid for them."""
    keys = {**here, **there}
    spreads = [_spread(one, here.get(key, ()), there.get(key, ())) for one in quantiles for key in keys]
    mechanism = quantiles[0].mechanism
    if mechanism.concentrated:
        return float(sum(spread * spread for spread in spreads) / (mechanism.epsilon**2 * costs[1]))
    return float(sum(spreads) / (mechanism.epsilon * costs[0]))


def mode_share(common: Commonest, here: RanksByGroup, there: RanksByGroup) -> float:
    """The same of a mode: scores may move one way alone, so that the most that one moves is what a group pays."""
    moves = []
    for key in {**here, **there}:
        ours, theirs = (_scores(common, ranks.get(key, ())) for ranks in (here, there))
        grown = [mine - other for mine, other in zip(ours, theirs, strict=True)]
        if min(grown) < 0 < max(grown):
            raise MovedTooFar("one person moves some scores of a mode up and some down")
        moves.append((max(grown) - min(grown)) * common.rate)
        if max(map(abs, grown)) * common.rate > moves[-1]:
            raise MovedTooFar("the score of NULL moved")
    paid = common.mechanism.epsilon
    if common.mechanism.concentrated:
        return float(sum(move * move for move in moves) / (paid * paid))
    return float(sum(moves) / paid)


def _scores(common: Commonest, ranks: Sequence[Rank]) -> list[int]:
    """The scores that distances are made of: NULL's is public."""
    distances = common.distances(ranks)
    return [common.nobody + distances[-1] - distance for distance in distances]


def _spread(quantile: Quantile, here: Sequence[Rank], there: Sequence[Rank]) -> Fraction:
    """By how much the log-ratios of a group's candidates can differ from each other."""
    ours, theirs = (_distances(quantile, ranks) for ranks in (here, there))
    moves = []
    for start, end, mine in ours:
        for first, last, other in theirs:
            if start is None or first is None:
                if start is first:
                    moves.append(mine - other)
            elif start <= last and first <= end:
                moves.append(mine - other)
    return (max(moves) - min(moves)) * quantile.rate


def _distances(quantile: Quantile, ranks: Sequence[Rank]) -> list[tuple[int | None, int, int]]:
    """First and last value of each stretch of candidates, with its distance. Raises :class:`MovedTooFar` where
    any is lost."""
    found: list[tuple[int | None, int, int]] = []
    expected = quantile.choice.low
    for start, count, distance in quantile.stretches(ranks):
        if distance < 0:
            raise MovedTooFar("a distance below 0")
        if start is None:
            found.append((None, 0, distance))
            continue
        if start != expected or count <= 0:
            raise MovedTooFar("a candidate is missing, or there twice")
        expected = start + count
        found.append((start, start + count - 1, distance))
    if expected != quantile.choice.high + 1 or found[-1][0] is not None:
        raise MovedTooFar("the last candidate is missing")
    return found


def weights_moved(choice: Choice, here: RanksByGroup, there: RanksByGroup) -> str:
    """Where the weights of the groups move further than is declared, what moved; else nothing."""
    moves = [_total(here.get(key, ())) - _total(there.get(key, ())) for key in {**here, **there}]
    l1, squared = sum(map(abs, moves)), sum(move * move for move in moves)
    if choice.sensitivity.l1 is not None and l1 > choice.sensitivity.l1:
        return f"the weights of {choice.name} moved {l1} in L1, declared {choice.sensitivity.l1}"
    if squared > choice.sensitivity.l2_squared:
        return f"the weights of {choice.name} moved {squared} in squared L2, declared {choice.sensitivity.l2_squared}"
    if unit_weight(choice.sensitivity, Exponential(Fraction(1), True)) ** 2 < choice.sensitivity.l2_squared:
        return f"{choice.name} pays for less than the weight of a person"
    return ""


def _total(ranks: Sequence[Rank]) -> int:
    return ranks[0][3] if ranks else 0
