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

from dpsql.audit import pick_law
from dpsql.mechanisms.quantiles.one import Exponential, TooFar
from dpsql.mechanisms.quantiles.several import Joint, LatticePart
from dpsql.mechanisms.quantiles.spread import SHARE, Around
from dpsql.releases.tables import Key, Rank
from rewriter.plan import Choice

Ranks = Mapping[Key, Sequence[Rank]]


def most_moved(choice: Choice, here: Ranks, there: Ranks) -> tuple[float, str]:
    """The largest share of what is paid for that a unit uses, over prices and accountings; and a word on it."""
    worst = pick_law.most_moved(choice, here, there)
    if not choice.candidates:
        for mechanism in pick_law.mechanisms(choice):
            share = _joint_share(choice, mechanism, here, there)
            worst = max(worst, (share, f"{choice.name} jointly at {mechanism}"))
    return worst


def _joint_share(choice: Choice, mechanism: Exponential, here: Ranks, there: Ranks) -> float:
    """What a unit uses of a joint pick and of what is picked around it, against what each of them pays."""
    inner = tuple(fraction for fraction in choice.fractions if 0 < fraction < 1)
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
