"""Values of the same rows as one vector: nothing is farther off than with vectors of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from math import sqrt
from random import Random

import pytest

from dpsql.opened import Opened, open_policy
from rewriter.declared.contribution import Norm
from rewriter.measure import mean_pairs as pairs
from rewriter.plan import Linear, Plan, Ratio
from rewriter.planner.plan_release import plan
from rewriter.split.splitter import split
from rewriter.statement.parser import Select, parse
from tests.measure.test_vector import people, write

WHOLE = "CASE WHEN k = 'a' THEN 1 WHEN k = 'b' THEN 7 ELSE 4 END"
VALUES = ["x", "y", "x / 3", "20 - y", WHOLE, f"10 - {WHOLE}", "y + 40", f"100 * {WHOLE} - 500"]
WORSE = 1.011
"""Shares of a price are sixteenths, and sizes whole numbers."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    found = open_policy(write(tmp_path_factory.mktemp("same"), people(Random(3), 2)))
    yield found
    found.close()


def planned(asked: str, opened: Opened, norm: Norm) -> Plan:
    statement = parse(f"SELECT {asked} FROM visit", ())
    assert isinstance(statement, Select)
    (query,) = split(statement.tree, opened.catalog, opened.engine.dialect).groupings
    return plan(query, norm, opened.engine.dialect)


def spreads(planned: Plan, norm: Norm) -> list[float]:
    """The standard deviation of each output where a statement has the price 1; of a mean at an end of its range and in
    its middle, over so many rows that it is that of the sum."""
    weights = sum(float(block.weight) for block in planned.blocks)
    noise = {}
    for block in planned.blocks:
        share = float(block.weight) / weights
        radius = (block.sensitivity.l1 or 0) / share if norm is Norm.L1 else sqrt(block.sensitivity.l2_squared / share)
        noise |= {statistic.name: radius for statistic in block.statistics}
    found = []
    for output in planned.outputs:
        how = output.estimator
        if isinstance(how, Linear):
            found.append(sqrt(sum((float(one) * noise[name]) ** 2 for name, one in how.terms)))
        if isinstance(how, Ratio):
            above, below = dict(how.above), dict(how.below)
            for share in (0.0, 0.5, 1.0):
                terms = ((1 - share) * above.get(name, 0) - share * below.get(name, 0) for name in noise)
                found.append(
                    sqrt(sum((float(one) * width) ** 2 for one, width in zip(terms, noise.values(), strict=True)))
                )
    return found


@contextmanager
def apart() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "shared", lambda *_: None)
        patch.setattr(pairs._Planned, "_weigh", lambda _: None)
        yield


def drawn(random: Random) -> str:
    values = random.sample(VALUES, random.choice([2, 2, 3, 4, 5]))
    items = [f"{word}({value})" for value in values for word in random.sample(["AVG", "SUM", "COUNT"], 1)]
    items += random.sample([f"AVG({values[0]})", f"SUM({values[1]})", f"COUNT({values[0]})"], random.choice([0, 1, 2]))
    beside = ["COUNT(*)", "COUNT(*)", "COUNT(DISTINCT person_id)", "COUNT(*) FILTER (WHERE k = 'a')"]
    return ", ".join(dict.fromkeys([*items, *random.sample(beside, random.choice([0, 1, 1, 2]))]))


@pytest.mark.parametrize("statements", [12, pytest.param(30, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("norm", list(Norm))
def test_nothing_is_farther_off_than_with_pairs_apart(norm: Norm, opened: Opened, statements: int) -> None:
    random, together = Random(5), 0
    for _ in range(statements):
        asked = drawn(random)
        now = planned(asked, opened, norm)
        with apart():
            before = planned(asked, opened, norm)
        pairs_of = zip(spreads(now, norm), spreads(before, norm), strict=True)
        # A mean beside COUNT(*), and nothing else that is read off its pair, pays for the count.
        weighed = any("9/16" in one.text for one in now.statistics) and len(now.blocks) == len(before.blocks)
        assert all(one <= (1.05 if weighed else WORSE) * other for one, other in pairs_of), asked
        together += len(now.blocks) < len(before.blocks)
    assert together > statements / 6


@pytest.mark.spread
@pytest.mark.parametrize(("count", "norm"), [(count, norm) for count, norm in product((2, 3, 5), Norm)])
def test_each_of_several_means_beside_a_count_is_nearer(count: int, norm: Norm, opened: Opened) -> None:
    asked = ", ".join([*(f"AVG({value})" for value in VALUES[:count]), "COUNT(*)"])
    now = spreads(planned(asked, opened, norm), norm)
    with apart():
        before = spreads(planned(asked, opened, norm), norm)
    assert now[-1] < 0.93 * before[-1]
    assert all(one < 0.97 * other for one, other in zip(now[3:-1], before[3:-1], strict=True))


def test_a_count_beside_a_mean_over_nulls_is_nearer_than_with_a_cell_of_their_own(opened: Opened) -> None:
    (low, middle, high, count), alone = (
        spreads(planned(asked, opened, Norm.L2), Norm.L2) for asked in ("AVG(y), COUNT(*)", "AVG(y)")
    )
    (rows,) = spreads(planned("COUNT(*)", opened, Norm.L2), Norm.L2)
    assert count <= 1.453 * rows
    assert all(one <= 1.05 * other for one, other in zip((low, middle, high), alone, strict=True))
