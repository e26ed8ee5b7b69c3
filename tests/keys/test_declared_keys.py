"""Which declared groups there are: those that SQL can have by the conditions, NULL among them, and no others.

The oracle is plain SQL over rows that break every declaration: what it groups by a declared value must be a group, with
its count, and a group that is listed must be one that some row within the declarations can be in. For the second part
the same plain SQL runs over a table of all combinations of values that matter here, in place of the people's rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from random import Random

import duckdb
import psycopg
import pytest

from dpsql.proxy import Session
from dpsql.reply import Answer
from tests.doubles import open_without_noise
from tests.engines.postgres_server import shared_server
from tests.policies import policy_text

TABLES = """
CREATE TABLE country (code TEXT PRIMARY KEY, name TEXT NOT NULL, part TEXT);
INSERT INTO country VALUES ('DE', 'Germany', 'west'), ('FR', 'France', 'west'), ('JP', 'Japan', 'east'), ('US', 'USA', NULL);
CREATE TABLE product (id INTEGER PRIMARY KEY, kind TEXT);
INSERT INTO product VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, NULL);
CREATE TABLE visit ({key}, land TEXT, sex TEXT, age INTEGER, w DOUBLE PRECISION, seen TIMESTAMP, day DATE, item INTEGER, ok BOOLEAN, big BIGINT);
"""
POLICY = policy_text("""
database: {database}; ledger: sqlite:ledger; privacy_unit: visit.id; budget: {epsilon: 100000, delta: 1e-6}
statement: {epsilon: 1, max_epsilon: 1}
tables:
  country: public
  product: public
  visit: id, land <- country.code, sex [f, m], age 0..9, w 0..40,
      seen {range: ['2024-01-30 12:00:00', '2024-03-02 18:00:00']}, day 2024-01-30..2024-03-02, item <- product.id,
      ok, big 0..1000000
""")
LANDS, SEXES, ITEMS = ["DE", "FR", "JP", "US", "XX", None], ["f", "m", "?", None], [1, 2, 3, 4, 9, None]
AGES, WEIGHTS = [-1, 0, 3, 4, 5, 9, 10, None], [-0.5, 0.0, 9.9, 10.0, 10.5, 25.0, 30.0, 40.0, 41.0, None]
TIMES = [
    *(datetime(2024, 1, 30, hour, minute) for hour, minute in ((11, 59), (12, 0), (12, 30))),
    *(datetime(2024, 2, day, hour) for day in (1, 2, 9, 10, 29) for hour in (0, 10, 11, 23)),
    *(datetime(2024, 2, 10, 0, 0, 0, 1), datetime(2024, 2, 9, 23, 59, 59, 999999)),
    *(datetime(2024, 3, 2, 18), datetime(2024, 3, 2, 18, 0, 1), datetime(2030, 1, 1)),
    None,
]
BIGS = [0, 5, 6, 7, 999_999, 1_000_001, None]
DECLARED = (
    "(land IS NULL OR land IN (SELECT code FROM country)) AND (sex IS NULL OR sex IN ('f', 'm'))"
    " AND (age IS NULL OR age BETWEEN 0 AND 9) AND (w IS NULL OR w BETWEEN 0 AND 40)"
    " AND (seen IS NULL OR seen BETWEEN '2024-01-30 12:00' AND '2024-03-02 18:00')"
    " AND (day IS NULL OR day BETWEEN '2024-01-30' AND '2024-03-02')"
    " AND (item IS NULL OR item IN (SELECT id FROM product)) AND (big IS NULL OR big BETWEEN 0 AND 1000000)"
)
"""The rows that keep to the policy."""

TIME_KEYS = (
    "CAST(seen AS DATE)", "DATE_TRUNC('month', seen)", "EXTRACT(HOUR FROM seen)", "EXTRACT(MONTH FROM seen)",
    "TO_CHAR(seen, 'YYYY-MM')", "DATE_TRUNC('hour', seen)", "CASE WHEN seen < '2024-02-10' THEN 1 ELSE 2 END",
)  # fmt: skip
TIME_TESTS = (
    "seen >= '2024-02-01' AND seen < '2024-02-10'", "seen > '2024-02-09 23:59:59.999998' AND seen <= '2024-02-10'",
    "seen BETWEEN '2024-02-09 10:30' AND '2024-02-10 10:30'", "CAST(seen AS DATE) = '2024-02-29'",
    "CAST(seen AS DATE) BETWEEN '2024-02-01' AND '2024-02-02'", "DATE_TRUNC('month', seen) = '2024-02-01'",
    "seen < '2024-02-02' OR seen >= '2024-02-29'", "NOT (seen < '2024-02-29')", "EXTRACT(YEAR FROM seen) = 2024",
    "seen >= '2024-02-10' AND EXTRACT(HOUR FROM seen) = 10", "seen IS NOT NULL", "seen IS NULL",
    "CASE WHEN seen > '2024-02-10' THEN TRUE ELSE FALSE END", "seen <> '2024-02-10' AND seen > '2024-02-09'",
)  # fmt: skip
OTHER_KEYS = (
    "sex", "age", "age / 5", "ok", "land", "day", "item", "big", "sex IS NULL", "COALESCE(sex, 'none')",
    "CASE WHEN age < 4 THEN 'low' WHEN age < 9 THEN 'mid' ELSE 'high' END", "EXTRACT(MONTH FROM day)",
    "CASE WHEN w < 10 THEN 'low' WHEN w > 30 THEN 'high' END", "FLOOR(w / 10) * 10", "age % 3",
    "CASE sex WHEN 'f' THEN 1 ELSE 0 END",
)  # fmt: skip
OTHER_TESTS = (
    "sex = 'f'", "sex IN ('f', '?')", "NOT sex = 'f'", "sex IS NOT NULL", "age > 3", "age BETWEEN 3 AND 5", "age IS NULL",
    "age = 3 OR age = 5", "w < 25", "w > 10 AND w <= 30", "big IN (5, 6)", "day >= '2024-02-29'", "ok", "NOT ok", "item > 2",
    "item IN (SELECT id FROM product WHERE kind = 'a')", "land IN (SELECT code FROM country WHERE part IS NULL)",
    "age + w > 12", "LOWER(land) = 'de'", "NOT (sex = 'm' AND age > 4)", "sex = 'f' OR w > 30", "land LIKE '%E'",
)  # fmt: skip


def rows(random: Random) -> Iterator[tuple[object, ...]]:
    for number in range(900):
        day = random.choice([date(2024, 1, 29), date(2024, 1, 30), date(2024, 2, 29), date(2024, 3, 3), None])
        yield (
            number, *(random.choice(values) for values in (LANDS, SEXES, AGES, WEIGHTS, TIMES)),
            day, random.choice(ITEMS), random.choice([True, False, None]), random.choice(BIGS),
        )  # fmt: skip


def spelt(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return str(value)
    return f"'{value}'"


def text(given: list[tuple[object, ...]], table: str = "visit") -> str:
    return f"INSERT INTO {table} VALUES " + ", ".join(f"({', '.join(map(spelt, row))})" for row in given)


@dataclass(frozen=True, slots=True)
class World:
    session: Session
    oracle: psycopg.Connection

    def truth(self, key: str, test: str, source: str) -> dict[object, int]:
        found = self.oracle.execute(f"SELECT {key} AS k, COUNT(*) FROM {source} AS visit WHERE {test} GROUP BY 1")  # type: ignore[arg-type]
        return {plain(value): count for value, count in found.fetchall()}

    def ask(self, key: str, test: str) -> tuple[Answer, dict[object, int]]:
        answer = self.session.execute(f"SELECT {key} AS k, COUNT(*) AS n FROM visit WHERE {test} GROUP BY 1")
        return answer, {plain(value): int(str(count)) for value, count in answer.rows}


def plain(value: object) -> object:
    """A key that compares across types: numbers as numbers, days as midnights."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value if value is None or isinstance(value, str | bool | datetime) else float(str(value))


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, given = tmp_path_factory.mktemp("declared"), list(rows(Random(7)))
    tables = TABLES.format(key="id INTEGER PRIMARY KEY") + text(given)
    name = shared_server().database(tables)
    if request.param == "duckdb":
        with duckdb.connect(str(folder / "data.duckdb")) as connection:
            connection.execute(tables)
    database = "duckdb:data.duckdb" if request.param == "duckdb" else shared_server().url(name)
    (folder / "policy.yaml").write_text(POLICY.format(database=database))
    proxy = open_without_noise(folder / "policy.yaml")
    with shared_server().owner(name) as oracle:
        yield World(proxy.session(), oracle)
    proxy.close()


UNIVERSE: dict[str, str] = {
    "land": "SELECT code FROM country UNION ALL SELECT NULL",
    "sex": "VALUES ('f'), ('m'), (NULL)",
    "age": "SELECT generate_series(0, 9) UNION ALL SELECT NULL",
    "w": "SELECT generate_series(0, 400) / 10.0::float8 UNION ALL SELECT NULL",
    "seen": "SELECT generate_series(TIMESTAMP '2024-01-30 12:00', TIMESTAMP '2024-03-02 18:00', INTERVAL '30 minutes')"
    " UNION ALL VALUES (NULL), (TIMESTAMP '2024-02-09 23:59:59.999999'), (TIMESTAMP '2024-02-10 00:00:00.000001')",
    "day": "SELECT generate_series(DATE '2024-01-30', DATE '2024-03-02', INTERVAL '1 day')::date UNION ALL SELECT NULL",
    "item": "SELECT id FROM product UNION ALL SELECT NULL",
    "ok": "VALUES (TRUE), (FALSE), (NULL)",
    "big": "SELECT generate_series(0, 20) UNION ALL SELECT NULL",
}
"""Every value that keeps to the policy, or enough of them that no key or test here tells another apart."""


def universe(key: str, test: str) -> str:
    """Every row that keeps to the policy, of the columns that are read."""
    read = [name for name in UNIVERSE if re.search(rf"\b{name}\b", f"{key} {test}")]
    return "(SELECT * FROM " + " CROSS JOIN ".join(f"({UNIVERSE[name]}) AS u_{name}({name})" for name in read) + ")"


def check(world: World, key: str, test: str) -> None:
    answer, ours = world.ask(key, test)
    theirs = world.truth(key, test, "visit")
    declared = world.truth(key, f"({test}) AND {DECLARED}", "visit")
    if any("are not shown" in notice for notice in answer.notices):
        return
    said = f"{key} WHERE {test}"
    assert declared.keys() <= ours.keys(), said
    assert all(theirs.get(group, 0) == count for group, count in ours.items()), said
    if not theirs.keys() <= ours.keys():
        assert any("are in no group" in notice for notice in answer.notices), said
    possible = world.truth(key, test, universe(key, test))
    # CASE makes its groups of whatever rows hold, also of what the policy does not declare; a quotient may be NULL.
    more = theirs.keys() if "CASE" in key else {None} if "/ 10" in key else set()
    assert {group for group in ours if group not in possible} <= more, said


SEEN = (
    ("CAST(seen AS DATE)", "seen >= '2024-02-09 10:00' AND seen <= '2024-02-10'"),
    ("CAST(seen AS DATE)", "seen > '2024-02-10' OR seen = '2024-02-09 10:00'"),
    ("sex", "sex = 'f' OR w > 30"),
    ("sex", "TRUE"),
    ("age", "TRUE"),
    ("land", "land IN (SELECT code FROM country WHERE part = 'west')"),
)


@pytest.mark.quick
def test_groups_that_were_seen_to_be_wrong(world: World) -> None:
    for key, test in SEEN:
        check(world, key, test)


@pytest.mark.spread
@pytest.mark.parametrize("key", TIME_KEYS)
def test_groups_of_times_are_those_that_conditions_leave(world: World, key: str) -> None:
    for test in (*TIME_TESTS, *Random(key).sample(OTHER_TESTS, 2)):
        check(world, key, test)


@pytest.mark.spread
@pytest.mark.parametrize("key", OTHER_KEYS)
def test_groups_are_those_that_conditions_leave(world: World, key: str) -> None:
    for test in ("TRUE", *Random(key).sample(OTHER_TESTS, 5)):
        check(world, key, test)


OUTER_JOINS = (
    ("item, p.kind", "product p ON p.id = item"),
    ("item, p.kind", "product p ON p.id = item AND p.kind = 'a'"),
    ("item, p.kind", "product p ON p.id = item AND w > 30"),
    ("item, p.kind, w > 30", "product p ON p.id = item AND w > 30"),
    ("p.kind, p.id", "product p ON p.id = item AND p.kind IS NOT NULL"),
    ("p.kind, age < 4", "product p ON p.id = item AND age < 4"),
    ("item, sex, p.kind", "product p ON p.id > item AND sex = 'f'"),
    ("item, age, p.kind", "product p ON p.id = item OR p.id = age"),
    ("CAST(seen AS DATE), p.id", "product p ON p.id = EXTRACT(DAY FROM seen) - 8"),
    ("land, c.name, p.kind", "country c ON c.code = land LEFT JOIN product p ON p.id = item AND c.part = 'west'"),
    ("c.part, p.id", "country c ON c.code = land LEFT JOIN product p ON LENGTH(c.part) = p.id"),
)


@pytest.mark.parametrize(("keys", "joined"), OUTER_JOINS)
def test_rows_of_an_outer_join_stand_beside_what_on_leaves(world: World, keys: str, joined: str) -> None:
    """A list's row stands beside values that satisfy ON with it, and NULL beside those that no row satisfies it with."""
    asked = f"SELECT {keys}, COUNT(*) FROM {{}} LEFT JOIN {joined} GROUP BY {keys}"
    read = [f"({values}) AS u_{name}({name})" for name, values in UNIVERSE.items() if re.search(rf"\b{name}\b", asked)]
    declared = f"(SELECT * FROM visit WHERE {DECLARED})"
    every, counted, theirs = (
        {tuple(map(plain, row[:-1])): row[-1] for row in world.oracle.execute(asked.format(f"{rows} v")).fetchall()}  # type: ignore[arg-type]
        for rows in (f"(SELECT * FROM {' CROSS JOIN '.join(read)})", declared, "visit")
    )
    world.session.change("dpsql.empty_groups", "show")
    rows = world.session.execute(asked.format("visit")).rows
    world.session.change("dpsql.empty_groups", None)
    ours = {tuple(map(plain, row[:-1])): int(str(row[-1])) for row in rows}
    assert counted.keys() <= ours.keys() <= every.keys()
    assert all(theirs.get(group, 0) == count for group, count in ours.items())
