"""Conditions on numbers in workloads: the intervals between all cuts are one attribute, of people and of their rows."""

from __future__ import annotations

from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from dpsql.proxy import Proxy
from dpsql.reuse.offers import MOST_WIDER
from tests.doubles import opened_policy
from tests.new_databases import insert
from tests.policies import policy_text

PEOPLE = 300
POLICY = policy_text("""
database: duckdb:people.duckdb; ledger: sqlite:{name}.ledger; privacy_unit: person.id; budget: {budget}
statement: {epsilon: 0.5, max_epsilon: 4}
tables:
  person: id, sex [F, M], age 0..110, weight 0..200, height 0..3
  visit(person_id -> person.id, max_rows: 3): ward [a, b], cost 0..50
""")
BUDGETS = ("{epsilon: 100, delta: 1e-6}", "{epsilon: 100, accounting: pure}")
CONDITIONS = (
    "age >= 40",
    "age < 40",
    "NOT age > 64",
    "65 <= age",
    "age BETWEEN 30 AND 39",
    "age NOT BETWEEN 18 AND 64",
    "age = 40",
    "age <> 40",
    "age IN (18, 40, 200)",
    "age NOT IN (18, 40)",
    "age IS NULL OR age < 18",
    "age IS NOT NULL",
    "age IS DISTINCT FROM 40",
    "age IS NOT DISTINCT FROM 40",
    "age >= 39.5",
    "age < -3",
    "age > 110",
    "age >= 18 AND sex = 'F'",
    "age < 40 OR (sex = 'M' AND age >= 65)",
    "weight >= 70.25",
    "weight > 70.255",
    "weight < 70.25 AND age >= 40",
    "height < 1.5",
    "height > 1.5",
    "height = 1.5",
    "height <= 1.75 AND sex = 'F'",
)
OF_PEOPLE = [
    "SELECT COUNT(*) FROM person",
    "SELECT sex, COUNT(*) FROM person GROUP BY sex",
    *(f"SELECT COUNT(*) FROM person WHERE {one}" for one in CONDITIONS),
    *(f"SELECT sex, COUNT(*) FROM person WHERE {one} GROUP BY sex" for one in CONDITIONS if "sex" not in one),
]
OF_ROWS = [
    "SELECT COUNT(*) FROM visit",
    "SELECT ward, COUNT(*) FROM visit GROUP BY ward",
    "SELECT COUNT(*) FROM visit WHERE cost > 25",
    "SELECT COUNT(*) FROM visit WHERE cost BETWEEN 10 AND 25",
    "SELECT ward, COUNT(*) FROM visit WHERE cost < 10 GROUP BY ward",
    "SELECT COUNT(*) FROM visit WHERE ward = 'a' AND cost >= 10",
    "SELECT COUNT(*) FROM visit WHERE cost IS NULL",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers at each cut and beside it, beyond the declared ranges, and NULL. Nobody has more than three visits."""
    made, drawn = tmp_path_factory.mktemp("numbers"), Random(38)
    with duckdb.connect(str(made / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, sex ENUM ('F', 'M') NOT NULL, age SMALLINT,"
            " weight DECIMAL(5, 2), height DOUBLE);"
            "CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person, ward ENUM ('a', 'b') NOT NULL, cost INTEGER)"
        )
        ages = (None, -5, -4, -3, 0, 17, 18, 29, 30, 39, 40, 41, 64, 65, 66, 110, 111, 200, 900)
        weights = (None, "-1.00", "70.24", "70.25", "70.26", "999.99")
        heights = (None, -1.0, 1.4999999, 1.5, 1.5000001, 1.75, 80.0, "NaN", "inf")
        people = [
            (one, drawn.choice("FM"), drawn.choice(ages), drawn.choice(weights), drawn.choice(heights))
            for one in range(PEOPLE)
        ]
        visits = [
            (one, drawn.choice("ab"), drawn.choice([None, -9, 0, 9, 10, 25, 26, 50, 900]))
            for one in range(PEOPLE)
            for _ in range(drawn.randrange(4))
        ]
        insert(connection, "person", people)
        insert(connection, "visit", visits)
    return made


def opened(folder: Path, budget: str = BUDGETS[0], **how: Any) -> AbstractContextManager[Proxy]:
    return opened_policy(folder, POLICY, budget=budget, **how)


@pytest.mark.spread
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("asked", [OF_PEOPLE, OF_ROWS], ids=["people", "rows"])
def test_without_noise_conditions_on_numbers_mean_what_they_mean_in_the_database(
    folder: Path, asked: list[str], budget: str
) -> None:
    with opened(folder, silent=True) as proxy:
        session = proxy.session()
        right = [sorted(session.execute(sql).rows) for sql in asked]
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        plain = [(place, sql) for place, sql in enumerate(asked) if "height" not in sql]
        assert all(right[place] == sorted(known.execute(sql).fetchall()) for place, sql in plain)
    # Few statements at once are all joined, and every pair of conditions comes at some time.
    random = Random(budget)
    for _ in range(4):
        some = [*asked[:2], *random.sample(asked[2:], min(9, len(asked) - 2))]
        with opened(folder, budget, silent=True) as proxy:
            session = proxy.session()
            session.buy(some, Fraction(1))
            for sql in some:
                answer = session.execute(sql)
                assert not answer.price, sql
                assert sorted(answer.rows) == right[asked.index(sql)], sql


def test_conditions_on_numbers_are_joined_and_more_accurate_together(folder: Path) -> None:
    asked = [
        "SELECT COUNT(*) FROM {0}",
        "SELECT {1}, COUNT(*) FROM {0} GROUP BY {1}",
        "SELECT COUNT(*) FROM {0} WHERE {2} >= 40",
        "SELECT COUNT(*) FROM {0} WHERE {2} < 18",
        "SELECT COUNT(*) FROM {0} WHERE {2} BETWEEN 18 AND 39",
        "SELECT {1}, COUNT(*) FROM {0} WHERE {2} >= 18 GROUP BY {1}",
    ]
    for names in (("person", "sex", "age"), ("visit", "ward", "cost")):
        with opened(folder) as proxy:
            plan = proxy.session().workload([one.format(*names) for one in asked], Fraction(1))
        assert all(one.joined for one in plan.statements)
        assert max(one.far for one in plan.statements) <= 1.01
        alone, together = (
            sum((one[-1] or 0) ** 2 for one in errors)
            for errors in zip(*((one.alone, one.together) for one in plan.statements), strict=True)
        )
        assert together < 0.6 * alone


def test_later_questions_between_the_same_cuts_are_free_and_others_are_not(folder: Path) -> None:
    asked = [
        "SELECT sex, COUNT(*) FROM person GROUP BY sex",
        "SELECT sex, COUNT(*) FROM person WHERE age >= 40 GROUP BY sex",
        "SELECT COUNT(*) FROM person WHERE age < 18",
    ]
    with opened(folder, name="kept") as proxy:
        session = proxy.session()
        plan, _ = session.buy(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
    with opened(folder, name="kept") as proxy:
        session = proxy.session()
        for free in (
            "SELECT COUNT(*) FROM person WHERE age BETWEEN 18 AND 39",
            "SELECT sex, COUNT(*) FROM person WHERE NOT age >= 40 GROUP BY sex",
            "SELECT COUNT(*) FROM person WHERE age < 18 OR (age >= 40 AND sex = 'F')",
            "SELECT COUNT(*) FROM person WHERE age > 17",
            "SELECT CASE WHEN age < 18 THEN 'young' WHEN age < 40 THEN 'middle' ELSE 'old' END AS who, COUNT(*)"
            " FROM person GROUP BY 1",
        ):
            assert not session.execute(free).price, free
        for sold in (
            "SELECT COUNT(*) FROM person WHERE age >= 41",
            "SELECT COUNT(*) FROM person WHERE age % 2 = 0",
            "SELECT COUNT(*) FROM person WHERE weight >= 40",
        ):
            assert session.execute(sold).price, sold


def test_a_column_that_is_read_in_other_ways_is_no_attribute(folder: Path) -> None:
    asked = [
        "SELECT COUNT(*) FROM person",
        "SELECT COUNT(*) FROM person WHERE age + 1 >= 40",
        "SELECT COUNT(*) FROM person WHERE age >= 40 AND age % 2 = 0",
        "SELECT COUNT(*) FROM person WHERE age < weight",
        "SELECT COUNT(*) FROM person WHERE sex = 'F' AND (age >= 40) IS TRUE AND ABS(age) < 3",
    ]
    with opened(folder) as proxy:
        plan = proxy.session().workload(asked, Fraction(1))
    assert not any(one.joined for one in plan.statements[1:])


DIVIDED = (
    "SELECT COUNT(*) FROM person",
    *(f"SELECT COUNT(*) FROM person WHERE age >= {at}" for at in (20, 40, 60, 80)),
    *(f"SELECT sex, COUNT(*) FROM person WHERE age < {at} GROUP BY sex" for at in (20, 60)),
    "SELECT sex, COUNT(*) FROM person GROUP BY sex",
)
"""Statements for which intervals are measured in blocks: a table by the intervals themselves has a small share."""


def test_what_blocks_hardly_tell_is_not_given_for_nothing(folder: Path) -> None:
    others = (
        "SELECT COUNT(*) FROM person WHERE age BETWEEN 20 AND 59",
        "SELECT sex, COUNT(*) FROM person WHERE age >= 40 GROUP BY sex",
        "SELECT COUNT(*) FROM person WHERE age >= 40 AND sex = 'F'",
    )
    with opened(folder) as proxy:
        session = proxy.session()
        usual = [session.explain(sql).expected[-1] or 0 for sql in others]
        plan, _ = session.buy(DIVIDED, Fraction(1, 2))
        assert any(one.together is not None and one.together.merged for _, one, _ in plan.kept)
        for sql in DIVIDED:
            assert not session.explain(sql).price, sql
        free = []
        for sql, alone in zip(others, usual, strict=True):
            told = session.explain(sql)
            free.append(not told.price)
            assert (told.expected[-1] or 0) <= (MOST_WIDER if free[-1] else 1) * alone, sql
        assert free == [True, False, False]


def test_what_is_shown_of_blocks_is_as_accurate_as_what_was_measured(folder: Path) -> None:
    """Intervals that hardly anything tells of apart are not cut off at 0 each: that would move the sums of them."""
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        right = {sql: {row[:-1]: row[-1] for row in known.execute(sql).fetchall()} for sql in DIVIDED}
    squares: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(4):
        with opened(folder) as proxy:
            session = proxy.session()
            session.buy(DIVIDED, Fraction(1, 2))
            shown = {}
            for consistent, errors in squares.items():
                session.change("dpsql.consistent", consistent)
                for sql in DIVIDED:
                    found = {tuple(row[:-1]): row[-1] for row in session.execute(sql).rows}
                    shown |= {(consistent, sql): found}
                    errors += [(number - right[sql][key]) ** 2 for key, number in found.items()]  # type: ignore[operator]
            assert sum(shown["on", DIVIDED[-1]].values()) == shown["on", DIVIDED[0]][()]  # type: ignore[arg-type]
    assert sum(squares["on"]) < 1.5 * sum(squares["off"])
