"""Several quantiles at once: vectors have exactly the probabilities of the definition, and these hide one row."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from random import Random

import numpy as np
import pytest

from dpsql.accounting import PURE, ZCDP, Accounting
from dpsql.accounting.loss import PrivacyLoss
from dpsql.calibrate.picks import Joined, picked
from dpsql.mechanisms.quantiles.one import Exponential, TooFar
from dpsql.mechanisms.quantiles.several import Joint, LatticePart
from dpsql.mechanisms.quantiles.spread import SHARE, Around
from dpsql.mechanisms.sampling.chain import Chain
from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.mechanisms.sampling.walks import Candidate
from rewriter.plan import Choice
from tests.mechanisms.laws import agreement
from tests.mechanisms.test_quantile import DECILES, choice, ranks_of

QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def by_definition(joint: Joint, rows: Sequence[int], total: int, chain: Chain, vector: Sequence[Candidate]) -> int:
    """The distance of a vector, written down from the docstring of the mechanism."""
    positions, targets = [Fraction(0)], [Fraction(0)]
    for value, part in vector:
        here, below = sum(row == value for row in rows), sum(row < value for row in rows)
        positions.append(below + Fraction(here * (2 * part + 1), 2 * chain.positions.parts))
    targets += [q * total for q in joint.fractions]
    gaps = zip([*positions, Fraction(len(rows))], [*targets, Fraction(total)], strict=True)
    away = [p - t for p, t in gaps]
    scale = joint.rate / chain.rate
    distance = scale * sum(abs(b - a) for a, b in pairwise(away))
    assert distance.denominator == 1
    return min(int(distance), chain.cap)


def vectors(one: Choice, parts: int, size: int) -> Iterator[tuple[Candidate, ...]]:
    candidates = [(value, part) for value in range(one.low, one.high + 1) for part in range(parts)]
    return combinations_with_replacement(candidates, size)


@pytest.mark.parametrize("window", [4, 9, 1 << 20])
def test_distances_are_those_of_the_definition_whatever_the_engine_leaves_out(window: int) -> None:
    random, seen = Random(window), 0
    for _ in range(300):
        fractions = sorted(random.sample([*DECILES, *QUARTILES[::2]], random.randint(2, 4)))
        one = choice(fractions, random.randint(0, 12), window)
        rows = [random.randint(0, one.high) for _ in range(random.choice([0, 1, 2, 5, 12, 30]))]
        total = len(rows) + random.randint(-3, 3)
        with contextlib.suppress(TooFar):
            joint = Joint(one, tuple(fractions), Exponential(Fraction(random.choice([8, 60, 400])), True))
            chain = joint.chain(ranks_of(rows, one), total)
            for _ in range(20):
                drawn = [(random.randint(0, one.high), random.randrange(chain.positions.parts)) for _ in fractions]
                vector = sorted(drawn)
                assert chain.distance(vector) == by_definition(joint, rows, total, chain, vector)
                seen += chain.distance(vector) < chain.cap
    assert seen > 50


@pytest.mark.quick
@pytest.mark.parametrize("fractions", [QUARTILES[::2], QUARTILES, DECILES[:2], DECILES[4::4]])
@pytest.mark.parametrize("window", [6, 1 << 20])
def test_every_neighbour_of_every_small_database_is_hidden(fractions: Sequence[Fraction], window: int) -> None:
    """A vector's distance moves by at most a row's weight, for all databases of a few rows of four values."""
    one, most = choice(fractions, 3, window), Fraction(0)
    joint = Joint(one, tuple(fractions), Exponential(Fraction(60), concentrated=False))
    for size in range(4):
        for rows in combinations_with_replacement(range(4), size):
            total = size + 1
            here = joint.chain(ranks_of(rows, one), total)
            tried = list(vectors(one, min(here.positions.parts, 3), len(fractions)))[:: 1 + size]
            for more in range(4):
                there = joint.chain(ranks_of([*rows, more], one), total)
                assert (here.rate, here.cap, here.targets) == (there.rate, there.cap, there.targets)
                for vector in tried:
                    moved = abs(here.distance(vector) - there.distance(vector)) * here.rate
                    assert moved <= joint.mechanism.epsilon / 2, (rows, more, vector)
                    most = max(most, moved)
    assert most > joint.mechanism.epsilon * Fraction(2, 5)


@pytest.mark.parametrize(
    ("rows", "window", "epsilon"),
    [
        ([0, 0, 1, 2, 2, 2, 4, 4, 5], 1 << 20, 2),
        ([1] * 12 + [3], 1 << 20, 1),
        ([0, 2, 3, 5], 1 << 20, 4),
        ([0, 0, 1, 2, 2, 2, 4, 4, 5] * 2, 5, 2),
    ],
)
def test_vectors_have_the_probabilities_of_the_definition(
    rows: list[int], window: int, epsilon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of heavy values, of empty ones, and where the engine leaves out what is at the cap; for any number of parts."""
    monkeypatch.setattr(Joint, "_parts", lambda self, total: 8)
    if window < 100:
        monkeypatch.setattr(Joint, "_needed", lambda *_: 4.0)
    one, draws = choice(QUARTILES[::2], 5, window), 700
    joint = Joint(one, QUARTILES[::2], Exponential(Fraction(epsilon), concentrated=True))
    total = len(rows) + 1
    chain = joint.chain(ranks_of(rows, one), total)
    weights: Counter[tuple[int, ...]] = Counter()
    for vector in vectors(one, chain.positions.parts, 2):
        distance = by_definition(joint, rows, total, chain, vector)
        weights[tuple(value for value, _ in vector)] += math.exp(-float(chain.rate) * distance)  # type: ignore[assignment]
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(draws):
        vector = Chain.draw(_never_few(chain))
        assert vector is not None
        found[tuple(value for value, _ in vector)] += 1
    assert sum(weight > 0.01 * sum(weights.values()) for weight in weights.values()) > 3
    assert agreement(found, weights, draws) > 1e-9, found


def _never_few(chain: Chain) -> Chain:
    return replace(chain, few=False)


def test_nobody_is_null_and_a_crowd_is_not() -> None:
    one = choice(DECILES, 10**6)
    joint = Joint(one, DECILES, Exponential(Fraction(3, 4), concentrated=False))
    sampler = ExactSampler()
    assert sum(joint.pick([], sampler)[1] is not None for _ in range(40)) <= 6  # once in 257 times; > 6 once in 1e8
    crowd = ranks_of([row * 700 for row in range(1_000)], one)
    assert all(joint.pick(crowd, sampler)[1] is not None for _ in range(10))


def test_deciles_are_a_few_rows_away() -> None:
    """A mean square of 36 rows or so is expected of each; it is above 1,000 less than once in 10⁹ times."""
    rows, one = [row * 50 for row in range(5_000)], choice(DECILES, 10**6)
    joint = Joint(one, DECILES, Exponential(Fraction(3, 4), concentrated=False))
    sampler, ranks, squares = ExactSampler(), ranks_of(rows, one), []
    for _ in range(12):
        _, parts = joint.pick(ranks, sampler)
        assert parts is not None
        assert list(parts) == sorted(parts)
        squares.append([(part.value / 50 - 500 * (place + 1)) ** 2 for place, part in enumerate(parts)])
    assert np.mean(squares) < 1000


def test_where_the_count_of_a_group_would_drown_values_are_not_picked_together() -> None:
    wide = choice(QUARTILES, 5, row=1 << 62)
    with pytest.raises(TooFar):
        Joint(wide, QUARTILES, Exponential(Fraction(1, 100), True))


def test_what_is_picked_around_quantiles_hides_a_row_whatever_the_engine_leaves_out() -> None:
    """Vectors at all distances, and so beyond the cap of the pick, up to where the engine tells of nothing."""
    random, most, gates = Random(5), Fraction(0), Counter[bool]()
    one = choice(QUARTILES, 3_000, 90)
    joint = Joint(one, QUARTILES, Exponential(Fraction(20), concentrated=False))
    around = Around(joint)
    assert joint.chain([], 400).cap < one.window * joint.rate / joint.chain([], 400).rate
    for _ in range(60):
        rows = [random.randint(0, one.high) for _ in range(400)] + [1_000] * random.choice([0, 60])
        ours, theirs = ranks_of(rows, one), ranks_of([*rows, random.randint(0, one.high)], one)
        for _ in range(25):
            middle = [sorted(rows)[int(q * len(rows))] + random.choice([0, 300, -300]) for q in QUARTILES]
            spread = random.choice([1, 30, 200, 700])
            values = [min(max(value + random.randint(-spread, spread), 0), one.high) for value in middle]
            parts = [LatticePart(value, random.randrange(8)) for value in sorted(values)]
            products = [around.product(ranks, len(rows), parts) for ranks in (ours, theirs)]
            gates[products[0].cap > 0] += 1
            for _ in range(5):
                places = [random.randrange(len(table)) for table in products[0].tables]
                scores = [min(product.distance(places), product.cap) for product in products]
                most = max(most, abs(scores[0] - scores[1]) * products[0].rate)
    assert Fraction(1, 4) * joint.mechanism.epsilon * SHARE < most <= joint.mechanism.epsilon * SHARE / 2
    assert min(gates[True], gates[False]) > 50


@pytest.mark.parametrize("accounting", [PURE, ZCDP])
def test_all_that_is_picked_is_paid(accounting: Accounting) -> None:
    """The vector, the weight of the group, what lies around and the extremes, one by one."""
    fractions = (Fraction(0), *QUARTILES, Fraction(1))
    price = PrivacyLoss(rho=Fraction(1, 2)) if accounting is ZCDP else PrivacyLoss(epsilon=Fraction(1))
    found = picked(choice(fractions, 10**6), accounting, price)
    assert isinstance(found, Joined)
    assert found.around is not None
    vector = found.joint.mechanism.epsilon
    weight = found.joint.unit / found.joint.count_scale
    beside = found.around.rate * 2 * found.joint.unit
    extremes = [one.mechanism.epsilon for one in found.extremes]
    assert len(extremes) == 2
    if accounting is PURE:
        assert vector + weight + beside + sum(extremes) <= price.epsilon
    else:
        assert sum(one**2 / 8 for one in (vector, beside, *extremes)) + weight**2 / 2 <= price.rho
