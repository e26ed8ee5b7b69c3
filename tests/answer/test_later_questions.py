"""Questions that follow from what was bought as one: free, with the bars that they have, and right without noise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpsql.proxy import Proxy
from tests.doubles import open_without_noise
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:{ledger}.ledger; privacy_unit: person.id
budget: {epsilon: 100, delta: 1e-6}; statement: {epsilon: 0.5, max_epsilon: 4}
tables:
  person: id, region [N, E, S, W], plan [free, pro, max], vip
""")
BOUGHT = (
    "SELECT region, plan, vip, COUNT(*) AS n FROM person GROUP BY 1, 2, 3",
    "SELECT region, COUNT(*) AS n FROM person GROUP BY 1",
    "SELECT COUNT(*) AS n FROM person",
)
LATER = (
    "SELECT region, plan, COUNT(*) AS n FROM person GROUP BY 1, 2",
    "SELECT vip, COUNT(*) AS n FROM person GROUP BY 1",
    "SELECT COUNT(*) AS n FROM person WHERE region IN ('N', 'E')",
    "SELECT COUNT(*) AS n FROM person WHERE region = 'N' OR plan = 'pro'",
    "SELECT plan, COUNT(*) AS n FROM person WHERE region <> 'N' AND NOT vip GROUP BY 1",
    "SELECT CASE WHEN region IN ('N', 'S') THEN 'long' ELSE 'wide' END AS c, COUNT(*) AS n FROM person GROUP BY 1",
    "SELECT region = 'N' AS c, COUNT(*) AS n FROM person GROUP BY 1",
    "SELECT region = 'N' AS c, plan, COUNT(*) AS n FROM person WHERE vip GROUP BY 1, 2",
    "SELECT CASE WHEN vip AND plan = 'max' THEN 'best' WHEN vip THEN region ELSE 'other' END AS c, COUNT(*) AS n"
    " FROM person GROUP BY 1",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("later")
    with duckdb.connect(str(made / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL,"
            " plan ENUM ('free', 'pro', 'max') NOT NULL, vip BOOLEAN NOT NULL)"
        )
        connection.execute(
            "INSERT INTO person SELECT i, ['N', 'E', 'S', 'W'][1 + (i * i) % 4], ['free', 'pro', 'max'][1 + i // 7 % 3],"
            " i % 5 = 0 FROM range(2000) t(i)"
        )
    return made


def policy(folder: Path, name: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(POLICY.format(ledger=name))
    return path


Truth = dict[str, dict[tuple[object, ...], int]]


@pytest.fixture(scope="module")
def truth(folder: Path) -> Truth:
    """What the database itself answers."""
    with duckdb.connect(str(folder / "people.duckdb")) as known:
        return {sql: {tuple(row[:-1]): row[-1] for row in known.execute(sql).fetchall()} for sql in LATER}


@pytest.fixture(scope="module")
def exact(folder: Path, truth: Truth) -> Iterator[Proxy]:
    with closing(open_without_noise(policy(folder, "exact"))) as proxy:
        proxy.session().buy(BOUGHT, Fraction(1))
        yield proxy


@pytest.mark.parametrize("sql", LATER)
def test_a_later_question_is_free_and_right(truth: Truth, exact: Proxy, sql: str) -> None:
    session = exact.session()
    foretold = session.explain(sql)
    assert not foretold.price
    assert foretold.expected[-1]
    answer = session.execute(sql)
    assert not answer.price
    assert {tuple(row[:-1]): row[-1] for row in answer.rows if row[-1]} == truth[sql]
    assert any("a larger dpsql.epsilon buys more" in one for one in answer.notices)
    assert len(exact.ledger.charges(limit=10)) == 1


def test_what_is_far_less_accurate_than_usual_is_bought(folder: Path) -> None:
    """The sum of 24 cells, where no total was bought."""
    with closing(Proxy.open(policy(folder, "far"))) as proxy:
        session = proxy.session()
        session.buy((BOUGHT[0], "SELECT region, plan, COUNT(*) FROM person GROUP BY 1, 2"), Fraction(1, 8))
        assert session.execute(BOUGHT[2]).price


@pytest.mark.campaign
def test_bars_of_later_questions_hold_what_they_say(folder: Path, truth: Truth) -> None:
    inside: dict[str, list[bool]] = {sql: [] for sql in LATER}
    for number in range(60):
        with closing(Proxy.open(policy(folder, f"bars{number}"))) as proxy:
            session = proxy.session()
            session.buy(BOUGHT, Fraction(1))
            session.change("dpsql.consistent", "off")
            for sql in LATER:
                known, answer = truth[sql], session.execute(sql)
                assert not answer.price
                inside[sql] += [
                    abs(row[-1] - known.get(tuple(row[:-1]), 0)) <= margin[-1]  # type: ignore[operator]
                    for row, margin in zip(answer.rows, answer.margins, strict=True)
                ]
    assert {sql: float(np.mean(one)) for sql, one in inside.items() if np.mean(one) < 0.9} == {}
    # Bars of whole numbers of so little noise are up to a half too wide.
    assert 0.94 <= np.mean([one for some in inside.values() for one in some]) <= 0.99
