"""Counts and sums of rows, of which a person may have several, by different keys: one vector, and one charge."""

from __future__ import annotations

import random
import re
from contextlib import AbstractContextManager, closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dpsql.prepare import Prepared
from dpsql.proxy import Proxy
from dpsql.reuse.clipped_alike import clipped_alike
from tests.doubles import open_without_noise, opened_policy
from tests.new_databases import insert
from tests.policies import policy_text

PEOPLE = 400
POLICY = """
database: duckdb:people.duckdb
ledger: sqlite:{name}.ledger
privacy_unit: person.id
budget: {budget}
statement: {{epsilon: 0.5, max_epsilon: 4}}
tables:
  person:
    columns:
      id: {{}}
      region: {{values: [N, E, S, W]}}
  {table}:
    unit: person_id -> person.id
    {bound}
    columns:
      person_id: {{}}
      ward: {{values: [a, b, c]}}
      kind: {{values: [x, y]}}
      cost: {{range: [0, 50]}}
      change: {{range: [-50, 20]}}
"""
BUDGETS = (
    "{epsilon: 100, delta: 1e-6}",
    "{epsilon: 100, accounting: pure}",
    "{epsilon: 100, delta: 1e-6, accounting: approx}",
)
COUNT = r"COUNT\(\*\)|COUNT\(1\)|COUNT\(person_id\)"
COUNTS = {
    "SELECT COUNT(*) FROM visit": "SELECT COUNT(person_id) AS visits FROM visit AS v",
    "SELECT ward, COUNT(*) FROM visit GROUP BY ward": "WITH v AS (SELECT * FROM visit) SELECT ward, COUNT(1) FROM v GROUP BY 1",
    "SELECT kind, COUNT(*) FROM visit GROUP BY kind": "SELECT v.kind AS k, COUNT(*) FROM visit v GROUP BY v.kind ORDER BY k",
    "SELECT ward, kind, COUNT(*) FROM visit GROUP BY ward, kind": "SELECT ward, kind, COUNT(*) FROM visit GROUP BY kind, ward",
}
SUMS = {re.sub(COUNT, "SUM(change)", one): re.sub(COUNT, "SUM(change)", other) for one, other in COUNTS.items()}
BOTH = COUNTS | {
    "SELECT ward, COUNT(*), SUM(cost) FROM visit GROUP BY ward": "SELECT ward, COUNT(*), SUM(visit.cost) FROM visit GROUP BY 1",
    "SELECT kind, SUM(cost) FROM visit GROUP BY kind": "SELECT kind, SUM(cost) AS n FROM visit GROUP BY kind",
    "SELECT ward, kind, AVG(cost) FROM visit GROUP BY ward, kind": "SELECT ward, kind, AVG(cost) AS n FROM visit GROUP BY ward, kind",
}
OF_PEOPLE = {
    "SELECT region, COUNT(*) FROM visit JOIN person ON id = person_id GROUP BY region": "",
    "SELECT region, ward, COUNT(*) FROM visit JOIN person ON id = person_id GROUP BY region, ward": "",
    "SELECT ward, COUNT(*) FROM visit JOIN person ON id = person_id GROUP BY ward": "",
}
VARYING = {
    "SELECT COUNT(*) FROM visit": "",
    "SELECT COUNT(*) FROM visit WHERE kind = 'x'": "SELECT COUNT(*) FILTER (WHERE kind = 'x') FROM visit",
    "SELECT ward, COUNT(*) FROM visit WHERE kind = 'y' GROUP BY ward": "",
    "SELECT kind, COUNT(*) FILTER (WHERE ward IN ('a', 'b')) FROM visit GROUP BY kind": "",
    "SELECT SUM(cost) FROM visit WHERE ward <> 'a' AND kind = 'x'": "",
    "SELECT ward, SUM(cost) FROM visit GROUP BY ward": "",
    "SELECT region, COUNT(*) FROM visit JOIN person ON id = person_id WHERE kind = 'x' GROUP BY region": "",
    "SELECT COUNT(*) FROM visit JOIN person ON id = person_id WHERE region = 'N'": "",
}
DEVIATIONS = {
    "SELECT STDDEV(cost) FROM visit": "",
    "SELECT ward, STDDEV(cost), AVG(cost) FROM visit GROUP BY ward": "",
    "SELECT kind, VAR_POP(cost) FROM visit GROUP BY kind": "",
    "SELECT kind, AVG(cost) FROM visit GROUP BY kind": "",
    "SELECT ward, COUNT(*), SUM(cost) FROM visit GROUP BY ward": "",
    "SELECT ward, STDDEV(cost) FROM visit WHERE kind = 'x' GROUP BY ward": "",
}
_OF_REGIONS = "FROM visit AS v JOIN person AS p ON p.id = v.person_id"
PEOPLE_AND_ROWS = {
    f"SELECT {what} {_OF_REGIONS}": ""
    for what in ("COUNT(*)", "COUNT(DISTINCT person_id)", "COUNT(DISTINCT v.person_id), COUNT(*)")
} | {
    f"SELECT region, COUNT(*) {_OF_REGIONS} GROUP BY region": "",
    f"SELECT region, COUNT(DISTINCT v.person_id) {_OF_REGIONS} GROUP BY region": f"SELECT p.region AS r, COUNT(DISTINCT v.person_id) AS n {_OF_REGIONS} GROUP BY 1",
    f"SELECT COUNT(DISTINCT v.person_id) {_OF_REGIONS} WHERE region IN ('N', 'S')": "",
}
EVERY = {
    "counts": COUNTS,
    "sums": SUMS,
    "counts and sums": BOTH,
    "keys of people and of rows": OF_PEOPLE,
    "conditions that vary within a person": VARYING,
    "deviations": DEVIATIONS,
    "people and their rows": PEOPLE_AND_ROWS,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``visit`` keeps the declared four rows of a person; of ``stay`` everybody has eight."""
    made, drawn = tmp_path_factory.mktemp("rows"), random.Random(5)
    columns = (
        "(person_id INTEGER NOT NULL REFERENCES person, ward ENUM ('a', 'b', 'c') NOT NULL,"
        " kind ENUM ('x', 'y') NOT NULL, cost INTEGER NOT NULL, change INTEGER NOT NULL)"
    )
    with duckdb.connect(str(made / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, region ENUM ('N', 'E', 'S', 'W') NOT NULL)")
        connection.execute(f"CREATE TABLE visit {columns}")
        connection.execute(f"CREATE TABLE stay {columns}")
        connection.execute(f"CREATE TABLE nobody {columns}")
        people, visits, stays = [], [], []
        for person in range(PEOPLE):
            people.append((person, drawn.choice("NESW")))
            for _ in range(drawn.randrange(5)):
                ward, kind = drawn.choice("aabc"), drawn.choice("xy")
                visits.append((person, ward, kind, drawn.randint(0, 50), drawn.randint(-50, 20)))
            stays += [(person, "ab"[place % 2], "xxxy"[place % 4], 50, -50) for place in range(8)]
        for table, rows in (("person", people), ("visit", visits), ("stay", stays)):
            insert(connection, table, rows)
    return made


def opened(folder: Path, budget: str = BUDGETS[0], **how: Any) -> AbstractContextManager[Proxy]:
    return opened_policy(folder, POLICY, budget=budget, **{"table": "visit", "bound": "max_rows: 4", **how})


@pytest.mark.spread
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("statements", EVERY.values(), ids=EVERY)
def test_a_workload_of_rows_is_one_charge_and_free_in_any_spelling(
    folder: Path, statements: dict[str, str], budget: str
) -> None:
    with opened(folder, budget) as proxy:
        session = proxy.session()
        plan, charged = session.buy([*statements], Fraction(1))
        assert sum(one.joined for one in plan.statements) >= 3
        [one] = proxy.ledger.charges(limit=10)
        assert one.loss == charged == plan.loss
        for asked, again in statements.items():
            assert not session.execute(asked).price, asked
            assert not session.execute(again or asked).price, again


@pytest.mark.parametrize("budget", BUDGETS)
def test_nothing_is_worse_together_by_the_sum_of_variances(folder: Path, budget: str) -> None:
    with opened(folder, budget) as proxy:
        plan = proxy.session().workload([*COUNTS], Fraction(1))
        assert all(one.joined for one in plan.statements)
        alone, together = (sum((one[-1] or 0) ** 2 for one in errors) for errors in _errors(plan))
        assert together < 0.75 * alone
        unlike = ["SELECT ward, COUNT(*) FROM visit GROUP BY ward", "SELECT kind, SUM(change) FROM visit GROUP BY kind"]
        plan = proxy.session().workload(unlike, Fraction(1))
        assert not any(one.joined for one in plan.statements)


def _errors(plan) -> tuple[list[tuple[float | None, ...]], list[tuple[float | None, ...]]]:  # type: ignore[no-untyped-def]
    return [one.alone for one in plan.statements], [one.together for one in plan.statements]


@pytest.mark.parametrize("statements", EVERY.values(), ids=EVERY)
def test_without_noise_the_answers_are_those_of_the_database(folder: Path, statements: dict[str, str]) -> None:
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as known:
        right = [known.execute(asked).fetchall() for asked in statements]
    with opened(folder, silent=True) as proxy:
        session = proxy.session()
        session.buy([*statements], Fraction(1))
        for asked, rows in zip(statements, right, strict=True):
            answer = session.execute(asked)
            assert not answer.price
            for row, known_ in zip(sorted(answer.rows), sorted(rows), strict=True):
                assert row == pytest.approx(known_), asked


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_table_within_what_was_measured_is_free_though_nobody_asked_for_it(folder: Path, budget: str) -> None:
    with opened(folder, budget) as proxy:
        session = proxy.session()
        asked = [sql for sql in COUNTS if "SELECT kind" not in sql]
        session.buy(asked, Fraction(1))
        assert not session.execute("SELECT kind, COUNT(*) FROM visit GROUP BY kind").price
        narrower = session.execute("SELECT ward, COUNT(*) FROM visit WHERE kind = 'x' GROUP BY ward")
        assert not narrower.price
        assert any("conditions leave out" in one for one in narrower.notices)
        # No cut of the cost was measured, and people do not add up.
        assert session.execute("SELECT ward, COUNT(*) FROM visit WHERE cost > 25 GROUP BY ward").price
        assert session.execute("SELECT kind, COUNT(DISTINCT person_id) FROM visit GROUP BY kind").price


def test_surplus_rows_weigh_down_all_tables_alike(folder: Path) -> None:
    """Everybody has eight rows where four may count: every row counts half in each table, and in the total."""
    asked = [sql.replace("visit", "stay") for sql in COUNTS]
    with opened(folder, table="stay", silent=True) as proxy:
        session = proxy.session()
        session.buy(asked, Fraction(1))
        shown = [list(session.execute(sql).rows) for sql in asked]
    assert shown[0] == [(4 * PEOPLE,)]
    assert sorted(shown[1]) == [("a", 2 * PEOPLE), ("b", 2 * PEOPLE), ("c", 0)]
    assert sorted(shown[2]) == [("x", 3 * PEOPLE), ("y", PEOPLE)]
    assert sum(row[-1] for row in shown[3]) == 4 * PEOPLE


def test_rows_that_a_condition_leaves_out_count_against_the_bound(folder: Path) -> None:
    """Of everybody's eight rows two are of kind y: alone both count, and each counts half where all rows are bounded.
    A notice tells of it."""
    narrow = "SELECT COUNT(*) FROM stay WHERE kind = 'y'"
    with opened(folder, table="stay", silent=True) as proxy:
        session = proxy.session()
        assert list(session.execute(narrow).rows) == [(2 * PEOPLE,)]
    asked = ["SELECT kind, COUNT(*) FROM stay GROUP BY kind", "SELECT COUNT(*) FROM stay", narrow]
    with opened(folder, table="stay", silent=True) as proxy:
        session = proxy.session()
        plan, _ = session.buy(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
        shown, whole = session.execute(narrow), session.execute(asked[0])
        assert list(shown.rows) == [(PEOPLE,)]
        assert any("conditions leave out" in one for one in shown.notices)
        assert not any("conditions leave out" in one for one in whole.notices)


@pytest.mark.parametrize("budget", BUDGETS)
def test_people_are_nearer_together_with_their_rows(folder: Path, budget: str) -> None:
    """Without keys both are one vector of one table; by a key of rows people do not add up, and are bought beside."""
    with opened(folder, budget) as proxy:
        session = proxy.session()
        both = ["SELECT COUNT(*) FROM visit", "SELECT COUNT(DISTINCT person_id) FROM visit"]
        plan = session.workload(both, Fraction(1))
        assert all(one.joined and one.far < 0.85 for one in plan.statements)
        plan = session.workload(
            [*both, *COUNTS, "SELECT ward, COUNT(DISTINCT person_id) FROM visit GROUP BY ward"], Fraction(1)
        )
        assert [one.joined for one in plan.statements] == [True, False, True, True, True, True, False]
        assert max(one.far for one in plan.statements) <= 1.01


def test_who_has_more_rows_than_count_is_one_person_all_the_same(folder: Path) -> None:
    asked = ["SELECT COUNT(*) FROM stay", "SELECT COUNT(DISTINCT person_id) FROM stay"]
    with opened(folder, table="stay", silent=True) as proxy:
        session = proxy.session()
        plan, _ = session.buy(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
        assert [list(session.execute(sql).rows) for sql in asked] == [[(4 * PEOPLE,)], [(PEOPLE,)]]


def test_nobody_is_counted_as_nobody(folder: Path) -> None:
    asked = [sql.replace("visit", "nobody") for sql in COUNTS]
    with opened(folder, table="nobody", silent=True) as proxy:
        session = proxy.session()
        plan, _ = session.buy(asked, Fraction(1))
        assert all(one.joined for one in plan.statements)
        assert not any(row[-1] for sql in asked for row in session.execute(sql).rows)


APART = {
    "people do not add up": ("max_rows: 4", "COUNT(DISTINCT person_id)"),
    "different values do not add up": ("max_rows: 4", "COUNT(DISTINCT cost)"),
    "rows of one group are bounded as well": ("max_rows: 4\n    max_rows_per_group: 2", "COUNT(*)"),
}


@pytest.mark.parametrize(("bound", "what"), APART.values(), ids=APART)
def test_what_is_no_marginal_of_one_table_is_bought_beside(folder: Path, bound: str, what: str) -> None:
    asked = [sql.replace("COUNT(*)", what) for sql in COUNTS]
    with opened(folder, bound=bound) as proxy:
        plan = proxy.session().workload(asked, Fraction(1))
        assert not any(one.joined for one in plan.statements)


SPANS = policy_text("""
database: duckdb:doses.duckdb; ledger: sqlite:doses.ledger; privacy_unit: person.id
budget: {epsilon: 100, delta: 1e-6}
tables:
  person: id
  calendar: public
  dose(person_id -> person.id, time: day, max_rows: 2 per month): day 2026-01-01..2026-12-31, kind [x, y]
""")


def test_a_condition_on_a_time_is_not_left_out_where_it_bounds_rows(tmp_path: Path) -> None:
    """Two rows of a person count in a month, and 24 in a year: one factor for all of a year is not that of a day."""
    with duckdb.connect(str(tmp_path / "doses.duckdb")) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY); INSERT INTO person FROM range(9)")
        connection.execute("CREATE TABLE calendar (day DATE PRIMARY KEY)")
        connection.execute("INSERT INTO calendar SELECT DATE '2026-01-01' + n::INTEGER FROM range(365) AS d(n)")
        connection.execute(
            "CREATE TABLE dose (person_id INTEGER NOT NULL REFERENCES person,"
            " day DATE NOT NULL REFERENCES calendar, kind ENUM ('x', 'y') NOT NULL)"
        )
    (tmp_path / "policy.yaml").write_text(SPANS)
    with closing(open_without_noise(tmp_path / "policy.yaml")) as proxy:

        def ways(condition: str) -> list[tuple[str, ...]]:
            prepared = proxy.prepare(f"SELECT COUNT(*) FROM dose WHERE {condition}", ())
            assert isinstance(prepared, Prepared)
            alike = clipped_alike(prepared.program.options[0].first)
            assert alike is not None
            return [tuple(key.text for key in way.cells.keys) for way in alike.drill_downs()]

        assert ways("kind = 'x'") == [("kind",)]
        assert ways("day = '2026-03-05'") == []
        assert ways("day = '2026-03-05' AND kind = 'x'") == [("kind",)]
