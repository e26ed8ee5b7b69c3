"""Keys that are picked from one person's rows: MIN, MAX and their like keep the declared values of what they pick from.

The oracle is the engine itself, over rows that break the declarations: what it groups within them must be a group with
its count, whatever else it groups is told, and a listed group that it has not is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from random import Random

import duckdb
import psycopg
import pytest

from dpsql.proxy import Session
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.policies import policy_text

POLICY = policy_text("""
database: {database}; ledger: sqlite:ledger; privacy_unit: customer.id
budget: {epsilon: 100000, accounting: pure}; statement: {epsilon: 1, max_epsilon: 1}
tables:
  customer: id
  orders(customer_id -> customer.id, max_rows: 20): placed 2024-01-01..2024-12-31, seen '2024-01-01'..'2024-12-31',
      item [x, y, z], n 0..9, paid
""")
TABLES = """
CREATE TABLE customer (id INTEGER PRIMARY KEY);
CREATE TABLE orders (customer_id INTEGER NOT NULL, placed DATE NOT NULL, seen TIMESTAMP, item TEXT, n INTEGER, paid BOOLEAN);
"""
DECLARED = "placed BETWEEN '2024-01-01' AND '2024-12-31' AND (item IS NULL OR item <> '?') AND (n IS NULL OR n BETWEEN 0 AND 9)"
PEOPLE = 60


def rows(random: Random) -> Iterator[tuple[object, ...]]:
    """Few values, so that groups hold several people, and some beyond what is declared."""
    for who in range(PEOPLE):
        for _ in range(random.randint(1, 5)):
            yield (
                who, random.choice([date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 9), date(2024, 6, 30), date(2025, 1, 1)]),
                random.choice([None, datetime(2024, 1, 1), datetime(2024, 2, 9, 10, 30), datetime(2024, 12, 31, 5)]),
                random.choice(["x", "y", "z", "?", None]), random.choice([-1, 0, 4, 9, 10, None]),
                random.choice([True, False, None]),
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class World:
    session: Session
    truth: Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("picked")
    given = ", ".join("(" + ", ".join(map(spelt, row)) + ")" for row in rows(Random(4)))
    people = ", ".join(f"({who})" for who in range(PEOPLE))
    setup = TABLES + f"INSERT INTO customer VALUES {people}; INSERT INTO orders VALUES {given};"
    name = shared_server().database(setup)
    database = shared_server().url(name)
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "data.duckdb")) as connection:
            connection.execute(setup)
        database = "duckdb:data.duckdb"
    (folder / "policy.yaml").write_text(POLICY.format(database=database))
    proxy = open_without_noise(folder / "policy.yaml")
    with shared_server().owner(name) as oracle:
        session = proxy.session()
        session.execute("SET dpsql.empty_groups = show")
        yield World(session, lambda sql: all_of(oracle, sql))
    proxy.close()


def spelt(value: object) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, bool | int) else f"'{value}'"


def all_of(oracle: psycopg.Connection, sql: str) -> list[tuple[object, ...]]:
    return [tuple(map(plain, row)) for row in oracle.execute(sql).fetchall()]  # type: ignore[arg-type]


def plain(value: object) -> object:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def question(key: str, where: str, having: str = "TRUE") -> str:
    picked = f"SELECT customer_id, {key} AS k FROM orders WHERE {where} GROUP BY customer_id"
    return f"SELECT k, COUNT(*) AS n FROM ({picked}) AS t WHERE {having} GROUP BY k"


MONTHS = [datetime(2024, month, 1) for month in range(1, 13)]
KEYS: dict[str, list[object]] = {
    "DATE_TRUNC('month', MIN(placed))": [*MONTHS],
    "MIN(DATE_TRUNC('month', placed))": [*MONTHS],
    "DATE_TRUNC('month', MAX(seen))": [*MONTHS, None],
    "EXTRACT(MONTH FROM MIN(placed))": [*range(1, 13)],
    "MIN(item)": ["x", "y", "z", None],
    "COALESCE(MAX(item), 'none')": ["x", "y", "z", "none"],
    "MAX(n)": [*range(10), None],
    "MIN(n) FILTER (WHERE paid)": [*range(10), None],
    "MAX(item) FILTER (WHERE n = 4)": ["x", "y", "z", None],
    "MIN(CASE WHEN n < 5 THEN 'low' ELSE 'high' END) FILTER (WHERE paid)": ["low", "high", None],
    "BOOL_OR(paid)": [True, False, None],
    "BOOL_AND(n > 4)": [True, False, None],
    "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY n)": [*range(10), None],
    "MAX(n) - MIN(n)": [*range(-9, 10), None],
}


@pytest.mark.spread
@pytest.mark.parametrize("where", ["TRUE", "placed >= '2024-02-01' AND item <> 'z'", "n > 3 OR paid"])
@pytest.mark.parametrize("key", KEYS)
def test_what_is_picked_has_the_declared_values_of_what_it_is_picked_from(world: World, key: str, where: str) -> None:
    sql = question(key, where)
    answer = world.session.execute(sql)
    ours = {plain(group): count for group, count in answer.rows}
    theirs = dict(world.truth(sql))
    assert ours.keys() <= set(KEYS[key]), "a group is nobody's by the declarations"
    assert {group: theirs.get(group, 0) for group in ours} == ours
    assert dict(world.truth(question(key, f"({where}) AND {DECLARED}"))).keys() <= ours.keys()
    assert theirs.keys() <= ours.keys() or any("are in no group" in notice for notice in answer.notices)


def test_conditions_on_the_rows_narrow_what_is_picked_from_them(world: World) -> None:
    found = world.session.execute(question("MIN(item)", "item <> 'z'")).rows
    assert {key for key, _ in found} == {"x", "y"}
    found = world.session.execute(question("DATE_TRUNC('month', MIN(placed))", "placed >= '2024-06-10'")).rows
    assert {plain(key) for key, _ in found} == set(MONTHS[5:])
    # The row that is picked from keeps to a FILTER only where there is one.
    found = world.session.execute(question("MAX(item) FILTER (WHERE n = 4)", "item IN ('x', 'y')")).rows
    assert None in {key for key, _ in found}


def test_conditions_on_what_is_picked_narrow_it(world: World) -> None:
    sql = question("DATE_TRUNC('month', MIN(placed))", "TRUE", "k < '2024-03-01'")
    assert {plain(key) for key, _ in world.session.execute(sql).rows} == set(MONTHS[:2])


def test_two_values_are_picked_from_two_rows(world: World) -> None:
    picked = "SELECT customer_id, MIN(item) AS a, MAX(item) AS b FROM orders WHERE item <> 'z' GROUP BY customer_id"
    sql = f"SELECT a, b, COUNT(*) FROM ({picked}) AS t GROUP BY a, b"
    ours = {row[:2]: row[2] for row in world.session.execute(sql).rows}
    theirs = {row[:2]: row[2] for row in world.truth(sql)}
    assert ours == {(a, b): theirs.get((a, b), 0) for a in "xy" for b in "xy"}
    assert ours["x", "y"] > 0


def test_a_measured_extreme_of_what_is_picked_is_no_declared_end(world: World) -> None:
    sql = "SELECT MAX(k) FROM (SELECT customer_id, MIN(placed) AS k FROM orders GROUP BY customer_id) AS t"
    assert any("approximate" in notice for notice in world.session.execute(sql).notices)
