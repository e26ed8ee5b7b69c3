"""Declared groups that nobody may be in are shown, and an answer says how many of its groups these are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import duckdb
import pytest

from dpsql.mechanisms.sampling.sampler import ExactSampler
from dpsql.proxy import Proxy
from dpsql.reply import Answer
from tests.finish.test_intervals_coverage import Repeated
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:wards.duckdb; ledger: sqlite:wards.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1.0e-06, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 1000}
tables:
  person: id, ward [a, b, c, d, e, f, g, h, i, j], sex [f, m], age 0..100
""")
FULL, EACH = 6, 50
TOLD = re.compile(r"(all )?(\d+)(?: of (\d+))? groups of ([\w, ]+) may have no rows")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("wards")
    with duckdb.connect(str(folder / "wards.duckdb")) as database:
        database.execute("CREATE TABLE person (id INTEGER, ward TEXT NOT NULL, sex TEXT NOT NULL, age INTEGER)")
        database.execute(
            f"INSERT INTO person SELECT i AS id, chr(97 + CAST(i % {FULL} AS INTEGER)) AS ward,"
            f" CASE WHEN i % 4 < 2 THEN 'f' ELSE 'm' END AS sex, i % 90 AS age FROM range({FULL * EACH}) AS t(i)"
        )
    (folder / "policy.yaml").write_text(POLICY)
    with closing(Proxy.open(folder / "policy.yaml")) as opened:
        yield opened


def told(answer: Answer) -> list[tuple[int, int, str]]:
    """How many of how many groups of which keys."""
    found = [one for note in answer.notices if (one := TOLD.match(note))]
    return [(int(one[2]), int(one[3] or one[2]), one[4]) for one in found]


def asked(proxy: Proxy, sql: str, epsilon: str, times: int = 1) -> list[Answer]:
    repeated = Repeated(proxy.session(), sql, epsilon)
    return [repeated.answer(ExactSampler()) for _ in range(times)]


@pytest.mark.parametrize("number", ["COUNT(*)", "AVG(age)", "SUM(age)", "COUNT(DISTINCT id)", "STDDEV(age)"])
def test_clear_numbers_tell_empty_groups_from_all_others(proxy: Proxy, number: str) -> None:
    (answer,) = asked(proxy, f"SELECT ward, {number} FROM person GROUP BY ward", "50")
    assert told(answer) == [(10 - FULL, 10, "ward")]


def test_only_groups_of_the_answer_are_counted(proxy: Proxy) -> None:
    sql = "SELECT ward, COUNT(*) FROM person GROUP BY ward HAVING ward >= 'e'"
    assert [told(answer) for answer in asked(proxy, sql, "50")] == [[(4, 6, "ward")]]
    assert not told(*asked(proxy, sql.replace(">= 'e'", "< 'e'"), "50"))


def test_no_group_is_told_of_that_noise_alone_shows(proxy: Proxy) -> None:
    """Of nobody's groups one is taken for somebody's in one answer of a hundred: 9 of 300 are 3.5 standard deviations
    more."""
    sql = "SELECT ward, sex, COUNT(*), SUM(age) FROM person WHERE age > 95 GROUP BY ward, sex"
    found = [told(answer) for answer in asked(proxy, sql, "1", 300)]
    assert sum(one != [(20, 20, "ward, sex")] for one in found) <= 9


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM person",
        "SELECT SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM person GROUP BY ward) AS w",
        "SELECT sex, COUNT(*) FROM person GROUP BY sex",
    ],
    ids=["no groups", "a sum of all groups", "groups that have rows"],
)
def test_nothing_is_told_where_nothing_differs(proxy: Proxy, sql: str) -> None:
    assert not told(*asked(proxy, sql, "5"))


def test_who_wants_all_groups_is_told_nothing_of_empty_ones(proxy: Proxy) -> None:
    session = proxy.session()
    session.execute("SET dpsql.empty_groups = show")
    answer = session.execute("SELECT ward, COUNT(*) FROM person WHERE age > 95 GROUP BY ward")
    assert len(answer.rows) == 10
    assert not told(answer)
