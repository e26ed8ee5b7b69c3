"""Later tables of which a workload knows some components: the others alone are measured, and all are put together."""

from __future__ import annotations

from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pytest

from dpsql.proxy import Proxy
from tests.doubles import opened_policy
from tests.new_databases import insert
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:{name}.ledger; privacy_unit: person.id
budget: {epsilon: 1000, {accounting}}; statement: {epsilon: 0.5, max_epsilon: 4}
tables:
  person: id, region [N, E, S, W], sex [f, m], smoker, amount 0..100
""")
ZCDP = "delta: 1e-6"
WORKLOAD = (
    "SELECT region, sex, COUNT(*) AS n FROM person GROUP BY region, sex",
    "SELECT sex, smoker, COUNT(*) AS n FROM person GROUP BY sex, smoker",
)
ALL = "SELECT region, sex, smoker, COUNT(*) AS n FROM person GROUP BY region, sex, smoker"
PARTS = (
    "SELECT region, smoker, COUNT(*) AS n FROM person GROUP BY region, smoker",
    "SELECT region, COUNT(*) AS n FROM person WHERE smoker GROUP BY region",
    "SELECT COUNT(*) AS n FROM person WHERE NOT smoker AND region IN ('N', 'E') AND sex = 'f'",
)
NOTICE = "6 of 8 components are known: the price is paid for the others alone"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, drawn = tmp_path_factory.mktemp("people"), Random(11)
    with duckdb.connect(str(made / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL,"
            " sex ENUM ('f', 'm') NOT NULL, smoker BOOLEAN NOT NULL, amount INTEGER NOT NULL)"
        )
        people = [
            (number, drawn.choice("NNNESW"), drawn.choice("fm"), drawn.random() < 0.4, drawn.randrange(101))
            for number in range(4_000)
        ]
        insert(connection, "person", people)
    return made


def opened(folder: Path, *, accounting: str = ZCDP, silent: bool = False) -> AbstractContextManager[Proxy]:
    return opened_policy(folder, POLICY, silent=silent, accounting=accounting)


Right = dict[str, dict[tuple[object, ...], int]]


@pytest.fixture(scope="module")
def right(folder: Path) -> Right:
    """What the database itself answers."""
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        asked = {sql: known.execute(sql).fetchall() for sql in (ALL, *PARTS)}
    return {sql: {tuple(map(str, row[:-1])): row[-1] for row in rows} for sql, rows in asked.items()}


def test_what_is_missing_is_bought_at_the_whole_price_and_all_that_follows_is_free(folder: Path) -> None:
    with opened(folder) as proxy:
        session = proxy.session()
        whole = session.explain(ALL)
        session.buy(WORKLOAD, Fraction(1))
        told = session.explain(ALL)
        assert told.price == whole.price, "the price is the statement's"
        assert told.expected[-1] < 0.6 * whole.expected[-1]  # type: ignore[operator]
        assert any(NOTICE in one for one in told.notices)
        dearer = told.better[0]
        left = dearer.errors[-1] / told.expected[-1]  # type: ignore[operator]
        assert dearer.less[-1] == pytest.approx(1 - left), "what a larger price takes away is of the error as it is"
        charges = len(proxy.ledger.charges(limit=10))
        first = session.execute(ALL)
        assert first.price == told.price
        assert first.notices == (NOTICE,)
        again = session.execute(ALL)
        assert not again.price
        assert (again.rows, again.margins) == (first.rows, first.margins)
        for sql in PARTS:
            assert not session.execute(sql).price, sql
        assert len(proxy.ledger.charges(limit=10)) == charges + 1


def test_what_was_free_before_shows_the_same(folder: Path) -> None:
    with opened(folder) as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1))
        before = [session.execute(sql).rows for sql in WORKLOAD]
        session.execute(ALL)
        assert [session.execute(sql).rows for sql in WORKLOAD] == before


@pytest.mark.parametrize("first", [ALL, *PARTS])
def test_without_noise_they_are_what_the_database_answers(folder: Path, right: Right, first: str) -> None:
    with opened(folder, silent=True) as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1))
        for sql in (first, ALL, *PARTS):
            shown = {tuple(map(str, row[:-1])): row[-1] for row in session.execute(sql).rows}
            assert {key: one for key, one in shown.items() if one} == right[sql], (first, sql)


def test_a_curve_of_losses_pays_for_what_is_missing(folder: Path) -> None:
    with opened(folder, accounting="delta: 1e-6, accounting: rdp") as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1))
        told, answer = session.explain(ALL), session.execute(ALL)
        assert answer.price == told.price
        assert answer.notices == (NOTICE,)
        assert not session.execute(ALL).price


@pytest.mark.parametrize("accounting", ["delta: 0, accounting: pure", "delta: 1e-6, accounting: approx"])
def test_other_accountings_measure_the_whole(folder: Path, accounting: str) -> None:
    with opened(folder, accounting=accounting) as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1))
        answer = session.execute(ALL)
        assert answer.price
        assert NOTICE not in answer.notices


def test_a_larger_price_and_a_rough_workload_measure_the_whole(folder: Path) -> None:
    """What is known keeps its noise: where that is large, or more is asked for, the whole table is better."""
    with opened(folder) as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1, 20))
        assert NOTICE not in session.explain(ALL).notices
    with opened(folder) as proxy:
        session = proxy.session()
        session.buy(WORKLOAD, Fraction(1))
        session.execute("SET dpsql.epsilon = 2")
        assert NOTICE not in session.execute(ALL).notices


def test_more_than_the_usual_accuracy_pays_for_what_is_missing_and_is_free_again(folder: Path) -> None:
    with opened(folder) as proxy:
        session = proxy.session()
        session.execute("SET dpsql.epsilon = 0.7")
        whole = session.explain(ALL)
        session.buy(WORKLOAD, Fraction(1))
        first = session.execute(ALL)
        assert NOTICE in first.notices
        assert first.price == whole.price
        assert all(bar[-1] < whole.expected[-1] for bar in first.margins)  # type: ignore[operator]
        again = session.execute(ALL)
        assert not again.price
        assert again.rows == first.rows
        session.execute("SET dpsql.epsilon = 1.5")
        dear = session.execute(ALL)
        assert dear.price, "what has less accuracy than was asked for is not given instead"
        assert all(bar[-1] < other[-1] for bar, other in zip(dear.margins, first.margins, strict=True))  # type: ignore[operator]


@pytest.mark.parametrize("draws", [pytest.param(12), pytest.param(150, marks=pytest.mark.campaign)])
def test_bars_hold_of_what_was_completed_and_of_what_follows(folder: Path, right: Right, draws: int) -> None:
    asked = (ALL, *PARTS)
    inside, means = [], []
    for _ in range(draws):
        with opened(folder) as proxy:
            session = proxy.session()
            session.execute("SET dpsql.epsilon = 0.05")
            session.buy(WORKLOAD, Fraction(1, 10))
            for sql in asked:
                answer = session.execute(sql)
                assert (NOTICE in answer.notices) == (sql == ALL)
                far = [
                    row[-1] - right[sql].get(tuple(map(str, row[:-1])), 0)  # type: ignore[operator]
                    for row in answer.rows
                ]
                bars = [bar[-1] for bar in answer.margins]
                inside += [abs(one) <= bar for one, bar in zip(far, bars, strict=True)]
                means.append(np.mean(far))
    least, most = (0.93, 0.985) if draws > 100 else (0.9, 1.0)
    assert least <= np.mean(inside) <= most
    error = np.std(means, ddof=1) / len(means) ** 0.5
    assert abs(np.mean(means)) <= 3 * error
