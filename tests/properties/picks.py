"""What must hold of a pick between a database and its neighbour: the definition of the exponential mechanism's range.

Every candidate of every group is weighed on both sides, in exact fractions. Between neighbours, the exponents of a
group's candidates may spread by no more than what the group's part of the unit pays for; what it pays in all groups
together is what the accountant counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from dpsql.mechanisms.quantiles.mode import Commonest
from dpsql.mechanisms.quantiles.one import Exponential, Quantile, TooFar, together, unit_weight
from dpsql.mechanisms.quantiles.several import Joint, LatticePart
from dpsql.mechanisms.quantiles.spread import SHARE, Around
from dpsql.releases.tables import Key, Rank
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
            share = _joint_share(choice, mechanism, here, there)
            worst = max(worst, (share, f"{choice.name} jointly at {mechanism}"))
    return worst


def _joint_share(choice: Choice, mechanism: Exponential, here: Ranks, there: Ranks) -> float:
    """What a unit uses of a joint pick and of what is picked around it, against what each of them pays."""
    inner = tuple(fraction for fraction in choice.fractions if fraction not in (0, 1))
    if len(inner) < 2:
        return 0.0
    try:
        joint = Joint(choice, inner, mechanism)
    except TooFar:
        return 0.0
    around = None
    with contextlib.suppress(TooFar):
        around = Around(joint)
    moves, beside = [], []
    for key in {**here, **there}:
        ours, theirs = here.get(key, ()), there.get(key, ())
        moved, moved_beside = _joint_moves(joint, around, ours, theirs)
        moves.append(moved * 2 / mechanism.epsilon)
        beside.append(moved_beside * 2 / (mechanism.epsilon * SHARE))
    power = 2 if mechanism.concentrated else 1
    return float(max(sum(move**power for move in moves), sum(move**power for move in beside)))


def _joint_moves(
    joint: Joint, around: Around | None, ours: Sequence[Rank], theirs: Sequence[Rank]
) -> tuple[Fraction, Fraction]:
    """By how much the exponents of some vectors move, and of some distances around them."""
    choice = joint.choice
    random = Random(len(ours) * 1_000 + len(theirs))
    known = [value + more for value, *_ in (*ours, *theirs) for more in (-1, 0, 1)]
    values = [value for value in known if choice.low <= value <= choice.high] + [choice.low, choice.high]
    most = most_beside = Fraction(0)
    for total in {sum(rank[1] for rank in side) + away for side in (ours, theirs) for away in (0, 7 * choice.row)}:
        chains = joint.chain(ours, total), joint.chain(theirs, total)
        assert replace(chains[0], positions=chains[1].positions, end=0) == replace(chains[1], end=0)
        parts, rate = chains[0].positions.parts, chains[0].rate
        for _ in range(6):
            vector = sorted((random.choice(values), random.randrange(parts)) for _ in joint.fractions)
            distances = [chain.distance(vector) for chain in chains]
            most = max(most, abs(distances[0] - distances[1]) * rate)
            if around is None:
                continue
            picked = [LatticePart(*one) for one in vector]
            products = [around.product(ranks, total, picked) for ranks in (ours, theirs)]
            assert [len(table) for table in products[0].tables] == [len(table) for table in products[1].tables]
            for _ in range(3):
                places = [random.randrange(len(table)) for table in products[0].tables]
                scores = [min(product.distance(places), product.cap) for product in products]
                most_beside = max(most_beside, abs(scores[0] - scores[1]) * products[0].rate)
    return most, most_beside


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
