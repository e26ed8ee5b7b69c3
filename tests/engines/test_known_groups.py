"""Public groups that are listed once: the table is the one that the plan's whole SQL answers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from dpsql.engines.known_groups import can_be_known
from dpsql.proxy import Proxy
from tests.new_databases import new_database
from tests.policies import policy_text

DATA = """
CREATE TABLE person (id INTEGER PRIMARY KEY, sex VARCHAR, age SMALLINT);
INSERT INTO person SELECT i, ['F', 'M', NULL, 'f', 'x'][1 + i % 5], [20, 30, NULL, 99, -3][1 + i % 5] FROM range(60) t(i);
CREATE TABLE visit (person_id INTEGER NOT NULL REFERENCES person (id), ward VARCHAR, fine BOOLEAN, day DATE, seen TIMESTAMP,
    price DECIMAL(6, 2), weight DOUBLE);
INSERT INTO visit SELECT i * 7 % 60, ['A', 'B', NULL, 'undeclared', 'a', ''][1 + i % 6], [TRUE, FALSE, NULL][1 + i % 3],
    [DATE '2025-01-05', DATE '2025-03-31', NULL, DATE '1999-12-31', 'infinity'::DATE, DATE '9999-12-31'][1 + i % 6],
    TIMESTAMP '2025-01-05 10:11:12' + INTERVAL (i) HOUR, (i % 4) / 4, [0.0, -0.0, 'nan'::DOUBLE, 1.5][1 + i % 4]
FROM range(500) t(i);
CREATE TABLE place (name VARCHAR NOT NULL); INSERT INTO place VALUES ('A'), ('B'), ('C');
CREATE VIEW moving AS SELECT CASE WHEN random() < 2 THEN name END AS name FROM place;
"""

POLICY = policy_text("""
database: duckdb:d.duckdb; ledger: sqlite:d.ledger; privacy_unit: person.id
budget: {epsilon: 1000000, delta: 1e-6, accounting: zcdp}; statement: {epsilon: 1, max_epsilon: 1}
tables:
  person: id, sex [F, M], age 18..40
  visit(person_id -> person.id, max_rows: 20): ward <- SOURCE.name, fine, day 2025-01-01..2025-04-30,
      seen 2025-01-01..2025-01-31, price [0, 0.25, 0.5], weight [0, 1.5]
  SOURCE: public
""")

KEYS = {
    "sex": True,
    "age": True,
    "ward": True,
    "fine": True,
    "day": True,
    "date_trunc('day', seen)": True,
    "EXTRACT(month FROM day)": True,
    "age / 10": True,
    "sex, fine, ward": True,
    "ward, day": True,
    "day IS NULL, sex": True,
    "price": True,
    # Of these, two values may be handed over that are not equal.
    "weight": False,
}


@pytest.fixture(params=["place", "moving"], ids=["table", "view"])
def proxy(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, str]]:
    with new_database(tmp_path / "d.duckdb") as database:
        database.execute(DATA)
    (tmp_path / "d.yaml").write_text(POLICY.replace("SOURCE", request.param))
    opened = Proxy.open(tmp_path / "d.yaml")
    yield opened, request.param
    opened.close()


def test_the_table_is_that_of_the_whole_sql(proxy: tuple[Proxy, str]) -> None:
    opened, source = proxy
    engine, session, used = opened._opened.engine, opened.session(), 0
    for keys, known in KEYS.items():
        for items in ("COUNT(*) AS n", "SUM(age), AVG(age), COUNT(DISTINCT person_id)"):
            where = "" if "age" in items else "WHERE age >= 0"
            sql = f"SELECT {keys}, {items} FROM visit JOIN person ON person_id = id {where} GROUP BY {keys}"
            (release,) = session.explain(sql).releases
            plan = release.plan
            assert can_be_known(plan) == known, keys
            whole = engine.run(replace(plan, inhabited=None))
            for _ in range(3):
                found = engine.run(plan)
                assert list(found.keys) == list(whole.keys), keys
                assert found.statistics == whole.statistics, keys
            used += known
    listed = engine._groups._kept  # type: ignore[attr-defined]
    assert any(source in groups for groups, _ in listed) == (source == "place"), "a view may change"
    assert used == 24


def test_what_is_not_the_plans_own_sql_is_not_read_in_its_place(proxy: tuple[Proxy, str]) -> None:
    opened, _ = proxy
    (release,) = opened.session().explain("SELECT sex, COUNT(*) FROM person GROUP BY sex").releases
    assert can_be_known(release.plan)
    assert not can_be_known(replace(release.plan, sql=f"SELECT * FROM ({release.plan.sql}) AS whole"))


def test_groups_of_another_type_are_read_by_the_whole_sql(proxy: tuple[Proxy, str]) -> None:
    """Midnight is a day to an engine, and not to Python."""
    opened, _ = proxy
    engine, session = opened._opened.engine, opened.session()
    (release,) = session.explain("SELECT date_trunc('day', seen), COUNT(*) FROM visit GROUP BY 1").releases
    plan = release.plan
    groups = f"SELECT CAST(k0 AS DATE) AS k0 FROM ({plan.groups}) AS days"
    found = engine.run(replace(plan, groups=groups))
    assert sum(found.statistics[plan.columns[0]]) > 0
    assert found.statistics == engine.run(plan).statistics


def test_groups_are_listed_in_the_turn_of_the_statement(proxy: tuple[Proxy, str]) -> None:
    """Each of two statements that waited for one more turn would hold the one that the other waits for."""
    opened, _ = proxy
    engine = opened._opened.engine
    (release,) = opened.session().explain("SELECT sex, COUNT(*) FROM person GROUP BY sex").releases
    with ExitStack() as held:
        threads = [held.enter_context(ThreadPoolExecutor(1)) for _ in range(engine.load.most)]
        turns = [thread.submit(engine.load.take, 1).result() for thread in threads]
        for turn in turns:
            assert turn is not None
            held.callback(turn.end)
        assert sum(engine.run(release.plan, 5, turn=turns[0]).statistics[release.plan.columns[0]]) > 0
