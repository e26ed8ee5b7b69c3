"""Bars hold numbers that were moved after they were measured: to where none is below 0 and all agree, or made whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import duckdb
import pytest

from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.proxy import Proxy
from tests.doubles import NoNoise
from tests.finish.test_intervals_coverage import Repeated
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:few.duckdb; ledger: sqlite:few.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1.0e-06, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 1000}
tables:
  person: id, day 2025-01-01..2025-06-30, ward [a, b, c, d, e], rich
""")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """181 days of five wards: six people on each of six days in one ward, nobody elsewhere; 31 of the 36 are rich."""
    folder = tmp_path_factory.mktemp("few")
    with duckdb.connect(str(folder / "few.duckdb")) as database:
        database.execute(
            "CREATE TABLE person AS SELECT i AS id, DATE '2025-01-01' + CAST(i % 6 * 36 AS INTEGER) AS day,"
            " 'a' AS ward, i % 7 < 6 AS rich FROM range(36) AS t(i)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    with closing(Proxy.open(folder / "policy.yaml")) as opened:
        yield opened


def held(proxy: Proxy, sql: str, keys: int, epsilon: str, times: int) -> dict[tuple[object, ...], float]:
    """How often the interval of the last number of each group that has people holds it, of the times it is shown."""
    repeated, sampler = Repeated(proxy.session(), sql, epsilon), ExactSampler()
    truth = {row[:keys]: row[keys] for row in repeated.answer(NoNoise()).rows if row[keys]}
    shown: Counter[tuple[object, ...]] = Counter()
    within: Counter[tuple[object, ...]] = Counter()
    for _ in range(times):
        for *row, low, high in repeated.answer(sampler).rows:
            key = tuple(row[:keys])
            if key in truth and low is not None:
                shown[key] += 1
                within[key] += low <= truth[key] <= high
    return {key: within[key] / shown[key] for key in shown if shown[key] > times / 4}


def test_small_groups_beside_empty_ones_are_within_their_bars(proxy: Proxy) -> None:
    """All cells add up to the totals, so what noise adds to the empty ones is taken from those that have people."""
    sql = "SELECT day, ward, COUNT(*) AS n FROM person GROUP BY ROLLUP (day, ward)"
    cells = [part for (_, ward), part in held(proxy, sql, 2, "1", 60).items() if ward == "a"]
    assert len(cells) == 6
    assert min(cells) >= 0.9, "without their estimates, half of the time"


def test_shares_of_counts_that_were_made_whole_are_within_their_bars(proxy: Proxy) -> None:
    """One person is 3 % of a small group, and more than all noise moves its share by."""
    sql = "SELECT 100.0 * COUNT(*) FILTER (WHERE rich) / COUNT(*) AS share FROM person"
    ((_, part),) = held(proxy, sql, 0, "3", 200).items()
    assert part >= 0.92
