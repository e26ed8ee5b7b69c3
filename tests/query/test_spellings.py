"""One question in many spellings: all are answered, with the rows that PostgreSQL has for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.query.spellings import POLICY, QUESTIONS, SETUP
from tests.tape.plans_per_question import questions, report

WRONG_BEFORE = {
    "SELECT COUNT(*) FROM (SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region FROM patient GROUP BY region) x": [
        (5,)
    ],
    "SELECT COUNT(*) FROM (SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region, COUNT(*) AS n FROM patient"
    " GROUP BY ROLLUP (region)) x": [(6,)],
    "SELECT COUNT(*) FROM (SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region FROM patient GROUP BY 1) x": [
        (2,)
    ],
    "SELECT CASE WHEN region < 'r2' THEN 'A' ELSE 'B' END AS region, COUNT(*) AS n FROM patient GROUP BY region ORDER BY n"
    " DESC, region LIMIT 2": [("A", 240), ("B", 180)],
}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("spellings")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(SETUP)
    (folder / "policy.yaml").write_text(POLICY)
    proxy = open_without_noise(folder / "policy.yaml")
    yield proxy.session()
    proxy.close()


@pytest.mark.parametrize("sql", WRONG_BEFORE)
def test_group_by_takes_an_input_column_before_an_output(sql: str, exact: Session) -> None:
    assert list(exact.execute(sql).rows) == WRONG_BEFORE[sql]


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection]:
    server = shared_server()
    with server.owner(server.database(SETUP)) as connection:
        yield connection


def comparable(rows: Iterable[Sequence[object]]) -> list[tuple[object, ...]]:
    """Rows in an order of their own; numbers as they are counted, not as they are stored."""
    return sorted(
        tuple(one if isinstance(one, str | bool) else round(float(str(one)), 4) for one in row) for row in rows
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_spelling_is_answered_as_postgres_answers_it(
    question: str, exact: Session, postgres: psycopg.Connection
) -> None:
    plainest, *_ = QUESTIONS[question]
    rows = comparable(postgres.execute(plainest).fetchall())
    for sql in QUESTIONS[question]:
        assert comparable(postgres.execute(sql).fetchall()) == rows
        assert comparable(exact.execute(sql).rows) == [
            tuple(one if isinstance(one, str | bool) else pytest.approx(one, rel=1e-3) for one in row) for row in rows
        ], sql


def test_equal_questions_share_plans() -> None:
    """The numbers only fall: each is what is left of spellings that are other plans."""
    found = questions(jobs=1)
    assert all(one.answered == one.asked and len(one.prices) == 1 for one in found.values())
    assert {name: len(one.plans) for name, one in found.items()} == {
        "the mean in the two largest groups": 1,
        "the whole beside its groups": 2,
        "the first of each person": 3,
        "how many rows": 1,
        "people who have such a row": 3,
        "the mean of sums per person": 5,
        "a value of the person by a value of the row": 2,
        "by a computed key": 1,
        "rows above the mean": 1,
        "the totals of totals": 2,
        "by a function of a finer key": 1,
    }
    asked = str(sum(map(len, QUESTIONS.values())))
    assert any(line.split()[:3] == ["all", asked, asked] for line in report(found))
