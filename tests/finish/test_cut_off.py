"""Counts that cannot be below 0 are too high on average: by how much is told, without bias."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import duckdb
import numpy as np
import pytest

from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.proxy import Proxy
from dpsql.reply import Answer
from tests.finish.test_intervals_coverage import Repeated
from tests.policies import policy_text

GROUPS, EACH = 40, 2
POLICY = policy_text("""
database: duckdb:small.duckdb; ledger: sqlite:small.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1.0e-06, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 1000}
tables:
  person: id, place 1..40, paid 0..10
""")
TOLD = re.compile(r"no sum below 0 is shown: the (\d+) numbers of (\w+) are on average ([\d.]+) too (high|low)")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("small")
    with duckdb.connect(str(folder / "small.duckdb")) as database:
        database.execute(
            f"CREATE TABLE person AS SELECT i AS id, 1 + i % {GROUPS} AS place, i % 11 AS paid"
            f" FROM range({GROUPS * EACH}) AS t(i)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    with closing(Proxy.open(folder / "policy.yaml")) as opened:
        yield opened


def told(answer: Answer) -> list[tuple[str, str, str, str]]:
    return [found.groups() for note in answer.notices if (found := TOLD.search(note))]  # type: ignore[misc]


def answers(proxy: Proxy, sql: str, epsilon: str, times: int) -> list[Answer]:
    repeated = Repeated(proxy.session(), sql, epsilon)
    return [repeated.answer(ExactSampler()) for _ in range(times)]


@pytest.mark.parametrize(
    ("shown", "factor"), [("COUNT(*)", 1), ("5 * COUNT(*)", 5), ("COUNT(*) + 7", 1), ("-COUNT(*)", -1)]
)
def test_the_bias_that_is_told_is_that_of_the_numbers(proxy: Proxy, shown: str, factor: int) -> None:
    """On average it is how far the numbers are off: 4 standard errors of 150 answers are about a tenth of it."""
    sql = f"SELECT place, {shown} AS n FROM person WHERE place IS NOT NULL GROUP BY place"
    expected, errors = [], []
    offset = 7 if "+" in shown else 0
    for answer in answers(proxy, sql, "0.1", 150):
        numbers = [float(row[1]) for row in answer.rows]  # type: ignore[arg-type]
        errors.append(float(np.mean(numbers)) - factor * EACH - offset)
        ((count, name, bias, way),) = told(answer)
        assert (int(count), name, way) == (len(numbers), "n", "high" if factor > 0 else "low")
        expected.append(float(bias) if way == "high" else -float(bias))
    assert abs(np.mean(errors)) > 2 * abs(factor)
    off = np.array(errors) - expected
    assert abs(off.mean()) < 4 * off.std() / len(off) ** 0.5 + 0.01 * abs(factor)


def test_nothing_is_told_where_little_is_cut_off(proxy: Proxy) -> None:
    for answer in answers(proxy, "SELECT place, COUNT(*) AS n FROM person GROUP BY place", "5", 10):
        assert not told(answer)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT place, COUNT(*) AS n FROM person GROUP BY ROLLUP (place)",
        "SELECT COUNT(*) AS n FROM person",
        "SELECT place, AVG(paid) AS n FROM person GROUP BY place",
        "SELECT place, COUNT(*) AS c, SUM(COUNT(*)) OVER (ORDER BY place) AS n FROM person GROUP BY place",
    ],
    ids=["a total is measured too", "one number", "a mean", "running sums"],
)
def test_nothing_is_told_of_what_is_not_cut_off(proxy: Proxy, sql: str) -> None:
    assert not any(name == "n" for answer in answers(proxy, sql, "0.2", 10) for _, name, _, _ in told(answer))


def test_sums_are_named_as_they_are_asked(proxy: Proxy) -> None:
    (answer,) = answers(proxy, "SELECT place, SUM(paid) AS revenue FROM person GROUP BY place", "0.2", 1)
    assert [(name, way) for _, name, _, way in told(answer)] == [("revenue", "high")]


def test_of_what_was_derived_it_is_told_how_far_all_of_it_was_moved(proxy: Proxy) -> None:
    session = proxy.session()
    session.change("dpsql.epsilon", "0.1")
    session.execute("SELECT place, paid, COUNT(*) AS n FROM person WHERE place IS NOT NULL GROUP BY place, paid")
    session.change("dpsql.epsilon", "0.02")
    found = []
    for consistent in ("on", "off"):
        session.change("dpsql.consistent", consistent)
        found.append(session.execute("SELECT place, COUNT(*) AS n FROM person WHERE place IS NOT NULL GROUP BY place"))
    shown, before = found
    assert not shown.price
    assert not told(before)
    ((count, name, bias, way),) = told(shown)
    assert (int(count), name, way) == (GROUPS, "n", "high")
    moved = [float(one[1]) - float(other[1]) for one, other in zip(shown.rows, before.rows, strict=True)]  # type: ignore[arg-type]
    assert float(np.mean(moved)) == pytest.approx(float(bias), rel=0.06)
    assert min(moved) >= 0
