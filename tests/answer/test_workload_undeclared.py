"""Workloads over keys of which rows have values that nobody declared: texts, days and months, beyond ranges and NULL."""

from __future__ import annotations

from contextlib import AbstractContextManager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import pytest

from dpsql.proxy import Proxy
from tests.doubles import opened_policy
from tests.new_databases import insert
from tests.policies import policy_text

POLICY = policy_text("""
database: duckdb:shop.duckdb; ledger: sqlite:{name}.ledger; privacy_unit: person.id; budget: {budget}
statement: {epsilon: 0.5, max_epsilon: 4}
tables:
  person: id, town [A, B, null], born 1950-01-01..1989-12-31, children 0..5
  sale(person_id -> person.id, max_rows: 4): why [u, v], day 2025-01-10..2025-12-05, moment 2025-01-01..2025-12-31,
      cost 0..50
""")
BUDGETS = ("{epsilon: 100, delta: 1e-6}", "{epsilon: 100, accounting: pure}")
SALES = (
    "SELECT COUNT(*) FROM sale",
    "SELECT why, COUNT(*) FROM sale GROUP BY why",
    "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM sale GROUP BY 1",
    "SELECT DATE_TRUNC('month', day) AS m, why, COUNT(*) FROM sale GROUP BY 1, 2",
    "SELECT DATE_TRUNC('quarter', day) AS q, COUNT(*) FROM sale GROUP BY 1",
    "SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*) FROM sale GROUP BY 1",
    "SELECT DATE_TRUNC('month', moment) AS m, COUNT(*) FROM sale GROUP BY 1",
    "SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) FROM sale GROUP BY 1",
    "SELECT moment::date::text AS m, COUNT(*) FROM sale WHERE why = 'v' GROUP BY 1",
    "SELECT COUNT(*) FROM sale WHERE why = 'u'",
    "SELECT why, COUNT(*) FROM sale WHERE day >= DATE '2025-02-01' GROUP BY why",
    "SELECT COUNT(*) FROM sale WHERE day BETWEEN DATE '2025-01-31' AND DATE '2025-12-31'",
    "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM sale WHERE NOT why = 'u' GROUP BY 1",
)
COSTS = (
    "SELECT SUM(cost) FROM sale",
    "SELECT why, SUM(cost) FROM sale GROUP BY why",
    "SELECT DATE_TRUNC('month', day) AS m, SUM(cost) FROM sale GROUP BY 1",
)
PEOPLE = (
    "SELECT COUNT(*) FROM person",
    "SELECT town, COUNT(*) FROM person GROUP BY town",
    "SELECT children, COUNT(*) FROM person GROUP BY children",
    "SELECT DATE_TRUNC('decade', born) AS d, COUNT(*) FROM person GROUP BY 1",
    "SELECT EXTRACT(DECADE FROM born) AS d, town, COUNT(*) FROM person GROUP BY 1, 2",
    "SELECT COUNT(*) FROM person WHERE born >= '1970-01-01'",
    "SELECT town, COUNT(*) FROM person WHERE children > 2 GROUP BY town",
    "SELECT COUNT(*) FROM person WHERE town IS NULL",
)
CYCLES = (
    "SELECT EXTRACT(QUARTER FROM day) AS q, COUNT(*) FROM sale GROUP BY 1",
    "SELECT EXTRACT(MONTH FROM moment::date) AS m, COUNT(*) FROM sale GROUP BY 1",
    "SELECT EXTRACT(MONTH FROM DATE_TRUNC('month', day)) AS m, why, COUNT(*) FROM sale GROUP BY 1, 2",
)
"""Rows beyond the range are in groups of these."""
CENTURIES = (
    "SELECT COUNT(*) FROM person",
    "SELECT town, COUNT(*) FROM person GROUP BY town",
    "SELECT EXTRACT(CENTURY FROM born) AS c, COUNT(*) FROM person GROUP BY 1",
    "SELECT EXTRACT(CENTURY FROM born) AS c, town, COUNT(*) FROM person GROUP BY 1, 2",
)
"""So they are in those of a century that is longer than the range."""
LATER = (
    "SELECT DATE_TRUNC('quarter', day) AS q, why, COUNT(*) FROM sale GROUP BY 1, 2",
    "SELECT COUNT(*) FROM sale WHERE why = 'v' OR why = 'u'",
)
EVERY = {"sales": SALES, "costs": COSTS, "people": PEOPLE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, drawn = tmp_path_factory.mktemp("shop"), Random(7)
    with duckdb.connect(str(made / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, town VARCHAR, born DATE, children INTEGER NOT NULL);"
            "CREATE TABLE sale (person_id INTEGER NOT NULL REFERENCES person, why VARCHAR, day DATE, moment TIMESTAMP NOT NULL,"
            " cost INTEGER NOT NULL)"
        )
        days = ["2025-01-05", "2025-01-10", "2025-01-31", "2025-02-01", "2025-11-30", "2025-12-05", "2025-12-31",
                "2024-12-31", "2026-01-01", "2040-06-06", None]  # fmt: skip
        moments = [
            "2025-01-01 00:00:00",
            "2025-06-30 23:59:59.999999",
            "2025-12-31 23:59:59.999999",
            "2026-01-01 00:00:00",
        ]
        born = ["1950-01-01", "1969-12-31", "1970-01-01", "1989-12-31", "1990-01-01", "1949-12-31", None]
        people, sales = list[tuple[object, ...]](), list[tuple[object, ...]]()
        for person in range(300):
            children = drawn.choice([0, 1, 2, 3, 5, 9, -1])
            people.append((person, drawn.choice(["A", "B", "C", "", None]), drawn.choice(born), children))
            for _ in range(drawn.choice([0, 1, 2, 4])):
                why, cost = drawn.choice(["u", "v", "w", "U", None]), drawn.choice([0, 10, 50])
                sales.append((person, why, drawn.choice(days), drawn.choice(moments), cost))
        insert(connection, "person", people)
        insert(connection, "sale", sales)
    return made


def opened(folder: Path, budget: str = BUDGETS[0], *, silent: bool = False) -> AbstractContextManager[Proxy]:
    return opened_policy(folder, POLICY, silent=silent, budget=budget)


@pytest.mark.spread
@pytest.mark.parametrize("statements", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("budget", BUDGETS)
def test_keys_of_undeclared_values_are_joined_and_more_accurate(
    folder: Path, statements: tuple[str, ...], budget: str
) -> None:
    with opened(folder, budget) as proxy:
        plan, charged = proxy.session().buy(statements, Fraction(2))
        assert charged == plan.loss
        # Months of another column, and what the same shares of the price make no more accurate, are bought beside.
        assert sum(one.joined for one in plan.statements) > 0.5 * len(statements)
        errors = [(one.alone[-1], one.together[-1]) for one in plan.statements if one.joined]
        squares = [(float(alone or 0) ** 2, float(both or 0) ** 2) for alone, both in errors]
        assert sum(both for _, both in squares) < 0.95 * sum(alone for alone, _ in squares)
        session = proxy.session()
        assert not any(session.execute(sql).price for sql in statements)


@pytest.mark.parametrize("statements", [*EVERY.values(), CENTURIES], ids=[*EVERY, "centuries"])
def test_without_noise_they_mean_what_they_mean_in_the_database(folder: Path, statements: tuple[str, ...]) -> None:
    with opened(folder, silent=True) as proxy:
        session = proxy.session()
        plan, _ = session.buy(statements, Fraction(2))
        assert any(one.joined for one in plan.statements)
        answers = {
            sql: session.execute(sql).rows for sql in (*statements, *((*LATER, *CYCLES) if statements is SALES else ()))
        }
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as connection:
        for sql, rows in answers.items():
            spelt = sql.replace("TO_CHAR(day, 'YYYY-MM')", "STRFTIME(day, '%Y-%m')")
            truth = {tuple(map(plain, row[:-1])): row[-1] for row in connection.execute(spelt).fetchall()}
            found = {tuple(map(plain, row[:-1])): row[-1] for row in rows}
            assert found, sql
            for key, value in found.items():
                assert float(value or 0) == float(truth.get(key) or 0), (sql, key)  # type: ignore[arg-type]
            declared = {key for key in truth if key in found}
            assert len(declared) >= 0.25 * len(truth), (sql, truth)


def plain(value: object) -> object:
    return str(value)[:10] if hasattr(value, "year") else float(value) if isinstance(value, int | Decimal) else value


def test_later_questions_of_the_same_cells_are_free(folder: Path) -> None:
    with opened(folder) as proxy:
        session = proxy.session()
        session.buy(SALES, Fraction(2))
        for sql in LATER:
            assert not session.execute(sql).price, sql
