"""What must hold of a pick between a database and its neighbour: the definition of the exponential mechanism's range.

Every candidate of every group is weighed on both sides, in exact fractions. Between neighbours, the exponents of a
group's candidates may spread by no more than what the group's part of the unit pays for; what it pays in all groups
together is what the accountant counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpsql.mechanisms.commonest import Commonest
from dpsql.mechanisms.quantile import Exponential, Quantile, TooFar, together, unit_weight
from dpsql.table import Key, Rank
from rewriter.plan import Choice

Ranks = Mapping[Key, Sequence[Rank]]

EPSILONS = (Fraction(1, 2), Fraction(4), Fraction(64))


def most_moved(choice: Choice, here: Ranks, there: Ranks) -> tuple[float, str]:
    """The largest share of what is paid for that a unit uses, over prices and accountings; and a word on it."""
    worst = 0.0, ""
    for concentrated in (True, False):
        if not concentrated and choice.sensitivity.l1 is None:
            continue
        for epsilon in EPSILONS:
            mechanism = Exponential(epsilon, concentrated)
            if choice.candidates:
                share = _common_share(Commonest(choice, mechanism), here, there)
                worst = max(worst, (share, f"the mode {choice.name} at {mechanism}"))
                continue
            for ends in (True, False):
                try:
                    mains = [Quantile(choice, fraction, mechanism) for fraction in choice.fractions]
                    more = [end for one in mains for end in (one.ends() if ends and not one.is_extreme else ())]
                except TooFar:
                    continue
                share = _share([*mains, *more], together(choice.fractions, ends=ends), here, there)
                if share > worst[0]:
                    worst = share, f"{choice.name} at {mechanism}, {ends=}"
    return worst


def _share(quantiles: Sequence[Quantile], costs: tuple[Fraction, Fraction], here: Ranks, there: Ranks) -> float:
    """What a unit uses of ε or ρ in all groups and picks, against what is paid for them."""
    keys = {**here, **there}
    spreads = [_spread(one, here.get(key, ()), there.get(key, ())) for one in quantiles for key in keys]
    mechanism = quantiles[0].mechanism
    if mechanism.concentrated:
        return float(sum(spread * spread for spread in spreads) / (mechanism.epsilon**2 * costs[1]))
    return float(sum(spreads) / (mechanism.epsilon * costs[0]))


def _common_share(common: Commonest, here: Ranks, there: Ranks) -> float:
    """The same of a mode: scores may move one way alone, so that the most that one moves is what a group pays."""
    moves = []
    for key in {**here, **there}:
        ours, theirs = (_scores(common, ranks.get(key, ())) for ranks in (here, there))
        grown = [mine - other for mine, other in zip(ours, theirs, strict=True)]
        assert min(grown) >= 0 or max(grown) <= 0, "one unit moves some scores up and some down"
        moves.append((max(grown) - min(grown)) * common.rate)
        assert max(map(abs, grown)) * common.rate <= moves[-1], "NULL's score moved"
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
    """First and last value of each stretch of candidates, with its distance. Raises AssertionError where any is lost."""
    found: list[tuple[int | None, int, int]] = []
    expected = quantile.choice.low
    for start, count, distance in quantile.stretches(ranks):
        assert distance >= 0
        if start is None:
            found.append((None, 0, distance))
            continue
        assert start == expected, "a candidate is missing, or there twice"
        assert count > 0
        expected = start + count
        found.append((start, start + count - 1, distance))
    assert expected == quantile.choice.high + 1
    assert found[-1][0] is None
    return found


def weights_moved(choice: Choice, here: Ranks, there: Ranks) -> str:
    """Where the weights of the groups move further than is declared, what moved; else nothing."""
    moves = [_total(here.get(key, ())) - _total(there.get(key, ())) for key in {**here, **there}]
    l1, squared = sum(map(abs, moves)), sum(move * move for move in moves)
    if choice.sensitivity.l1 is not None and l1 > choice.sensitivity.l1:
        return f"the weights of {choice.name} moved {l1} in L1, declared {choice.sensitivity.l1}"
    if squared > choice.sensitivity.l2_squared:
        return f"the weights of {choice.name} moved {squared} in squared L2, declared {choice.sensitivity.l2_squared}"
    assert unit_weight(choice.sensitivity, Exponential(Fraction(1), True)) ** 2 >= choice.sensitivity.l2_squared
    return ""


def _total(ranks: Sequence[Rank]) -> int:
    return ranks[0][3] if ranks else 0
